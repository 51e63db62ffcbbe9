//! The obstacles that keep the kernel from doing what a parameter of ours says.

use std::fmt;
use std::path::PathBuf;

use super::meaning::is_first_heeded;
use super::{CommandLine, Origin, Parameter, Parameters, Verdict};
use crate::cpus::Cpu;

/// A parameter of ours that the kernel would not heed, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Conflict {
    /// Somebody else has given another one.
    Other {
        /// The one that is heeded instead.
        parameter: Parameter,
        /// The line that it stands in; none where no file of the boot loader has it.
        origin: Option<Origin>,
        /// Ours.
        wanted: Parameter,
    },
    /// Our parameter does not come to the kernel.
    Dropped {
        /// The line that gives the boot loader's variable another value.
        origin: Origin,
        /// The file that is ours.
        own: PathBuf,
    },
}

impl Conflict {
    /// The parameter that a command line has instead of `wanted`.
    pub(super) fn on(line: &CommandLine, wanted: &Parameter, last: Cpu) -> Option<Self> {
        let Verdict::Overruled(index) = line.parameters.verdict(wanted, last) else {
            return None;
        };
        Some(Conflict::Other {
            parameter: line.parameters.iter().nth(index)?.clone(),
            origin: line.origins.get(index).cloned(),
            wanted: wanted.clone(),
        })
    }

    /// The parameter that the running kernel heeds instead of `wanted`, where it was told that as well.
    pub(super) fn at_start(running: &Parameters, wanted: &Parameter, last: Cpu) -> Option<Self> {
        let alone = |given: &Parameter| {
            let mut alone = Parameters::default();
            alone.set(given.clone());
            alone.verdict(wanted, last) == Verdict::Heeded
        };
        let told = running.of_kernel().any(alone);
        let line = CommandLine {
            parameters: running.clone(),
            origins: Vec::new(),
        };
        Conflict::on(&line, wanted, last).filter(|_| told)
    }
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Conflict::Other {
                parameter,
                origin,
                wanted,
            } => {
                match origin {
                    Some(origin) => write!(f, "{origin}, has {parameter}, and ")?,
                    None => write!(f, "the kernel was started with {parameter} as well, and ")?,
                }
                if !is_first_heeded(wanted) {
                    write!(f, "of several {}= the kernel heeds the last", wanted.name())?;
                } else if parameter.name() == wanted.name() {
                    write!(
                        f,
                        "of several {}= the kernel heeds the first",
                        wanted.name()
                    )?;
                } else {
                    write!(
                        f,
                        "{}= must name the same CPUs as {}=, or the kernel drops it",
                        wanted.name(),
                        parameter.name()
                    )?;
                }
                match origin {
                    Some(origin) => write!(
                        f,
                        ": take it out of {}, then `jitterlab tune apply` writes {wanted}",
                        origin.path.display()
                    ),
                    None => f.write_str(
                        ": no file of the boot loader has it now, so restart; if it is there again, it comes from what starts this node (a line that is edited in the boot menu, a network boot)",
                    ),
                }
            }
            Conflict::Dropped { origin, own } => write!(
                f,
                "{origin}, gives GRUB_CMDLINE_LINUX_DEFAULT a new value, without what {} adds to it: put $GRUB_CMDLINE_LINUX_DEFAULT into that value",
                own.display()
            ),
        }
    }
}
