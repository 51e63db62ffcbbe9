//! Which CPUs are kept apart already.

use serde::Serialize;

use super::Error;
use super::tree::Tree;
use crate::boot::{Parameter, Parameters};
use crate::cpus::{Cpu, CpuSet};

/// What is in force now. A change of the boot parameters shows here after the next boot.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Isolation {
    /// Out of the scheduler's domains since boot (`/sys/devices/system/cpu/isolated`).
    pub isolated: CpuSet,
    /// Without a tick while one task runs (`/sys/devices/system/cpu/nohz_full`).
    pub nohz_full: CpuSet,
    /// Relieved of RCU callbacks (`rcu_nocbs=` on the command line, and those of `nohz_full`).
    pub rcu_nocbs: CpuSet,
    /// Where interrupts go that nobody has placed (`irqaffinity=` on the command line).
    pub irqaffinity: Option<CpuSet>,
    /// `isolcpus=` on the command line.
    pub isolcpus: Option<Isolcpus>,
    /// In isolated partitions of cgroup v2 (`/sys/fs/cgroup/cpuset.cpus.isolated`); newer kernels
    /// count those isolated since boot among them.
    pub cgroup: CpuSet,
    /// Parameters of the command line above whose value is no list of CPUs: the kernel ignores them.
    pub ignored: Vec<String>,
}

/// The value of `isolcpus=`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Isolcpus {
    /// What the CPUs are isolated from: `nohz`, `domain`, `managed_irq`. None given means `domain`.
    pub flags: Vec<String>,
    /// The CPUs.
    pub cpus: CpuSet,
}

/// What isolates the CPUs of a node; `present` is all that it has.
pub(super) fn isolation(tree: &Tree, present: &CpuSet) -> Result<Isolation, Error> {
    let cpus = |path| Ok(tree.cpus(path)?.unwrap_or_default());
    let nohz_full = cpus("sys/devices/system/cpu/nohz_full")?;
    let mut isolation = Isolation {
        isolated: cpus("sys/devices/system/cpu/isolated")?,
        rcu_nocbs: nohz_full.clone(),
        nohz_full,
        cgroup: cpus("sys/fs/cgroup/cpuset.cpus.isolated")?,
        ..Isolation::default()
    };
    let possible = cpus("sys/devices/system/cpu/possible")?;
    let last = possible.last().or(present.last()).unwrap_or(0);
    let command_line = tree.text("proc/cmdline")?.unwrap_or_default();
    for parameter in parameters(&command_line) {
        if isolation.add(&parameter, last).is_none() {
            isolation.ignored.push(parameter);
        }
    }
    Ok(isolation)
}

impl Isolation {
    /// Takes note of a parameter; nothing if its value is no list of CPUs.
    fn add(&mut self, parameter: &str, last: Cpu) -> Option<()> {
        let Some((name, value)) = parameter.split_once('=') else {
            return Some(());
        };
        match name {
            "rcu_nocbs" => self.rcu_nocbs = self.rcu_nocbs.or(&list(value, last)?),
            "irqaffinity" => self.irqaffinity = Some(list(value, last)?),
            "isolcpus" => self.isolcpus = Some(isolcpus(value, last)?),
            _ => {}
        }
        Some(())
    }
}

/// The parameters of a kernel's command line, without quotes; those after `--` are for init.
fn parameters(command_line: &str) -> Vec<String> {
    let parameters = Parameters::parse(command_line);
    let words = parameters.of_kernel().map(Parameter::to_string);
    words.map(|word| word.replace('"', "")).collect()
}

fn isolcpus(value: &str, last: Cpu) -> Option<Isolcpus> {
    let mut flags = Vec::new();
    let mut rest = value;
    while let Some((flag, after)) = rest.split_once(',')
        && ["nohz", "domain", "managed_irq"].contains(&flag)
    {
        flags.push(flag.to_owned());
        rest = after;
    }
    let cpus = list(rest, last)?;
    Some(Isolcpus { flags, cpus })
}

/// A list of CPUs as the command line may have it: besides numbers and ranges there are `all`, `N` for
/// the last CPU, and `0-31:2/8`, the first two of every eight.
fn list(text: &str, last: Cpu) -> Option<CpuSet> {
    let number = |text: &str| match text {
        "N" => Some(last),
        digits => {
            let set: CpuSet = digits.parse().ok()?;
            set.first().filter(|_| set.len() == 1)
        }
    };
    let mut set = CpuSet::new();
    for piece in text.split(',') {
        let (range, groups) = piece.split_once(':').unwrap_or((piece, "1/1"));
        let (used, size) = groups.split_once('/')?;
        let (used, size) = (number(used)?, number(size)?);
        let (from, to) = match range.split_once('-') {
            _ if range == "all" => (0, last),
            Some((from, to)) => (number(from)?, number(to)?),
            None => (number(range)?, number(range)?),
        };
        if from > to || used == 0 || used > size {
            return None;
        }
        let cpus = (from..=to).filter(|cpu| (cpu - from) % size < used);
        set = set.or(&cpus.collect());
    }
    Some(set)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lists_of_the_command_line() {
        for (text, expected) in [
            ("1-3,8", "1-3,8"),
            ("all", "0-15"),
            ("N", "15"),
            ("8-N", "8-15"),
            ("0-N:2/8", "0-1,8-9"),
            ("1,4-9:1/3", "1,4,7"),
            ("all:1/8", "0,8"),
        ] {
            assert_eq!(list(text, 15), Some(expected.parse().unwrap()), "{text}");
        }
        for wrong in [
            "", "x", "3-1", "1,,2", "0-7:0/2", "0-7:3/2", "0-7:2", "0-7:/", "1,2-", "-", "70000",
        ] {
            assert_eq!(list(wrong, 15), None, "{wrong}");
        }
    }

    #[test]
    fn flags_come_before_the_cpus() {
        let value = isolcpus("managed_irq,domain,1-3,7", 7).unwrap();
        assert_eq!(value.flags, ["managed_irq", "domain"]);
        assert_eq!(value.cpus.to_string(), "1-3,7");
        assert_eq!(isolcpus("all", 3).unwrap().cpus.len(), 4);
        assert_eq!(isolcpus("domain", 3), None);
        assert_eq!(isolcpus("soft,1-3", 3), None);
    }

    #[test]
    fn parameters_are_split_as_the_kernel_does() {
        assert_eq!(
            parameters("ro  quiet \"dyndbg=file a.c +p\" x=\"1 2\" -- isolcpus=1\n"),
            ["ro", "quiet", "dyndbg=file a.c +p", "x=1 2"]
        );
        assert!(parameters("").is_empty());
    }

    proptest! {
        #[test]
        fn lists_of_the_kernel_are_lists_of_the_command_line(cpus in proptest::collection::btree_set(0..200u32, 1..60)) {
            let set: CpuSet = cpus.into_iter().collect();
            prop_assert_eq!(list(&set.to_string(), 199), Some(set));
        }

        #[test]
        fn any_text_is_a_list_or_none(text in "[0-9N,:/a-]{0,12}") {
            if let Some(set) = list(&text, 63) {
                prop_assert!(!set.is_empty());
            }
        }
    }
}
