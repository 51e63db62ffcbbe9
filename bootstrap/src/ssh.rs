//! Who may log in.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::command::{self, Error, of_file};
use crate::volume::Volume;

const KEYS: &str = "/etc/ssh/authorized_keys";
const HOST_KEY: &str = "/etc/ssh/ssh_host_ed25519_key";
/// The host key's name on the volume: with it a node is the same one after every boot.
const KEPT: &str = "ssh_host_ed25519_key";

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
    write_private(Path::new(KEYS), &(keys.join("\n") + "\n")).map_err(of_file(KEYS))?;
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
    write_private(path, &volume.read(KEPT)?.0).map_err(of_file(path))?;
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
        let key = fs::read_to_string(HOST_KEY)?;
        write_private(&volume.at.join(KEPT), &key)
    };
    kept().map_err(|error| {
        Error::Said(format!(
            "the host key cannot be kept on the volume: {error}; the node has another one at the next boot"
        ))
    })
}

/// A file that only root reads, from its first moment on; after a cut of the power it is there as a whole, or not at all.
fn write_private(path: &Path, content: &str) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    let new = folder.join(".jitterlab-private");
    let mut options = fs::OpenOptions::new();
    let mut file = options
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&new)?;
    file.write_all(content.as_bytes())?;
    file.sync_all()?;
    fs::rename(&new, path)?;
    fs::File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn what_is_private_is_so() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        for content in ["one\n", "two\n"] {
            write_private(&path, content).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), content);
        }
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
