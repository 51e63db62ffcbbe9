//! Hosts that stand in a file of their own: one file for validations, experiments and playbooks.

use std::collections::BTreeMap;
use std::path::Path;

use jitterlab_base::yaml::{FileError, text_of};
use jitterlab_cluster::Host;
use jitterlab_cluster::inventory::{self, Inventory};
use serde::Deserialize;

/// The line that names such a file begins with this.
const KEY: &str = "hosts_file:";

/// The value of the line: a file, and maybe a group in it.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Named {
    Path(String),
    Group { path: String, group: String },
}

/// Hosts by name.
type Hosts = BTreeMap<String, Host>;

/// A text whose hosts stand in another file, with these in the place of the line that names it, so that every line keeps its number; and
/// the hosts of that file that may replace others. `None`: the text names no such file. The path of the other file starts from `path`,
/// that of the text. `of_ours` reads the hosts and spares of a file of our own form.
///
/// # Errors
/// The line does not say a file, or the file cannot be read, or something in it is wrong.
pub fn filled_in(
    text: &str,
    path: &Path,
    of_ours: impl Fn(&str, &Path) -> Result<[Hosts; 2], FileError>,
) -> Result<Option<(String, Hosts)>, FileError> {
    let mut lines: Vec<&str> = text.lines().collect();
    let Some(number) = lines.iter().position(|line| line.starts_with(KEY)) else {
        return Ok(None);
    };
    let wrong = |problem: String| FileError::Content {
        path: path.into(),
        line: number + 1,
        column: 1,
        problem,
    };
    let line = lines[number];
    let named = serde_yaml::from_str(&line[KEY.len()..]).map_err(|_| {
        wrong(
            "`hosts_file` names a file, as in `hosts_file: hosts.ini`, or a group of an inventory, as in \
             `hosts_file: { path: hosts.ini, group: nodes }`, on one line"
                .into(),
        )
    })?;
    let (file, group) = match named {
        Named::Path(path) => (path, None),
        Named::Group { path, group } => (path, Some(group)),
    };
    let file = path.with_file_name("").join(file);
    let there = text_of("hosts file", &file)?;
    let [hosts, spares] = if inventory::is_inventory(&there, &file) {
        let mut found = Inventory::parse(&there, &file, group.as_deref())?;
        found.find_addresses();
        [found.hosts, found.spares]
    } else if group.is_some() {
        let file = file.display();
        return Err(wrong(format!("{file} is no inventory, and has no groups")));
    } else {
        of_ours(&there, &file)?
    };
    let hosts = serde_json::to_string(&hosts).map_err(|error| wrong(error.to_string()))?;
    let hosts = format!("hosts: {hosts}  # {line}");
    lines[number] = &hosts;
    Ok(Some((lines.join("\n") + "\n", spares)))
}
