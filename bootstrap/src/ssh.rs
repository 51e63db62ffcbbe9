//! Sets up who may log in.

use std::fs;
use std::io;
use std::path::Path;

use jitterlab_base::durable::write_privately;
use jitterlab_cluster::KnownHost;

use crate::command::{self, Error, of_file};
use crate::volume::Volume;

/// The hosts that everybody on the node knows.
const KNOWN_HOSTS: &str = "/etc/ssh/ssh_known_hosts";
const KEYS: &str = "/etc/ssh/authorized_keys";
const HOST_KEY: &str = "/etc/ssh/ssh_host_ed25519_key";
/// The host key's name on the volume: with it a node is the same one after every boot.
const KEPT: &str = "ssh_host_ed25519_key";

/// Lets ssh know these hosts, whoever starts it.
///
/// # Errors
/// The file cannot be written.
pub fn know(hosts: &[KnownHost]) -> Result<(), Error> {
    let lines: String = hosts.iter().map(|host| format!("{host}\n")).collect();
    fs::write(KNOWN_HOSTS, lines).map_err(of_file(KNOWN_HOSTS))
}

/// The public key that this node proves itself by, where it has one.
pub fn host_key() -> Option<String> {
    let key = fs::read_to_string(format!("{HOST_KEY}.pub")).ok()?;
    Some(key.trim().into())
}

/// Starts the SSH server for the owners of `keys`. Without any, it is not started.
///
/// # Errors
/// The server does not start; or it did, and its host key is another one at the next boot.
pub fn open(keys: &[String], volume: Option<&Volume>) -> Result<(), Error> {
    let kept = volume.filter(|volume| volume.has(KEPT));
    let taken = kept.map_or(Ok(()), take);
    if kept.is_none() || taken.is_err() {
        generate()?;
    }
    let owners = keys.join("\n") + "\n";
    write_privately(Path::new(KEYS), owners.as_bytes()).map_err(of_file(KEYS))?;
    command::run("systemctl", ["start", "ssh.service"])?;
    if let Err(error) = taken {
        return Err(Error::Said(format!(
            "the host key on the volume is of no use: {error}; this boot has one of its own: remove {KEPT} from the volume, and \
             the next one is kept"
        )));
    }
    match volume {
        Some(volume) if kept.is_none() => keep(volume),
        _ => Ok(()),
    }
}

/// Takes the host key that the volume keeps.
fn take(volume: &Volume) -> Result<(), Error> {
    let path = Path::new(HOST_KEY);
    write_privately(path, volume.read(KEPT)?.0.as_bytes()).map_err(of_file(path))?;
    // Says whether it is one.
    let public = command::run("ssh-keygen", ["-y", "-P", "", "-f", HOST_KEY])?;
    let path = format!("{HOST_KEY}.pub");
    fs::write(&path, public).map_err(of_file(path))
}

fn generate() -> Result<(), Error> {
    for old in [HOST_KEY, &format!("{HOST_KEY}.pub")] {
        // It asks before it writes over one.
        let _ = fs::remove_file(old);
    }
    let options = ["-q", "-t", "ed25519", "-N", "", "-C", "", "-f", HOST_KEY];
    command::run("ssh-keygen", options).map(drop)
}

fn keep(volume: &Volume) -> Result<(), Error> {
    let kept = || {
        let key = fs::read(HOST_KEY)?;
        write_privately(&volume.at.join(KEPT), &key)
    };
    kept().map_err(|error: io::Error| {
        Error::Said(format!(
            "the host key cannot be kept on the volume: {error}; the node has another one at the next boot"
        ))
    })
}
