//! The costs of a frame: table 3.1 of Kaur for each way, what has to hold between the parameters, and what delays have moved.

use jitterlab_amvia_suite::loggp::{
    self, Estimates, Related, Report, Verdict, Visible, as_expected, related,
};
use jitterlab_base::show;
use jitterlab_experiment::record::{AmviaResult, RunRecord};
use jitterlab_stats::bootstrap::Interval;
use jitterlab_stats::holm;
use serde::Serialize;

use super::way::{OfWay, Way, result, way_columns};
use crate::Error;
use crate::analysis::rows::micros;
use crate::table::{Column, Estimate, Row, Value, column};
use crate::words;

/// The parameters of one way. Times in nanoseconds; one that cannot be seen is none.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Costs {
    /// The case, transport and protocol.
    #[serde(flatten)]
    pub way: Way,
    /// Blocks that they are made from.
    pub blocks: usize,
    /// o_s.
    pub send_ns: Estimate,
    /// o_r.
    pub receive_ns: Option<Estimate>,
    /// a_s, if the protocol has acknowledgements, as another one gives it.
    pub ack_send_ns: Option<Estimate>,
    /// a_r, if the protocol has acknowledgements.
    pub ack_receive_ns: Option<Estimate>,
    /// h, as another protocol gives it.
    pub handler_ns: Option<Estimate>,
    /// L.
    pub latency_ns: Option<Estimate>,
    /// g.
    pub gap_ns: Option<Estimate>,
    /// G, for each byte.
    pub gap_per_byte_ns: Option<Estimate>,
    /// The time from one message to the next in a long burst.
    pub interval_ns: Estimate,
    /// The time from one request to the next, each after the reply to the one before.
    pub round_trip_ns: Estimate,
}

/// Two ways of measuring one time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Identity {
    /// The case, transport and protocol.
    #[serde(flatten)]
    pub way: Way,
    /// The time that the identity is about.
    pub time: &'static str,
    /// It in terms of the costs.
    pub formula: &'static str,
    /// The time as it was measured, in nanoseconds.
    pub measured_ns: f64,
    /// The time that follows from the costs, in nanoseconds.
    pub expected_ns: f64,
    /// The difference, in nanoseconds.
    pub difference_ns: Estimate,
    /// The verdict on the identity.
    pub verdict: Verdict,
}

/// The change of a time by a delay.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Moved {
    /// The case, transport and protocol.
    #[serde(flatten)]
    pub way: Way,
    /// The mode in which the delay was injected.
    pub mode: &'static str,
    /// The length of the delay that was asked for, in nanoseconds.
    pub delay_ns: u64,
    /// Its mean length as the injector achieved it, in nanoseconds.
    pub achieved_ns: f64,
    /// The time that was observed.
    pub observable: &'static str,
    /// The change of it that was to be expected, in nanoseconds.
    pub expected_ns: f64,
    /// The change of it that was measured, in nanoseconds.
    pub measured_ns: Estimate,
    /// True if that is what it had to be.
    pub as_expected: bool,
    /// Two-sided p of the hypothesis that it is, corrected after Holm over all shifts; none for one run.
    pub holm_p: Option<f64>,
}

/// Messages of bursts of one way, for the figures. Times in nanoseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct Signature {
    /// The case, transport and protocol.
    pub way: Way,
    /// A curve for each time of computing after a message.
    pub curves: Vec<Curve>,
    /// A send, and an interval, for each size of requests.
    pub bulk: Vec<(u64, [Estimate; 2])>,
}

/// Bursts with one time of computing after each message.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// The time of computing.
    pub computing_ns: u64,
    /// The points by messages of a burst: the cost of one message, and its cost by the schedule.
    pub points: Vec<(u64, Estimate, f64)>,
}

/// All of it.
#[derive(Default)]
pub struct Found {
    /// The parameters of each way.
    pub costs: Vec<Costs>,
    /// The identities that have to hold between them.
    pub identities: Vec<Identity>,
    /// The times that delays have moved.
    pub moved: Vec<Moved>,
    /// Messages of bursts.
    pub signatures: Vec<Signature>,
}

fn report(run: &RunRecord) -> Option<&Report> {
    match result(run) {
        Some(AmviaResult::Loggp(report)) => Some(report),
        _ => None,
    }
}

/// The findings of the runs of the case.
///
/// # Errors
/// A run has fewer than two blocks.
pub fn loggp(done: &[&RunRecord]) -> Result<Found, Error> {
    let mut found = Found::default();
    for way in Way::all(done, |run| report(run).is_some()) {
        let failed = |source| Error::Statistics {
            what: format!("{way}, {}", way.level),
            source,
        };
        let reports = of_way(done, &way);
        let Some(estimates) = Estimates::of(&reports).map_err(failed)? else {
            continue;
        };
        let related = related(way.protocol, |protocol| {
            let other = Way {
                protocol,
                ..way.clone()
            };
            of_way(done, &other)
        })
        .map_err(failed)?;
        let interval = match &related {
            Some(related) => related.interval.as_ref(),
            None => Some(&estimates.identity),
        };
        let trip = related.as_ref().map(|related| &related.round_trip);
        let all = [("interval", interval), ("round trip", trip)];
        found.identities.extend(
            all.into_iter()
                .filter_map(|(time, it)| Some(identity(&way, time, it?))),
        );
        found
            .moved
            .extend(estimates.shifts.iter().map(|shift| Moved {
                way: way.clone(),
                mode: shift.injected.mode.name(),
                delay_ns: shift.injected.delay_ns,
                achieved_ns: shift.achieved,
                observable: shift.observable.name(),
                expected_ns: shift.expected,
                measured_ns: shift.measured.into(),
                as_expected: shift.is_as_expected(),
                holm_p: shift.p,
            }));
        found
            .signatures
            .push(signature(&way, &reports, &estimates).map_err(failed)?);
        found
            .costs
            .push(Costs::of(way.clone(), &estimates, related.as_ref()));
    }
    correct(&mut found.moved);
    Ok(found)
}

/// Corrects the p values, which are read together.
fn correct(moved: &mut [Moved]) {
    let p: Vec<f64> = moved.iter().filter_map(|shift| shift.holm_p).collect();
    let tested = moved.iter_mut().filter_map(|shift| shift.holm_p.as_mut());
    for (p, adjusted) in tested.zip(holm::adjust(&p)) {
        *p = adjusted;
    }
}

fn of_way<'a>(done: &[&'a RunRecord], way: &Way) -> Vec<&'a Report> {
    way.runs(done).into_iter().filter_map(report).collect()
}

fn identity(way: &Way, time: &'static str, identity: &loggp::Identity) -> Identity {
    Identity {
        way: way.clone(),
        time,
        formula: identity.formula,
        measured_ns: identity.measured,
        expected_ns: identity.expected,
        difference_ns: identity.difference.into(),
        verdict: identity.verdict(),
    }
}

fn signature(
    way: &Way,
    reports: &[&Report],
    estimates: &Estimates,
) -> Result<Signature, jitterlab_stats::Error> {
    let like = reports[0];
    let mut curves = Vec::new();
    for (row, &computing_ns) in like.computing_ns.iter().enumerate() {
        let mut points = Vec::new();
        for (place, &burst) in like.bursts.iter().enumerate() {
            let cost = Estimates::over_blocks(reports, |block| block.signature_ns[row][place])?;
            let expected = estimates
                .schedule
                .burst(burst as usize, computing_ns as f64);
            points.push((burst, Estimate::from(cost), expected));
        }
        curves.push(Curve {
            computing_ns,
            points,
        });
    }
    let mut bulk = Vec::new();
    for (place, &size) in like.bulk.iter().enumerate() {
        let of = |part: fn(&loggp::Bulk) -> f64| {
            Estimates::over_blocks(reports, |block| part(&block.bulk[place]))
        };
        let costs = [of(|bulk| bulk.send_ns)?, of(|bulk| bulk.interval_ns)?];
        bulk.push((size, costs.map(Estimate::from)));
    }
    Ok(Signature {
        way: way.clone(),
        curves,
        bulk,
    })
}

impl Costs {
    fn of(way: Way, estimates: &Estimates, related: Option<&Related>) -> Self {
        let seen = |visible: Visible| visible.seen().map(Estimate::from);
        let known = |interval: Interval| Estimate::from(interval);
        Costs {
            way,
            blocks: estimates.blocks,
            send_ns: known(estimates.send),
            receive_ns: seen(estimates.receive),
            ack_send_ns: related.and_then(|it| it.ack_send).map(Estimate::from),
            ack_receive_ns: related.and_then(|it| it.ack_receive).map(Estimate::from),
            handler_ns: related.map(|it| it.handler.into()),
            latency_ns: seen(estimates.latency),
            gap_ns: seen(estimates.gap),
            gap_per_byte_ns: seen(estimates.gap_per_byte),
            interval_ns: known(estimates.interval),
            round_trip_ns: known(estimates.round_trip),
        }
    }
}

impl Moved {
    /// True if it is not what was expected, after correction for repeated tests.
    fn differs(&self) -> bool {
        self.holm_p.is_some_and(|p| p < words::ALPHA)
    }
}

impl OfWay for Costs {
    fn way(&self) -> &Way {
        &self.way
    }
}

impl OfWay for Identity {
    fn way(&self) -> &Way {
        &self.way
    }
}

impl OfWay for Moved {
    fn way(&self) -> &Way {
        &self.way
    }
}

/// A parameter in microseconds, or that it is not visible.
fn or_hidden(estimate: Option<Estimate>) -> Value {
    estimate.map_or(Value::Text("not visible".into()), micros)
}

/// A parameter in microseconds, or nothing, where the protocol has none, or those that give it were not measured.
fn or_unknown(estimate: Option<Estimate>) -> Value {
    estimate.map_or(Value::Missing, micros)
}

impl Row for Costs {
    const ID: &'static str = "loggp";
    const TITLE: &'static str = "LogGP of active messages (Kaur, table 3.1)";

    fn columns() -> Vec<Column<Self>> {
        let mut columns = way_columns();
        columns.extend([
            column("blocks", "Blocks", "blocks over which intervals are", |row: &Costs| {
                Value::Count(row.blocks as u64)
            }),
            column(
                "send_us",
                "o_s, µs",
                "send overhead in microseconds, 95 % interval over blocks",
                |row: &Costs| micros(row.send_ns),
            )
            .of_estimates(),
            column(
                "receive_us",
                "o_r, µs",
                "receive overhead in microseconds, 95 % interval over blocks",
                |row: &Costs| or_hidden(row.receive_ns),
            )
            .of_estimates(),
            column(
                "ack_send_us",
                "a_s, µs",
                "send overhead of an acknowledgement in microseconds, 95 % interval over blocks",
                |row: &Costs| or_unknown(row.ack_send_ns),
            )
            .of_estimates(),
            column(
                "ack_receive_us",
                "a_r, µs",
                "receive overhead of an acknowledgement in microseconds, 95 % interval over blocks",
                |row: &Costs| or_unknown(row.ack_receive_ns),
            )
            .of_estimates(),
            column(
                "handler_us",
                "h, µs",
                "time of a handler in microseconds, from another protocol, 95 % interval over blocks",
                |row: &Costs| or_unknown(row.handler_ns),
            )
            .of_estimates(),
            column(
                "latency_us",
                "L, µs",
                "latency in microseconds, 95 % interval over blocks",
                |row: &Costs| or_hidden(row.latency_ns),
            )
            .of_estimates(),
            column(
                "gap_us",
                "g, µs",
                "gap in microseconds, 95 % interval over blocks; it is not visible where a processor limits, at either end",
                |row: &Costs| or_hidden(row.gap_ns),
            )
            .of_estimates(),
            column(
                "gap_per_byte_ns",
                "G, ns/B",
                "gap per byte in nanoseconds, 95 % interval over blocks",
                |row: &Costs| {
                    let seen = row.gap_per_byte_ns.map(Value::Estimate);
                    seen.unwrap_or(Value::Text("not visible".into()))
                },
            )
            .of_estimates(),
            column(
                "interval_us",
                "Interval, µs",
                "from one message to the next in a long burst, in microseconds, 95 % interval over blocks",
                |row: &Costs| micros(row.interval_ns),
            )
            .of_estimates(),
            column(
                "round_trip_us",
                "Round trip, µs",
                "from one request to the next, each after the reply to the one before, in microseconds, 95 % interval over blocks",
                |row: &Costs| micros(row.round_trip_ns),
            )
            .of_estimates(),
        ]);
        columns
    }
}

impl Row for Identity {
    const ID: &'static str = "loggp_identities";
    const TITLE: &'static str = "What has to hold between the parameters";

    fn columns() -> Vec<Column<Self>> {
        let mut columns = way_columns();
        columns.extend([
            column("time", "Time", "which time", |row: &Identity| Value::Text(row.time.into())),
            column(
                "formula",
                "By the schedule",
                "the time in terms of the costs; L, h and the overheads are also those of other protocols over the same transport; where these were not measured, a_s = o_s, a_r = o_r and h = 0",
                |row: &Identity| Value::Text(row.formula.into()),
            ),
            column(
                "measured_us",
                "Measured, µs",
                "the time as it was measured, in microseconds",
                |row: &Identity| Value::Number(row.measured_ns / 1e3),
            ),
            column(
                "expected_us",
                "Expected, µs",
                "the time as it follows from the costs, in microseconds",
                |row: &Identity| Value::Number(row.expected_ns / 1e3),
            ),
            column(
                "difference_us",
                "Difference, µs",
                "measured less expected in microseconds, 95 % interval over blocks",
                |row: &Identity| micros(row.difference_ns),
            )
            .of_estimates(),
            column(
                "verdict",
                "Verdict",
                "closes if the interval of the difference has 0 in it; else whether the difference is within 5 % of the time",
                |row: &Identity| Value::Text(row.verdict.name().into()),
            ),
        ]);
        columns
    }
}

impl Row for Moved {
    const ID: &'static str = "loggp_shifts";
    const TITLE: &'static str = "What delays move, and what they have to move";

    fn columns() -> Vec<Column<Self>> {
        let mut columns = way_columns();
        columns.extend([
            column("mode", "Mode", "spin, defer or pace", |row: &Moved| {
                Value::Text(row.mode.into())
            }),
            column(
                "delay_us",
                "Delay, µs",
                "the delay that was asked for, in microseconds",
                |row: &Moved| Value::Number(row.delay_ns as f64 / 1e3),
            ),
            column(
                "achieved_us",
                "Achieved, µs",
                "its mean length as the injector achieved it, in microseconds",
                |row: &Moved| Value::Number(row.achieved_ns / 1e3),
            ),
            column("observable", "Moves", "what is observed", |row: &Moved| {
                Value::Text(row.observable.into())
            }),
            column(
                "expected_us",
                "Expected, µs",
                "by how much the schedule has it move for the delay that was achieved, in microseconds",
                |row: &Moved| Value::Number(row.expected_ns / 1e3),
            ),
            column(
                "measured_us",
                "Measured, µs",
                "by how much it moves in microseconds, 95 % interval over blocks",
                |row: &Moved| micros(row.measured_ns),
            )
            .of_estimates(),
            column(
                "verdict",
                "Verdict",
                "as expected within 5 %, or within the interval",
                |row: &Moved| Value::Text(as_expected(row.as_expected).into()),
            ),
            column(
                "holm_p",
                "p (Holm)",
                "two-sided p of the shift that was expected, Student's t over runs, after Holm's correction over the rows",
                |row: &Moved| Value::p(row.holm_p),
            ),
        ]);
        columns
    }
}

/// Says how many identities close, and how many shifts are as expected.
pub fn in_words(identities: &[Identity], moved: &[Moved]) -> Vec<String> {
    if identities.is_empty() {
        return Vec::new();
    }
    let of = |verdict| {
        identities
            .iter()
            .filter(|row| row.verdict == verdict)
            .count()
    };
    let mut words = vec![format!(
        "Of {} between the parameters of LogGP, {} hold within the 95 % interval, {} more within 5 %, and {} not.",
        show::counted(identities.len(), "relation"),
        of(Verdict::Closes),
        of(Verdict::Near),
        of(Verdict::Open),
    )];
    let expected = moved.iter().filter(|row| row.as_expected).count();
    if !moved.is_empty() {
        let tested = moved.iter().filter(|row| row.holm_p.is_some()).count();
        let differ = moved
            .iter()
            .filter(|row| !row.as_expected && row.differs())
            .count();
        let others = match moved.len() - expected {
            0 => String::new(),
            _ if tested == 0 => " With one run nothing tells whether the others are chance.".into(),
            _ => format!(
                " p after Holm over {} is below {} for {differ} of the others.",
                show::counted(tested, "test"),
                words::ALPHA,
            ),
        };
        words.push(format!(
            "Of {} by delays that are known, {expected} are what the schedule of the protocol makes them, within 5 % or the interval.{others}",
            show::counted(moved.len(), "shift"),
        ));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_amvia_suite::Protocol;
    use jitterlab_experiment::level::Level;
    use jitterlab_experiment::record::Transport;

    fn moved(as_expected: bool, p: Option<f64>) -> Moved {
        Moved {
            way: Way {
                case: "loggp".into(),
                transport: Transport::Udp,
                protocol: Protocol::Amvia,
                level: Level::None,
            },
            mode: "spin",
            delay_ns: 5_000,
            achieved_ns: 5_000.0,
            observable: "o_s",
            expected_ns: 5_000.0,
            measured_ns: Interval {
                estimate: 6_000.0,
                low: 5_900.0,
                high: 6_100.0,
            }
            .into(),
            as_expected,
            holm_p: p,
        }
    }

    #[test]
    fn shifts_are_corrected_for_being_many() {
        let identity = Identity {
            way: moved(true, None).way,
            time: "interval",
            formula: "o_s + o_r",
            measured_ns: 1.0,
            expected_ns: 1.0,
            difference_ns: moved(true, None).measured_ns,
            verdict: Verdict::Closes,
        };
        let told = |moved: &[Moved]| in_words(std::slice::from_ref(&identity), moved)[1].clone();
        let mut of_runs = vec![moved(true, Some(0.01))];
        of_runs.extend([0.02, 0.001].map(|p| moved(false, Some(p))));
        of_runs.push(moved(false, None));
        correct(&mut of_runs);
        // The least p three times, then 0.01 twice, and 0.02 once.
        let p: Vec<_> = of_runs.iter().map(|row| row.holm_p).collect();
        assert_eq!(p, [Some(0.02), Some(0.02), Some(0.003), None]);
        of_runs[1].holm_p = Some(0.06);
        assert_eq!(
            told(&of_runs),
            "Of 4 shifts by delays that are known, 1 are what the schedule of the protocol makes them, within 5 % or the interval. \
             p after Holm over 3 tests is below 0.05 for 1 of the others."
        );
        let alone = "With one run nothing tells whether the others are chance.";
        assert!(told(&[moved(false, None)]).ends_with(alone));
        assert!(told(&[moved(true, None)]).ends_with("or the interval."));
    }
}
