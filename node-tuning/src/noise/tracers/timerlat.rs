use std::time::Duration;

use jitterlab_stats::summary::Summary;
use serde::{Deserialize, Serialize};

use super::Tracer;
use crate::cpus::Cpu;

/// The timerlat tracer's findings on a CPU: how long after a timer's time, in nanoseconds, its interrupt
/// came and the thread that it wakes ran, about 1,000 times a second
/// (Documentation/trace/timerlat-tracer.rst).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Timerlat {
    /// The CPU.
    pub cpu: Cpu,
    /// The latency of the interrupt; nothing if none came.
    pub irq_ns: Option<Summary>,
    /// The latency of the thread; nothing if it never ran.
    pub thread_ns: Option<Summary>,
}

impl Tracer for Timerlat {
    const NAME: &'static str = "timerlat";
    const TIME: Duration = Duration::from_millis(1_500);

    /// A line: `#1 context irq timer_latency 932 ns`.
    fn of(cpu: Cpu, lines: &[&str]) -> Option<Self> {
        let (mut irq, mut thread) = (Vec::new(), Vec::new());
        for line in lines {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [_, "context", context, "timer_latency", ns, "ns"] = words[..] else {
                return None;
            };
            match context {
                "irq" => irq.push(ns.parse::<f64>().ok()?),
                "thread" => thread.push(ns.parse::<f64>().ok()?),
                // Threads of user space, where somebody else uses the same tracer.
                _ => {}
            }
        }
        Some(Timerlat {
            cpu,
            irq_ns: Summary::of(&irq).ok(),
            thread_ns: Summary::of(&thread).ok(),
        })
    }
}
