//! The observations of a program, in all processes that ran it.

use std::collections::{BTreeMap, BTreeSet};

use jitterlab_injector::control::{Hook, HookFamily};

use super::calls::Call;
use super::watcher::Seen;

/// The hooks of MPI. What passes them passes others below, or goes by memory between ranks of a machine.
pub(super) const MPI: [HookFamily; 2] = [HookFamily::Mpi, HookFamily::MpiCollectives];

/// All processes that ran one program.
#[derive(Default)]
pub(super) struct Program {
    /// True if the library was in each that sent.
    pub(super) loaded: bool,
    pub(super) secure: bool,
    pub(super) hooked: [u64; Hook::ALL.len()],
    pub(super) sent: BTreeMap<Call, BTreeMap<String, u64>>,
    pub(super) other_network: u64,
    pub(super) hidden: u64,
    pub(super) rings: u64,
    pub(super) devices: BTreeSet<String>,
    pub(super) libraries: BTreeSet<String>,
    /// True if it has entered a sandbox.
    pub(super) sandboxed: bool,
    /// Libraries that send and that it opened while it ran.
    pub(super) opened_later: BTreeSet<String>,
}

impl Program {
    pub(super) fn add(&mut self, seen: Seen) {
        let sends = !seen.sent.is_empty() || seen.other_network > 0 || !seen.devices.is_empty();
        self.loaded &= seen.loaded || !sends;
        self.secure |= seen.secure;
        for (sum, calls) in self.hooked.iter_mut().zip(seen.hooked) {
            *sum += calls;
        }
        for (call, places) in seen.sent {
            let sums = self.sent.entry(call).or_default();
            for (place, calls) in places {
                *sums.entry(place).or_default() += calls;
            }
        }
        self.other_network += seen.other_network;
        self.hidden += seen.hidden;
        self.rings += seen.rings;
        self.devices.extend(seen.devices);
        self.libraries.extend(seen.libraries);
        self.sandboxed |= seen.sandboxed;
        self.opened_later.extend(seen.opened_later);
    }

    pub(super) fn hooked_by(&self, hooks: &[Hook]) -> u64 {
        hooks.iter().map(|&hook| self.hooked[hook as usize]).sum()
    }

    pub(super) fn hooked_in(&self, families: &[HookFamily]) -> u64 {
        let of_them = |hook: &Hook| families.contains(&hook.family());
        let hooks: Vec<Hook> = Hook::ALL.into_iter().filter(of_them).collect();
        self.hooked_by(&hooks)
    }

    pub(super) fn verbs(&self) -> u64 {
        self.hooked_in(&[HookFamily::Verbs])
    }

    pub(super) fn mpi(&self) -> u64 {
        self.hooked_in(&MPI)
    }

    pub(super) fn kernel(&self, call: Call) -> u64 {
        self.sent
            .get(&call)
            .map_or(0, |places| places.values().sum())
    }

    pub(super) fn bypassed(&self, call: Call) -> u64 {
        self.kernel(call)
            .saturating_sub(self.hooked_by(call.hooks()))
    }

    /// Sends that went to the kernel.
    pub(super) fn kernel_total(&self) -> u64 {
        Call::ALL.into_iter().map(|call| self.kernel(call)).sum()
    }
}
