//! Logarithmic axes of time that one sample does not stretch.

use jitterlab_base::{named, show};
use jitterlab_stats::histogram::{Bins, Histogram};
use jitterlab_stats::summary::quantile;

/// The samples that an axis is made for. Those beyond its ends are shown at its ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Zoom {
    /// All of them.
    All,
    /// All but one in a thousand, at either end.
    #[default]
    Most,
    /// All but one in ten, at either end.
    Middle,
    /// The slowest one in a hundred.
    Tail,
}

named!(
    Zoom,
    All => "all",
    Most => "0.1 to 99.9 %",
    Middle => "10 to 90 %",
    Tail => "99 to 100 %"
);

impl Zoom {
    /// The next one, which shows fewer; after the last one, the first.
    pub fn next(self) -> Self {
        match self {
            Zoom::All => Zoom::Most,
            Zoom::Most => Zoom::Middle,
            Zoom::Middle => Zoom::Tail,
            Zoom::Tail => Zoom::All,
        }
    }

    fn shares(self) -> (f64, f64) {
        match self {
            Zoom::All => (0.0, 1.0),
            Zoom::Most => (0.001, 0.999),
            Zoom::Middle => (0.1, 0.9),
            Zoom::Tail => (0.99, 1.0),
        }
    }
}

/// The range of an axis, in nanoseconds: from one time to another, around the samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    from: f64,
    to: f64,
}

impl Range {
    /// The range of so many of these samples, in nanoseconds; none where there are none. Its ends are rounded outwards to quarters of an
    /// octave, so that an axis stays as it is while samples come. The beginning of the tail is rounded to 32nds, since what lies below
    /// hides it.
    pub fn of<'a>(all: impl IntoIterator<Item = &'a Histogram>, zoom: Zoom) -> Option<Self> {
        let (low, high) = zoom.shares();
        let ends = |histogram: &Histogram| {
            Some((
                histogram.quantile(low)? as f64,
                histogram.quantile(high)? as f64,
            ))
        };
        let ends = all.into_iter().filter_map(ends);
        let (from, to) = ends.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))?;
        let around = Range::around(from, to);
        Some(match zoom {
            Zoom::Tail => Range {
                from: rounded(from, 32.0, f64::floor),
                ..around
            },
            _ => around,
        })
    }

    /// The same of samples in ascending order.
    pub fn of_sorted(sorted: &[f64], zoom: Zoom) -> Option<Self> {
        let (low, high) = zoom.shares();
        let is_any = !sorted.is_empty();
        is_any.then(|| Range::around(quantile(sorted, low), quantile(sorted, high)))
    }

    /// The range from one time to another, rounded in the same way.
    pub fn around(from: f64, to: f64) -> Self {
        const STEPS: f64 = 4.0;
        let from = rounded(from, STEPS, f64::floor);
        // Samples that are all equal have something to be seen, too.
        let least = from * (2.0 / STEPS).exp2();
        Range {
            from,
            to: rounded(to, STEPS, f64::ceil).max(least),
        }
    }

    /// The range from one of these times to the other, as they are.
    pub fn between(a: f64, b: f64) -> Self {
        /// So much from end to end, at least.
        const LEAST: f64 = 1.01;
        let from = a.min(b).max(1.0);
        Range {
            from,
            to: a.max(b).max(from * LEAST),
        }
    }

    /// The time at a share of the way from end to end.
    pub fn at(self, share: f64) -> f64 {
        self.from * (self.to / self.from).powf(share)
    }

    /// The share of the way at which a time lies; one beyond an end, at that end.
    pub fn place(self, ns: f64) -> f64 {
        let share = (ns / self.from).ln() / (self.to / self.from).ln();
        share.clamp(0.0, 1.0)
    }

    /// An axis of so many bins from end to end.
    pub fn rows(self, bins: usize) -> Bins {
        Bins::logarithmic(self.from, self.to, bins)
    }

    /// An axis of so many bins. The bins at its ends are left free: what lies beyond is told from what lies at the end.
    pub fn axis(self, bins: usize) -> Bins {
        /// Bins that are free on either side, where there is room.
        const FREE: usize = 4;
        let free = FREE.min(bins / 6);
        let inner = (bins - 2 * free).max(1);
        let margin = (self.to / self.from).powf(free as f64 / inner as f64);
        Bins::logarithmic(self.from / margin, self.to * margin, bins)
    }
}

/// A time, rounded to a step. An octave has so many steps.
fn rounded(ns: f64, steps: f64, round: fn(f64) -> f64) -> f64 {
    (round(ns.max(1.0).log2() * steps) / steps).exp2()
}

/// Round times on an axis: 1, 2 and 5 of each decade; where that is fewer than three, more of them. Where there is none, its beginning and
/// its middle.
pub fn ticks(axis: &Bins) -> Vec<f64> {
    const TENTHS: [&[u64]; 3] = [
        &[10, 20, 50],
        &[10, 15, 20, 30, 40, 50, 60, 70, 80, 90],
        &[
            10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 22, 24, 26, 28, 30, 32, 34, 36, 38, 40, 45,
            50, 55, 60, 65, 70, 75, 80, 85, 90, 95,
        ],
    ];
    let (from, to) = (axis.edges()[0], axis.edges()[axis.count()]);
    let of = |tenths: &[u64]| -> Vec<f64> {
        let decades = (0..18).map(|decade| 10u64.pow(decade));
        let all = decades.flat_map(|decade| tenths.iter().map(move |n| n * decade));
        let all = all.map(|tenths| tenths as f64 / 10.0);
        all.filter(|tick| (from..=to).contains(tick)).collect()
    };
    let enough = |ticks: &Vec<f64>| ticks.len() >= 3;
    let found = TENTHS.iter().map(|tenths| of(tenths)).find(enough);
    let found = found.unwrap_or_else(|| of(TENTHS[2]));
    match found.is_empty() {
        true => vec![from, (from * to).sqrt()],
        false => found,
    }
}

/// A round time for an axis, where a space is too much.
pub fn short(ns: f64) -> String {
    show::time(ns).replace(' ', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outlier_flattens_nothing() {
        let mut samples = Histogram::new();
        samples.record_n(10_000, 1_000_000);
        samples.record(1_000_000_000);
        for zoom in Zoom::ALL {
            for columns in [40, 60, 71, 191] {
                let axis = Range::of([&samples], zoom).unwrap().axis(columns);
                let median = axis.place(10_000.0);
                assert!(
                    median >= 3 && median + 3 < columns,
                    "{zoom:?}, {columns}: {median}"
                );
                // Every sample is seen.
                assert_eq!(axis.of_histogram(&samples).iter().sum::<u64>(), 1_000_001);
            }
        }
        // The range of nearly all of them takes up most of the axis, unless all are asked for.
        samples.record_n(12_000, 1_000_000);
        let axis = Range::of([&samples], Zoom::Most).unwrap().axis(60);
        assert!(axis.place(12_000.0) > axis.place(10_000.0) + 15);
    }

    #[test]
    fn the_shortest_axis_has_times() {
        let axis = Range::between(171_800.0, 173_500.0).rows(60);
        assert_eq!(ticks(&axis).len(), 2);
        assert!(ticks(&axis).iter().all(|&tick| axis.place(tick) < 40));
    }

    #[test]
    fn a_part_of_an_axis_is_between_two_times() {
        let range = Range::between(40_000.0, 10_000.0);
        assert!((range.at(0.5) - 20_000.0).abs() < 1e-6);
        assert!((range.place(20_000.0) - 0.5).abs() < 1e-12);
        assert_eq!([range.place(1.0), range.place(1e9)], [0.0, 1.0]);
        // One time alone has something to be seen, too.
        let one = Range::between(0.0, 0.0);
        assert!(one.at(1.0) > one.at(0.0));
    }

    #[test]
    fn an_axis_stays_while_samples_come() {
        let mut samples = Histogram::of(&[10_000.0, 11_000.0]);
        let before = Range::of([&samples], Zoom::All);
        samples.record(11_500);
        assert_eq!(Range::of([&samples], Zoom::All), before);
        assert_eq!(Range::of([], Zoom::All), None);
        assert_eq!(Range::of([&Histogram::new()], Zoom::Most), None);
        assert_eq!(Range::of_sorted(&[], Zoom::Most), None);
    }

    #[test]
    fn ticks_are_round() {
        let axis = Bins::logarithmic(900.0, 21e3, 60);
        let labels = |axis: &Bins| -> Vec<String> { ticks(axis).into_iter().map(short).collect() };
        assert_eq!(labels(&axis), ["1us", "2us", "5us", "10us", "20us"]);
        let narrow = Bins::logarithmic(9_000.0, 14_000.0, 60);
        assert_eq!(
            labels(&narrow),
            ["9us", "9.5us", "10us", "11us", "12us", "13us", "14us"]
        );
    }

    #[test]
    fn the_smallest_area_has_an_axis() {
        let range = Range::around(10.0, 10.0);
        assert_eq!(
            [1, 2, 5, 6].map(|bins| range.axis(bins).count()),
            [1, 2, 5, 6]
        );
    }
}
