//! The volume: a disk or partition that survives.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jitterlab_base::show;
use nix::sys::statvfs::{FsFlags, Statvfs, statvfs};

use crate::command::{self, Error, of_file};
use crate::time::wait_until;

/// The label that is looked for without being asked.
pub const LABEL: &str = "JITTERLAB";
/// The directory in which udev keeps the labels that it has found.
const LABELS: &str = "/dev/disk/by-label";
/// The directory in which volumes are mounted.
const VOLUMES: &str = "/run/jitterlab/volumes";
/// The interfaces of USB devices, among other things.
const USB: &str = "/sys/bus/usb/devices";
/// The time that disks on USB are waited for if they have said they are some.
const PATIENCE: Duration = Duration::from_secs(5);
/// The time that a volume is waited for if it has to be there.
const LONG_PATIENCE: Duration = Duration::from_secs(15);
/// Less room than this is none: an experiment begins with some files.
const ROOM: u64 = 16 << 20;

/// A mounted volume.
#[derive(Debug, Clone)]
pub struct Volume {
    /// The directory in which it is mounted.
    pub at: PathBuf,
    label: String,
    device: PathBuf,
}

/// The purpose that a volume is mounted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// It can be read. That is enough for a kernel that may start another one, and takes no check of a file system.
    Read,
    /// It can be written.
    Write,
}

/// The volume of this label, mounted; none if there is none.
///
/// # Errors
/// There is one, and it cannot be mounted: with what to do.
pub fn with_label(label: &str, access: Access) -> Result<Option<Volume>, Error> {
    wait_until(LONG_PATIENCE, || device(label).is_some());
    mounted(label, access)
}

/// The volume JITTERLAB, if there is one. It `was_there` when the kernel before this one ran.
///
/// # Errors
/// There is one, and it cannot be mounted, or there was one: with what to do.
pub fn ours(access: Access, was_there: bool) -> Result<Option<Volume>, Error> {
    let is_there = || device(LABEL).is_some();
    if was_there {
        if !wait_until(LONG_PATIENCE, is_there) {
            return Err(Error::Said(format!(
                "the volume {LABEL} was there when the kernel was started again, and is not {} s later: see that its disk is \
                 in, and start the node again",
                LONG_PATIENCE.as_secs()
            )));
        }
    } else if usb_disk_is_late(Path::new(USB)) {
        wait_until(PATIENCE, || is_there() || !usb_disk_is_late(Path::new(USB)));
        // Its label is known when udev has looked at it.
        let _ = command::run("udevadm", ["settle", "--timeout=5"]);
    }
    mounted(LABEL, access)
}

/// True if a mass storage device on USB has no disk yet: it brings it some time after its driver, and nobody waits for
/// that. Other disks are there when their drivers are.
fn usb_disk_is_late(usb: &Path) -> bool {
    const MASS_STORAGE: &str = "08";
    let interfaces = entries(usb).filter(|interface| {
        fs::read_to_string(interface.join("bInterfaceClass"))
            .is_ok_and(|class| class.trim() == MASS_STORAGE)
    });
    // host6/target6:0:0/6:0:0:0/block
    let has_disk = |interface: PathBuf| {
        let hosts = entries(&interface).flat_map(|host| entries(&host));
        hosts
            .flat_map(|target| entries(&target))
            .any(|unit| unit.join("block").exists())
    };
    interfaces.into_iter().any(|interface| !has_disk(interface))
}

/// The content of a folder; nothing where it is none.
fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path())
}

fn device(label: &str) -> Option<PathBuf> {
    // A label is a name in a folder, and no way out of it.
    let name = label.replace('/', "\\x2f").replace(' ', "\\x20");
    Some(Path::new(LABELS).join(name)).filter(|path| path.exists())
}

fn mounted(label: &str, access: Access) -> Result<Option<Volume>, Error> {
    let Some(device) = device(label) else {
        return Ok(None);
    };
    let at = Path::new(VOLUMES).join(device.file_name().unwrap_or_default());
    let volume = Volume {
        label: label.into(),
        at,
        device,
    };
    if !is_mounted(&volume.at) {
        volume.mount(access)?;
    }
    Ok(Some(volume))
}

/// True if a folder of [`VOLUMES`] is one of another file system.
fn is_mounted(at: &Path) -> bool {
    let on = |path: &Path| fs::metadata(path).map(|data| data.dev()).ok();
    on(at).is_some_and(|device| Some(device) != on(Path::new(VOLUMES)))
}

/// Leaves all volumes as they are to be found again: before the kernel goes.
///
/// # Errors
/// Somebody uses one.
pub fn unmount_all() -> Result<(), Error> {
    entries(Path::new(VOLUMES))
        .filter(|at| is_mounted(at))
        .try_for_each(|at| command::run("umount", [at]).map(drop))
}

impl Volume {
    fn mount(&self, access: Access) -> Result<(), Error> {
        let Volume { label, at, device } = self;
        fs::create_dir_all(at).map_err(of_file(at))?;
        let access = match access {
            Access::Write if self.mends() => "rw",
            _ => "ro",
        };
        let options = format!("{access},nosuid,nodev,noexec");
        let arguments = [
            "--options".as_ref(),
            options.as_ref(),
            "--".as_ref(),
            device.as_os_str(),
            at.as_os_str(),
        ];
        let mounted = command::run("mount", arguments).map_err(|error| {
            Error::Said(format!(
                "the volume {label} cannot be mounted: {error}; look at it with fsck {}, or give the label to another one",
                device.display()
            ))
        });
        mounted.map(drop)
    }

    /// Mends what a cut of the power has left; whether nothing is left that takes somebody to look at it. ext4 mends itself as
    /// it is mounted.
    fn mends(&self) -> bool {
        /// The bit of fsck's exit status for errors that are left.
        const LEFT: i32 = 4;
        let device = self.device.as_os_str();
        let kind = ["-s", "TYPE", "-o", "value"].map(AsRef::as_ref);
        let kind = command::run("blkid", kind.into_iter().chain([device]));
        if kind.is_ok_and(|kind| kind.trim() == "ext4") {
            return true;
        }
        match command::run("fsck", ["-a".as_ref(), device]) {
            Err(Error::Failed { status, .. }) => status.code().is_some_and(|code| code & LEFT == 0),
            _ => true,
        }
    }

    /// The same, to keep something on it.
    ///
    /// # Errors
    /// It cannot be mounted so: with what to do.
    pub fn for_writing(self) -> Result<Volume, Error> {
        if is_mounted(&self.at) {
            command::run("umount", [self.at.as_os_str()])?;
        }
        self.mount(Access::Write)?;
        Ok(self)
    }

    /// True if it is the one that is looked for without being asked.
    pub fn is_ours(&self) -> bool {
        self.label == LABEL
    }

    /// True if it has a file.
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

    /// True if something can be kept on it.
    pub fn is_writable(&self) -> bool {
        self.state()
            .is_ok_and(|state| !state.flags().contains(FsFlags::ST_RDONLY))
    }

    fn state(&self) -> Result<Statvfs, Error> {
        statvfs(&self.at).map_err(|errno| of_file(&self.at)(errno.into()))
    }

    /// Whether it can be written, and there is room on it.
    ///
    /// # Errors
    /// It cannot, or there is none: with what to do.
    pub fn check(&self) -> Result<(), Error> {
        let state = self.state()?;
        if state.flags().contains(FsFlags::ST_RDONLY) {
            return Err(Error::Said(format!(
                "the volume can be read and not written: its disk is write-protected, or its file system damaged, and mended by \
                 umount {at}; fsck {device}; nothing is kept until then",
                at = self.at.display(),
                device = self.device.display()
            )));
        }
        let room = state.blocks_available() * state.fragment_size();
        if room >= ROOM {
            return Ok(());
        }
        Err(Error::Said(format!(
            "the volume is full: {} are left, and an experiment needs {} to begin with; move folders of {} away",
            show::size(room as f64),
            show::size(ROOM as f64),
            self.at.join("results").display()
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_volume_is_looked_for_without_being_asked() {
        let volume = |label: &str| Volume {
            at: "/none".into(),
            label: label.into(),
            device: "/none".into(),
        };
        assert!(volume("JITTERLAB").is_ours() && !volume("LAB").is_ours());
    }

    #[test]
    fn a_stick_is_late_until_it_has_its_disk() {
        let usb = tempfile::tempdir().unwrap();
        let interface = usb.path().join("1-1:1.0");
        let unit = interface.join("host6/target6:0:0/6:0:0:0");
        assert!(!usb_disk_is_late(usb.path()));
        fs::create_dir_all(&unit).unwrap();
        fs::write(interface.join("bInterfaceClass"), "03\n").unwrap();
        assert!(!usb_disk_is_late(usb.path()), "a keyboard brings none");
        fs::write(interface.join("bInterfaceClass"), "08\n").unwrap();
        assert!(usb_disk_is_late(usb.path()));
        fs::create_dir(unit.join("block")).unwrap();
        assert!(!usb_disk_is_late(usb.path()));
    }
}
