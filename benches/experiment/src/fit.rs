//! Makes tables that imitate a load from the round-trip times under it.
//!
//! What a table holds is the *excess* of a load: how much longer a round trip takes under it than
//! the median round trip without it. One delay is injected into each round trip, so that a round
//! trip with it takes as long as one under the load. Samples below that median cannot be imitated
//! by a delay and count as 0.

use jitterlab_base::show;
use jitterlab_injector::check::AskedAndMade;
use jitterlab_injector::family::{Family, Fitted, Member};
use jitterlab_injector::table::DistributionTable;
use jitterlab_packet::transport::Transport;
use jitterlab_stats::distribution::Distribution;
use jitterlab_stats::imitation::{Closeness, Fault, NEAR};
use jitterlab_stats::{Error, summary};
use serde::{Deserialize, Serialize};

/// The origin of the tables for one load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fit {
    /// The transport that the load was measured over.
    pub transport: Transport,
    /// The load in percent.
    pub percent: u8,
    /// Number of round trips under it.
    pub n: u64,
    /// Median RTT without load, in nanoseconds.
    pub baseline_median_ns: f64,
    /// Mean of the excess, in nanoseconds.
    pub excess_mean_ns: f64,
    /// Standard deviation of the excess, in nanoseconds.
    pub excess_std_ns: f64,
    /// The distributions.
    pub members: Vec<FittedMember>,
    /// The shapes that cannot be made from this excess.
    pub refused: Vec<Refused>,
}

/// A shape that cannot be made from an excess.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Refused {
    /// The shape.
    pub shape: Member,
    /// The reason, for people.
    pub reason: String,
}

/// One of the distributions for a load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FittedMember {
    /// The shape.
    pub shape: Member,
    /// The distribution, in nanoseconds; none where the table is made from the excess itself.
    #[serde(deserialize_with = "Option::deserialize")]
    pub distribution: Option<Distribution>,
    /// Mean of the table, in nanoseconds.
    pub mean_ns: f64,
    /// Standard deviation of the table, in nanoseconds.
    pub std_ns: f64,
    /// The table beside the excess, in nanoseconds.
    pub closeness: Closeness,
    /// The table's file, relative to the result folder.
    pub table: String,
}

impl Fit {
    /// The table of a shape, or the reason why it could not be made; `None` where it was not asked for.
    pub fn of(&self, shape: Member) -> Option<Result<&FittedMember, &Refused>> {
        let refused = self.refused.iter().find(|refused| refused.shape == shape);
        let made = self.members.iter().find(|member| member.shape == shape);
        made.map(Ok).or(refused.map(Err))
    }
}

impl FittedMember {
    /// Why this table is no imitation of the load, though its shape claims to be one; `None` where it is, and for other shapes.
    pub fn fault(&self) -> Option<Fault> {
        self.closeness.fault().filter(|_| self.shape.imitates())
    }

    /// The fault in words for people, for a table made for a load of `percent`.
    pub fn poor(&self, percent: u8) -> Option<String> {
        let close = &self.closeness;
        let shape = self.shape;
        let why = match self.fault()? {
            Fault::NoCloserThanConstant => "its distance is no less than a constant's".to_string(),
            Fault::Deviation => format!(
                "its standard deviation is off by more than {}",
                show::percent(NEAR)
            ),
        };
        Some(format!(
            "{shape} does not imitate load {percent} %: {why} (distance from the excess {}, a constant's {}; standard deviation {}, \
             the excess has {}; zeros {}, the excess has {})",
            show::time(close.distance),
            show::time(close.distance_of_constant),
            show::time(close.std),
            show::time(close.std_of_samples),
            show::percent(close.zeros),
            show::percent(close.zeros_of_samples),
        ))
    }
}

/// The shape to inject where tables of these fits are no imitation: a table of the excess, or, where that is none, the excess itself.
pub fn instead(fits: &[Fit]) -> Member {
    let mut members = fits.iter().flat_map(|fit| &fit.members);
    match members.any(|member| member.shape == Member::Empirical && member.fault().is_some()) {
        true => Member::Replay,
        false => Member::Empirical,
    }
}

/// A shape with its table.
#[derive(Debug, Clone)]
pub struct Imitation {
    /// The shape, its distribution and its table.
    pub fitted: Fitted,
    /// The table beside the excess, in nanoseconds.
    pub closeness: Closeness,
}

/// The excess of round trips under a load over the median one without, in nanoseconds; negative
/// where they took less.
pub fn excess(under_load: &[f64], baseline_median: f64) -> Vec<f64> {
    under_load.iter().map(|rtt| rtt - baseline_median).collect()
}

/// Mean and standard deviation of an excess as it can be injected: what is negative counts as 0.
///
/// # Errors
/// There are fewer than two samples.
pub fn injectable_moments(excess: &[f64]) -> Result<(f64, f64), Error> {
    let raised: Vec<f64> = excess.iter().map(|x| x.max(0.0)).collect();
    Ok((summary::mean(&raised)?, summary::std(&raised)?))
}

/// The table of each shape, or why there is none.
pub type Imitations = Vec<(Member, Result<Imitation, String>)>;

/// Fits an excess (in nanoseconds) and makes the table of each shape, or says why there is none. All tables have the mean of the excess.
///
/// # Errors
/// There is no sample, or one is not finite.
pub fn tables(excess: &[f64], shapes: &[Member], seed: u64) -> Result<Imitations, Error> {
    let family = Family::from_samples(excess)?;
    let imitation = |shape: Member| {
        let fitted = family
            .fitted(shape, seed)
            .map_err(|error| error.to_string())?;
        let table = fitted.made.whole(shape)?;
        if !shape.imitates() {
            as_asked(shape, table, family.mean())?;
        }
        let closeness = Closeness::between(excess, &table.sorted());
        Ok(Imitation {
            closeness: closeness.map_err(|error| error.to_string())?,
            fitted,
        })
    };
    Ok(shapes
        .iter()
        .map(|&shape| (shape, imitation(shape)))
        .collect())
}

/// Checks that a table which claims to imitate nothing is as it was asked for: it has the mean of the excess and, if it is constant, no
/// deviation. How much scales vary follows from their law, and no table holds its far tail.
fn as_asked(shape: Member, table: &DistributionTable, mean: f64) -> Result<(), String> {
    let std = match shape {
        Member::Uniform => 0.0,
        _ => table.std(),
    };
    let asked = AskedAndMade::of(table, mean, std);
    match asked.are_met() {
        true => Ok(()),
        false => Err(format!(
            "its table has a mean of {} and a standard deviation of {}, and was made for {} and {}",
            show::time(asked.mean_ns),
            show::time(asked.std_ns),
            show::time(mean),
            show::time(std)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_injector::shape;
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    /// Excesses that are negative for a good part, as under a light load.
    fn light_load() -> Vec<f64> {
        let law = Distribution::LogNormal {
            shape: 0.9,
            location: -4_000.0,
            scale: 5_000.0,
        };
        let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
        (0..20_000)
            .map(|_| law.quantile(random.random_range(0.0..1.0)))
            .collect()
    }

    #[test]
    fn all_tables_have_the_mean_that_can_be_injected_and_vary_in_the_papers_order() {
        let excess = light_load();
        let (mean, _) = injectable_moments(&excess).unwrap();
        assert!(mean > summary::mean(&excess).unwrap());
        let mut last = -1.0;
        for (_, imitation) in tables(&excess, &Member::PAPER, 1).unwrap() {
            let imitation = imitation.unwrap();
            let table = &imitation.fitted.made.table;
            assert!((table.mean() - mean).abs() < 0.01);
            assert!(table.std() > last, "{:?}", imitation.fitted.member);
            last = table.std();
            assert_eq!(imitation.fitted.made.raised, 0);
        }
    }

    #[test]
    fn a_shape_whose_delays_no_table_holds_is_refused() {
        let law = Distribution::LogNormal {
            shape: 0.7,
            location: 0.0,
            scale: 5e7,
        };
        let excess = law.slices(20_000);
        for (shape, imitation) in tables(
            &excess,
            &[Member::Uniform, Member::Lognormal, Member::Scale25],
            1,
        )
        .unwrap()
        {
            match (shape, imitation) {
                (Member::Scale25, Err(why)) => assert!(
                    why.ends_with(" of the 4096 delays of scale25 are beyond 1 s, the longest that a table holds"),
                    "{why}"
                ),
                (shape, imitation) => assert!(shape != Member::Scale25 && imitation.is_ok(), "{shape}"),
            }
        }
    }

    #[test]
    fn constant_and_scaled_delays_are_held_to_what_they_were_made_for() {
        let table = |distribution: Distribution| shape::table(&distribution, 1).table;
        let constant = table(Distribution::Constant { value: 10_000.0 });
        let varied = table(Distribution::Uniform {
            low: 5_000.0,
            high: 15_000.0,
        });
        for (shape, table, mean, held) in [
            (Member::Uniform, &constant, 10_000.0, true),
            (Member::Uniform, &constant, 10_200.0, false),
            (Member::Uniform, &varied, 10_000.0, false),
            (Member::Scale50, &varied, 10_000.0, true),
            (Member::Scale50, &varied, 9_800.0, false),
        ] {
            let found = as_asked(shape, table, mean);
            assert_eq!(found.is_ok(), held, "{shape} {mean} {found:?}");
        }
    }

    #[test]
    fn shapes_that_claim_to_imitate_do() {
        let excess = light_load();
        for (shape, imitation) in tables(&excess, &Member::tables().collect::<Vec<_>>(), 1).unwrap()
        {
            let fault = imitation.unwrap().closeness.fault();
            match shape {
                Member::Empirical | Member::Closest => assert_eq!(fault, None, "{shape}"),
                Member::Uniform => assert!(fault.is_some()),
                _ => {}
            }
        }
    }

    /// The figures of the lognormal that was moved to the mean of a load and clipped at 0.
    #[test]
    fn a_table_that_is_no_imitation_is_told_with_its_distance_deviation_and_zeros() {
        let told = |distance, std| {
            let closeness = Closeness {
                zeros: 0.805,
                zeros_of_samples: 0.2995,
                distance,
                distance_of_constant: 15_800.0,
                largest_difference: 0.5,
                std,
                std_of_samples: 22_700.0,
            };
            let member = |shape| FittedMember {
                shape,
                distribution: None,
                mean_ns: 16_700.0,
                std_ns: std,
                closeness,
                table: String::new(),
            };
            let fit = |shape| Fit {
                transport: Transport::Udp,
                percent: 40,
                n: 1_000,
                baseline_median_ns: 10_000.0,
                excess_mean_ns: 16_700.0,
                excess_std_ns: 22_700.0,
                members: vec![member(shape)],
                refused: Vec::new(),
            };
            assert_eq!(instead(&[fit(Member::Lognormal)]), Member::Empirical);
            let shape = instead(&[fit(Member::Lognormal), fit(Member::Empirical)]);
            (member(Member::Lognormal).poor(40), shape)
        };
        // If a table of the excess itself is no imitation, no table is one.
        let (clipped, shape) = told(18_100.0, 106_000.0);
        assert_eq!(shape, Member::Replay);
        assert_eq!(
            clipped.unwrap(),
            "lognormal does not imitate load 40 %: its distance is no less than a constant's (distance from the excess 18.1 us, a \
             constant's 15.8 us; standard deviation 106 us, the excess has 22.7 us; zeros 80.5 %, the excess has 29.95 %)"
        );
        let wide = told(700.0, 1.5e6).0.unwrap();
        assert!(
            wide.contains("its standard deviation is off by more than 25 % ("),
            "{wide}"
        );
        assert!(wide.contains("distance from the excess 700 ns, "), "{wide}");
        assert!(wide.contains("standard deviation 1.5 ms, "), "{wide}");
        assert_eq!(told(700.0, 23_000.0), (None, Member::Empirical));
    }

    #[test]
    fn the_excess_is_relative_to_the_median_without_load() {
        assert_eq!(excess(&[10.0, 30.0], 20.0), [-10.0, 10.0]);
        assert_eq!(injectable_moments(&[-10.0, 10.0]).unwrap().0, 5.0);
    }
}
