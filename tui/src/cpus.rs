//! The CPUs that this process runs on: where measuring is to stay, and the partition of the node that `tune apply` made.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::OnceLock;

use jitterlab_node_tuning::cpus::CpuSet;
use jitterlab_node_tuning::journal::Journal;
use jitterlab_node_tuning::settings;
use jitterlab_node_tuning::system::System;
use nix::sched::{sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

use crate::outcome::Failure;
use crate::priority::Raised;

/// The CPUs that this node keeps for measuring, where `tune apply` has been here.
pub fn kept_for_measuring() -> Option<CpuSet> {
    let journal = Journal::read(&System::at("/", "")).ok()?;
    let measuring = journal.applied?.plan.measuring;
    (!measuring.is_empty()).then_some(measuring)
}

/// The CPUs on which this process might run before it was sent to the housekeeping CPUs, or to the one on which it measures.
static ANYWHERE: OnceLock<nix::sched::CpuSet> = OnceLock::new();

/// Sends the calling thread, and those that it starts, to the housekeeping CPUs, where `tune apply` has named some: to those of
/// them that it might run on before. Without one of these it stays.
pub fn to_housekeeping() {
    let journal = Journal::read(&System::at("/", "")).ok();
    let Some(applied) = journal.and_then(|journal| journal.applied) else {
        return;
    };
    let own = Pid::from_raw(0);
    let Ok(before) = sched_getaffinity(own) else {
        return;
    };
    let mut housekeeping = nix::sched::CpuSet::new();
    for cpu in applied.plan.housekeeping.iter() {
        let cpu = cpu as usize;
        if before.is_set(cpu) == Ok(true) {
            // It is within the set, as it is in another of the same size.
            let _ = housekeeping.set(cpu);
        }
    }
    // The system refuses a set without a CPU.
    if sched_setaffinity(own, &housekeeping).is_ok() {
        let _ = ANYWHERE.set(before);
    }
}

/// Puts background load on the CPU that is asked for; else on the housekeeping CPUs: the CPUs that measure are left to what
/// measures beside it.
pub fn beside_measuring(asked: Option<usize>) -> Result<(), Failure> {
    if asked.is_none() {
        to_housekeeping();
    }
    pin(asked)
}

/// Lets the calling thread, and what it starts, run wherever this process might before [`to_housekeeping`] or [`pin`].
pub fn anywhere() {
    if let Some(before) = ANYWHERE.get() {
        // The process was not let out either, if the system refuses.
        let _ = sched_setaffinity(Pid::from_raw(0), before);
    }
}

/// Starts by `start` threads that watch beside the calling one, which polls. It never leaves its CPU, and what it starts would
/// have its CPU and its real-time priority, and would never run. So these may run wherever this process might before [`pin`],
/// and come before it.
pub fn beside<T>(start: impl FnOnce() -> T) -> T {
    let own = Pid::from_raw(0);
    let before = sched_getaffinity(own);
    // Threads inherit both.
    let raised = Raised::begin();
    anywhere();
    let started = start();
    drop(raised);
    if let Ok(before) = before {
        // It was there just now.
        let _ = sched_setaffinity(own, &before);
    }
    started
}

/// The CPU that what measures has to be put on: the one that is asked for, or the first that the node keeps for measuring and that
/// nobody else was given. None where there is no such CPU, and where whoever started this process has put it on one already.
/// No other process of this user is given the CPU while this one runs.
pub fn choose(asked: Option<usize>) -> Option<usize> {
    match asked.or_else(own) {
        Some(cpu) => {
            // Be it free or not.
            take(cpu);
            asked
        }
        None => first_free(&kept_for_measuring()?, take),
    }
}

fn first_free(kept: &CpuSet, take: impl Fn(usize) -> bool) -> Option<usize> {
    kept.iter().map(|cpu| cpu as usize).find(|&cpu| take(cpu))
}

/// The CPU that this process is on, where it may be on no other.
fn own() -> Option<usize> {
    let set = sched_getaffinity(Pid::from_raw(0)).ok()?;
    let is_in = |&cpu: &usize| set.is_set(cpu).unwrap_or(false);
    let mut cpus = (0..nix::sched::CpuSet::count()).filter(is_in);
    let first = cpus.next()?;
    cpus.next().is_none().then_some(first)
}

/// Takes a CPU until this process ends; whether it was free. It is taken by a lock on a file in memory, which is there for
/// every process of this user, whatever its namespaces of network.
fn take(cpu: usize) -> bool {
    let file = format!("/dev/shm/jitterlab-{}-cpu-{cpu}", nix::unistd::getuid());
    let file: Option<File> = OpenOptions::new()
        .write(true)
        .create(true)
        .mode(0o600)
        .custom_flags(nix::libc::O_NOFOLLOW)
        .open(file)
        .ok()
        .filter(|file| file.try_lock().is_ok());
    let is_free = file.is_some();
    // The lock goes with the process.
    std::mem::forget(file);
    is_free
}

/// Keeps the calling thread on a CPU.
pub fn pin(cpu: Option<usize>) -> Result<(), Failure> {
    let Some(id) = cpu else {
        return Ok(());
    };
    // get_core_ids will not do: it knows only the CPUs that this process was started on, and the
    // measuring CPUs of a tuned node are not among them.
    let cpu = u32::try_from(id)
        .ok()
        .filter(|_| id < nix::sched::CpuSet::count());
    if let Ok(before) = sched_getaffinity(Pid::from_raw(0)) {
        let _ = ANYWHERE.set(before);
    }
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

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn who_comes_next_is_given_the_next_free_cpu() {
        let taken = RefCell::new(vec![2]);
        let take = |cpu: usize| {
            let is_free = !taken.borrow().contains(&cpu);
            taken.borrow_mut().push(cpu);
            is_free
        };
        let kept = CpuSet::from_iter([2, 5, 7]);
        let given = [(); 3].map(|()| first_free(&kept, take));
        assert_eq!(given, [Some(5), Some(7), None]);
    }

    #[test]
    fn a_cpu_is_taken_once() {
        // One that no machine has: nobody measures there.
        let cpu = 1_000_000 + std::process::id() as usize;
        assert!(take(cpu));
        assert!(!take(cpu));
        let file = format!("/dev/shm/jitterlab-{}-cpu-{cpu}", nix::unistd::getuid());
        std::fs::remove_file(file).unwrap();
    }
}
