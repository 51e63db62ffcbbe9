//! The parser's objections in the words of whoever writes the file.

use serde_yaml::Error;

use crate::input::shortened;

/// Line and column, counted from 1.
pub type At = (usize, usize);

/// The place of an error: line and column, counted from 1.
pub fn place(error: &Error) -> At {
    let place = error.location().map(|at| (at.line(), at.column()));
    place.unwrap_or((1, 1))
}

/// An error in words for people, with what may have been meant; and its place.
pub fn explained(error: &Error) -> (String, At) {
    let at = place(error);
    let message = error.to_string();
    let message = message
        .strip_suffix(&format!(" at line {} column {}", at.0, at.1))
        .unwrap_or(&message);
    let problem = of_values(message).or_else(|| of_syntax(message));
    (problem.unwrap_or_else(|| message.into()), at)
}

/// The parser's words about a text that is no YAML, and the words that are told instead.
const SYNTAX: &[(&str, &str)] = &[
    (
        "mapping values are not allowed in this context",
        "this `: ` does not belong here: is the line indented too far? A text that contains `: ` needs quotes",
    ),
    (
        "found character that cannot start any token",
        "no value begins with this character: lines are indented with spaces, not tabs, and a text that begins with \
         @, ` or % goes into quotes",
    ),
    (
        "did not find expected key",
        "expected a key with the same indentation as the keys before it",
    ),
    (
        "did not find expected '-' indicator",
        "expected `- ` with the same indentation as the elements before it",
    ),
    ("did not find expected node content", "expected a value"),
    (
        "did not find expected ',' or '}'",
        "expected `,` or `}` in a list of keys that begins with `{`",
    ),
    (
        "did not find expected ',' or ']'",
        "expected `,` or `]` in a list that begins with `[`",
    ),
    (
        "did not find expected <document start>",
        "expected the end of the file, or a key with the same indentation as the keys before it",
    ),
    (
        "could not find expected ':'",
        "expected `: ` and a value behind the key before this",
    ),
    (
        "found unexpected end of stream",
        "the file ends inside of quotes",
    ),
    (
        "found unexpected document indicator",
        "a line `---` or `...` stands inside of quotes",
    ),
    (
        "found unknown escape character",
        "an unknown `\\` within \"…\": single quotes take it as it is",
    ),
    (
        "control characters are not allowed",
        "a control character, which cannot stand in a file of text",
    ),
    (
        "unknown anchor",
        "there is no `&` of this name before, which `*` stands for",
    ),
    ("EOF while parsing a value", "the file is empty"),
];

fn of_syntax(message: &str) -> Option<String> {
    let known = SYNTAX.iter().find(|(said, _)| message.starts_with(said));
    if let Some((_, problem)) = known {
        return Some((*problem).into());
    }
    // The rest is about what hardly anybody writes. It says its place within, which is told before.
    let problem = message.split(" at line ").next()?;
    Some(format!("this is not YAML: {problem}"))
        .filter(|_| message.contains(", while ") || problem.len() < message.len())
}

/// The words about a value in serde's form: the way to it, what was found, what was expected.
fn of_values(message: &str) -> Option<String> {
    type Tell = fn(&str) -> Option<String>;
    let kinds: [(&str, Tell); 6] = [
        ("invalid type: ", mistaken),
        ("invalid value: ", mistaken),
        ("unknown field `", |rest| unknown("key", rest)),
        ("unknown variant `", |rest| unknown("value", rest)),
        ("missing field `", |rest| {
            Some(format!("missing key `{rest}"))
        }),
        ("invalid IP address syntax", |_| {
            Some("this is not an IP address, such as 10.0.0.1".into())
        }),
    ];
    let (at, (kind, tell)) = kinds
        .into_iter()
        .filter_map(|kind| Some((message.find(kind.0)?, kind)))
        .min_by_key(|&(at, _)| at)?;
    let (way, rest) = (&message[..at], &message[at + kind.len()..]);
    // Whoever has named something at length finds it by its line.
    let way = if way.len() <= 80 { way } else { "" };
    Some(format!("{way}{}", tell(rest)?))
}

fn mistaken(rest: &str) -> Option<String> {
    let (found, expected) = rest.rsplit_once(", expected ")?;
    Some(format!(
        "found {}, expected {}",
        self::found(found),
        self::expected(expected)
    ))
}

fn found(found: &str) -> String {
    let (kind, value) = found.split_once(' ').unwrap_or((found, ""));
    let number = |value: &str| {
        let digits = value.split('`').nth(1).unwrap_or(value);
        format!("the number {}", shortened(digits))
    };
    match kind {
        "string" => {
            let text = value.trim_matches('"');
            format!("the text \"{}\"", shortened(text))
        }
        "integer" => number(value),
        "floating" => number(value),
        "boolean" => value.into(),
        "unit" | "Option" => "nothing".into(),
        "sequence" => "a list".into(),
        "map" => "keys with values".into(),
        _ => "something else".into(),
    }
}

fn expected(expected: &str) -> String {
    let most: u64 = match expected {
        "u8" => u8::MAX.into(),
        "u16" => u16::MAX.into(),
        "u32" => u32::MAX.into(),
        "u64" | "usize" => u64::MAX,
        _ => {
            let words = match expected {
                "i8" | "i16" | "i32" | "i64" | "isize" | "an integer" => "a whole number",
                "f32" | "f64" | "a float" => "a number",
                "a string" | "path string" | "a character" => "a text",
                "a boolean" => "`true` or `false`",
                "a sequence" => "a list",
                "a map" => "keys with values",
                "IP address" => "an IP address",
                "field identifier" => "the name of a key",
                "a YAML tag starting with '!'" => "one name",
                "null" | "unit" => "nothing",
                named if named.starts_with("struct ") => "keys with values",
                named if named.starts_with("enum ") => "one name",
                // Our own.
                own => own,
            };
            return words.into();
        }
    };
    format!("a whole number from 0 to {most}")
}

/// The message about a name that is not known.
fn unknown(kind: &str, rest: &str) -> Option<String> {
    let (given, names) = match rest.rsplit_once("`, expected ") {
        Some((given, names)) => (given, format!(", expected {names}")),
        None => (rest.split("`, there are no ").next()?, String::new()),
    };
    if given == "<<" {
        return Some("`<<` merges nothing here: write the keys themselves".into());
    }
    let known = names.split('`').skip(1).step_by(2);
    Some(format!(
        "unknown {kind} `{}`{names}{}",
        shortened(given),
        suggestion(given, known)
    ))
}

/// `; did you mean …?`, if one of the names is near to what was given.
pub fn suggestion<'a>(given: &str, names: impl Iterator<Item = &'a str>) -> String {
    /// The Jaro-Winkler similarity from which on one name is taken for another with a slip.
    const NEAR: f64 = 0.7;
    /// Comparing takes the product of their lengths.
    const LONGEST: usize = 64;
    names
        .filter(|name| given.len().max(name.len()) <= LONGEST)
        .map(|name| (strsim::jaro_winkler(given, name), name))
        .filter(|&(similarity, _)| similarity >= NEAR)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| format!("; did you mean `{name}`?"))
        .unwrap_or_default()
}

/// Names in quotes, with commas between them.
pub fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    /// A user with more of them knows them from the file.
    const MOST: usize = 20;
    let mut quoted: Vec<String> = names
        .take(MOST + 1)
        .map(|name| format!("`{}`", shortened(name)))
        .collect();
    if quoted.len() > MOST {
        quoted[MOST] = "others".into();
    }
    quoted.join(", ")
}
