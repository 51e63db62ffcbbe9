//! Writing files that matter: after a crash at any moment a reader finds the old content or the
//! new one, whole.

use std::fs::Permissions;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Replaces `path` by `bytes`: temporary file in the same directory, fsync, rename, fsync of the
/// directory. The file gets the permissions that a newly created file has (0666 less the umask).
///
/// # Errors
/// The first error of the system; `path` is then as it was.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // The mode asked for; the kernel takes the umask off it.
    replace(path, bytes, 0o666)
}

/// The same for what only its owner may read, from its first moment on.
///
/// # Errors
/// As those of [`write_atomically`].
pub fn write_privately(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace(path, bytes, 0o600)
}

fn replace(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    // First of all: where there is no directory, the error should not name a temporary file.
    let opened = std::fs::File::open(directory)?;
    let mut file = tempfile::Builder::new()
        .prefix(".jitterlab-")
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(directory)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    opened.sync_all()
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
    fn a_failed_write_leaves_the_old_content() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("kept");
        std::fs::create_dir(&path).unwrap();
        assert!(write_atomically(&path, b"new").is_err());
        assert!(path.is_dir());
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    }
}
