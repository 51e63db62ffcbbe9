//! The computation of every figure: definitions, tests, corrections, limits.

use maud::{Markup, html};

use crate::analysis::condition::{BOOTSTRAP, COMPARED, SEGMENTS};
use crate::folder::Analysed;
use crate::words;
use jitterlab_base::show;

/// The section.
pub fn section(analysed: &Analysed) -> Markup {
    html! {
        section id="methods" {
            h2 { "Methods" }
            dl {
                @for (name, text) in notes(analysed) { dt { (name) } dd { (text) } }
            }
        }
    }
}

fn notes(analysed: &Analysed) -> Vec<(&'static str, String)> {
    vec![
        ("Round trips", "RTT is the time from sending a message to having its answer, one message at \
            a time; every sample is kept. The next message is sent when the answer is there, so a \
            slow round trip delays those after it: the figures are of a closed loop.".into()),
        ("The clock", clock(analysed)),
        ("Mean, standard deviation, skewness", "Arithmetic mean; standard deviation with divisor \
            n − 1; adjusted Fisher-Pearson skewness (Joanes and Gill 1998).".into()),
        ("Quantiles", "Linear interpolation between order statistics, type 7 of Hyndman and Fan \
            (1996), of all samples of a condition together. A percentile is never averaged.".into()),
        ("Intervals of means and standard deviations of RTT", format!(
            "95 %. Repetitions are blocks: a two-stage bootstrap draws runs with replacement and, \
             within each, {SEGMENTS} segments of consecutive samples ({} resamples, seed {}; Davison \
             and Hinkley 1997, section 3.8; Künsch 1989). Because runs are few, its standard error \
             is widened by √(R / (R − 1)) and multiplied by Student's t with R − 1 degrees of \
             freedom, R being the number of runs, on logarithms.",
            show::count(BOOTSTRAP.resamples as u64), BOOTSTRAP.seed
        )),
        ("Intervals and tests of runtimes", "One figure a run: a run is a sample, and not the \
            messages in it. A mean has the interval of Student's t. A ratio is taken in each block, which \
            holds every condition once, in an order of its own and with one seed; over blocks it has its \
            geometric mean, with Student's t on logarithms. The ratio does not depend on what all runs of a \
            block share. A block counts only if both runs were measured. Two slowdowns are compared in the same \
            way. Injected and background round trips have no blocks in common: the ratio of their means has \
            Welch's t on the difference of logarithms.".into()),
        ("The total delay", "The sum of the n delays that a run draws from a table of mean μ and \
            standard deviation σ has the mean n μ and the standard deviation σ √n: in proportion, \
            σ / (μ √n). How much of the sum shows in the runtime is by how long the program ran longer than in the run of \
            its block without injection, over the sum of its delays, all ranks together: 1 where each delay makes \
            the run longer by itself, one over the number of ranks where all are always delayed at the same \
            time. Delays are counted from the start of a program to its end.".into()),
        ("Normality", "Kolmogorov-Smirnov distance to the normal with the sample's own mean and \
            standard deviation. The plain test is what the paper used; its p is not valid because \
            the parameters were estimated. The Lilliefors test (Dallal and Wilkinson 1986) is. \
            Each runtime is taken as its distance from its level's mean, in that level's standard deviations. No \
            published table fits such values, so the report simulates p: it draws sets of normal runtimes with as \
            many runs at each level as were measured (Davison and Hinkley 1997, section 4.2.1).".into()),
        ("Excess and fits", "What is fitted is the excess: a round trip under load less the median \
            round trip without. What is negative counts as 0, for no delay imitates it. Families \
            (lognormal, gamma, Weibull, generalised Pareto, mixtures of two and three lognormals) are fitted to what is above 0 by maximum \
            likelihood, with the share of zeros beside them, and scaled to the mean of the excess. The one that comes closest by \
            Wasserstein-1 distance is chosen, and of those that are as close as samples scatter, the one of the fewest parameters. Akaike's \
            criterion assumes that round trips are independent and decides nothing. The empirical table is the excess itself. Of the \
            paper's five, the constant is what it calls uniform, the lognormal is as fitted (of two parameters beside a share of zeros, where with three it would reach below 0), and the others have 25, 50 and 75 % of its \
            scale and the shape that keeps the mean. A table imitates the load if it is closer to the excess than a constant is, and its \
            standard deviation is within a quarter of the excess's. One delay is added to each round trip, on the side that asks.".into()),
        ("Injected against background", format!(
            "Two-sample Kolmogorov-Smirnov and Mann-Whitney tests, the latter with ties and Holm's \
             correction over all comparisons; rank-biserial correlation (Kerby 2014) as the size of \
             the effect; Hodges-Lehmann shift with the interval of the Mann-Whitney test; \
             Wasserstein-1 distance. The standard deviations compared are those of round trips measured \
             with injection and under load, about as many of each. The standard deviation of a table or of a \
             fitted distribution cannot be compared with these: a small sample holds less of a heavy tail than a \
             large one. Of conditions with more than {} samples, so many evenly \
             spaced order statistics are compared. These tests take samples as independent, which \
             round trips that follow each other are not: their p values and the shift's interval \
             are too small, and the ratio of means with its interval over runs is the comparison \
             that respects repetitions.",
            show::count(COMPARED as u64)
        )),
        ("Words for sizes", words::LIMITS.into()),
        ("Correlations", "Pearson's r over all runs with injected delays, each run paired with mean \
            and standard deviation of the table that was injected; intervals by Fisher's transform. \
            There are none where all tables have the same mean, or the same standard deviation, to \
            within 1 ns, a table's resolution. \
            r of mean and r of standard deviation share the runtimes, so they are compared with \
            Steiger's test (1980, equation 14); the paper's Fisher z, which takes them for \
            independent, stands beside it. All of these take runs for independent of each other, and the \
            table's moments for those of what a run drew: neither is exactly so.".into()),
        ("Significance", format!(
            "Level {}. Where a table holds several tests of one question, p is corrected after Holm \
             (1979) over its rows. The two comparisons that the experimental suites are made for, of LU \
             with EP and of varied with constant delays, are corrected for being two.",
            words::ALPHA
        )),
    ]
}

fn clock(analysed: &Analysed) -> String {
    let hosts: Vec<String> = analysed
        .environment
        .hosts
        .iter()
        .map(|(name, node)| {
            format!(
                "{name}: {}, {} a reading, steps of {}",
                node.clock,
                words::time(node.clock_read_ns),
                words::time(node.clock_resolution_ns)
            )
        })
        .collect();
    format!(
        "Times are read on the host that asks, so no two clocks have to agree. {}. A sample \
         contains one reading of the clock.",
        hosts.join("; ")
    )
}
