//! Connections of ssh that a controller shares among its commands: one to a host, which its first command makes (ControlMaster).

use std::collections::BTreeMap;
use std::env;
use std::fs::{DirBuilder, symlink_metadata};
use std::hash::{BuildHasher, RandomState};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use jitterlab_base::page;
use nix::unistd::geteuid;

/// The seconds after which a connection that nobody uses ends, such as a killed controller's.
const UNUSED: u32 = 15;
/// An ssh that is asked to end a connection has this long.
const ENDING: Duration = Duration::from_secs(2);
/// The name of a socket is as long as the system allows, and ssh adds some characters while it makes it.
const LONGEST: usize = 80;

/// The connections of a controller. They end with this value.
#[derive(Debug)]
pub struct Connections {
    /// The folder of the sockets. Without one, each command has its own connection.
    folder: Option<PathBuf>,
    sockets: Mutex<BTreeMap<String, PathBuf>>,
}

impl Default for Connections {
    fn default() -> Self {
        Connections {
            folder: folder(),
            sockets: Mutex::default(),
        }
    }
}

impl Connections {
    /// The options of an ssh that shares the connection to the host of this name.
    pub fn options(&self, name: &str) -> Vec<String> {
        let Some(folder) = &self.folder else {
            return Vec::new();
        };
        let mut sockets = self.sockets();
        let socket = sockets.entry(name.into()).or_insert_with(|| {
            let random = RandomState::new().hash_one(name);
            folder.join(format!("jitterlab-ssh-{random:016x}"))
        });
        let options = [
            "ControlMaster=auto".into(),
            format!("ControlPath={}", socket.display()),
            format!("ControlPersist={UNUSED}"),
        ];
        let options = options.into_iter();
        options.flat_map(|option| ["-o".into(), option]).collect()
    }

    /// Ends the connection to a host, so that the next command makes another one.
    pub fn end(&self, name: &str) {
        let socket = self.sockets().remove(name);
        end(socket);
    }

    fn sockets(&self) -> MutexGuard<'_, BTreeMap<String, PathBuf>> {
        self.sockets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Connections {
    fn drop(&mut self) {
        let sockets = std::mem::take(&mut *self.sockets());
        end(sockets.into_values());
    }
}

/// Asks whoever keeps these connections to end them, all at the same time.
fn end(sockets: impl IntoIterator<Item = PathBuf>) {
    let there = sockets.into_iter().filter(|socket| socket.exists());
    let asking: Vec<Child> = there.filter_map(|socket| ask(&socket).ok()).collect();
    let deadline = Instant::now() + ENDING;
    for mut asks in asking {
        while matches!(asks.try_wait(), Ok(None)) && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(1));
        }
        // Does nothing to one that has ended.
        let _ = asks.kill();
        let _ = asks.wait();
    }
}

fn ask(socket: &Path) -> std::io::Result<Child> {
    let mut command = Command::new("ssh");
    // No file of settings has a say in it, and so it is any host.
    command
        .args(["-F", "/dev/null", "-O", "exit", "-S"])
        .arg(socket);
    command
        .args(["--", "host"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
}

/// A folder that this user alone may enter, whose content is gone with the next boot.
fn folder() -> Option<PathBuf> {
    let of_session = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let shared = page::directory(geteuid().as_raw());
    // Another one may have made it meanwhile.
    let _ = DirBuilder::new().mode(0o700).create(&shared);
    let mut folders = of_session.into_iter().chain([shared]);
    folders.find(|folder| is_private(folder) && folder.as_os_str().len() < LONGEST - 31)
}

fn is_private(folder: &Path) -> bool {
    folder.is_absolute()
        && symlink_metadata(folder).is_ok_and(|found| {
            found.is_dir() && found.uid() == geteuid().as_raw() && found.mode() & 0o077 == 0
        })
}
