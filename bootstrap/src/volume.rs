//! The volume: a disk or partition that survives.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::sys::statvfs::statvfs;

use crate::command::{self, Error, of_file};
use crate::start::wait_until;

/// The label that is looked for without being asked.
pub const LABEL: &str = "JITTERLAB";
/// Where udev keeps the labels that it has found.
const LABELS: &str = "/dev/disk/by-label";
/// Disks on USB come when they like.
const PATIENCE: Duration = Duration::from_secs(5);
/// Less room than this is none: an experiment begins with some files.
const ROOM: u64 = 16 << 20;

/// A mounted volume.
#[derive(Debug, Clone)]
pub struct Volume {
    /// Where it is mounted.
    pub at: PathBuf,
}

/// The volume of this label, mounted; none if there is none that can be.
pub fn with_label(label: &str) -> Option<Volume> {
    wait_until(PATIENCE, || device(label).is_some());
    mounted(label).ok().flatten()
}

/// The volume JITTERLAB, if there is one.
///
/// # Errors
/// There is one, and it cannot be mounted: with what to do.
pub fn ours() -> Result<Option<Volume>, Error> {
    mounted(LABEL)
}

fn device(label: &str) -> Option<PathBuf> {
    // A label is a name in a folder, and no way out of it.
    let name = label.replace('/', "\\x2f").replace(' ', "\\x20");
    Some(Path::new(LABELS).join(name)).filter(|path| path.exists())
}

fn mounted(label: &str) -> Result<Option<Volume>, Error> {
    let Some(device) = device(label) else {
        return Ok(None);
    };
    let at = Path::new("/run/jitterlab/volumes").join(device.file_name().unwrap_or_default());
    if fs::read_to_string("/proc/mounts").is_ok_and(|mounts| {
        mounts
            .lines()
            .any(|line| line.split(' ').nth(1) == at.to_str())
    }) {
        return Ok(Some(Volume { at }));
    }
    fs::create_dir_all(&at).map_err(of_file(&at))?;
    let mount = |options: &str| {
        let arguments = [
            "--options".as_ref(),
            options.as_ref(),
            "--".as_ref(),
            device.as_os_str(),
            at.as_os_str(),
        ];
        command::run("mount", arguments)
    };
    // After a cut of the power: ext4 mends itself as it is mounted, FAT does not.
    let _ = command::run("fsck", ["-a".as_ref(), device.as_os_str()]);
    mount("nosuid,nodev,noexec").map_err(|error| {
        Error::Said(format!(
            "the volume {label} cannot be mounted: {error}; look at it with fsck {}, or give the label to another one",
            device.display()
        ))
    })?;
    Ok(Some(Volume { at }))
}

impl Volume {
    /// Whether it has a file.
    pub fn has(&self, name: &str) -> bool {
        self.at.join(name).exists()
    }

    /// The text of a file of it, and its path.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(&self, name: &str) -> Result<(String, PathBuf), Error> {
        let path = self.at.join(name);
        Ok((fs::read_to_string(&path).map_err(of_file(&path))?, path))
    }

    /// Whether there is room on it.
    ///
    /// # Errors
    /// There is none: with what to do.
    pub fn check_room(&self) -> Result<(), Error> {
        let state = statvfs(&self.at).map_err(|errno| of_file(&self.at)(errno.into()))?;
        let room = state.blocks_available() * state.fragment_size();
        if room >= ROOM {
            return Ok(());
        }
        Err(Error::Said(format!(
            "the volume is full: {} KiB are left, and an experiment needs {} MiB to begin with; move folders of {} away",
            room >> 10,
            ROOM >> 20,
            self.at.join("results").display()
        )))
    }

    /// Leaves it as it is to be found again: before the kernel goes.
    ///
    /// # Errors
    /// Somebody uses it.
    pub fn unmount(&self) -> Result<(), Error> {
        command::run("umount", [self.at.as_os_str()]).map(drop)
    }
}
