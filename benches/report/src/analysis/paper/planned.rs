//! The two comparisons that the experimental suites are made for, told in full whatever comes out: LU beside EP under
//! the same varied delays, and LU under varied beside constant delays of one mean. Where one is not shown, the
//! reason, as far as the runs hold it.

use jitterlab_base::show;
use jitterlab_experiment::level::{Level, Member};

use super::Finding;
use super::slowed::{Slowed, of_kernel, share, shown};
use super::standing::{Standing, above_one, compared};
use crate::analysis::application::delays::Cost;
use crate::analysis::results::Results;
use crate::analysis::slowdown::{Slowdown, correct};
use crate::words;

/// The factor by which LU ran longer with varied than with constant delays, both at the highest latencies of the
/// paper: 3.5 times as long as without in its figure 12, and about twice as long in its figure 11 (section 6).
const OF_PAPER: f64 = 3.5 / 2.0;

/// Two conditions whose slowdowns are compared.
struct Planned<'a> {
    place: &'static str,
    claim: String,
    one: Slowed<'a>,
    other: Slowed<'a>,
    found: Slowdown,
    why: fn(&Planned) -> Option<String>,
}

/// Both, corrected after Holm for being two.
pub fn findings(results: &Results) -> Vec<Finding> {
    let mut planned: Vec<Planned> = [beside_ep(results), beside_constant(results)]
        .into_iter()
        .flatten()
        .collect();
    correct(planned.iter_mut().map(|planned| &mut planned.found));
    planned
        .iter()
        .map(|planned| planned.finding(results))
        .collect()
}

fn beside_ep(results: &Results) -> Option<Planned<'_>> {
    let (lu, ep) = (of_kernel(results, "lu")?, of_kernel(results, "ep")?);
    let one = Slowed::at_highest(results, lu, results.suites.packet.imitation())?;
    let other = Slowed::at(results, ep, one.injected.level)?;
    Some(Planned {
        place: "figure 12",
        claim: format!("under the same varied delays {lu} slows down more than {ep}"),
        one,
        other,
        found: one.more_than(&other)?,
        why: why_no_more_than_ep,
    })
}

fn beside_constant(results: &Results) -> Option<Planned<'_>> {
    let lu = of_kernel(results, "lu")?;
    let one = Slowed::at_highest(results, lu, results.suites.packet.imitation())?;
    let Level::Injected { percent, .. } = one.injected.level else {
        return None;
    };
    let constant = Level::Injected {
        percent,
        shape: Member::Uniform,
    };
    let other = Slowed::at(results, lu, constant)?;
    Some(Planned {
        place: "figures 11 and 12",
        claim: format!("{lu} runs longer under varied than under constant delays of the same mean"),
        one,
        other,
        found: Slowdown::of(&one.injected.runtimes, &other.injected.runtimes)?,
        why: why_no_longer_than_constant,
    })
}

impl Planned<'_> {
    fn finding(&self, results: &Results) -> Finding {
        let standing = above_one(self.found.ratio.value, self.found.holm_p);
        let evidence = format!(
            "at the highest mean, {}: {}; {}: {}; one over the other{}, n = {}",
            results.suites.packet.level_called(self.one.injected.level),
            self.one.told(),
            results
                .suites
                .packet
                .level_called(self.other.injected.level),
            self.other.told(),
            compared(self.found).replacen("; ", " ", 1),
            show::counted(self.found.blocks, "block")
        );
        Finding {
            reason: (standing != Standing::Holds)
                .then(|| (self.why)(self))
                .flatten(),
            ..Finding::new(self.place, self.claim.clone(), standing, evidence)
        }
    }

    /// The distance that the interval reaches to either side, as a logarithm.
    fn reach(&self) -> Option<f64> {
        let (low, high) = self.found.ratio.found()?;
        Some((high / low).ln() / 2.0)
    }

    /// Says what these runs can tell of an effect of a size: that it is not there, or that it takes more of them.
    fn could_show(&self, effect: f64) -> String {
        let Some(reach) = self.reach() else {
            return match self.found.blocks {
                0 | 1 => "without repeated runs no effect can be shown".into(),
                n => format!(
                    "{} show no effect: they differ too much",
                    show::counted(n, "block")
                ),
            };
        };
        let size = words::signed_percent(effect);
        if self
            .found
            .ratio
            .found()
            .is_some_and(|(_, high)| high < effect)
        {
            return format!("the interval excludes {size}");
        }
        let reaches = words::signed_percent(reach.exp());
        // An interval shrinks with the root of the number of blocks.
        let blocks = (self.found.blocks as f64 * (reach / effect.ln()).powi(2)).ceil();
        if blocks <= self.found.blocks as f64 {
            format!(
                "the interval, which reaches {reaches} beyond its middle, is narrow enough to show {size}"
            )
        } else {
            format!(
                "the interval reaches {reaches} beyond its middle, too far to show {size}, for which it would take \
                 about {} repetitions",
                show::count(blocks as u64)
            )
        }
    }
}

/// The reason for LU and EP: the total of their delays, beside what the runs can show.
fn why_no_more_than_ep(planned: &Planned) -> Option<String> {
    let (lu, ep) = (planned.one.cost()?, planned.other.cost()?);
    let expected = (1.0 + lu.share_of_program) / (1.0 + ep.share_of_program);
    let given = |slowed: &Slowed, cost: &Cost| {
        format!(
            "{} got delays of {} of its runtime without injection, all ranks together{}",
            slowed.none.application,
            words::percent_of(cost.share_of_program),
            cost.shown()
                .map(|shown| format!(", of which {} showed", share(shown)))
                .unwrap_or_default()
        )
    };
    let effect = if expected > 1.0 {
        planned.could_show(expected)
    } else {
        "by that count it had no more to lose than the other".into()
    };
    Some(format!(
        "{}, and {}: if all of it showed, one slowdown would be {} over the other, and {effect}",
        given(&planned.one, &lu),
        given(&planned.other, &ep),
        words::signed_percent(expected),
    ))
}

/// The reason for varied and constant delays: what was drawn, what of it shows, and what the runs can show.
fn why_no_longer_than_constant(planned: &Planned) -> Option<String> {
    let varied = planned.one.cost()?;
    let (sums, constant_sums) = (
        &planned.one.injected.delay_s,
        &planned.other.injected.delay_s,
    );
    let drawn = Slowdown::of(sums, constant_sums)?;
    let by_chance = format!(
        "a run draws {} delays; the total of the varied ones was {} against that of the constant ones, and by chance alone \
         such a sum has a standard deviation of {} of its mean",
        show::count(varied.delays.round() as u64),
        drawn.ratio.in_percent(),
        words::percent_of(varied.spread)
    );
    let shows = shown(&planned.one, &planned.other).map(|shows| format!("; {shows}"));
    Some(format!(
        "{by_chance}{}; against the paper's figures 11 and 12, by which LU ran about {} longer, {}",
        shows.unwrap_or_default(),
        words::percent_of(OF_PAPER - 1.0),
        planned.could_show(OF_PAPER)
    ))
}
