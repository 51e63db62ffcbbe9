//! A real daemon of ssh.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};

use crate::common::Lab;

/// A daemon of ssh on loopback with keys of its own; it goes with this value.
pub struct Sshd {
    daemon: Child,
    /// The PATH with which `ssh lab`, and `ssh` to any other name, leads to it.
    pub path: String,
}

impl Sshd {
    /// Starts one that keeps its files in the lab.
    pub fn start(lab: &Lab) -> Self {
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = port.local_addr().unwrap().port();
        let show = |name: &str| lab.path(name).display().to_string();
        for key in ["host", "user"] {
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f", &show(key)])
                .status();
            assert!(made.unwrap().success());
        }
        fs::copy(lab.path("user.pub"), lab.path("authorized")).unwrap();
        // The directory that it drops its privileges in.
        fs::create_dir_all("/run/sshd").unwrap();
        lab.write(
            "sshd_config",
            format!(
                "ListenAddress 127.0.0.1:{port}\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\n\
                 StrictModes no\nPasswordAuthentication no\nUsePAM no\nPermitRootLogin yes\n",
                show("host"),
                show("authorized")
            ),
        );
        let daemon = Command::new("/usr/sbin/sshd")
            .args(["-D", "-e", "-f", &show("sshd_config")])
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            std::thread::yield_now();
        }
        let path = client(lab, port);
        Sshd { daemon, path }
    }
}

/// What a person has in ~/.ssh/config; ssh itself does not let HOME say where that is.
fn client(lab: &Lab, port: u16) -> String {
    lab.write(
        "ssh_config",
        format!(
            "Host *\n  HostName 127.0.0.1\n  Port {port}\n  User root\n  IdentityFile {}\n  IdentitiesOnly yes\n\
             \x20 StrictHostKeyChecking no\n  UserKnownHostsFile /dev/null\n  LogLevel ERROR\n",
            lab.path("user").display()
        ),
    );
    fs::create_dir(lab.path("bin")).unwrap();
    let config = lab.path("ssh_config");
    lab.write(
        "bin/ssh",
        format!(
            "#!/bin/sh\nexec /usr/bin/ssh -F {} \"$@\"\n",
            config.display()
        ),
    );
    fs::set_permissions(lab.path("bin/ssh"), fs::Permissions::from_mode(0o755)).unwrap();
    let others = std::env::var("PATH").unwrap();
    format!("{}:{others}", lab.path("bin").display())
}

impl Drop for Sshd {
    fn drop(&mut self) {
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
    }
}
