//! Writing files that matter: after a crash at any moment a reader finds the old content or the
//! new one, whole.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::unistd::{AccessFlags, access};
use tempfile::NamedTempFile;

/// Replaces `path`, or the file that it is a symbolic link to, by `bytes`: temporary file in the
/// same directory, fsync, rename, fsync of the directory. The file gets the permissions that a newly
/// created file has (0666 less the umask). What is no file of a directory (a device, a FIFO,
/// `/dev/stdout`) cannot be replaced: the bytes are written to it.
///
/// # Errors
/// The first error of the system; a file is then as it was. A block device is refused.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    match replaceable(path)? {
        // The mode asked for; the kernel takes the umask off it.
        Some(file) => replace(&file, bytes, 0o666),
        None => OpenOptions::new().append(true).open(path)?.write_all(bytes),
    }
}

/// Whether [`write_atomically`] can write to `path`, as far as that is known before: a temporary file is made and taken
/// away again. What is no file of a directory is not opened: a FIFO would wait for its reader.
///
/// # Errors
/// The first error of the system; nothing is there that was not.
pub fn try_place(path: &Path) -> io::Result<()> {
    match replaceable(path)? {
        Some(file) if file.is_dir() => Err(Errno::EISDIR.into()),
        Some(file) => {
            let directory = directory_of(&file);
            // First of all, as when it is written: the error should not name a temporary file.
            fs::File::open(directory)?;
            temporary(directory, 0o666).map(drop)
        }
        None => Ok(access(path, AccessFlags::W_OK)?),
    }
}

/// The file that `path` leads to; none where it leads to something else that can be written.
fn replaceable(path: &Path) -> io::Result<Option<PathBuf>> {
    match fs::metadata(path).map(|found| found.file_type()) {
        Ok(kind) if kind.is_block_device() => {
            return Err(io::Error::other("it is a block device"));
        }
        Ok(kind) if kind.is_char_device() || kind.is_fifo() || kind.is_socket() => return Ok(None),
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    // It ends: a circle is an error above.
    let mut file = path.to_path_buf();
    while let Ok(target) = fs::read_link(&file) {
        let directory = directory_of(&file).canonicalize()?;
        if directory.starts_with("/proc") {
            // A file that a process has open, and perhaps no name of it.
            return Ok(None);
        }
        file = directory.join(target);
    }
    Ok(Some(file))
}

fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Does as [`write_atomically`] for a file that only its owner may read, from its first moment on.
/// A symbolic link, too, is replaced.
///
/// # Errors
/// As those of [`write_atomically`].
pub fn write_privately(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace(path, bytes, 0o600)
}

/// Removes from a directory what writers have left there that were killed. Nobody may write there meanwhile.
///
/// # Errors
/// The first error of the system.
pub fn sweep(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let is_left = entry
            .file_name()
            .as_encoded_bytes()
            .starts_with(PREFIX.as_bytes());
        if is_left && entry.file_type()?.is_file() {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// The beginning of the names of temporary files.
const PREFIX: &str = ".jitterlab-";

fn replace(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let directory = directory_of(path);
    // First of all: where there is no directory, the error should not name a temporary file.
    let opened = fs::File::open(directory)?;
    let mut file = temporary(directory, mode)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    opened.sync_all()
}

fn temporary(directory: &Path, mode: u32) -> io::Result<NamedTempFile> {
    tempfile::Builder::new()
        .prefix(PREFIX)
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_whole_files_and_leaves_nothing_beside_them() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("t.dist");
        write_atomically(&path, b"one").unwrap();
        write_atomically(&path, b"two").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn links_stay_and_lead_to_the_new_content() {
        let directory = tempfile::tempdir().unwrap();
        let [file, link, new, there] =
            ["file", "link", "new", "there"].map(|name| directory.path().join(name));
        write_atomically(&file, b"one").unwrap();
        std::os::unix::fs::symlink("file", &link).unwrap();
        write_atomically(&link, b"two").unwrap();
        assert!(link.is_symlink());
        assert_eq!(std::fs::read(&file).unwrap(), b"two");
        // One that leads to nothing makes what it leads to.
        std::os::unix::fs::symlink(&there, &new).unwrap();
        write_atomically(&new, b"three").unwrap();
        assert_eq!(std::fs::read(&there).unwrap(), b"three");
        std::os::unix::fs::symlink("circle", directory.path().join("circle")).unwrap();
        assert!(write_atomically(&directory.path().join("circle"), b"").is_err());
    }

    #[test]
    fn what_is_private_is_its_owners_also_where_it_was_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("key");
        write_atomically(&path, b"one").unwrap();
        write_privately(&path, b"two").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_missing_directory_is_said_to_be_missing() {
        let directory = tempfile::tempdir().unwrap();
        let error = write_atomically(&directory.path().join("none/t.dist"), b"").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert_eq!(error.to_string(), "No such file or directory (os error 2)");
    }

    #[test]
    fn a_place_is_tried_and_left_as_it_was() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name| directory.path().join(name);
        fs::write(at("old"), b"old").unwrap();
        fs::create_dir(at("folder")).unwrap();
        std::os::unix::fs::symlink("new", at("link")).unwrap();
        for name in ["old", "new", "link"] {
            try_place(&at(name)).unwrap();
        }
        try_place(Path::new("/dev/null")).unwrap();
        let kind = |name| try_place(&at(name)).unwrap_err().kind();
        assert_eq!(kind("folder"), io::ErrorKind::IsADirectory);
        assert_eq!(kind("none/new"), io::ErrorKind::NotFound);
        assert_eq!(kind("old/new"), io::ErrorKind::NotADirectory);
        // A folder that takes no files from anybody.
        assert!(try_place(Path::new("/proc/new")).is_err());
        assert_eq!(fs::read(at("old")).unwrap(), b"old");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 3);
    }

    #[test]
    fn a_failed_write_leaves_the_old_content() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("kept");
        std::fs::create_dir(&path).unwrap();
        assert!(write_atomically(&path, b"new").is_err());
        assert!(path.is_dir());
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    }
}
