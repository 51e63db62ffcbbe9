//! Doing the same with many hosts.

use std::thread;

/// Hosts that something is done with at the same time.
const AT_ONCE: usize = 64;

/// Does something with each of these hosts, with 64 of them at the same time; gives what came of it in their order.
pub fn together<'n, T: Send>(
    names: &[&'n str],
    act: impl Fn(&'n str) -> T + Sync,
) -> Vec<(&'n str, T)> {
    let act = &act;
    let mut all = Vec::with_capacity(names.len());
    for group in names.chunks(AT_ONCE) {
        let done: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> = group
                .iter()
                .map(|&name| (name, scope.spawn(move || act(name))))
                .collect();
            let ended = threads.into_iter().map(|(name, thread)| {
                let done = thread.join();
                (
                    name,
                    done.unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                )
            });
            ended.collect()
        });
        all.extend(done);
    }
    all
}
