use super::*;
use proptest::prelude::*;

fn parsed(name: &str, text: &str) -> Result<Inventory, String> {
    Inventory::parse(text, Path::new(name), None).map_err(|error| error.to_string())
}

/// Each host in a line: its name, where it is, and its address and CPU where it has them.
fn shown(hosts: &BTreeMap<String, Host>) -> Vec<String> {
    let line = |(name, host): (&String, &Host)| {
        let address = host.address.map(|address| format!(" {address}"));
        let cpu = host.cpu.map(|cpu| format!(" cpu {cpu}"));
        format!(
            "{name}: {}{}{}",
            host.at,
            address.unwrap_or_default(),
            cpu.unwrap_or_default()
        )
    };
    hosts.iter().map(line).collect()
}

const INI: &str = "
# Ours.
head ansible_connection=local

[rack1]
node[01:03] jitterlab_cpu=2   # three of them
node9:2222 ansible_host=10.0.0.9 motd=\"it's us\"

[rack2]
far ansible_user=me ansible_host='far.example'

[nodes:children]
rack1
rack2

[nodes:vars]
ansible_user = lab
jitterlab_cpu=1
greeting = don't

[rack2:vars]
jitterlab_cpu=3

[spares]
node17 jitterlab_address=10.0.0.17
";

const YAML: &str = "
all:
  hosts:
    head: { ansible_connection: local }
  children:
    nodes:
      vars: { ansible_user: lab, jitterlab_cpu: 1 }
      children:
        rack1:
          hosts:
            node[01:03]: { jitterlab_cpu: 2 }
            node9: { ansible_host: 10.0.0.9, ansible_port: 2222, secret: !vault abc }
        rack2:
          hosts:
            far: { ansible_user: me, ansible_host: far.example }
          vars: { jitterlab_cpu: 3 }
    spares:
      hosts:
        node17: { jitterlab_address: 10.0.0.17 }
";

#[test]
fn groups_ranges_and_variables_are_those_of_ansible() {
    for (name, text) in [
        ("hosts.ini", INI),
        ("hosts", INI),
        ("h.yml", YAML),
        ("hosts", YAML),
    ] {
        let inventory = parsed(name, text).unwrap();
        assert_eq!(
            shown(&inventory.hosts),
            [
                "far: ssh me@far.example cpu 3",
                "head: local",
                "node01: ssh lab@node01 cpu 2",
                "node02: ssh lab@node02 cpu 2",
                "node03: ssh lab@node03 cpu 2",
                "node9: ssh ssh://lab@10.0.0.9:2222 10.0.0.9 cpu 1",
            ],
            "{name}"
        );
        assert_eq!(shown(&inventory.spares), ["node17: ssh node17 10.0.0.17"]);
    }
}

#[test]
fn files_beside_an_inventory_come_before_what_it_says_itself() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write(
        "h.ini",
        "[g]\nn1 jitterlab_cpu=1\nn2\n[g:vars]\nansible_user=ini\njitterlab_cpu=9\n[other]\nn3\n",
    );
    write(
        "group_vars/all.yml",
        "ansible_user: all\nunused: !vault abc\n",
    );
    write("group_vars/g/b.yml", "---\njitterlab_cpu: 4\n");
    write("group_vars/g/a.yml", "ansible_user: g\njitterlab_cpu: 3\n");
    write(
        "group_vars/g/vault.yml",
        "$ANSIBLE_VAULT;1.1;AES256\n6162\n",
    );
    write("group_vars/nobody.yml", "not: [read\n");
    write("host_vars/n2", "ansible_port: 2222\n");
    let path = folder.path().join("h.ini");
    let inventory = Inventory::load(&path, None).unwrap();
    assert_eq!(
        shown(&inventory.hosts),
        [
            "n1: ssh g@n1 cpu 1",
            "n2: ssh ssh://g@n2:2222 cpu 4",
            "n3: ssh all@n3"
        ]
    );
    write("host_vars/n3.yaml", "ansible_host: x\nansible_port: far\n");
    let error = Inventory::load(&path, None).unwrap_err().to_string();
    assert!(
        error.ends_with("host_vars/n3.yaml:2:15: `ansible_port`: `far` is no port"),
        "{error}"
    );
}

#[test]
fn a_list_of_names_is_an_inventory() {
    let inventory = parsed("nodes.txt", "n1\nn2\n10.0.0.3\n").unwrap();
    assert_eq!(
        shown(&inventory.hosts),
        [
            "10.0.0.3: ssh 10.0.0.3 10.0.0.3",
            "n1: ssh n1",
            "n2: ssh n2"
        ]
    );
}

#[test]
fn the_nodes_of_the_playbooks_are_taken_alone() {
    let text = "[jitterlab_controller]\nc\nn1\n[jitterlab_nodes]\nn1\nn2\n[spares]\ns\n";
    let of = |group| Inventory::parse(text, Path::new("h"), group).unwrap();
    let names = |inventory: Inventory| -> Vec<String> {
        inventory
            .hosts
            .into_keys()
            .chain(inventory.spares.into_keys())
            .collect()
    };
    assert_eq!(names(of(None)), ["n1", "n2", "s"]);
    assert_eq!(names(of(Some("jitterlab_controller"))), ["c", "n1", "s"]);
    assert_eq!(names(of(Some("all"))), ["c", "n1", "n2", "s"]);
}

#[test]
fn a_group_is_taken_alone() {
    let of = |group| Inventory::parse(INI, Path::new("h"), Some(group));
    assert_eq!(of("rack2").unwrap().hosts.len(), 1);
    assert_eq!(of("nodes").unwrap().hosts.len(), 5);
    assert_eq!(of("all").unwrap().hosts, parsed("h", INI).unwrap().hosts);
    let error = of("rack3").unwrap_err().to_string();
    assert!(
        error.contains("there is no group `rack3`") && error.contains("did you mean `rack"),
        "{error}"
    );
}

#[test]
fn keys_say_how_ssh_gets_in_and_whom_it_trusts() {
    const KEY: &str =
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILM+rvN+ot98qgEN796jTiQfZfG1KaT0PtFDJ/XFSqti";
    for (name, text) in [
        (
            "i.ini",
            format!(
                "[all:vars]\njitterlab_host_keys = [\"{KEY}\"]\nansible_ssh_private_key_file=~/.ssh/lab\n[g]\nn1\n"
            ),
        ),
        (
            "i.yaml",
            format!(
                "all:\n  hosts: {{ n1: }}\n  vars:\n    jitterlab_host_keys: {KEY}\n    ansible_private_key_file: ~/.ssh/lab\n"
            ),
        ),
    ] {
        let inventory = parsed(name, &text).unwrap();
        let host = &inventory.hosts["n1"];
        assert_eq!(host.host_keys[0].to_string(), KEY);
        assert_eq!(host.key_file.as_deref(), Some("~/.ssh/lab"));
    }
}

#[test]
fn what_is_not_followed_is_refused_in_one_line_with_its_place() {
    for (name, text, said) in [
        ("h", "", "h:1:1: it names no hosts"),
        (
            "h",
            "#!/usr/bin/env python3\n",
            "h:1:1: an inventory that has to be run is not run here",
        ),
        (
            "h.yaml",
            "# Clouds\nplugin: amazon.aws.aws_ec2\nregions: [x]\n",
            "h.yaml:2:9: an inventory that has to be run",
        ),
        (
            "h",
            "n1\n[g]\nn2 ansible_ssh_common_args='-o X=y'\n",
            "h:3:1: jitterlab does not use `ansible_ssh_common_args`: put the options into ~/.ssh/config",
        ),
        ("h", "n1 ansible_password=x\n", "it types no password"),
        (
            "h",
            "n1 ansible_ssh_password=secret\n",
            "jitterlab does not use `ansible_ssh_password`: it types no password",
        ),
        (
            "h",
            "n1 ansible_ssh_pkcs11_provider=p11.so\n",
            "jitterlab does not use `ansible_ssh_pkcs11_provider`: put the options into ~/.ssh/config",
        ),
        (
            "h",
            "n1 ansible_private_key=secret\n",
            "jitterlab does not use `ansible_private_key`: it takes no key but from a file",
        ),
        (
            "h",
            "n1 ansible_ssh_private_key=secret\n",
            "jitterlab does not use `ansible_ssh_private_key`: it takes no key but from a file",
        ),
        (
            "h",
            "n1 ansible_connection=docker\n",
            "`ansible_connection: docker` is not followed",
        ),
        (
            "h",
            "n1 ansible_host={{ip}}\n",
            "h:1:1: `ansible_host` is a template",
        ),
        (
            "h.yaml",
            "all:\n  hosts:\n    n1:\n      ansible_user: !vault |\n        abc\n",
            "`ansible_user` is encrypted or has a tag",
        ),
        ("h", "n1 ansible_port=0\n", "`ansible_port`: `0` is no port"),
        (
            "h",
            "n1 ansible_port=+22\n",
            "`ansible_port`: `+22` is no port",
        ),
        (
            "h",
            "n1 ansible_host='-oProxyCommand=x'\n",
            "is nothing that ssh leads to",
        ),
        (
            "h",
            "n1 ansible_host=$(x)\n",
            "is nothing that ssh leads to",
        ),
        ("h", "n1 jitterlab_address=far\n", "`far` is no IP address"),
        (
            "h",
            "n1 jitterlab_address=0.0.0.0\n",
            "is no address that a host is reached by",
        ),
        ("h", "n1 jitterlab_cpu=one\n", "`one` is no number of a CPU"),
        ("h", "n1 jitterlab_program='a;b'\n", "the path of a program"),
        (
            "h",
            "n1 jitterlab_host_keys=secret\n",
            "expected the public key of a host",
        ),
        ("h", "n_1\n", "h:1:1: `n_1` is no name of a host"),
        (
            "h",
            "n1 x\n",
            "expected `variable=value` after the name of a host",
        ),
        ("h", "n1 x='y\n", "a quote `'` is not closed"),
        ("h", "[g\n", "has no `]`"),
        (
            "h",
            "[g:kids]\n",
            "sections are [GROUP], [GROUP:vars] and [GROUP:children]",
        ),
        ("h", "n1\n[g:vars]\nx\n", "h:3:1: expected `variable=value`"),
        (
            "h",
            "n1\n[g:children]\nx y\n",
            "h:3:1: expected the name of a group",
        ),
        ("h", "n1\n[g:children]\nx\n", "h:3:1: there is no group `x`"),
        (
            "h",
            "n1\n[a:children]\nb\n[b:children]\na\n",
            "is in itself",
        ),
        (
            "h",
            "n1\n[a:children]\nall\n",
            "the group `all` is in itself",
        ),
        ("h", "n[3:1]\n", "runs backwards"),
        (
            "h",
            "n[1:9999]\nm[1:9999]\n",
            "h:2:1: more than 10000 hosts",
        ),
        (
            "h",
            "n1\n[g]\nn1 ansible_group_priority=1\n",
            "jitterlab does not use `ansible_group_priority`",
        ),
        ("h.yaml", "all: { host: { n1: } }\n", "h.yaml:1:8: "),
        ("h.yaml", "all:\n  hosts: [n1, n2]\n", "h.yaml:2:10: "),
    ] {
        let error = parsed(name, text).expect_err(text);
        assert!(error.contains(said), "{text}: {error}");
        assert!(
            !error.contains('\n') && !error.contains("secret"),
            "{error}"
        );
    }
    let many: String = (0..1_001).map(|i| format!("[g{i}]\n")).collect();
    assert!(
        parsed("h", &format!("n1\n{many}"))
            .unwrap_err()
            .contains("more than 1000 groups")
    );
}

proptest! {
    /// The same hosts, said in INI and in YAML.
    #[test]
    fn both_forms_say_the_same(
        hosts in proptest::collection::btree_map("[a-z][a-z0-9]{0,5}", (0_usize..3, proptest::option::of(1_u16..9000)), 1..8),
        user in proptest::option::of("[a-z]{1,6}"),
    ) {
        let (mut ini, mut yaml) = (String::new(), "all:\n  children:\n".to_string());
        for group in 0..3 {
            ini += &format!("[g{group}]\n");
            yaml += &format!("    g{group}:\n      hosts:\n");
            for (name, (_, port)) in hosts.iter().filter(|(_, (of, _))| *of == group) {
                let port = |separator| port.map_or(String::new(), |port| format!("ansible_port{separator}{port}"));
                ini += &format!("{name} {}\n", port("="));
                yaml += &format!("        {name}: {{ {} }}\n", port(": "));
            }
        }
        if let Some(user) = user {
            ini += &format!("[g1:vars]\nansible_user={user}\n");
            yaml += &format!("    later:\n      children:\n        g1:\n          vars: {{ ansible_user: '{user}' }}\n");
            ini += "[later:children]\ng1\n";
        }
        let (ini, yaml) = (parsed("h.ini", &ini).unwrap(), parsed("h.yaml", &yaml).unwrap());
        prop_assert_eq!(&ini.hosts, &yaml.hosts);
        prop_assert_eq!(ini.hosts.len(), hosts.len());
    }

    #[test]
    fn noise_never_makes_the_reader_panic(text in "[a-z0-9=:\\[\\]{}'\"# \n-]{0,120}") {
        for name in ["h.ini", "h.yaml"] {
            if let Err(error) = parsed(name, &text) {
                prop_assert!(!error.contains('\n'), "{}", error);
            }
        }
    }

    /// Only words reach the command line of ssh, whatever a file says about a host.
    #[test]
    fn no_value_becomes_an_option_or_a_shell_command(value in "[ -~]{1,20}", name in "ansible_(host|user|port)") {
        let text = format!("all:\n  hosts:\n    n1:\n      {name}: {}\n", serde_json::to_string(&value).unwrap());
        if let Ok(inventory) = parsed("h.yaml", &text) {
            let place = inventory.hosts["n1"].at.to_string();
            let destination = place.strip_prefix("ssh ").unwrap();
            prop_assert!(!destination.starts_with('-'));
            prop_assert!(destination.chars().all(|c| c.is_ascii_alphanumeric() || "._-@:/[]".contains(c)), "{}", destination);
        }
    }
}
