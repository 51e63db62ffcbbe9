//! The Ansible collection in `playbooks`: what Ansible says of it, and that its variables are documented.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use jitterlab_skip::skip;

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    root.unwrap().into()
}

/// The first word of each line that is indented by so much and ends a key: `name:`.
fn keys(text: &str, indent: usize) -> BTreeSet<String> {
    let key = |line: &str| {
        let name = line.strip_prefix(&" ".repeat(indent))?.split_once(':')?.0;
        let is_name = |c: char| c.is_ascii_lowercase() || c == '_';
        (!name.is_empty() && name.chars().all(is_name)).then(|| name.to_string())
    };
    text.lines().filter_map(key).collect()
}

#[test]
fn each_variable_of_a_role_is_specified_and_documented() {
    let read = |path: PathBuf| {
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let chapter = read(root().join("docs/playbooks.md"));
    let rows = chapter.lines().filter_map(|line| line.strip_prefix("| `"));
    let documented: BTreeSet<String> = rows
        .filter_map(|row| Some(row.split_once('`')?.0.to_string()))
        .collect();
    let mut specified = BTreeSet::new();
    let roles = fs::read_dir(root().join("playbooks/roles")).unwrap();
    for role in roles.map(|role| role.unwrap().path()) {
        let options = keys(&read(role.join("meta/argument_specs.yml")), 6);
        let defaults = keys(&read(role.join("defaults/main.yml")), 0);
        let missing: Vec<_> = defaults.difference(&options).collect();
        assert!(
            missing.is_empty(),
            "{}: not specified: {missing:?}",
            role.display()
        );
        specified.extend(options);
    }
    let is_variable = |name: &&String| name.contains('_') && !name.starts_with("jitterlab_");
    let documented: BTreeSet<_> = documented.iter().filter(is_variable).collect();
    let specified: BTreeSet<_> = specified.iter().filter(is_variable).collect();
    assert_eq!(
        documented, specified,
        "docs/playbooks.md, and the argument specifications"
    );
}

/// Ansible checks variables where a role has a specification under the very word of `tasks_from`: under `idle.yml` it finds none, and
/// checks nothing.
#[test]
fn each_entry_of_a_role_that_a_playbook_takes_is_specified() {
    let playbooks = fs::read_dir(root().join("playbooks/playbooks")).unwrap();
    let mut entries = Vec::new();
    for playbook in playbooks.map(|playbook| playbook.unwrap().path()) {
        let text = fs::read_to_string(&playbook).unwrap();
        let mut role = "";
        for line in text.lines().map(str::trim) {
            if let Some(name) = line.strip_prefix("name: jitterlab.cluster.") {
                role = name;
            } else if let Some(tasks) = line.strip_prefix("tasks_from: ") {
                entries.push(format!("{role}/{tasks}"));
            }
        }
    }
    assert!(!entries.is_empty());
    let is_specified = |entry: &&String| {
        let (role, tasks) = entry.split_once('/').unwrap();
        let specification = format!("playbooks/roles/{role}/meta/argument_specs.yml");
        let specification = fs::read_to_string(root().join(specification)).unwrap();
        keys(&specification, 2).contains(tasks)
    };
    let missing: Vec<&String> = entries
        .iter()
        .filter(|entry| !is_specified(entry))
        .collect();
    assert!(missing.is_empty(), "not specified: {missing:?}");
}

#[test]
fn ansible_finds_nothing_wrong() {
    if !root().join("target/ansible/bin/ansible-lint").exists() {
        return skip("there is no Ansible in target/ansible; bootstrap/test puts it there");
    }
    let output = Command::new(root().join("playbooks/test"))
        .arg("--lint")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}
