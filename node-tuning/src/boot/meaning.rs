//! The kernel's reading of the parameters that tuning sets: how it reads their values, and which one it heeds of
//! several with one name. Places in its sources are those of Linux 6.12.

use std::collections::BTreeSet;

use super::parameters::{Parameter, Parameters};
use crate::cpus::{Cpu, CpuSet};
use crate::values::number;

/// The verdict of a command line on a parameter that is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The kernel does what is wanted.
    Heeded,
    /// It is not told to.
    Absent,
    /// It does something else, because of the parameter at this place of the line.
    Overruled(usize),
}

/// A thing that `isolcpus=` and `nohz_full=` keep from CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kept {
    Domain,
    ManagedIrq,
    Noise,
}

/// The value of a parameter, as the kernel reads it.
#[derive(Debug, PartialEq, Eq)]
enum Meaning {
    Cpus(CpuSet),
    Number(i64),
    Word(String),
    /// It stands there, whatever its value.
    Given,
}

impl Parameters {
    /// Whether the kernel does what is wanted when it is started with these; `last` is the highest CPU that the node may
    /// have.
    pub fn verdict(&self, wanted: &Parameter, last: Cpu) -> Verdict {
        match isolating(wanted, last) {
            Some((kept, cpus)) => self.isolates(&kept, &cpus, last),
            None => self.says(wanted, last),
        }
    }

    /// `kernel/sched/isolation.c` (`housekeeping_setup`): the first of `isolcpus=` and `nohz_full=` decides. A later one
    /// with other CPUs is dropped ("nohz_full= must match isolcpus="): before Linux 5.18 always, since then where both
    /// keep the same from them. With the same CPUs, what it keeps from them is added.
    fn isolates(&self, kept: &BTreeSet<Kept>, cpus: &CpuSet, last: Cpu) -> Verdict {
        let mut missing = kept.clone();
        for (index, parameter) in self.of_kernel().enumerate() {
            match isolating(parameter, last) {
                Some((_, others)) if others != *cpus => return Verdict::Overruled(index),
                Some((kept, _)) => missing.retain(|one| !kept.contains(one)),
                None => {}
            }
            if missing.is_empty() {
                return Verdict::Heeded;
            }
        }
        Verdict::Absent
    }

    /// All others are assigned each time that they are met (`early_param`, `__setup`, `module_param`): the last one that
    /// can be read counts.
    fn says(&self, wanted: &Parameter, last: Cpu) -> Verdict {
        let name = wanted.name();
        let same = |(_, parameter): &(usize, &Parameter)| parameter.name() == name;
        let given = self.of_kernel().enumerate().filter(same);
        let read = given.filter_map(|(index, given)| Some((index, meaning(given, last)?)));
        match read.last() {
            Some((_, given)) if meaning(wanted, last).as_ref() == Some(&given) => Verdict::Heeded,
            Some((index, _)) => Verdict::Overruled(index),
            // kernel/rcu/tree_nocb.h (rcu_init_nohz): those of nohz_full= are relieved as well.
            None if name == "rcu_nocbs" => match meaning(wanted, last) {
                Some(Meaning::Cpus(cpus)) => {
                    match self.isolates(&BTreeSet::from([Kept::Noise]), &cpus, last) {
                        Verdict::Heeded => Verdict::Heeded,
                        _ => Verdict::Absent,
                    }
                }
                _ => Verdict::Absent,
            },
            None => Verdict::Absent,
        }
    }

    /// The CPUs that the kernel takes from the parameters of this name.
    pub fn cpus(&self, name: &str, last: Cpu) -> Option<CpuSet> {
        let mut given = self.of_kernel().filter(|given| given.name() == name);
        let first = |given: &Parameter| isolating(given, last).map(|(_, cpus)| cpus);
        match name {
            "isolcpus" | "nohz_full" => given.find_map(first),
            _ => given
                .filter_map(|given| match meaning(given, last)? {
                    Meaning::Cpus(cpus) => Some(cpus),
                    _ => None,
                })
                .last(),
        }
    }
}

/// True if the kernel heeds the first of the parameters with this name, and not the last.
pub fn is_first_heeded(parameter: &Parameter) -> bool {
    ["isolcpus", "nohz_full"].contains(&parameter.name().as_str())
}

/// The CPUs, and what is kept from them; `None` for other parameters, and for values that the kernel refuses.
fn isolating(parameter: &Parameter, last: Cpu) -> Option<(BTreeSet<Kept>, CpuSet)> {
    let value = parameter.plain()?;
    match parameter.name().as_str() {
        "nohz_full" => Some((
            BTreeSet::from([Kept::Noise]),
            CpuSet::from_boot(value, last)?,
        )),
        "isolcpus" => {
            let (flags, cpus) = isolcpus(value, last)?;
            let mut kept: BTreeSet<Kept> = flags.iter().map(|&(_, kept)| kept).collect();
            if kept.is_empty() {
                kept.insert(Kept::Domain);
            }
            Some((kept, cpus))
        }
        _ => None,
    }
}

const FLAGS: [(&str, Kept); 3] = [
    ("nohz", Kept::Noise),
    ("domain", Kept::Domain),
    ("managed_irq", Kept::ManagedIrq),
];

fn isolcpus(value: &str, last: Cpu) -> Option<(Vec<(&'static str, Kept)>, CpuSet)> {
    let (mut flags, mut rest) = (Vec::new(), value);
    while let Some((word, after)) = rest.split_once(',')
        && let Some(&flag) = FLAGS.iter().find(|(name, _)| *name == word)
    {
        flags.push(flag);
        rest = after;
    }
    Some((flags, CpuSet::from_boot(rest, last)?))
}

/// The flags in a value of `isolcpus=`, and the CPUs; nothing where the kernel refuses it.
pub fn flags_and_cpus(value: &str, last: Cpu) -> Option<(Vec<String>, CpuSet)> {
    let (flags, cpus) = isolcpus(value, last)?;
    Some((flags.iter().map(|(name, _)| (*name).into()).collect(), cpus))
}

/// The meaning that the kernel reads; none where it can read nothing, and leaves all as it was.
fn meaning(parameter: &Parameter, last: Cpu) -> Option<Meaning> {
    let value = parameter.plain();
    let one_of = |words: &[&str]| {
        let word = value.filter(|value| words.contains(value))?;
        Some(Meaning::Word(word.into()))
    };
    match parameter.name().as_str() {
        // kernel/rcu/tree_nocb.h: rcu_nocb_setup.
        "rcu_nocbs" => Some(Meaning::Cpus(CpuSet::from_boot(value?, last)?)),
        // kernel/irq/irqdesc.c: irq_affinity_setup, which adds the CPU that boots.
        "irqaffinity" => {
            let mut cpus = CpuSet::from_boot(value?, last)?;
            cpus.insert(0);
            Some(Meaning::Cpus(cpus))
        }
        // drivers/acpi/processor_idle.c and drivers/idle/intel_idle.c: module_param(max_cstate, int, …).
        // kernel/time/tick-sched.c: get_option.
        "processor.max_cstate" | "intel_idle.max_cstate" | "skew_tick" => {
            Some(Meaning::Number(number(value?)?))
        }
        // kernel/cpu.c: smt_cmdline_disable; `force` turns it off for good. kernel/watchdog.c: nosoftlockup_setup.
        "nosmt" | "nosoftlockup" => Some(Meaning::Given),
        // mm/huge_memory.c: setup_transparent_hugepage.
        "transparent_hugepage" => one_of(&["always", "madvise", "never"]),
        // mm/mempolicy.c: setup_numabalancing.
        "numa_balancing" => one_of(&["enable", "disable"]),
        // kernel/watchdog.c: hardlockup_panic_setup, which takes several words.
        "nmi_watchdog" => {
            let mut words = value?.split(',').filter_map(|word| word.chars().next());
            let on = words.rfind(|word| ['0', '1'].contains(word))?;
            Some(Meaning::Word(on.into()))
        }
        // kernel/cpu.c: mitigations_parse_cmdline. And whatever else comes here.
        _ => Some(value.map_or(Meaning::Given, |value| Meaning::Word(value.into()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn verdict(line: &str, wanted: &str) -> Verdict {
        let wanted = Parameters::parse(wanted);
        Parameters::parse(line).verdict(wanted.iter().next().unwrap(), 15)
    }

    #[test]
    fn values_are_what_they_mean() {
        let isolcpus = "isolcpus=managed_irq,domain,4-7";
        for (line, wanted) in [
            ("isolcpus=\"managed_irq,domain,4-7\"", isolcpus),
            ("\"isolcpus=managed_irq,domain,4-7\"", isolcpus),
            ("isolcpus=domain,managed_irq,4,5,6-7", isolcpus),
            ("isolcpus=managed_irq,domain,6-7,4-5", isolcpus),
            // Quotes in the middle of a value are part of it, and such a list is none.
            (
                "isolcpus=nohz,\"1-3\" isolcpus=domain,managed_irq,4-7:1/1",
                isolcpus,
            ),
            ("isolcpus=4-7 isolcpus=managed_irq,4-7", isolcpus),
            ("isolcpus=4-7", "isolcpus=domain,4-7"),
            ("isolcpus=domain,4-7,", "isolcpus=4-7"),
            ("nohz-full=4-5,6-7", "nohz_full=4-7"),
            ("isolcpus=nohz,domain,4-7", "nohz_full=4-7"),
            ("nohz_full=8-N", "nohz_full=8-15"),
            ("nohz_full=0-15:2/4", "nohz_full=0-1,4-5,8-9,12-13"),
            ("rcu-nocbs=all", "rcu_nocbs=0-15"),
            ("nohz_full=4-7", "rcu_nocbs=4-7"),
            ("irqaffinity=1-3", "irqaffinity=0-3"),
            ("irqaffinity=7 irqaffinity=3,2,1,0", "irqaffinity=0-3"),
            (
                "processor.max-cstate=0x1 intel-idle.max_cstate=00",
                "processor.max_cstate=1",
            ),
            ("intel-idle.max_cstate=00", "intel_idle.max_cstate=0"),
            ("nosmt=force", "nosmt"),
            ("skew_tick=0 skew-tick=\"1\"", "skew_tick=1"),
            (
                "transparent_hugepage=never transparent_hugepage=no",
                "transparent_hugepage=never",
            ),
            ("nmi_watchdog=panic,0", "nmi_watchdog=0"),
            (
                "numa_balancing=disable numa_balancing=off",
                "numa_balancing=disable",
            ),
            ("mitigations=auto mitigations=off", "mitigations=off"),
        ] {
            assert_eq!(verdict(line, wanted), Verdict::Heeded, "{line}");
        }
    }

    #[test]
    fn of_several_the_kernel_heeds_one() {
        let isolcpus = "isolcpus=managed_irq,domain,4-7";
        for (line, wanted, expected) in [
            (
                "quiet isolcpus=1-3 isolcpus=managed_irq,domain,4-7",
                isolcpus,
                Verdict::Overruled(1),
            ),
            (
                "isolcpus=1-3 nohz_full=4-7",
                "nohz_full=4-7",
                Verdict::Overruled(0),
            ),
            (
                "nohz_full=1-3 isolcpus=managed_irq,domain,4-7",
                isolcpus,
                Verdict::Overruled(0),
            ),
            (
                "isolcpus=managed_irq,domain,4-7 isolcpus=1-3",
                isolcpus,
                Verdict::Heeded,
            ),
            ("isolcpus=4-7", isolcpus, Verdict::Absent),
            ("isolcpus=4-x", isolcpus, Verdict::Absent),
            ("quiet -- isolcpus=4-7", "isolcpus=4-7", Verdict::Absent),
            (
                "rcu_nocbs=4-7 rcu_nocbs=1",
                "rcu_nocbs=4-7",
                Verdict::Overruled(1),
            ),
            ("nohz_full=1-7", "rcu_nocbs=4-7", Verdict::Absent),
            (
                "skew_tick=1 skew_tick=0",
                "skew_tick=1",
                Verdict::Overruled(1),
            ),
            ("skew_tick=0 skew_tick=1", "skew_tick=1", Verdict::Heeded),
            ("skew_tick=+-1", "skew_tick=1", Verdict::Absent),
            ("nosmtx x=nosmt", "nosmt", Verdict::Absent),
            ("nmi_watchdog=panic", "nmi_watchdog=0", Verdict::Absent),
        ] {
            assert_eq!(verdict(line, wanted), expected, "{line}");
        }
    }

    proptest! {
        #[test]
        fn any_line_has_its_verdict(line in "[ -~]{0,60}", wanted in "(isolcpus|nohz_full|rcu_nocbs|skew_tick|nmi_watchdog)=[0-9,\\-:/Na\"]{0,8}") {
            verdict(&line, &wanted);
            verdict(&format!("{line} {wanted}"), &wanted);
        }
    }
}
