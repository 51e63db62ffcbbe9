//! The text for people.

use jitterlab_base::print::{Part, Text};
use jitterlab_base::show;
use jitterlab_stats::bootstrap::Interval;

use super::{Estimates, Report, Visible};

impl Text for Report {
    fn parts(&self) -> Vec<Part> {
        let setting = &self.setting;
        let mut parts = vec![Part::Line(format!(
            "loggp of {} over {}, {} B, {} transactions at once{}: {} blocks, {} discarded",
            setting.protocol,
            setting.over.transport,
            self.size,
            setting.window,
            setting.with_faults(),
            self.blocks.len(),
            self.discarded_blocks,
        ))];
        match Estimates::of(&[self]) {
            Ok(Some(estimates)) => parts.extend(estimates.parts()),
            Ok(None) => {}
            Err(error) => parts.push(Part::Line(error.to_string())),
        }
        parts
    }
}

impl Text for Estimates {
    fn parts(&self) -> Vec<Part> {
        let seen = |interval: Interval| [show::time(interval.estimate), between(interval)];
        let visible = |visible: Visible| match visible {
            Visible::Seen(interval) => seen(interval),
            Visible::Hidden { at_most } => {
                let at_most = format!("at most {}", show::time(at_most));
                ["not visible".into(), at_most]
            }
        };
        let parameters = [
            ("o_s", seen(self.send)),
            ("o_r", visible(self.receive)),
            ("L", visible(self.latency)),
            ("g", visible(self.gap)),
            ("G, a byte", visible(self.gap_per_byte)),
            ("interval", seen(self.interval)),
            ("round trip", seen(self.round_trip)),
        ];
        let rows = parameters.map(|(name, [value, range])| vec![name.into(), value, range]);
        let identity = &self.identity;
        let mut parts = vec![
            table(["parameter", "estimate", "95 %"], rows),
            Part::Line(format!(
                "interval = {}, with a_s = o_s, a_r = o_r and h = 0: measured {}, expected {}, difference {} ({}): {}",
                identity.formula,
                show::time(identity.measured),
                show::time(identity.expected),
                show::time(identity.difference.estimate),
                between(identity.difference),
                identity.verdict(),
            )),
        ];
        let rows = self.shifts.iter().map(|shift| {
            vec![
                shift.injected.mode.to_string(),
                show::time(shift.injected.delay_ns as f64),
                show::time(shift.achieved),
                shift.observable.to_string(),
                show::time(shift.expected),
                show::time(shift.measured.estimate),
                between(shift.measured),
                as_expected(shift.is_as_expected()).into(),
            ]
        });
        let head = [
            "delay", "of", "achieved", "moves", "expected", "measured", "95 %", "verdict",
        ];
        if !self.shifts.is_empty() {
            parts.push(table(head, rows));
        }
        parts
    }
}

/// Whether a shift is as expected, in words.
pub fn as_expected(is: bool) -> &'static str {
    if is { "as expected" } else { "not as expected" }
}

fn between(interval: Interval) -> String {
    format!(
        "{} to {}",
        show::time(interval.low),
        show::time(interval.high)
    )
}

fn table<const N: usize>(head: [&str; N], rows: impl IntoIterator<Item = Vec<String>>) -> Part {
    let head = head.map(String::from).to_vec();
    Part::Table(std::iter::once(head).chain(rows).collect())
}
