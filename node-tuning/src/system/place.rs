//! The places of a node where something can be set.

use std::fmt;
use std::path::PathBuf;

use jitterlab_base::named;
use serde::{Deserialize, Serialize};

use crate::cpus::CpuSet;
use crate::values;

/// The value at a place, in one form whatever the kernel's own: a word, a list of CPUs, the content
/// of a file. `None`: there is nothing.
pub type Value = Option<String>;

/// The place of a value. Everything that tuning changes is a value at a place, so that one
/// mechanism reads, writes, verifies and puts back all of them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Place {
    /// A file that the kernel plays, in `/proc` or `/sys`.
    Kernel {
        /// Its path on the node.
        path: PathBuf,
        /// The form in which the kernel writes the value.
        form: Form,
    },
    /// A regular file; its value is the whole content, `None` where it does not exist.
    File {
        /// Its path on the node.
        path: PathBuf,
    },
    /// A regular file that the boot loader's configuration is made from, again after each change.
    BootFile {
        /// Its path on the node.
        path: PathBuf,
        /// The loader that makes the configuration.
        loader: Loader,
        /// The content with which the file has the same effect as none.
        instead: Value,
    },
    /// A directory of a file system that the kernel plays (a control group): `Some("")` or `None`.
    Directory {
        /// Its path on the node.
        path: PathBuf,
    },
    /// The CPUs on which a thread may run, a list.
    Affinity {
        /// The thread's number.
        thread: i32,
        /// When it started, in clock ticks since boot: another thread may get the number.
        started: u64,
        /// The name that it gives itself.
        name: String,
    },
    /// A service of systemd: `active` or `inactive`.
    Service {
        /// The unit's name.
        unit: String,
    },
    /// Parameters of a network interface that `ethtool` knows.
    Ethtool {
        /// The interface.
        interface: String,
        /// The kind of parameters.
        parameters: Parameters,
    },
    /// A device or file that the system swaps to: its priority, `None` when it is not in use.
    Swap {
        /// Its path on the node.
        path: PathBuf,
    },
    /// The exit latency of idle states that a process of ours asks the kernel not to exceed, in
    /// microseconds; `None` when none of ours does.
    WakeupLatency,
}

/// The form in which the kernel writes a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// A number or word; white space around it means nothing.
    Word,
    /// All that can be chosen, what is chosen in brackets: `always [madvise] never`.
    Choice,
    /// A list of CPUs: `0-3,8`.
    CpuList,
    /// A mask of CPUs: `ffffffff,0000000f`.
    CpuMask,
    /// Whether the control groups below have the cpuset controller: `on` or `off`. The kernel writes
    /// the names of all that they have.
    Cpuset,
    /// A number that the kernel approaches step by step, and may stop before it is reached.
    Amount,
}

/// The loader whose configuration is made, and by what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Loader {
    /// `update-grub`, of `/etc/default/grub.d/*.cfg`.
    Grub,
    /// `kernel-install` for systemd-boot, of `/etc/kernel/cmdline`.
    KernelInstall,
}

/// A group of parameters that `ethtool` sets at once. The value is what it takes: names, each followed
/// by its value (`rx-usecs 0 tx-usecs 0`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Parameters {
    /// The time that an interrupt waits for more packets, and whether the device chooses that itself.
    Coalescing,
    /// Whether the device stops its peer by pause frames, and lets itself be stopped.
    Pause,
}

impl Loader {
    /// The program that is run to make the configuration.
    pub fn makes(self) -> &'static str {
        match self {
            Loader::Grub => "grub-mkconfig",
            Loader::KernelInstall => "kernel-install for every kernel",
        }
    }
}

impl Place {
    /// A kernel's file with a number or word.
    pub fn word(path: impl Into<PathBuf>) -> Self {
        Place::Kernel {
            path: path.into(),
            form: Form::Word,
        }
    }

    /// A kernel's file with one of several words in brackets.
    pub fn choice(path: impl Into<PathBuf>) -> Self {
        Place::Kernel {
            path: path.into(),
            form: Form::Choice,
        }
    }

    /// A kernel's file with a list of CPUs.
    pub fn cpu_list(path: impl Into<PathBuf>) -> Self {
        Place::Kernel {
            path: path.into(),
            form: Form::CpuList,
        }
    }

    /// A kernel's file with a mask of CPUs.
    pub fn cpu_mask(path: impl Into<PathBuf>) -> Self {
        Place::Kernel {
            path: path.into(),
            form: Form::CpuMask,
        }
    }

    /// The same for a number that the kernel approaches.
    pub fn amount(path: impl Into<PathBuf>) -> Self {
        Place::Kernel {
            path: path.into(),
            form: Form::Amount,
        }
    }

    /// True if a value here outlives a reboot.
    pub fn survives_reboot(&self) -> bool {
        matches!(self, Place::File { .. } | Place::BootFile { .. })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Kernel { path, .. }
            | Place::File { path }
            | Place::BootFile { path, .. }
            | Place::Directory { path } => write!(f, "{}", path.display()),
            Place::Affinity { thread, name, .. } => write!(f, "CPUs of thread {thread} ({name})"),
            Place::Service { unit } => write!(f, "service {unit}"),
            Place::Ethtool {
                interface,
                parameters: Parameters::Coalescing,
            } => {
                write!(f, "coalescing of {interface}")
            }
            Place::Ethtool {
                interface,
                parameters: Parameters::Pause,
            } => write!(f, "pause frames of {interface}"),
            Place::Swap { path } => write!(f, "swap on {}", path.display()),
            Place::WakeupLatency => f.write_str("/dev/cpu_dma_latency"),
        }
    }
}

impl Form {
    /// The value in what the kernel wrote; `None` where it is not of this form.
    pub fn parse(self, raw: &str) -> Option<String> {
        let text = raw.trim();
        match self {
            Form::Word | Form::Amount => Some(text.into()),
            Form::Choice => text
                .split_whitespace()
                .find_map(|word| word.strip_prefix('[')?.strip_suffix(']'))
                .map(String::from),
            // The kernel writes this for an empty pointer.
            Form::CpuList if text == "(null)" => Some(String::new()),
            Form::CpuList => text.parse::<CpuSet>().ok().map(|set| set.to_string()),
            Form::CpuMask => CpuSet::from_mask(text).ok().map(|set| set.to_string()),
            Form::Cpuset => {
                let on = text.split_whitespace().any(|name| name == CPUSET);
                Some(if on { "on" } else { "off" }.into())
            }
        }
    }

    /// The text that is written to the kernel for `value`; `current` is what it wrote last.
    pub fn write(self, value: &str, current: &str) -> String {
        match self {
            Form::Word | Form::Amount | Form::Choice | Form::CpuList => value.into(),
            Form::CpuMask => match value.parse::<CpuSet>() {
                Ok(set) => {
                    let digits = current.trim().bytes().filter(u8::is_ascii_hexdigit).count();
                    set.to_mask(digits)
                }
                Err(_) => value.into(),
            },
            Form::Cpuset => format!("{}{CPUSET}", if value == "on" { '+' } else { '-' }),
        }
    }

    /// The text that the kernel shows when `value` has been written, for a copied tree, which has no kernel.
    pub fn shown(self, value: &str, current: &str) -> String {
        let words = current.split_whitespace();
        let mut text = match self {
            Form::Choice => {
                let plain = words.map(|word| word.trim_matches(['[', ']']));
                let bracketed = |word| {
                    if word == value {
                        format!("[{word}]")
                    } else {
                        String::from(word)
                    }
                };
                plain.map(bracketed).collect::<Vec<_>>().join(" ")
            }
            Form::Cpuset => {
                let others = words.filter(|&word| word != CPUSET);
                others
                    .chain((value == "on").then_some(CPUSET))
                    .collect::<Vec<_>>()
                    .join(" ")
            }
            _ => self.write(value, current),
        };
        if current.ends_with('\n') {
            text.push('\n');
        }
        text
    }

    /// True if two values of this form are one to the kernel. Lists and masks are in one form here; numbers may be written
    /// in several, and switches as numbers or words.
    pub fn same(self, a: &str, b: &str) -> bool {
        a == b
            || matches!(self, Form::Word | Form::Amount)
                && match (values::number(a), values::number(b)) {
                    (Some(a), Some(b)) => a == b,
                    _ => values::switch(a).is_some() && values::switch(a) == values::switch(b),
                }
    }
}

named!(
    Form,
    Word => "word",
    Choice => "choice of words, one in brackets",
    CpuList => "list of CPUs",
    CpuMask => "mask of CPUs",
    Cpuset => "list of controllers",
    Amount => "number",
);

/// The controller of control groups that deals with CPUs.
const CPUSET: &str = "cpuset";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_the_same_in_other_words() {
        for (form, a, b, same) in [
            (Form::Word, "0x10", "16", true),
            (Form::Word, "Y", "1", true),
            (Form::Word, "off", "0", true),
            (Form::Word, "-1", "4294967295", false),
            (Form::Word, "none", "0", false),
            (Form::Word, "performance", "powersave", false),
            (Form::Amount, "064", "52", true),
            (Form::Choice, "1", "01", false),
        ] {
            assert_eq!(form.same(a, b), same, "{a} {b}");
        }
    }

    #[test]
    fn forms_are_read_and_shown() {
        for (form, raw, value) in [
            (Form::Word, "-1\n", "-1"),
            (Form::Choice, "always [madvise] never\n", "madvise"),
            (Form::CpuList, "0-3,8\n", "0-3,8"),
            (Form::CpuList, "\n", ""),
            (Form::CpuMask, "f,ffffffff\n", "0-35"),
            (Form::CpuMask, "03", "0-1"),
            (Form::Cpuset, "memory cpu\n", "off"),
            (Form::Amount, "64\n", "64"),
        ] {
            assert_eq!(form.parse(raw).as_deref(), Some(value), "{raw}");
            assert_eq!(form.shown(value, raw), raw);
        }
        assert_eq!(
            Form::Choice.shown("never", "always [madvise] never\n"),
            "always madvise [never]\n"
        );
        assert_eq!(Form::Choice.parse("none\n"), None);
        assert_eq!(Form::CpuMask.write("0", "f,ffffffff\n"), "0,00000001");
        assert_eq!(Form::CpuList.parse("(null)\n").as_deref(), Some(""));
        assert_eq!(Form::Cpuset.write("on", "memory cpu\n"), "+cpuset");
        assert_eq!(
            Form::Cpuset.shown("on", "memory cpu\n"),
            "memory cpu cpuset\n"
        );
        assert_eq!(
            Form::Cpuset.shown("off", "memory cpu cpuset\n"),
            "memory cpu\n"
        );
    }
}
