//! The distance of the two CPUs. A virtual machine's may change: its host moves them between cores that share a
//! cache and such that do not, and a round trip takes half as long again.

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Instant;

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;

use crate::peers::{CLIENT_CPU, SERVER_CPU, quantile_of};

const BATCHES: usize = 50;
const BATCH: u32 = 2000;
/// Cores that share a cache were 60 ns apart on the machine of this writing, others 300. Neither scatters by a fifth.
const SAME: f64 = 1.5;

/// A cache line by itself, and the one that is fetched with it.
#[repr(align(128))]
struct Line(AtomicU32);

/// The time of a cache line to the other CPU and back, in nanoseconds. Takes some 10 to 30 ms.
pub fn distance() -> f64 {
    let line = Line(AtomicU32::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            move_to(SERVER_CPU);
            for turn in 0..BATCHES as u32 * BATCH {
                wait_for(&line, 2 * turn + 1);
                line.0.store(2 * turn + 2, Ordering::Release);
            }
        });
        let client = scope.spawn(|| {
            move_to(CLIENT_CPU);
            let mut turn = 0;
            let mut batch = || {
                let start = Instant::now();
                for _ in 0..BATCH {
                    line.0.store(2 * turn + 1, Ordering::Release);
                    wait_for(&line, 2 * turn + 2);
                    turn += 1;
                }
                start.elapsed().as_secs_f64() * 1e9 / f64::from(BATCH)
            };
            let times: Vec<f64> = (0..BATCHES).map(|_| batch()).collect();
            quantile_of(&times, 0.5)
        });
        client.join().unwrap()
    })
}

/// True if they were as far apart each time.
pub fn is_same(distances: &[f64]) -> bool {
    let far = distances.iter().copied().fold(0.0, f64::max);
    let near = distances.iter().copied().fold(f64::INFINITY, f64::min);
    far <= SAME * near
}

fn wait_for(line: &Line, value: u32) {
    while line.0.load(Ordering::Acquire) != value {
        std::hint::spin_loop();
    }
}

fn move_to(cpu: &str) {
    let mut only = CpuSet::new();
    only.set(cpu.parse().unwrap()).unwrap();
    sched_setaffinity(Pid::from_raw(0), &only).unwrap();
}
