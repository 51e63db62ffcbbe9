//! The CPUs that this process runs on: where measuring is to stay, and the partition of the node that `tune apply` made.

use jitterlab_node_tuning::cpus::CpuSet;
use jitterlab_node_tuning::settings;
use jitterlab_node_tuning::system::System;

use crate::outcome::Failure;

/// Keeps the calling thread on a CPU.
pub fn pin(cpu: Option<usize>) -> Result<(), Failure> {
    let Some(id) = cpu else {
        return Ok(());
    };
    // Not get_core_ids, which knows only the CPUs that this process was started on: on a tuned node those
    // that measure are not among them.
    let cpu = u32::try_from(id)
        .ok()
        .filter(|_| id < nix::sched::CpuSet::count());
    if let Some(cpu) = cpu {
        enter(&CpuSet::from_iter([cpu]))?;
    }
    match cpu.is_some() && core_affinity::set_for_current(core_affinity::CoreId { id }) {
        true => Ok(()),
        false => Err(Failure::input(format!(
            "cannot stay on CPU {id}, because this machine does not have it or does not allow it"
        ))),
    }
}

/// Enters the partition of this node that has these CPUs, where `tune apply` has made one.
pub fn enter(cpus: &CpuSet) -> Result<(), Failure> {
    // Nothing is started, since nothing is changed.
    settings::join_partition(&System::at("/", ""), cpus).map_err(|error| {
        Failure::run(format!(
            "cannot enter the partition of CPUs {cpus} that `tune apply` has made: {error}"
        ))
    })
}

/// Does something in the partition of these CPUs, if there is one, and goes back to where this process was.
pub fn visit<T>(cpus: &CpuSet, there: impl FnOnce() -> T) -> Result<T, Failure> {
    let system = System::at("/", "");
    let before = settings::own_group(&system);
    enter(cpus)?;
    let done = there();
    match before {
        Some(group) if settings::own_group(&system).as_ref() != Some(&group) => {
            settings::join_group(&system, &group).map_err(|error| {
                Failure::run(format!(
                    "cannot go back to the control group {group}: {error}"
                ))
            })?;
        }
        _ => {}
    }
    Ok(done)
}
