//! The CPUs that are kept apart already.

use serde::Serialize;

use super::Error;
use super::tree::Tree;
use crate::boot::meaning::flags_and_cpus;
use crate::boot::parameters::{Parameter, Parameters};
use crate::cpus::{Cpu, CpuSet};

/// The isolation that is in force now. A change of the boot parameters shows here after the next boot.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Isolation {
    /// Out of the scheduler's domains since boot (`/sys/devices/system/cpu/isolated`).
    pub isolated: CpuSet,
    /// Without a tick while one task runs (`/sys/devices/system/cpu/nohz_full`).
    pub nohz_full: CpuSet,
    /// Relieved of RCU callbacks (`rcu_nocbs=` on the command line, and those of `nohz_full`).
    pub rcu_nocbs: CpuSet,
    /// The CPUs of interrupts that nobody has placed (`irqaffinity=` on the command line).
    pub irqaffinity: Option<CpuSet>,
    /// `isolcpus=` on the command line.
    pub isolcpus: Option<Isolcpus>,
    /// The CPUs in isolated partitions of cgroup v2 (`/sys/fs/cgroup/cpuset.cpus.isolated`); newer
    /// kernels count those isolated since boot among them.
    pub cgroup: CpuSet,
    /// Parameters of the command line above that the kernel ignores.
    pub ignored: Vec<String>,
}

/// The value of `isolcpus=`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Isolcpus {
    /// The things that the CPUs are isolated from: `nohz`, `domain`, `managed_irq`. None given means `domain`.
    pub flags: Vec<String>,
    /// The CPUs.
    pub cpus: CpuSet,
}

impl Isolcpus {
    /// Takes the flags of another one with the same CPUs.
    fn add(&mut self, flags: Vec<String>) {
        let named = |flags: Vec<String>| match flags.is_empty() {
            true => vec!["domain".into()],
            false => flags,
        };
        self.flags = named(std::mem::take(&mut self.flags));
        for flag in named(flags) {
            if !self.flags.contains(&flag) {
                self.flags.push(flag);
            }
        }
    }
}

/// The isolation of the CPUs of a node; `present` is all that it has.
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
    for parameter in Parameters::parse(&command_line).of_kernel() {
        if isolation.add(parameter, last).is_none() {
            isolation
                .ignored
                .push(parameter.to_string().replace('"', ""));
        }
    }
    Ok(isolation)
}

impl Isolation {
    /// Takes note of a parameter; nothing if the kernel ignores it: its value is no list of CPUs, or another
    /// `isolcpus=` came before it with other ones.
    fn add(&mut self, parameter: &Parameter, last: Cpu) -> Option<()> {
        let Some(value) = parameter.plain() else {
            return Some(());
        };
        let cpus = || CpuSet::from_boot(value, last);
        match parameter.name().as_str() {
            "rcu_nocbs" => self.rcu_nocbs = self.nohz_full.or(&cpus()?),
            "irqaffinity" => self.irqaffinity = Some(cpus()?),
            "isolcpus" => {
                let (flags, cpus) = flags_and_cpus(value, last)?;
                match &mut self.isolcpus {
                    None => self.isolcpus = Some(Isolcpus { flags, cpus }),
                    Some(first) if first.cpus != cpus => return None,
                    Some(first) => first.add(flags),
                }
            }
            _ => {}
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_the_first_counts_and_others_add_to_it() {
        let isolcpus = |line: &str| {
            let mut isolation = Isolation::default();
            for parameter in Parameters::parse(line).of_kernel() {
                if isolation.add(parameter, 7).is_none() {
                    isolation.ignored.push(parameter.to_string());
                }
            }
            let found = isolation.isolcpus;
            let found = found.map(|found| (found.flags.join(","), found.cpus.to_string()));
            (found, isolation.ignored.join(" "))
        };
        let found = |flags: &str, cpus: &str| Some((flags.into(), cpus.into()));
        for (line, expected, ignored) in [
            (
                "isolcpus=managed_irq,domain,1-3,7",
                found("managed_irq,domain", "1-3,7"),
                "",
            ),
            ("isolcpus=\"domain,2-3\"", found("domain", "2-3"), ""),
            ("isolcpus=all", found("", "0-7"), ""),
            ("isolcpus=domain", None, "isolcpus=domain"),
            ("isolcpus=soft,1-3", None, "isolcpus=soft,1-3"),
            (
                "isolcpus=1-3 isolcpus=domain,4-7",
                found("", "1-3"),
                "isolcpus=domain,4-7",
            ),
            (
                "isolcpus=1-3 isolcpus=managed_irq,1,2,3",
                found("domain,managed_irq", "1-3"),
                "",
            ),
        ] {
            assert_eq!(isolcpus(line), (expected, ignored.into()), "{line}");
        }
    }
}
