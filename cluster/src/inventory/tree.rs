//! Inventories in YAML: groups with `hosts`, `vars` and `children`.

use std::collections::BTreeMap;
use std::path::Path;

use jitterlab_base::yaml::{FileError, parse};
use serde::Deserialize;
use serde_yaml::Value;

use super::groups::{Groups, Layer, Variable, Variables};
use super::problem::{At, PROGRAM, Problem};

type Map<T> = BTreeMap<String, Option<T>>;

/// A group as a file describes it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    #[serde(default)]
    hosts: Option<Map<BTreeMap<String, Value>>>,
    #[serde(default)]
    vars: Option<BTreeMap<String, Value>>,
    #[serde(default)]
    children: Option<Map<Group>>,
}

/// Reads an inventory; `path` is for messages.
///
/// # Errors
/// It is none: with its place.
pub fn read(text: &str, path: &Path) -> Result<Groups, FileError> {
    let wrong = |problem: Problem| problem.in_text(text, path);
    // The settings of a program that finds hosts have this key, and no groups.
    if text.lines().any(|line| line.starts_with("plugin:")) {
        return Err(wrong(At::Keys(vec!["plugin".into()]).problem(PROGRAM)));
    }
    let top: Map<Group> = parse(text, path, |_| Ok(()))?;
    let mut groups = Groups::default();
    for (name, group) in &top {
        take(&mut groups, name, group.as_ref(), &[name.as_str()]).map_err(wrong)?;
    }
    Ok(groups)
}

fn take(
    groups: &mut Groups,
    name: &str,
    group: Option<&Group>,
    keys: &[&str],
) -> Result<(), Problem> {
    let at = |more: &[&str]| {
        let keys = keys.iter().chain(more);
        At::Keys(keys.map(ToString::to_string).collect())
    };
    groups.group(name);
    let Some(group) = group else {
        return Ok(());
    };
    for (pattern, variables) in group.hosts.iter().flatten() {
        let variables = variables.iter().flatten().map(|(name, value)| {
            let variable = Variable {
                value: value.clone(),
                at: at(&["hosts", pattern, name]),
            };
            (name.clone(), variable)
        });
        let variables: Variables = variables.collect();
        groups.add(name, pattern, &at(&["hosts", pattern]), &variables)?;
    }
    for (variable, value) in group.vars.iter().flatten() {
        let value = Variable {
            value: value.clone(),
            at: at(&["vars", variable]),
        };
        groups.set(name, Layer::Within, variable, value);
    }
    for (child, group) in group.children.iter().flatten() {
        groups.nest(name, child, &at(&["children", child]));
        let keys: Vec<&str> = keys.iter().copied().chain(["children", child]).collect();
        take(groups, child, group.as_ref(), &keys)?;
    }
    Ok(())
}
