//! Files, the kernel's and regular ones.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::{Error, Form, System, Value};

/// The text of a file; `None` where it does not exist.
fn text(system: &System, path: &Path) -> Result<Value, Error> {
    match fs::read(system.path(path)) {
        Ok(bytes) => match String::from_utf8(bytes) {
            Ok(text) => Ok(Some(text)),
            Err(error) => Err(Error::Strange {
                place: path.display().to_string(),
                text: String::from_utf8_lossy(error.as_bytes())
                    .chars()
                    .take(40)
                    .collect(),
                expected: "UTF-8 text",
            }),
        },
        Err(error) if absent(&error) => Ok(None),
        Err(error) => Err(Error::read(path.display(), error)),
    }
}

/// True if a file that cannot be opened or read is one that this node does not have: some that the
/// kernel plays say so only when they are read.
fn absent(error: &io::Error) -> bool {
    use nix::errno::Errno;
    let errno = error.raw_os_error().map(Errno::from_raw);
    error.kind() == io::ErrorKind::NotFound
        || matches!(
            errno,
            Some(Errno::ENODEV | Errno::EOPNOTSUPP | Errno::ENXIO | Errno::ENOENT)
        )
}

pub(super) fn read_kernel(system: &System, path: &Path, form: Form) -> Result<Value, Error> {
    let Some(raw) = text(system, path)? else {
        return Ok(None);
    };
    match form.parse(&raw) {
        Some(value) => Ok(Some(value)),
        None => Err(Error::Strange {
            place: path.display().to_string(),
            text: raw.trim().into(),
            expected: form.name(),
        }),
    }
}

/// One `write` to a file of the kernel's, which takes a line whole or not at all.
pub(super) fn write_kernel(
    system: &System,
    path: &Path,
    form: Form,
    value: &Value,
) -> Result<(), Error> {
    let refused = |error| Error::write(path.display(), error);
    let gone = || refused(io::ErrorKind::NotFound.into());
    let value = value.as_ref().ok_or_else(gone)?;
    let current = text(system, path)?.ok_or_else(gone)?;
    if !system.is_live() {
        return replace(system, path, form.shown(value, &current).as_bytes()).map_err(refused);
    }
    let mut file = OpenOptions::new()
        .write(true)
        .open(system.path(path))
        .map_err(refused)?;
    let line = format!("{}\n", form.write(value, &current));
    file.write_all(line.as_bytes()).map_err(refused)
}

pub(super) fn read(system: &System, path: &Path) -> Result<Value, Error> {
    text(system, path)
}

/// Makes `value` the content of a regular file, or removes the file.
pub(super) fn write(system: &System, path: &Path, value: &Value) -> Result<(), Error> {
    match value {
        Some(content) => replace(system, path, content.as_bytes()),
        None => inside(system, path).and_then(|real| match fs::remove_file(&real) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => sync_directory_of(&real),
        }),
    }
    .map_err(|error| Error::write(path.display(), error))
}

/// A control group: making it makes the files in it, removing it removes them. The processes in it
/// go to the one above.
pub(super) fn write_directory(system: &System, path: &Path, value: &Value) -> Result<(), Error> {
    inside(system, path)
        .and_then(|real| match value {
            Some(_) => fs::create_dir(&real).and_then(|()| furnish(system, &real)),
            None if system.is_live() => empty(&real).and_then(|()| fs::remove_dir(&real)),
            None => fs::remove_dir_all(&real),
        })
        .map_err(|error| Error::write(path.display(), error))
}

/// Makes the files that tuning uses, as a kernel does, where there is none.
fn furnish(system: &System, group: &Path) -> io::Result<()> {
    if system.is_live() {
        return Ok(());
    }
    fs::write(group.join("cpuset.cpus"), "\n")?;
    fs::write(group.join("cpuset.cpus.partition"), "member\n")
}

/// Moves the processes of a control group to the one above, until there are none.
fn empty(group: &Path) -> io::Result<()> {
    let above = group.parent().unwrap_or(group).join("cgroup.procs");
    loop {
        let processes = fs::read_to_string(group.join("cgroup.procs"))?;
        // 0 is one that this namespace does not see; writing it would move the writer.
        let Some(process) = processes.lines().find(|&process| process != "0") else {
            return Ok(());
        };
        match fs::write(&above, process) {
            // It has ended meanwhile.
            Err(error) if error.raw_os_error() == Some(nix::libc::ESRCH) => {}
            other => other?,
        }
    }
}

/// The file to which new content is written before it takes the file's name. The name is always the
/// same, so that what a kill leaves behind can be found.
fn beside(real: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(real.file_name().unwrap_or_default());
    name.push(".jitterlab-new");
    real.with_file_name(name)
}

/// Writes a file so that after a crash at any moment it has its old content or its new one. It
/// keeps its owner and permissions; a new file is everybody's to read.
fn replace(system: &System, path: &Path, content: &[u8]) -> io::Result<()> {
    let real = inside(system, path)?;
    let new = beside(&real);
    let before = fs::metadata(&real).ok();
    // A kill may have left it; whatever it is, it is not written through.
    let _ = fs::remove_file(&new);
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&new)?;
    let written = (|| {
        file.write_all(content)?;
        let mode = before
            .as_ref()
            .map_or(0o644, |before| before.permissions().mode());
        if let Some(before) = &before {
            std::os::unix::fs::fchown(&file, Some(before.uid()), Some(before.gid()))?;
        }
        file.set_permissions(fs::Permissions::from_mode(mode))?;
        file.sync_all()?;
        fs::rename(&new, &real)
    })();
    if written.is_err() {
        // The first error is the one to tell.
        let _ = fs::remove_file(&new);
    }
    written?;
    sync_directory_of(&real)
}

/// The place of a file that may be written. A link stays a link, and the links of a copied tree must
/// not lead out of it.
pub(super) fn inside(system: &System, path: &Path) -> io::Result<PathBuf> {
    let real = system.path(path);
    let real = fs::canonicalize(&real).unwrap_or(real);
    let parent = real.parent().unwrap_or(&real).canonicalize()?;
    if !parent.starts_with(system.root().canonicalize()?) {
        let reason = format!(
            "in the copied tree this leads to {}, outside of it",
            real.display()
        );
        return Err(io::Error::other(reason));
    }
    Ok(parent.join(real.file_name().unwrap_or_default()))
}

fn sync_directory_of(real: &Path) -> io::Result<()> {
    match real.parent() {
        Some(directory) => File::open(directory)?.sync_all(),
        None => Ok(()),
    }
}

pub(super) fn sweep(system: &System, path: &Path) {
    if let Ok(real) = inside(system, path) {
        // There is nothing to say where nothing was left.
        let _ = fs::remove_file(beside(&real));
    }
}
