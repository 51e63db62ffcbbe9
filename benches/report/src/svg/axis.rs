//! Axes: from values to positions, with ticks that people read easily.

use jitterlab_base::units::Bytes;

use crate::words;

/// An axis of a panel.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    label: String,
    scale: Scale,
    /// The value at the axis's start and at its end.
    range: (f64, f64),
    ticks: Vec<Tick>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Scale {
    Linear,
    Log,
}

/// A tick; one without a label is a minor one.
#[derive(Debug, Clone, PartialEq)]
pub struct Tick {
    /// The value that it stands at.
    pub value: f64,
    /// The text that is written there.
    pub label: Option<String>,
}

/// About so many labelled ticks on a linear axis.
const TICKS: f64 = 6.0;

impl Axis {
    /// A linear axis that holds at least `low` to `high`, from tick to tick.
    pub fn linear(label: &str, low: f64, high: f64) -> Self {
        let (low, high) = widened(low, high);
        let step = nice_step((high - low) / TICKS);
        let first = (low / step + 1e-9).floor();
        let last = (high / step - 1e-9).ceil();
        Axis {
            label: label.into(),
            scale: Scale::Linear,
            range: (first * step, last * step),
            ticks: multiples(step, first, last),
        }
    }

    /// A linear axis from `low` to `high` exactly, with ticks inside.
    pub fn linear_between(label: &str, low: f64, high: f64) -> Self {
        let (low, high) = widened(low, high);
        let step = nice_step((high - low) / TICKS);
        Axis {
            label: label.into(),
            scale: Scale::Linear,
            range: (low, high),
            ticks: multiples(
                step,
                (low / step - 1e-9).ceil(),
                (high / step + 1e-9).floor(),
            ),
        }
    }

    /// A linear axis with round ticks that holds the values, and room beside them.
    pub fn linear_around(label: &str, values: &[f64]) -> Self {
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let (low, high) = widened(low, high);
        let room = (high - low) * 0.06;
        Axis::linear_between(label, low - room, high + room)
    }

    /// A linear axis with a labelled tick at each of the given values, about which marks spread over a width, and room beside them.
    pub fn linear_at(label: &str, values: &[(f64, String)], spread: f64) -> Self {
        let places = || values.iter().map(|(place, _)| *place);
        let low = places().fold(f64::INFINITY, f64::min);
        let high = places().fold(f64::NEG_INFINITY, f64::max);
        let (low, high) = widened(low - spread / 2.0, high + spread / 2.0);
        let room = (high - low) * 0.06;
        Axis {
            label: label.into(),
            scale: Scale::Linear,
            range: (low - room, high + room),
            ticks: values
                .iter()
                .map(|(value, label)| Tick {
                    value: *value,
                    label: Some(label.clone()),
                })
                .collect(),
        }
    }

    /// A logarithmic axis that holds `low` to `high`; both have to be above 0, and are raised to
    /// it where they are not.
    pub fn log(label: &str, low: f64, high: f64) -> Self {
        let low = if low > 0.0 { low } else { high.max(1.0) / 1e6 };
        let high = if high > low { high } else { low * 10.0 };
        let decades = (high / low).log10();
        let mut ticks = Vec::new();
        let first = low.log10().floor() as i32;
        let last = high.log10().ceil() as i32;
        // Each decade is marked if there are many; 2 and 5 as well if there are one or two.
        let labelled: &[u32] = if decades <= 2.5 { &[1, 2, 5] } else { &[1] };
        let every = 1 + (decades / 8.0) as i32;
        for exponent in first..=last {
            for digit in 1..10u32 {
                let value = f64::from(digit) * 10f64.powi(exponent);
                if value < low * (1.0 - 1e-9) || value > high * (1.0 + 1e-9) {
                    continue;
                }
                let label = labelled.contains(&digit) && exponent.rem_euclid(every) == 0;
                ticks.push(Tick {
                    value,
                    label: label.then(|| plain(value)),
                });
            }
        }
        // Between 62 and 88 lies none of those digits: the ticks are those of a linear axis there.
        if ticks.iter().filter(|tick| tick.label.is_some()).count() < 2 {
            ticks = Axis::linear_between(label, low, high).ticks;
        }
        Axis {
            label: label.into(),
            scale: Scale::Log,
            range: (low, high),
            ticks,
        }
    }

    /// A logarithmic axis of sizes in bytes that holds `low` to `high`, both above 0, with ticks at powers of two.
    pub fn sizes(label: &str, low: f64, high: f64) -> Self {
        let (first, last) = (low.log2().ceil() as i32, high.log2().floor() as i32);
        let every = 1 + (last - first) / TICKS as i32;
        let tick = |power: i32| {
            let value = 2f64.powi(power);
            let is_labelled = (power - first).rem_euclid(every) == 0;
            Tick {
                value,
                label: is_labelled.then(|| Bytes(value as u64).to_string()),
            }
        };
        Axis {
            label: label.into(),
            scale: Scale::Log,
            range: (low, high),
            ticks: (first.max(0)..=last).map(tick).collect(),
        }
    }

    /// An axis of things that have names and no distance: the first at 0, the next at 1.
    pub fn categories(label: &str, names: &[String]) -> Self {
        Axis {
            label: label.into(),
            scale: Scale::Linear,
            range: (-0.5, names.len() as f64 - 0.5),
            ticks: names
                .iter()
                .enumerate()
                .map(|(i, name)| Tick {
                    value: i as f64,
                    label: Some(name.clone()),
                })
                .collect(),
        }
    }

    /// The quantity of the axis, with its unit.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Its ticks in ascending order.
    pub fn ticks(&self) -> &[Tick] {
        &self.ticks
    }

    /// The place of a value along the axis: 0 at its start, 1 at its end, beyond them outside. A
    /// value that a logarithmic axis cannot show is far below its start.
    pub fn place(&self, value: f64) -> f64 {
        let (low, high) = self.range;
        match self.scale {
            Scale::Linear => (value - low) / (high - low),
            Scale::Log if value > 0.0 => (value / low).ln() / (high / low).ln(),
            Scale::Log => -10.0,
        }
    }
}

/// A range with something in it.
fn widened(low: f64, high: f64) -> (f64, f64) {
    if !(low.is_finite() && high.is_finite()) {
        (0.0, 1.0)
    } else if high > low {
        (low, high)
    } else {
        let room = if low == 0.0 { 1.0 } else { low.abs() * 0.5 };
        (low - room, low + room)
    }
}

/// The least of 1, 2, 5 times a power of ten that is not below `step`.
fn nice_step(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|digit| digit * power)
        .find(|&nice| nice >= step * (1.0 - 1e-9))
        .unwrap_or(10.0 * power)
}

fn multiples(step: f64, first: f64, last: f64) -> Vec<Tick> {
    let digits = (-step.log10().floor()).max(0.0) as usize;
    (0..=(last - first) as usize)
        .map(|i| {
            let value = (first + i as f64) * step;
            Tick {
                value,
                label: Some(trimmed(format!("{value:.digits$}"))),
            }
        })
        .collect()
}

/// A number on a tick: no exponent, no trailing zeros.
fn plain(value: f64) -> String {
    let digits = (3.0 - value.abs().max(1e-9).log10().floor()).clamp(0.0, 9.0) as usize;
    trimmed(format!("{value:.digits$}"))
}

fn trimmed(text: String) -> String {
    let text = if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_string()
    } else {
        text
    };
    words::minus(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn labels(axis: &Axis) -> Vec<&str> {
        axis.ticks
            .iter()
            .filter_map(|tick| tick.label.as_deref())
            .collect()
    }

    #[test]
    fn ticks_are_round_numbers() {
        assert_eq!(
            labels(&Axis::linear("", 0.0, 47.3)),
            ["0", "10", "20", "30", "40", "50"]
        );
        assert_eq!(
            labels(&Axis::linear("", 0.98, 1.07)),
            ["0.98", "1", "1.02", "1.04", "1.06", "1.08"]
        );
        assert_eq!(
            labels(&Axis::linear("", -12.0, 23.0)),
            ["−20", "−10", "0", "10", "20", "30"]
        );
        assert_eq!(
            labels(&Axis::log("", 8.0, 120.0)),
            ["10", "20", "50", "100"]
        );
        assert_eq!(
            labels(&Axis::log("", 1.0, 20_000.0)),
            ["1", "10", "100", "1000", "10000"]
        );
        assert_eq!(
            labels(&Axis::log("", 62.0, 88.0)),
            ["65", "70", "75", "80", "85"]
        );
        assert_eq!(
            labels(&Axis::linear_at(
                "",
                &[(0.0, "0".into()), (60.0, "47 (60)".into())],
                5.0
            )),
            ["0", "47 (60)"]
        );
    }

    #[test]
    fn sizes_are_marked_at_powers_of_two() {
        assert_eq!(
            labels(&Axis::sizes("", 6.0, 100.0)),
            ["8B", "16B", "32B", "64B"]
        );
        let wide = Axis::sizes("", 1.0, 65_536.0);
        assert_eq!(labels(&wide), ["1B", "8B", "64B", "512B", "4KiB", "32KiB"]);
        assert_eq!(wide.ticks.len(), 17);
    }

    #[test]
    fn one_value_or_none_still_makes_an_axis() {
        for axis in [
            Axis::linear("", 5.0, 5.0),
            Axis::linear("", 0.0, 0.0),
            Axis::linear("", f64::INFINITY, f64::NEG_INFINITY),
            Axis::log("", 0.0, 0.0),
            Axis::linear_at("", &[(20.0, "20".into())], 0.0),
            Axis::linear_around("", &[20.0]),
        ] {
            assert!(axis.range.1 > axis.range.0, "{axis:?}");
        }
    }

    proptest! {
        #[test]
        fn an_axis_holds_its_values(low in -1e6f64..1e6, width in 1e-3f64..1e6) {
            let axis = Axis::linear("", low, low + width);
            prop_assert!(axis.place(low) >= -1e-6 && axis.place(low + width) <= 1.0 + 1e-6);
            prop_assert!((3..=14).contains(&axis.ticks.len()), "{}", axis.ticks.len());
        }

        #[test]
        fn a_log_axis_keeps_order(a in 1e-3f64..1e6, b in 1e-3f64..1e6) {
            let axis = Axis::log("", 1e-3, 1e6);
            prop_assert_eq!(a < b, axis.place(a) < axis.place(b));
            prop_assert!((0.0..=1.0).contains(&axis.place(a)));
        }
    }
}
