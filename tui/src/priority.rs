//! Real-time priority of threads, which whoever starts this program may give it (`chrt -f 20 jitterlab …`).

use thread_priority::{
    ThreadPriority, ThreadPriorityValue, ThreadSchedulePolicy, set_thread_priority_and_policy,
    thread_native_id, thread_schedule_policy_param,
};

/// The policy and the priority of the calling thread, if they are real-time ones.
fn own() -> Option<(ThreadSchedulePolicy, u8)> {
    let (policy, parameters) = thread_schedule_policy_param(thread_native_id()).ok()?;
    let is_real_time = matches!(policy, ThreadSchedulePolicy::Realtime(_));
    let priority = u8::try_from(parameters.sched_priority).ok()?;
    (is_real_time && priority > 0).then_some((policy, priority))
}

/// True if other work waits for the calling thread: it has real-time priority.
pub fn is_real_time() -> bool {
    own().is_some()
}

/// A real-time priority that the calling thread had before it was raised.
pub struct Raised(ThreadSchedulePolicy, u8);

impl Raised {
    /// Raises the calling thread above those that have its real-time priority, until the value is dropped. `None` if it has
    /// none, or the system refuses.
    pub fn begin() -> Option<Self> {
        let (policy, priority) = own()?;
        set(policy, priority + 1).then_some(Raised(policy, priority))
    }
}

impl Drop for Raised {
    fn drop(&mut self) {
        // A lower one is always allowed.
        set(self.0, self.1);
    }
}

/// Sets the priority of the calling thread; whether that was possible.
fn set(policy: ThreadSchedulePolicy, priority: u8) -> bool {
    ThreadPriorityValue::try_from(priority).is_ok_and(|priority| {
        let priority = ThreadPriority::Crossplatform(priority);
        set_thread_priority_and_policy(thread_native_id(), priority, policy).is_ok()
    })
}
