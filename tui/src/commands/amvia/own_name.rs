//! The name of a client.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;

use jitterlab_amvia::names::Name;
use jitterlab_base::page;
use jitterlab_live::Live;
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use nix::libc::O_NOFOLLOW;
use nix::unistd::{geteuid, gethostname};

use crate::outcome::Failure;

/// Characters of the host's name at most: the rest of a name has room behind them.
const HOST: usize = 32;

/// The name of a client.
pub struct OwnName {
    pub name: Name,
    /// The number in the name is taken as long as this is locked.
    _number: Option<Flock<File>>,
}

impl OwnName {
    /// The name that was asked for. Else, with a log, which belongs to one name: always the same. Else one that no other process
    /// has now, of host, user and the first number that is free: processes that follow one another share a name, and so
    /// take one place at a server.
    pub fn choose(asked: Option<&Name>, has_log: bool) -> Result<OwnName, Failure> {
        let fixed = match asked {
            Some(name) => Some(name.clone()),
            None if has_log => Some("client".parse().map_err(Failure::run)?),
            None => None,
        };
        if let Some(name) = fixed {
            return Ok(OwnName {
                name,
                _number: None,
            });
        }
        let host = gethostname().map_err(Failure::run)?;
        let host = host.to_string_lossy().to_ascii_lowercase();
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let host: String = host.chars().take(HOST).map(plain).collect();
        let (number, locked) = match first_free() {
            Some((number, locked)) => (number, Some(locked)),
            // Without shared memory: one that is never given twice at a time.
            None => (std::process::id(), None),
        };
        let name = format!("client-{host}-{}-{number}", geteuid());
        Ok(OwnName {
            name: name.parse().map_err(Failure::run)?,
            _number: locked,
        })
    }
}

fn first_free() -> Option<(u32, Flock<File>)> {
    let folder = page::directory(geteuid().as_raw());
    page::make_directory::<Live>(&folder).ok()?;
    for number in 0.. {
        let mut open = OpenOptions::new();
        open.create(true).truncate(false).write(true).mode(0o600);
        let path = folder.join(format!("client-{number}"));
        let file = open.custom_flags(O_NOFOLLOW).open(path).ok()?;
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(locked) => return Some((number, locked)),
            Err((_, Errno::EWOULDBLOCK)) => {}
            Err(_) => return None,
        }
    }
    None
}
