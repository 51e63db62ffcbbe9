//! Hosts as an Ansible inventory names them: an INI or a YAML file, which is read and never run.
//!
//! A list of names, one a line, is an inventory, too. Groups, ranges of names and variables mean what they mean to Ansible
//! (<https://docs.ansible.com/ansible/latest/inventory_guide/intro_inventory.html>). Whatever would change how a host is reached, and
//! is not followed here, is refused.

mod beside;
mod groups;
mod ini;
mod problem;
mod ranges;
mod tree;
mod variables;

use std::collections::BTreeMap;
use std::path::Path;

use jitterlab_base::yaml::{FileError, list, suggestion, text_of};

use crate::host::Host;
use groups::Groups;
use problem::{At, PROGRAM, Problem};

/// The group whose hosts may replace others.
const SPARES: &str = "spares";
/// The group whose hosts are measured where no group is named, if the inventory has it: the playbooks have it.
const NODES: &str = "jitterlab_nodes";

/// The hosts that a file names.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Inventory {
    /// The hosts by name.
    pub hosts: BTreeMap<String, Host>,
    /// Those of the group `spares`, which may replace others.
    pub spares: BTreeMap<String, Host>,
    /// The place where each is named first.
    places: BTreeMap<String, At>,
}

impl Inventory {
    /// Reads an inventory; of a group alone, if one is named, or there is the group `jitterlab_nodes`.
    ///
    /// # Errors
    /// It cannot be read, or something in it is wrong or not supported: with its place.
    pub fn load(path: &Path, group: Option<&str>) -> Result<Self, FileError> {
        Inventory::parse(&text_of("inventory", path)?, path, group)
    }

    /// Reads the text of an inventory; `path` is for messages, its ending tells YAML from INI, and beside it are `group_vars` and
    /// `host_vars`.
    ///
    /// # Errors
    /// Something in it is wrong or not supported: with its place.
    pub fn parse(text: &str, path: &Path, group: Option<&str>) -> Result<Self, FileError> {
        let wrong = |problem: Problem| problem.in_text(text, path);
        if text.starts_with("#!") {
            return Err(wrong(At::Line(1).problem(PROGRAM)));
        }
        let mut groups = match is_yaml(text, path) {
            true => tree::read(text, path)?,
            false => ini::read(text).map_err(wrong)?,
        };
        beside::read(&mut groups, path)?;
        Inventory::of(&groups, group).map_err(wrong)
    }

    /// The error that something is wrong with one of its hosts; `text` and `path` are those of the inventory.
    pub fn error(&self, host: &str, says: String, text: &str, path: &Path) -> FileError {
        let at = self.places.get(host).unwrap_or(&At::Line(1));
        at.problem(says).in_text(text, path)
    }

    /// Finds the addresses of hosts that have none, by the names that ssh reaches them by.
    pub fn find_addresses(&mut self) {
        let hosts = self.hosts.values_mut().chain(self.spares.values_mut());
        hosts.for_each(Host::find_address);
    }

    fn of(groups: &Groups, group: Option<&str>) -> Result<Self, Problem> {
        let spares = groups.members(SPARES);
        let chosen = match group.or(groups.has(NODES).then_some(NODES)) {
            None => None,
            Some(group) if groups.has(group) => Some(groups.members(group)),
            Some(group) => {
                let known = groups.names();
                return Err(At::Line(1).problem(format!(
                    "there is no group `{group}`; the groups are {}{}",
                    list(known.clone()),
                    suggestion(group, known)
                )));
            }
        };
        let mut inventory = Inventory::default();
        for (name, at, variables) in groups.merged()? {
            let is_spare = spares.contains(name);
            if chosen.as_ref().is_some_and(|chosen| !chosen.contains(name)) && !is_spare {
                continue;
            }
            let host = variables::host(name, at, &variables)?;
            inventory.places.insert(name.into(), at.clone());
            match is_spare {
                true => inventory.spares.insert(name.into(), host),
                false => inventory.hosts.insert(name.into(), host),
            };
        }
        match inventory.hosts.is_empty() {
            true => Err(At::Line(1).problem("it names no hosts")),
            false => Ok(inventory),
        }
    }
}

/// True if a file of hosts is an inventory, and not one of our own form, which has a key `hosts` or `hosts_file`.
pub fn is_inventory(text: &str, path: &Path) -> bool {
    let is_ours = text.starts_with('{')
        || text
            .lines()
            .any(|line| line.starts_with("hosts:") || line.starts_with("hosts_file:"));
    let has_groups = || {
        ["hosts:", "children:", "plugin:"]
            .iter()
            .any(|key| text.contains(key))
    };
    !is_ours && (!is_yaml(text, path) || has_groups())
}

/// Told by the name of the file; of one without an ending, by its first line that says something.
fn is_yaml(text: &str, path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    match ending {
        Some("yaml" | "yml" | "json") => true,
        Some("ini" | "cfg") => false,
        _ => {
            let mut lines = text.lines().map(str::trim);
            let first = lines.find(|line| !line.is_empty() && !line.starts_with(['#', ';']));
            first.is_some_and(|line| line == "---" || line.starts_with('{') || line.ends_with(':'))
        }
    }
}

#[cfg(test)]
mod tests;
