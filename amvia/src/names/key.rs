//! The key of a cluster: 32 random bytes in a file that only its user can read.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use hmac::{Hmac, KeyInit, Mac};
use nix::libc::O_NONBLOCK;
use sha2::Sha256;
use thiserror::Error;

/// Bytes of a key.
const BYTES: usize = 32;
/// Bytes of what proves that a message is of somebody who has the key.
pub(super) const PROOF: usize = 32;

/// A key, ready to be used. Nothing prints it.
#[derive(Clone)]
pub struct Key(Hmac<Sha256>);

/// A key that cannot be read or made.
#[derive(Debug, Error)]
pub enum KeyError {
    /// The system refuses.
    #[error("cannot {action} key {path}", path = path.display())]
    System {
        /// The action that failed.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Others than its user can read or change it.
    #[error("key {path} has mode {mode:03o}: others can use it; chmod 600 {path}", path = path.display())]
    Exposed {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// It holds something else.
    #[error(
        "{path} is not a key: it has to be a line of 64 hexadecimal digits; `jitterlab amvia names key FILE` makes one",
        path = path.display()
    )]
    NotAKey {
        /// The file.
        path: PathBuf,
    },
}

impl Key {
    /// The key of these bytes.
    pub fn new(bytes: &[u8; BYTES]) -> Key {
        // HMAC fills a key up to a block with zeros.
        let mut block = [0; 64];
        block[..BYTES].copy_from_slice(bytes);
        Key(Hmac::new(&block.into()))
    }

    /// Reads the key in a file.
    ///
    /// # Errors
    /// It cannot be read, others can use it, or it holds no key.
    pub fn read(path: &Path) -> Result<Key, KeyError> {
        let system = |source| KeyError::System {
            action: "read",
            path: path.into(),
            source,
        };
        // A FIFO would wait for its writer.
        let mut open = OpenOptions::new();
        let file = open.read(true).custom_flags(O_NONBLOCK).open(path);
        let file = file.map_err(system)?;
        let found = file.metadata().map_err(system)?;
        let not_a_key = || KeyError::NotAKey { path: path.into() };
        if !found.is_file() {
            return Err(not_a_key());
        }
        let mode = found.mode() & 0o777;
        if mode & 0o077 != 0 && !is_credential(path, mode, found.uid()) {
            return Err(KeyError::Exposed {
                path: path.into(),
                mode,
            });
        }
        let mut text = Vec::new();
        let most = 2 * BYTES as u64 + 2;
        file.take(most).read_to_end(&mut text).map_err(system)?;
        let bytes = bytes_of(text.trim_ascii_end()).ok_or_else(not_a_key)?;
        Ok(Key::new(&bytes))
    }

    /// Makes a key in a new file that only its user can read.
    ///
    /// # Errors
    /// There is such a file, or the system refuses; no file is left.
    pub fn make(path: &Path) -> Result<(), KeyError> {
        let system = |source| KeyError::System {
            action: "make",
            path: path.into(),
            source,
        };
        let folder = match path.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        let bytes: [u8; BYTES] = super::random().map_err(system)?;
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        // First of all: where there is no folder, the error should not name a temporary file.
        let folder_file = fs::File::open(folder).map_err(system)?;
        let mut file = tempfile::Builder::new()
            .permissions(Permissions::from_mode(0o600))
            .tempfile_in(folder)
            .map_err(system)?;
        writeln!(file, "{digits}").map_err(system)?;
        file.as_file().sync_all().map_err(system)?;
        file.persist_noclobber(path)
            .map_err(|refused| system(refused.error))?;
        folder_file.sync_all().map_err(system)
    }

    /// The proof that these bytes come from somebody who has the key (RFC 2104).
    pub(super) fn proof(&self, bytes: &[u8]) -> [u8; PROOF] {
        let mut mac = self.0.clone();
        mac.update(bytes);
        mac.finalize().into_bytes().into()
    }

    /// True if this is the proof of these bytes, in a time that tells nothing of the proof.
    pub(super) fn proves(&self, bytes: &[u8], proof: &[u8]) -> bool {
        let mut mac = self.0.clone();
        mac.update(bytes);
        mac.verify_slice(proof).is_ok()
    }
}

/// True for a file that systemd has handed to this process (systemd.exec(5), LoadCredential=). It then belongs to root, and an ACL lets
/// the service's user read it: the bits of the group, which say what the ACL allows at most, are those of reading. Before systemd
/// 255 such a file has mode 400 and is the user's own.
fn is_credential(path: &Path, mode: u32, owner: u32) -> bool {
    let given = std::env::var_os("CREDENTIALS_DIRECTORY");
    let is_given = given.is_some_and(|given| path.parent() == Some(Path::new(&given)));
    is_given && owner == 0 && mode & 0o037 == 0
}

fn bytes_of(digits: &[u8]) -> Option<[u8; BYTES]> {
    if digits.len() != 2 * BYTES || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let mut bytes = [0; BYTES];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(bytes)
}
