//! Inventories as Ansible itself reads them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use jitterlab_cluster::inventory::Inventory;
use jitterlab_skip::skip;
use serde_json::Value;

/// Groups in groups, the same variable at every depth and in groups of the same depth, quotes, comments and ranges.
const INI: &str = "
; ours
lone ansible_user=me   # nobody's
[b]
n[01:03] ansible_port=2201
m[a:c:2]:2299
quoted ansible_user='ab' ansible_host=\"10.0.0.7\"
[a]
n02
n03 ansible_user=own
[deep:children]
b
[deeper:children]
deep
[deeper:vars]
ansible_user=deeper
ansible_port=2202
[deep:vars]
ansible_user = deep
[a:vars]
ansible_user=of_a
ansible_port=2203
[all:vars]
ansible_user=everybody
";

const YAML: &str = "
all:
  vars: { ansible_user: everybody }
  hosts:
    lone:
  children:
    b:
      hosts:
        n[1:3]: { ansible_port: 2201 }
    a:
      hosts: { n2: }
      vars: { ansible_user: of_a, ansible_port: 2203 }
    later:
      children:
        a:
          vars: { ansible_host: 10.0.0.1 }
";

/// Names, and what ssh leads to, of both readers.
fn read(program: &Path, path: &Path) -> [Vec<String>; 2] {
    let ours = Inventory::load(path, None).unwrap();
    let hosts = ours.hosts.iter().chain(&ours.spares);
    let mut ours: Vec<String> = hosts
        .map(|(name, host)| format!("{name}: {}", host.at))
        .collect();
    ours.sort();
    let listed = Command::new(program)
        .args(["--list", "-i"])
        .arg(path)
        .output()
        .unwrap();
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    let text = |set: &Value| match set {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let mut theirs: Vec<String> = listed["_meta"]["hostvars"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, set)| {
            let host = set.get("ansible_host").map_or(name.clone(), text);
            let user = set.get("ansible_user");
            let user = user.map_or(String::new(), |user| text(user) + "@");
            match set.get("ansible_port") {
                Some(port) => format!("{name}: ssh ssh://{user}{host}:{}", text(port)),
                None => format!("{name}: ssh {user}{host}"),
            }
        })
        .collect();
    theirs.sort();
    [ours, theirs]
}

/// As `bootstrap/test` or somebody else has installed it.
fn program() -> Option<PathBuf> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("ansible");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(target.join("bin")).chain(std::env::split_paths(&path));
    folders
        .map(|folder| folder.join("ansible-inventory"))
        .find(|file| file.is_file())
}

#[test]
fn hosts_are_those_that_ansible_finds() {
    let Some(program) = program() else {
        return skip("there is no ansible-inventory");
    };
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    };
    let paths = [write("hosts.ini", INI), write("hosts.yaml", YAML)];
    let both = |path: &Path| {
        let [ours, theirs] = read(&program, path);
        assert_eq!(ours, theirs);
        assert!(ours.len() > 3, "{ours:?}");
    };
    paths.iter().for_each(|path| both(path));
    // The inventory that playbooks take is one of validations and experiments as well.
    both(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../playbooks/inventory/hosts.yml"));
    write("group_vars/all.yml", "ansible_port: 2300\n");
    write("group_vars/b.yml", "ansible_user: beside\n");
    write("group_vars/a/1.yml", "ansible_user: one\n");
    write("group_vars/a/2.yml", "ansible_user: two\n");
    write("host_vars/lone.yml", "ansible_port: 2400\n");
    paths.iter().for_each(|path| both(path));
}
