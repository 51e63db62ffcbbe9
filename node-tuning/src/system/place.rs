//! The places of a node where something can be set.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::cpus::CpuSet;

/// What stands at a place, in one form whatever the kernel's own: a word, a list of CPUs, the
/// content of a file. `None`: there is nothing.
pub type Value = Option<String>;

/// Where a value stands. Everything that tuning changes is a value at a place, so that one
/// mechanism reads, writes, verifies and puts back all of them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Place {
    /// A file that the kernel plays, in `/proc` or `/sys`.
    Kernel {
        /// Its path on the node.
        path: PathBuf,
        /// How the kernel writes the value.
        form: Form,
    },
    /// A regular file; its value is the whole content, `None` where it does not exist.
    File {
        /// Its path on the node.
        path: PathBuf,
    },
    /// A regular file of which the boot loader's configuration is made, again after each change.
    BootFile {
        /// Its path on the node.
        path: PathBuf,
        /// Who makes the configuration.
        loader: Loader,
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
        /// What it calls itself.
        name: String,
    },
    /// A service of systemd: `active` or `inactive`.
    Service {
        /// The unit's name.
        unit: String,
    },
    /// A parameter of a network interface that `ethtool` knows.
    Ethtool {
        /// The interface.
        interface: String,
        /// The parameter.
        parameter: Parameter,
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

/// How the kernel writes a value.
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
    /// Controllers that are handed on to control groups below: `cpuset memory`. Written as what is
    /// to be added and taken away.
    Controllers,
}

/// Who makes the boot loader's configuration of what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Loader {
    /// `update-grub`, of `/etc/default/grub.d/*.cfg`.
    Grub,
    /// `kernel-install` for systemd-boot, of `/etc/kernel/cmdline`.
    KernelInstall,
    /// The appliance, which reads the file itself at boot.
    Appliance,
}

/// What `ethtool` can set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Parameter {
    /// Microseconds that an interrupt waits for more packets.
    RxUsecs,
    /// The same for packets that were sent.
    TxUsecs,
    /// Whether the device chooses these times for receiving itself: `on` or `off`.
    AdaptiveRx,
    /// The same for sending.
    AdaptiveTx,
    /// Whether the device stops its peer by pause frames: `on` or `off`.
    RxPause,
    /// Whether it lets itself be stopped.
    TxPause,
}

impl Parameter {
    /// The name of the parameter in what `ethtool` takes.
    pub fn argument(self) -> &'static str {
        match self {
            Parameter::RxUsecs => "rx-usecs",
            Parameter::TxUsecs => "tx-usecs",
            Parameter::AdaptiveRx => "adaptive-rx",
            Parameter::AdaptiveTx => "adaptive-tx",
            Parameter::RxPause => "rx",
            Parameter::TxPause => "tx",
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

    /// A control group's file with the controllers that are handed on.
    pub fn controllers(path: impl Into<PathBuf>) -> Self {
        Place::Kernel {
            path: path.into(),
            form: Form::Controllers,
        }
    }

    /// Whether a value here outlives a reboot.
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
                parameter,
            } => {
                write!(f, "{} of {interface}", parameter.argument())?;
                match parameter {
                    Parameter::RxPause | Parameter::TxPause => f.write_str(" pause"),
                    _ => Ok(()),
                }
            }
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
            Form::Word => Some(text.into()),
            Form::Choice => text
                .split_whitespace()
                .find_map(|word| word.strip_prefix('[')?.strip_suffix(']'))
                .map(String::from),
            // What the kernel writes for an empty pointer.
            Form::CpuList if text == "(null)" => Some(String::new()),
            Form::CpuList => text.parse::<CpuSet>().ok().map(|set| set.to_string()),
            Form::CpuMask => CpuSet::from_mask(text).ok().map(|set| set.to_string()),
            Form::Controllers => {
                let mut words: Vec<&str> = text.split_whitespace().collect();
                words.sort_unstable();
                Some(words.join(" "))
            }
        }
    }

    /// What is written to the kernel for `value`; `current` is what it wrote last.
    pub fn write(self, value: &str, current: &str) -> String {
        match self {
            Form::Word | Form::Choice | Form::CpuList => value.into(),
            Form::CpuMask => match value.parse::<CpuSet>() {
                Ok(set) => {
                    let digits = current.trim().bytes().filter(u8::is_ascii_hexdigit).count();
                    set.to_mask(digits)
                }
                Err(_) => value.into(),
            },
            Form::Controllers => {
                let (wanted, has) = (words(value), words(current));
                let added = wanted
                    .iter()
                    .filter(|word| !has.contains(word))
                    .map(|word| format!("+{word}"));
                let removed = has
                    .iter()
                    .filter(|word| !wanted.contains(word))
                    .map(|word| format!("-{word}"));
                added.chain(removed).collect::<Vec<_>>().join(" ")
            }
        }
    }

    /// What the kernel shows when `value` has been written, for a copied tree, which has no kernel.
    pub fn shown(self, value: &str, current: &str) -> String {
        let mut text = match self {
            Form::Choice => {
                let plain = |word: &str| word.trim_matches(['[', ']']).to_string();
                let words = current.split_whitespace().map(plain);
                let bracketed = words.map(|word| {
                    if word == value {
                        format!("[{word}]")
                    } else {
                        word
                    }
                });
                bracketed.collect::<Vec<_>>().join(" ")
            }
            Form::Controllers => {
                let (wanted, has) = (words(value), words(current));
                let kept = has.iter().filter(|word| wanted.contains(word));
                let added = wanted.iter().filter(|word| !has.contains(word));
                kept.chain(added).copied().collect::<Vec<_>>().join(" ")
            }
            _ => self.write(value, current),
        };
        if current.ends_with('\n') {
            text.push('\n');
        }
        text
    }
}

fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_read_and_shown() {
        for (form, raw, value) in [
            (Form::Word, "-1\n", "-1"),
            (Form::Choice, "always [madvise] never\n", "madvise"),
            (Form::CpuList, "0-3,8\n", "0-3,8"),
            (Form::CpuList, "\n", ""),
            (Form::CpuMask, "f,ffffffff\n", "0-35"),
            (Form::CpuMask, "03", "0-1"),
            (Form::Controllers, "memory cpu\n", "cpu memory"),
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
        assert_eq!(
            Form::Controllers.write("cpu cpuset", "memory cpu\n"),
            "+cpuset -memory"
        );
        assert_eq!(
            Form::Controllers.shown("cpu cpuset memory", "memory cpu\n"),
            "memory cpu cpuset\n"
        );
        assert_eq!(Form::CpuList.parse("(null)\n").as_deref(), Some(""));
    }
}
