//! The meaning of the times of all ranks.

use std::ops::Range;

use jitterlab_mpi_results::library::{Figures, HeatMap, Point, RankFigures, Sample};

use super::{Case, Lane, Timeline};

/// Bins of a heat map, at most.
const BINS: usize = 60;

/// The times of all ranks in each operation.
struct Together {
    /// The time from the first entry to the last.
    skew: Vec<f64>,
    /// The time after the first entry at which it entered, for each rank.
    late: Vec<Vec<f64>>,
    /// The time from the last entry to its exit, for each rank.
    operation: Vec<Vec<f64>>,
}

/// The times of a case with one size, from the times of all ranks.
pub fn point(case: &Case, size: usize, timeline: &Timeline) -> Point {
    let lanes = timeline.lanes();
    let own: Vec<Vec<f64>> = lanes
        .iter()
        .map(|lane| lane.samples().map(|ns| ns as f64).collect())
        .collect();
    let together = (case.sample == Sample::Call).then(|| Together::of(timeline));
    let per_rank = (0..lanes.len())
        .map(|rank| RankFigures {
            rank,
            figures: Figures::of(own[rank].clone()),
            late: together.as_ref().map(|t| Figures::of(t.late[rank].clone())),
            operation: (together.as_ref()).map(|t| Figures::of(t.operation[rank].clone())),
            clock: lanes[rank].alignment().line(),
        })
        .collect();
    let worst = (lanes.iter())
        .map(|lane| lane.alignment().error_ns())
        .fold(0.0, f64::max);
    Point {
        size_bytes: size,
        figures: case.figures(timeline),
        clock_error_ns: if lanes.len() > 2 { 2.0 * worst } else { worst },
        skew: together.as_ref().map(|t| Figures::of(t.skew.clone())),
        operation: together.as_ref().map(|t| Figures::of(t.operation.concat())),
        per_rank,
        heat_map: Some(heat_map(
            timeline,
            &own,
            together.as_ref().map(|t| &t.late[..]),
        )),
    }
}

impl Together {
    fn of(timeline: &Timeline) -> Together {
        let lanes = timeline.lanes();
        let operations = || 0..timeline.operations();
        let (first, last): (Vec<i64>, Vec<i64>) = operations()
            .map(|i| {
                let entries = || lanes.iter().map(move |lane| lane.entered(i));
                // There is a rank.
                let (first, last) = (entries().min(), entries().max());
                (first.unwrap_or_default(), last.unwrap_or_default())
            })
            .unzip();
        let of_each = |time: &dyn Fn(&Lane, usize) -> i64| -> Vec<Vec<f64>> {
            let of = |lane| operations().map(|i| time(lane, i) as f64).collect();
            lanes.iter().map(of).collect()
        };
        Together {
            skew: operations().map(|i| (last[i] - first[i]) as f64).collect(),
            late: of_each(&|lane, i| lane.entered(i) - first[i]),
            operation: of_each(&|lane, i| lane.left(i) - last[i]),
        }
    }
}

fn heat_map(timeline: &Timeline, samples: &[Vec<f64>], late: Option<&[Vec<f64>]>) -> HeatMap {
    let operations = timeline.operations();
    let count = operations.min(BINS);
    let bins: Vec<Range<usize>> = (0..count)
        .map(|bin| bin * operations / count..(bin + 1) * operations / count)
        .collect();
    let start = |bin: &Range<usize>| timeline.lanes()[0].entered(bin.start) - timeline.origin();
    HeatMap {
        bin_starts_s: bins.iter().map(|bin| start(bin) as f64 / 1e9).collect(),
        mean_ns: binned(samples, &bins, mean),
        max_ns: binned(samples, &bins, greatest),
        late_mean_ns: late.map(|late| binned(late, &bins, mean)),
        late_max_ns: late.map(|late| binned(late, &bins, greatest)),
    }
}

fn binned(
    times: &[Vec<f64>],
    bins: &[Range<usize>],
    statistic: impl Fn(&[f64]) -> f64,
) -> Vec<Vec<f64>> {
    times
        .iter()
        .map(|times| {
            bins.iter()
                .map(|bin| statistic(&times[bin.clone()]))
                .collect()
        })
        .collect()
}

fn mean(times: &[f64]) -> f64 {
    times.iter().sum::<f64>() / times.len() as f64
}

fn greatest(times: &[f64]) -> f64 {
    times.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

#[cfg(test)]
mod tests {
    use super::super::{Alignment, Reading, case};
    use super::*;

    /// Rank 1's clock is 1000 ns ahead, and known to 40 ns. It enters 50 ns after rank 0 and leaves with it.
    fn timeline() -> Timeline {
        let aligned = |offset_ns: f64, error_ns| {
            let reading = Reading {
                at_ns: 0,
                offset_ns,
                error_ns,
            };
            Alignment::between(reading, reading)
        };
        Timeline::new(vec![
            Lane::new(vec![100, 300], vec![200, 420], aligned(0.0, 0.0)),
            Lane::new(vec![1150, 1350], vec![1200, 1420], aligned(1000.0, 40.0)),
        ])
    }

    #[test]
    fn skew_is_told_from_the_operation() {
        let barrier = case("barrier").unwrap();
        let point = point(barrier, 0, &timeline());
        assert_eq!((point.figures.samples, point.figures.max_ns), (4, 120.0));
        assert_eq!(point.clock_error_ns, 40.0);
        let skew = point.skew.unwrap();
        assert_eq!((skew.samples, skew.min_ns, skew.max_ns), (2, 50.0, 50.0));
        let operation = point.operation.unwrap();
        assert_eq!((operation.min_ns, operation.max_ns), (50.0, 70.0));
        assert_eq!(point.per_rank[0].late.unwrap().max_ns, 0.0);
        assert_eq!(point.per_rank[1].late.unwrap().min_ns, 50.0);
        let map = point.heat_map.unwrap();
        assert_eq!(map.bin_starts_s, [0.0, 200e-9]);
        assert_eq!(map.mean_ns, [[100.0, 120.0], [50.0, 70.0]]);
        assert_eq!(map.late_max_ns.unwrap(), [[0.0, 0.0], [50.0, 50.0]]);
    }

    #[test]
    fn round_trips_count_where_they_begin() {
        let ping_pong = case("ping-pong").unwrap();
        let point = point(ping_pong, 8, &timeline());
        assert_eq!(point.figures.samples, 2);
        assert_eq!(point.per_rank.len(), 2);
        assert!(point.skew.is_none() && point.heat_map.unwrap().late_mean_ns.is_none());
    }

    #[test]
    fn texts_hold_every_sample() {
        let text = timeline().samples_text(2, "what they are");
        assert_eq!(
            text,
            "# what they are\n# rank 0\n100\n120\n# rank 1\n50\n70\n"
        );
        let text = timeline().arrivals_text();
        assert_eq!(text.lines().count(), 5);
        assert!(text.ends_with("1,1,250,320\n"));
    }
}
