//! Reading text that a person names, whatever is behind the name and however it was saved.
//!
//! Text is UTF-8, with or without a byte order mark at its beginning.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use thiserror::Error;

/// The kind of file behind a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// A regular file alone: whoever reads must not be kept waiting, as a program is in which
    /// something is injected.
    File,
    /// A pipe or device too. A pipe is waited for as long as somebody has it open for writing.
    Any,
}

/// Something that is no text to be read.
#[derive(Debug, Error)]
pub enum InputError {
    /// The system refuses, or a `source` of another kind is behind the name.
    #[error(transparent)]
    Read(#[from] io::Error),
    /// There is more of it than there may be.
    #[error("more than {most} bytes")]
    TooLong {
        /// The most bytes that there may be.
        most: u64,
    },
    /// It is not UTF-8.
    #[error("{problem}")]
    Encoding {
        /// The line, counted from 1.
        line: usize,
        /// The problem, and what to do.
        problem: String,
    },
}

/// The text of a file that has at most so many bytes, without its byte order mark. No more than that is read.
///
/// # Errors
/// It cannot be read, is not of `source`, is longer, or is not UTF-8.
pub fn read_text(path: &Path, source: Source, most: u64) -> Result<String, InputError> {
    let mut bytes = Vec::new();
    open(path, source)?.take(most + 1).read_to_end(&mut bytes)?;
    decode(bytes, most)
}

/// The text in bytes that came from elsewhere than a file, as [`read_text`] gives it.
///
/// # Errors
/// They are more than `most`, or not UTF-8.
pub fn decode(bytes: Vec<u8>, most: u64) -> Result<String, InputError> {
    if bytes.len() as u64 > most {
        return Err(InputError::TooLong { most });
    }
    if let Some(problem) = foreign(&bytes) {
        return Err(InputError::Encoding { line: 1, problem });
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        InputError::Encoding {
            line: line_of(&error.as_bytes()[..at]),
            problem: format!("not text: byte {} is not UTF-8", at + 1),
        }
    })?;
    let text = match text.strip_prefix(MARK) {
        Some(rest) => rest.into(),
        None => text,
    };
    match text.find(MARK) {
        Some(at) => Err(InputError::Encoding {
            line: line_of(&text.as_bytes()[..at]),
            problem: "a byte order mark stands within the text; remove it".into(),
        }),
        None => Ok(text),
    }
}

/// Opens a file to read it. A pipe without a writer is empty: whoever may write to it one day is not waited for.
///
/// # Errors
/// The system refuses, or it is not of `source`.
pub fn open(path: &Path, source: Source) -> io::Result<File> {
    // The opening of a pipe would wait for its first writer.
    let file = File::options()
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(path)?;
    let kind = file.metadata()?.file_type();
    // The system itself refuses a folder.
    if source == Source::File && !kind.is_file() && !kind.is_dir() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is not a regular file",
        ));
    }
    if !kind.is_file() {
        fcntl(&file, FcntlArg::F_SETFL(OFlag::empty()))?;
    }
    Ok(file)
}

/// The byte order mark, as the character that it is in UTF-8.
pub const MARK: char = '\u{feff}';

/// Bytes that begin as text in another encoding than UTF-8 does: which, and what to do. Without a byte
/// order mark, the zeros tell that stand beside a character of ASCII.
pub fn foreign(bytes: &[u8]) -> Option<String> {
    let (name, iconv) = match *bytes {
        [0xff, 0xfe, 0, 0, ..] => ("UTF-32, little-endian", "UTF-32"),
        [0, 0, 0xfe, 0xff, ..] => ("UTF-32, big-endian", "UTF-32"),
        [0xff, 0xfe, ..] => ("UTF-16, little-endian", "UTF-16"),
        [0xfe, 0xff, ..] => ("UTF-16, big-endian", "UTF-16"),
        [1..=255, 0, 0, 0, ..] => ("UTF-32, little-endian", "UTF-32LE"),
        [0, 0, 0, 1..=255, ..] => ("UTF-32, big-endian", "UTF-32BE"),
        [1..=255, 0, ..] => ("UTF-16, little-endian", "UTF-16LE"),
        [0, 1..=255, ..] => ("UTF-16, big-endian", "UTF-16BE"),
        _ => return None,
    };
    Some(format!(
        "this is {name}; save it as UTF-8, or convert it with iconv -f {iconv} -t UTF-8"
    ))
}

/// The part of a wrong word that a person needs to find it, without anything that a terminal would not show.
pub fn shortened(word: &str) -> String {
    const MOST: usize = 40;
    let shown = |c: char| match c.is_control() || c == MARK {
        true => char::REPLACEMENT_CHARACTER,
        false => c,
    };
    let mut short: String = word.chars().take(MOST).map(shown).collect();
    if word.chars().nth(MOST).is_some() {
        short.push('…');
    }
    short
}

/// The line that comes after this text.
fn line_of(before: &[u8]) -> usize {
    before.split(|&byte| byte == b'\n').count()
}

/// An error that knows whose it is.
pub trait OfInput {
    /// True if the request is wrong and has to be made otherwise; else the system failed.
    fn is_of_input(&self) -> bool;
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MOST: u64 = 1 << 20;

    fn refused(bytes: &[u8]) -> String {
        decode(bytes.into(), MOST).unwrap_err().to_string()
    }

    #[test]
    fn a_mark_is_no_part_of_the_text() {
        assert_eq!(decode("\u{feff}a: 1\n".into(), MOST).unwrap(), "a: 1\n");
        assert_eq!(decode(vec![0xef, 0xbb, 0xbf], MOST).unwrap(), "");
        let twice = decode("\u{feff}a\n\u{feff}b".into(), MOST).unwrap_err();
        assert!(matches!(twice, InputError::Encoding { line: 2, .. }));
    }

    #[test]
    fn other_encodings_are_named_with_a_mark_and_without() {
        let bytes = |text: &str, width: usize, big: bool| -> Vec<u8> {
            let character = |c: char| {
                let all = u32::from(c).to_be_bytes();
                let mut bytes = all[4 - width..].to_vec();
                if !big {
                    bytes.reverse();
                }
                bytes
            };
            text.chars().flat_map(character).collect()
        };
        for text in ["seed: 1\n", "\u{feff}seed: 1\n", "5"] {
            for (width, name) in [(2, "UTF-16"), (4, "UTF-32")] {
                for (big, order) in [(false, "little-endian"), (true, "big-endian")] {
                    let said = refused(&bytes(text, width, big));
                    assert!(
                        said.starts_with(&format!("this is {name}, {order};")),
                        "{said}"
                    );
                }
            }
        }
    }

    #[test]
    fn what_is_not_utf_8_is_told_with_its_byte_and_its_line() {
        let error = decode(b"a\nb\xff".into(), MOST).unwrap_err();
        assert!(matches!(error, InputError::Encoding { line: 2, .. }));
        assert_eq!(error.to_string(), "not text: byte 4 is not UTF-8");
        assert_eq!(refused(b"\xc3"), "not text: byte 1 is not UTF-8");
    }

    #[test]
    fn no_more_is_read_than_there_may_be() {
        let endless = read_text(Path::new("/dev/zero"), Source::Any, 1000).unwrap_err();
        assert_eq!(endless.to_string(), "more than 1000 bytes");
        let file = read_text(Path::new("/dev/zero"), Source::File, 1000).unwrap_err();
        assert_eq!(file.to_string(), "it is not a regular file");
        let folder = read_text(Path::new("/"), Source::Any, 1000).unwrap_err();
        assert_eq!(folder.to_string(), "Is a directory (os error 21)");
    }

    proptest! {
        #[test]
        fn whatever_the_bytes_they_are_text_or_are_told_why_not(bytes: Vec<u8>) {
            match decode(bytes.clone(), MOST) {
                Ok(text) => prop_assert!(bytes.ends_with(text.as_bytes())),
                Err(error) => prop_assert!(!error.to_string().is_empty()),
            }
        }

        #[test]
        fn text_is_read_as_it_was_written(text in "[^\u{feff}\0]{0,40}", marked: bool) {
            let written = if marked { format!("{MARK}{text}") } else { text.clone() };
            prop_assert_eq!(decode(written.into(), MOST).unwrap(), text);
        }
    }
}
