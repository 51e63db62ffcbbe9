//! The limits of a measuring core, and what exceeds them.

use jitterlab_base::show;
use serde::{Deserialize, Serialize};

use jitterlab_base::units::Nanos;

use super::report::{Core, NoiseReport};
use crate::cpus::Cpu;

/// Limits for each measuring core.
///
/// The reasons of the default values speak of a round trip of 10 us between two such cores, because that is
/// what is to be measured, and of its 99.9th percentile, because that is where variation is
/// looked for: it is the network's if noise touches no more than one round trip in 1,000.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Gaps a second. 50: of round trips of 10 us, 50 gaps a second at each end touch one in 1,000. The
    /// slowest tick that Linux has is 100 a second, so a core on which the tick runs is above.
    pub gaps_per_s: f64,
    /// Share of the time that is lost. 0.0001: a message that comes at any moment finds its receiver away
    /// once in 10,000 times.
    pub lost_share: f64,
    /// The longest gap. 50 us: an interrupt with its softirqs takes 1 to 20 us. A longer gap was another
    /// thread, the firmware or a hypervisor, and these do not belong on a measuring core.
    pub longest: Nanos,
    /// The most time of an iteration of the loop. 100 ns: a counter that is read by an instruction takes 10 to
    /// 30. Above it, short gaps are not seen, and what a microsecond is measured with is too coarse.
    pub iteration_ns: f64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            gaps_per_s: 50.0,
            lost_share: 1e-4,
            longest: Nanos(50_000),
            iteration_ns: 100.0,
        }
    }
}

/// A limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Figure {
    /// [`Limits::gaps_per_s`].
    GapsPerSecond,
    /// [`Limits::lost_share`].
    LostShare,
    /// [`Limits::longest`], in nanoseconds.
    Longest,
    /// [`Limits::iteration_ns`].
    Iteration,
}

/// A limit that was exceeded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The CPU.
    pub cpu: Cpu,
    /// The limit.
    pub figure: Figure,
    /// The value that was found.
    pub found: f64,
    /// The greatest value that is allowed, in the same unit.
    pub limit: f64,
    /// The finding as a sentence.
    pub message: String,
}

/// Holds a report against limits. Gives what exceeds them, core by core. A quiet node has no finding.
pub fn judge(report: &NoiseReport, limits: &Limits) -> Vec<Finding> {
    let findings = |core| judge_core(core, limits);
    report.cores.iter().flat_map(findings).collect()
}

fn judge_core(core: &Core, limits: &Limits) -> Vec<Finding> {
    let rate = |rate: f64| format!("{} gaps/s", show::number(rate));
    type Row<'a> = (Figure, f64, f64, &'a dyn Fn(f64) -> String, &'a str);
    let figures: [Row; 4] = [
        (
            Figure::GapsPerSecond,
            core.gaps_per_s,
            limits.gaps_per_s,
            &rate,
            "taken away",
        ),
        (
            Figure::LostShare,
            core.lost_share,
            limits.lost_share,
            &show::percent,
            "time lost",
        ),
        (
            Figure::Longest,
            core.longest_ns as f64,
            limits.longest.0 as f64,
            &show::time,
            "longest gap",
        ),
        (
            Figure::Iteration,
            core.iteration_ns,
            limits.iteration_ns,
            &show::time,
            "an iteration of the loop",
        ),
    ];
    figures
        .into_iter()
        .filter(|(_, found, limit, ..)| found > limit)
        .map(|(figure, found, limit, shown, name)| Finding {
            cpu: core.cpu,
            figure,
            found,
            limit,
            message: format!(
                "CPU {}: {name}: {}, above the limit of {}",
                core.cpu,
                shown(found),
                shown(limit)
            ),
        })
        .collect()
}
