//! A real server of ssh.

// Each test program uses its own part of this.
#![allow(dead_code)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::common::Lab;

/// The PATH with which `ssh lab`, and `ssh` to any other name, leads to a real sshd with keys of
/// its own, which keeps its files in the lab.
///
/// The client starts the server for each connection and speaks to it over its standard input, so
/// that nothing listens: a port chosen beforehand may be another's by the time a daemon binds it.
pub fn path_to_sshd(lab: &Lab) -> String {
    path_to_machines(lab, "", "LC_ALL=C")
}

/// The same, with a server in a place of its own for each name: `enter` stands before its command, with `%h` for the
/// name. What is started there has these variables.
pub fn path_to_machines(lab: &Lab, enter: &str, variables: &str) -> String {
    let trusting = "  StrictHostKeyChecking no\n  UserKnownHostsFile /dev/null\n  LogLevel ERROR\n";
    path_with(lab, enter, variables, trusting)
}

/// Makes a pair of keys; gives the public one.
pub fn key(lab: &Lab, name: &str) -> String {
    let made = Command::new("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", "", "-f"])
        .arg(lab.path(name))
        .status();
    assert!(made.unwrap().success());
    lab.read(&format!("{name}.pub")).trim().to_string()
}

/// The same, with the lines of the client's configuration that say whom it trusts.
pub fn path_with(lab: &Lab, enter: &str, variables: &str, trust: &str) -> String {
    for name in ["host", "user"] {
        key(lab, name);
    }
    // The directory that it drops its privileges in.
    fs::create_dir_all("/run/sshd").unwrap();
    let show = |name: &str| lab.path(name).display().to_string();
    lab.write(
        "sshd_config",
        format!(
            "HostKey {}\nAuthorizedKeysFile {}\nPidFile none\nStrictModes no\n\
             PasswordAuthentication no\nUsePAM no\nPermitRootLogin yes\nSetEnv {variables}\n",
            show("host"),
            show("user.pub")
        ),
    );
    // What a person has in ~/.ssh/config; ssh itself does not let HOME say where that is.
    lab.write(
        "ssh_config",
        format!(
            "Host *\n  ProxyCommand {enter}/usr/sbin/sshd -i -f {}\n  User root\n  IdentityFile {}\n\
             \x20 IdentitiesOnly yes\n{trust}",
            show("sshd_config"),
            show("user")
        ),
    );
    fs::create_dir_all(lab.path("bin")).unwrap();
    let program = format!(
        "#!/bin/sh\nexec /usr/bin/ssh -F {} \"$@\"\n",
        show("ssh_config")
    );
    lab.write("bin/ssh", program);
    fs::set_permissions(lab.path("bin/ssh"), fs::Permissions::from_mode(0o755)).unwrap();
    lab.path_with_bin()
}
