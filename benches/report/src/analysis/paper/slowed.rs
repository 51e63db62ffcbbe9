//! The slowdown of an application by delays, beside another, or beside other delays.

use jitterlab_base::show;
use jitterlab_experiment::level::{Level, Member};

use crate::analysis::application::delays::Cost;
use crate::analysis::application::groups::Group;
use crate::analysis::results::Results;
use crate::analysis::slowdown::Slowdown;
use crate::table::Estimate;
use crate::words;

/// The runs of an application without injection, and with.
#[derive(Clone, Copy)]
pub struct Slowed<'a> {
    pub none: &'a Group,
    pub injected: &'a Group,
}

/// The application that is one of the NAS Parallel Benchmarks.
pub fn of_kernel<'a>(results: &'a Results, kernel: &str) -> Option<&'a str> {
    let mut groups = results.suites.application.groups.iter();
    let group = groups.find(|group| group.kernel.as_deref() == Some(kernel))?;
    Some(&group.application)
}

impl<'a> Slowed<'a> {
    /// An application with the delays of a shape that imitate the highest load.
    pub fn at_highest(results: &'a Results, name: &str, shape: Member) -> Option<Self> {
        let of_shape = results.suites.application.groups.iter().filter(|group| {
            group.application == name
                && matches!(group.level, Level::Injected { shape: of, .. } if of == shape)
        });
        let highest = of_shape.max_by_key(|group| group.level)?;
        Slowed::at(results, name, highest.level)
    }

    /// An application at an injected level.
    pub fn at(results: &'a Results, name: &str, level: Level) -> Option<Self> {
        let at = |level: Level| {
            let mut groups = results.suites.application.groups.iter();
            groups.find(|group| group.application == name && group.level == level)
        };
        Some(Slowed {
            none: at(Level::None)?,
            injected: at(level)?,
        })
    }

    /// The slowdown.
    pub fn slowdown(&self) -> Option<Slowdown> {
        Slowdown::of(&self.injected.runtimes, &self.none.runtimes)
    }

    /// The slowdown beyond that of another.
    pub fn more_than(&self, other: &Slowed) -> Option<Slowdown> {
        Slowdown::of_slowdowns(
            [&self.injected.runtimes, &self.none.runtimes],
            [&other.injected.runtimes, &other.none.runtimes],
        )
    }

    /// The total of its delays.
    pub fn cost(&self) -> Option<Cost> {
        Cost::of(self.none, self.injected)
    }

    /// `lu +167 % (+82 % to +291 %) (n = 5 pairs of runs; 1,171 delays a run of 34 µs on the mean)`.
    pub fn told(&self) -> String {
        let Some(slowdown) = self.slowdown() else {
            return self.none.application.clone();
        };
        let delays = self.cost().map_or(String::new(), |cost| {
            format!(
                "; {} delays a run of {} on the mean",
                show::count(cost.delays.round() as u64),
                words::time(1e9 * cost.sum_s.value / cost.delays)
            )
        });
        format!(
            "{} {} (n = {} of runs{delays})",
            self.none.application,
            slowdown.ratio.in_percent(),
            show::counted(slowdown.blocks, "pair")
        )
    }
}

/// The parts of the total delay that show in the runtime, of varied and of constant delays, and what follows from them.
pub fn shown(varied: &Slowed, constant: &Slowed) -> Option<String> {
    let (varied, constant) = (varied.cost()?, constant.cost()?);
    let difference = varied.shown.with([&constant.shown], |varied, [constant]| {
        Some(varied - constant)
    });
    Some(format!(
        "of the total delay, {} showed in the runtime with varied delays and {} with constant ones: {}",
        share(varied.shown()?),
        share(constant.shown()?),
        meaning(difference.mean())
    ))
}

/// Parts that differ by less are called the same.
const SAME: f64 = 0.25;

/// The meaning of how much more shows of varied delays.
fn meaning(difference: Estimate) -> &'static str {
    match difference.interval() {
        Some((low, _)) if low > 0.0 => {
            "more of those that vary, which cost more than their total says"
        }
        Some((_, high)) if high < 0.0 => {
            "less of those that vary; whether ranks waited anyway or the rest fell outside of the part that is timed, \
             these figures do not tell"
        }
        Some((low, high)) if low > -SAME && high < SAME => {
            "as much of either, so the runtime follows the total delay, however that is divided"
        }
        Some(_) => "these runs do not tell whether that differs",
        None => "one run of each does not tell whether that differs",
    }
}

/// `97 % (90 % to 104 %)`.
pub fn share(of: Estimate) -> String {
    match of.interval() {
        Some((low, high)) => show::with_interval([of.value, low, high].map(words::percent_of)),
        None => words::percent_of(of.value),
    }
}
