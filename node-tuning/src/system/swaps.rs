//! The devices and files that the system swaps to, in `/proc/swaps`.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use super::System;

/// A device or file that the system swaps to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Swap {
    /// Its path on the node. The kernel adds ` (deleted)` to the path if the file's name is gone.
    pub path: PathBuf,
    /// The memory that is swapped out to it, in KiB.
    pub used_kib: u64,
    /// The higher, the sooner; below 0 where the kernel chose it.
    pub priority: i32,
}

impl System {
    /// The devices and files that this node swaps to, in the kernel's order.
    pub fn swaps(&self) -> Vec<Swap> {
        let bytes = fs::read(self.path("/proc/swaps")).unwrap_or_default();
        let lines = bytes.split(|&byte| byte == b'\n').skip(1);
        lines.filter_map(swap).collect()
    }

    /// True if a file that is swapped to has lost its name.
    pub(super) fn is_deleted(&self, swap: &Path) -> bool {
        swap.as_os_str().as_encoded_bytes().ends_with(b" (deleted)") && !self.exists(swap)
    }
}

/// A line: the path, the type, the size, what is used, the priority.
fn swap(line: &[u8]) -> Option<Swap> {
    let fields = line.split(u8::is_ascii_whitespace);
    let fields: Vec<&[u8]> = fields.filter(|field| !field.is_empty()).collect();
    let [path, _, _, used, priority] = fields[..] else {
        return None;
    };
    let number = |field| std::str::from_utf8(field).ok();
    Some(Swap {
        path: OsString::from_vec(unescaped(path)).into(),
        used_kib: number(used)?.parse().ok()?,
        priority: number(priority)?.parse().ok()?,
    })
}

/// A name as it is, of one in a table of the kernel's (`/proc/swaps`, `/proc/mounts`): spaces, tabs, line ends and
/// backslashes stand there as a backslash and three octal digits (`seq_file_path`, `mangle_path`).
fn unescaped(name: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(name.len());
    let mut rest = name;
    while let Some((&byte, after)) = rest.split_first() {
        let code = match after {
            [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', ..] if byte == b'\\' => {
                Some((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'))
            }
            _ => None,
        };
        plain.push(code.unwrap_or(byte));
        rest = if code.is_some() { &after[3..] } else { after };
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_with_spaces_are_one_field() {
        let line = b"/srv/a\\040b\\011c\\134040\\012 (x)           file\t\t8\t\t3\t\t-2";
        assert_eq!(swap(line), None, "six fields");
        let line = b"/srv/a\\040b\\011c\\134040\\012           file\t\t8\t\t3\t\t-2";
        let found = swap(line).unwrap();
        assert_eq!(found.path, Path::new("/srv/a b\tc\\040\n"));
        assert_eq!((found.used_kib, found.priority), (3, -2));
        assert_eq!(swap(b"/dev/zram0 partition 8 0 100").unwrap().priority, 100);
        assert_eq!(unescaped(b"\\9\\04\\+12"), b"\\9\\04\\+12");
    }

    proptest! {
        #[test]
        fn every_name_is_read_back(name in "[ -~\t\n\\\\äß]{1,24}") {
            // The kernel does this: mangle_path() with " \t\n\\".
            let escaped: String = name.chars().map(|c| match c {
                ' ' | '\t' | '\n' | '\\' => format!("\\{:03o}", c as u32),
                c => c.to_string(),
            }).collect();
            prop_assert_eq!(unescaped(escaped.as_bytes()), name.as_bytes());
        }
    }
}
