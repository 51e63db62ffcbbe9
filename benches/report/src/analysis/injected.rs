//! The delays of a level: their mean and standard deviation, and how they are told.

use jitterlab_experiment::level::Level;
use jitterlab_injector::family::Member;

use crate::analysis::packet::fits::Injected;
use crate::analysis::packet::made::MadeTable;
use crate::words;

/// Mean and standard deviation of what is injected at a level, in nanoseconds. Delays of a table are whole nanoseconds; what
/// constant ones vary by is left from rounding, and counts as nothing. None of a replay: its delays depend on the stretch, and on when a
/// program sends.
pub fn moments_ns(level: Level, tables: &[Injected], made: &[MadeTable]) -> Option<(f64, f64)> {
    let (mean, std) = match level {
        Level::Injected {
            shape: Member::Replay,
            ..
        } => return None,
        Level::Injected { percent, shape } => {
            let mut tables = tables.iter();
            let table = tables.find(|table| table.percent == percent && table.shape == shape)?;
            (table.mean_ns, table.std_ns)
        }
        _ => {
            let made = made.iter().find(|made| made.level == level)?;
            (made.moments.mean_ns, made.moments.std_ns)
        }
    };
    Some((mean, if level.is_constant() { 0.0 } else { std }))
}

/// The variation of the delays in words.
pub fn varied(level: Level) -> String {
    match level {
        Level::Injected { shape, .. } => shape.name().into(),
        Level::Scaled { multiple, .. } => format!("{multiple} times the load's variation"),
        Level::Shape { shape, .. } => shape.name().into(),
        other => other.to_string(),
    }
}

/// The delays of a level that have this mean and standard deviation, as a subject: `constant delays of 50 µs`. Delays without known
/// moments are
/// those of a load: `delays that imitate load 48 % (replay)`.
pub fn called(
    level: Level,
    moments_ns: Option<(f64, f64)>,
    load_called: &dyn Fn(u8) -> String,
) -> String {
    let Some((mean_ns, std_ns)) = moments_ns else {
        return match level {
            Level::Injected { percent, shape } => {
                format!("delays that imitate {} ({shape})", load_called(percent))
            }
            _ => level.to_string(),
        };
    };
    match level.is_constant() {
        true => format!("constant delays of {}", words::time(mean_ns)),
        false => format!(
            "delays of mean {} and standard deviation {}",
            words::time(mean_ns),
            words::time(std_ns)
        ),
    }
}

/// Those that vary most at the highest mean, out of delays that vary: each with the level of constant delays of its mean, and
/// its moments.
pub fn most_varied<T: Copy>(
    varied: impl Iterator<Item = T> + Clone,
    of: impl Fn(T) -> (Level, (f64, f64)),
) -> Option<T> {
    let highest = varied.clone().max_by(|&a, &b| {
        let mean = |it: T| of(it).1.0;
        mean(a).total_cmp(&mean(b))
    })?;
    let (constant, _) = of(highest);
    varied.filter(|&it| of(it).0 == constant).max_by(|&a, &b| {
        let std = |it: T| of(it).1.1;
        std(a).total_cmp(&std(b))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_are_called_by_times_in_the_unit_of_their_size() {
        let constant = Level::Delay { ns: 10_000_000 };
        let replay = Level::Injected {
            percent: 60,
            shape: Member::Replay,
        };
        for (level, moments, said) in [
            (constant, Some((1e7, 0.0)), "constant delays of 10 ms"),
            (
                Level::Table,
                Some((500.0, 2e6)),
                "delays of mean 500 ns and standard deviation 2 ms",
            ),
            (replay, None, "delays that imitate load 48 % (replay)"),
        ] {
            assert_eq!(called(level, moments, &|_| "load 48 %".into()), said);
        }
    }
}
