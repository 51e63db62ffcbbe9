//! Inventories in INI: `[group]`, `[group:vars]`, `[group:children]`, and hosts with their variables on a line.

use jitterlab_base::input::shortened;
use serde_yaml::Value;

use super::groups::{Groups, Layer, UNGROUPED, Variable, Variables};
use super::problem::{At, Problem};
use super::variables::PORT;

/// The meaning of the lines of a section.
enum Section {
    Hosts(String),
    Variables(String),
    Children(String),
}

/// Reads an inventory.
///
/// # Errors
/// A line is none of an inventory.
pub fn read(text: &str) -> Result<Groups, Problem> {
    let mut groups = Groups::default();
    let mut section = Section::Hosts(UNGROUPED.into());
    for (i, line) in text.lines().enumerate() {
        let at = At::Line(i + 1);
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(head) = line.strip_prefix('[') {
            section = section_of(head, &at)?;
            let (Section::Hosts(group) | Section::Variables(group) | Section::Children(group)) =
                &section;
            groups.group(group);
            continue;
        }
        match &section {
            Section::Hosts(group) => host(&mut groups, group, line, &at)?,
            Section::Variables(group) => {
                let (name, value) = line.split_once('=').ok_or_else(|| {
                    at.problem(format!(
                        "expected `variable=value`, and not `{}`",
                        shortened(line)
                    ))
                })?;
                groups.set(
                    group,
                    Layer::Within,
                    name.trim(),
                    variable(unquoted(value), &at),
                );
            }
            Section::Children(group) => match &words(line, &at)?[..] {
                [child] => groups.nest(group, child, &at),
                _ => {
                    return Err(at.problem(format!(
                        "expected the name of a group, and not `{}`",
                        shortened(line)
                    )));
                }
            },
        }
    }
    Ok(groups)
}

fn variable(value: String, at: &At) -> Variable {
    Variable {
        value: Value::String(value),
        at: at.clone(),
    }
}

/// The section that a head begins; `head` is without its first bracket.
fn section_of(head: &str, at: &At) -> Result<Section, Problem> {
    let wrong = |says: &str| {
        at.problem(format!(
            "`[{}` {says}: sections are [GROUP], [GROUP:vars] and [GROUP:children]",
            shortened(head)
        ))
    };
    let (name, rest) = head.split_once(']').ok_or_else(|| wrong("has no `]`"))?;
    let rest = rest.trim_start();
    if !rest.is_empty() && !rest.starts_with(['#', ';']) {
        return Err(wrong("is no section"));
    }
    let (group, kind) = match name.split_once(':') {
        None => (name, None),
        Some((group, kind)) => (group, Some(kind)),
    };
    if group.is_empty() || group.contains(char::is_whitespace) {
        return Err(wrong("is no section"));
    }
    match kind {
        None => Ok(Section::Hosts(group.into())),
        Some("vars") => Ok(Section::Variables(group.into())),
        Some("children") => Ok(Section::Children(group.into())),
        Some(_) => Err(wrong("is no section")),
    }
}

/// `NAME[:PORT] variable=value …`.
fn host(groups: &mut Groups, group: &str, line: &str, at: &At) -> Result<(), Problem> {
    let mut words = words(line, at)?.into_iter();
    let Some(first) = words.next() else {
        return Ok(());
    };
    let mut variables = Variables::new();
    let (pattern, port) = with_port(&first);
    if let Some(port) = port {
        variables.insert(PORT.into(), variable(port.into(), at));
    }
    for word in words {
        let (name, value) = word.split_once('=').ok_or_else(|| {
            at.problem(format!(
                "expected `variable=value` after the name of a host, and not `{}`",
                shortened(&word)
            ))
        })?;
        variables.insert(name.into(), variable(value.into(), at));
    }
    groups.add(group, pattern, at, &variables)
}

/// A pattern of names, and the port behind it.
fn with_port(word: &str) -> (&str, Option<&str>) {
    let is_port = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    match word.rsplit_once(':') {
        Some((pattern, port)) if is_port(port) && !in_brackets(pattern) => (pattern, Some(port)),
        _ => (word, None),
    }
}

/// True if a bracket is open at the end.
fn in_brackets(text: &str) -> bool {
    text.matches('[').count() > text.matches(']').count()
}

/// The value of a line that has nothing else: without quotes around it, or a comment behind it.
fn unquoted(value: &str) -> String {
    let value = value.trim();
    let inner = ['\'', '"'].into_iter().find_map(|quote| {
        let inner = value.strip_prefix(quote)?.strip_suffix(quote)?;
        (!inner.contains(quote)).then_some(inner)
    });
    let bare = value.split(" #").next().unwrap_or_default().trim_end();
    inner.unwrap_or(bare).into()
}

/// The words of a line as a shell takes them, without the comment at its end.
fn words(line: &str, at: &At) -> Result<Vec<String>, Problem> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = line.chars();
    while let Some(c) = characters.next() {
        match (c, quote) {
            (c, Some(open)) if c == open => quote = None,
            ('\\', None | Some('"')) => {
                let escaped = characters.next();
                let escaped =
                    escaped.ok_or_else(|| at.problem("the line ends with a backslash"))?;
                let word = word.get_or_insert_default();
                // A backslash within quotes stands for itself before any other character.
                if quote.is_some() && !matches!(escaped, '"' | '\\') {
                    word.push('\\');
                }
                word.push(escaped);
            }
            (c, Some(_)) => word.get_or_insert_default().push(c),
            ('\'' | '"', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            ('#', None) => break,
            (c, None) if c.is_whitespace() => words.extend(word.take()),
            (c, None) => word.get_or_insert_default().push(c),
        }
    }
    match quote {
        Some(open) => Err(at.problem(format!("a quote `{open}` is not closed"))),
        None => {
            words.extend(word);
            Ok(words)
        }
    }
}
