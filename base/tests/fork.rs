//! A mark tells a process from its child.

#![allow(unsafe_code)]

use jitterlab_base::fork::Parent;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, fork};

#[test]
fn a_child_is_not_the_process_that_made_the_mark() {
    let mark = Parent::mark().unwrap();
    assert!(mark.is_caller());
    // SAFETY: the child does nothing but load a word and end.
    let child = match unsafe { fork() }.unwrap() {
        ForkResult::Child => {
            let status = if mark.is_caller() { 1 } else { 0 };
            // SAFETY: ends the child at once, as is right after a fork.
            unsafe { libc::_exit(status) }
        }
        ForkResult::Parent { child } => child,
    };
    assert_eq!(waitpid(child, None).unwrap(), WaitStatus::Exited(child, 0));
    assert!(mark.is_caller());
}
