use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Tracer;
use crate::cpus::Cpu;

/// The osnoise tracer's findings on a CPU: the sum of its samples, each the work of a spinning
/// kernel thread for a second (Documentation/trace/osnoise-tracer.rst).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Osnoise {
    /// The CPU.
    pub cpu: Cpu,
    /// Samples.
    pub samples: u64,
    /// The time that the thread ran, in microseconds.
    pub runtime_us: u64,
    /// The part of it that was taken away.
    pub noise_us: u64,
    /// The longest single noise, in microseconds.
    pub longest_us: u64,
    /// Noises without an interrupt or thread: the hardware's, firmware's or hypervisor's.
    pub hardware: u64,
    /// Non-maskable interrupts.
    pub nmis: u64,
    /// Interrupts.
    pub irqs: u64,
    /// Softirqs.
    pub softirqs: u64,
    /// Threads.
    pub threads: u64,
}

impl Tracer for Osnoise {
    const NAME: &'static str = "osnoise";
    const TIME: Duration = Duration::from_millis(2_200);

    /// A line: runtime, noise, share available in percent, longest, then five counts.
    fn of(cpu: Cpu, lines: &[&str]) -> Option<Self> {
        let mut sum = Osnoise {
            cpu,
            samples: 0,
            runtime_us: 0,
            noise_us: 0,
            longest_us: 0,
            hardware: 0,
            nmis: 0,
            irqs: 0,
            softirqs: 0,
            threads: 0,
        };
        for line in lines {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [
                runtime,
                noise,
                _,
                longest,
                hardware,
                nmis,
                irqs,
                softirqs,
                threads,
            ] = words[..]
            else {
                return None;
            };
            sum.samples += 1;
            sum.longest_us = sum.longest_us.max(longest.parse().ok()?);
            for (total, word) in [
                (&mut sum.runtime_us, runtime),
                (&mut sum.noise_us, noise),
                (&mut sum.hardware, hardware),
                (&mut sum.nmis, nmis),
                (&mut sum.irqs, irqs),
                (&mut sum.softirqs, softirqs),
                (&mut sum.threads, threads),
            ] {
                *total += word.parse::<u64>().ok()?;
            }
        }
        Some(sum)
    }
}
