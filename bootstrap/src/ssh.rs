//! Who may log in.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use jitterlab_injector::durable::write_atomically;

use crate::command::{self, Error, of_file};
use crate::volume::Volume;

const KEYS: &str = "/etc/ssh/authorized_keys";
const HOST_KEY: &str = "/etc/ssh/ssh_host_ed25519_key";
/// The host key's name on the volume: with it a node is the same one after every boot.
const KEPT: &str = "ssh_host_ed25519_key";

/// Starts the SSH server for the owners of `keys`. Without any, it is not started.
///
/// # Errors
/// A file cannot be written, or the server does not start.
pub fn open(keys: &[String], volume: Option<&Volume>) -> Result<(), Error> {
    host_key(volume)?;
    write_private(KEYS, &(keys.join("\n") + "\n"))?;
    command::run("systemctl", ["start", "ssh.service"]).map(drop)
}

fn host_key(volume: Option<&Volume>) -> Result<(), Error> {
    let kept = volume.filter(|volume| volume.has(KEPT));
    if let Some(volume) = kept {
        write_private(HOST_KEY, &volume.read(KEPT)?.0)?;
        let public = command::run("ssh-keygen", ["-y", "-f", HOST_KEY])?;
        let path = format!("{HOST_KEY}.pub");
        return fs::write(&path, public).map_err(of_file(path));
    }
    let options = ["-q", "-t", "ed25519", "-N", "", "-C", "", "-f", HOST_KEY];
    if !Path::new(HOST_KEY).exists() {
        command::run("ssh-keygen", options)?;
    }
    if let Some(volume) = volume {
        let key = fs::read(HOST_KEY).map_err(of_file(HOST_KEY))?;
        let path = volume.at.join(KEPT);
        let kept = || {
            write_atomically(&path, &key)?;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600))
        };
        kept().map_err(of_file(&path))?;
    }
    Ok(())
}

/// A file that only root reads.
fn write_private(path: &str, content: &str) -> Result<(), Error> {
    let mut options = fs::OpenOptions::new();
    let file = options
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path);
    file.and_then(|mut file| file.write_all(content.as_bytes()))
        .map_err(of_file(path))
}
