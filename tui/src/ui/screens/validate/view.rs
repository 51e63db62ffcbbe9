//! Draws the pairs as a heat map, and the one that is chosen.

use jitterlab_base::show::{self, counted, printable};
use jitterlab_experiment::validate::{Attempt, Reason};
use jitterlab_stats::histogram::Histogram;
use jitterlab_stats::summary::{Summary, quantile};
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::ValidateScreen;
use super::read::{Measured, Validated, pair};
use crate::shown::cut;
use crate::ui::parts::axis::{Range, Zoom};
use crate::ui::parts::ladder::Ladder;
use crate::ui::parts::text::{first_shown, put, put_all, wrapped};
use crate::ui::parts::{beside, histogram};
use crate::ui::theme::Theme;

/// The columns of a pair.
const CELL: u16 = 2;

/// Draws it.
pub(super) fn draw(buffer: &mut Buffer, area: Rect, screen: &ValidateScreen, theme: Theme) {
    if screen.seen.is_none() {
        return put(buffer, area, 0, &Line::from("looking"));
    }
    let head = heading(screen, area.width, theme);
    let rows = u16::try_from(head.len()).unwrap_or(u16::MAX);
    let [above, below] =
        Layout::vertical([Constraint::Length(rows + 1), Constraint::Min(0)]).areas(area);
    put_all(buffer, above, &head);
    if let Some(validated) = screen.validated() {
        let names = validated.hosts.iter().map(|host| host.len()).max();
        let label = u16::try_from(names.unwrap_or(0))
            .unwrap_or(u16::MAX)
            .min(12);
        let hosts = u16::try_from(validated.hosts.len()).unwrap_or(u16::MAX);
        let map = (label + 1).saturating_add(hosts.saturating_mul(CELL));
        let [left, right] = beside(below, map.min(below.width / 2));
        draw_map(buffer, left, label, validated, screen.at, theme);
        draw_pair(buffer, right, validated, screen.at, theme);
    }
}

/// The file, and how far its validation is.
fn heading(screen: &ValidateScreen, width: u16, theme: Theme) -> Vec<Line<'static>> {
    let Some(file) = screen.file() else {
        return wrapped(
            Span::raw(""),
            "There is no hosts file here. It lists the hosts to validate: docs/validation.md. Put it beside the experiment \
             files.",
            Style::new(),
            width,
        );
    };
    let name = file.path.file_name().unwrap_or_default().to_string_lossy();
    if let Some(wrong) = &file.wrong {
        return wrapped(Span::raw(""), wrong, theme.bad(), width);
    }
    let spares = match file.spares.is_empty() {
        true => "no spares".to_string(),
        false => format!("spares {}", file.spares.join(" ")),
    };
    let what = format!(
        "{} over {}: {}, {spares}",
        printable(&name),
        screen.transport,
        counted(file.hosts.len(), "host")
    );
    let mut lines = wrapped(Span::raw(""), &printable(&what), theme.heading(), width);
    let validated = match screen.read() {
        Some(Ok(validated)) => validated,
        Some(Err(wrong)) => {
            lines.extend(wrapped(Span::raw(""), wrong, theme.bad(), width));
            return lines;
        }
        None => {
            lines.push(Line::from("not validated yet: Enter measures all pairs"));
            return lines;
        }
    };
    let (words, style) = state(validated, theme);
    lines.extend(wrapped(Span::raw(""), &printable(&words), style, width));
    if let Some(problem) = validated.problems.last() {
        let n = validated.problems.len();
        let said = cut(
            &format!("{n} not measured, the last: {problem}"),
            width.into(),
        );
        lines.push(Line::styled(said, theme.warning()));
    }
    lines
}

fn state(validated: &Validated, theme: Theme) -> (String, Style) {
    let Validated {
        done, of, running, ..
    } = validated;
    match (&validated.found, running) {
        (None, true) => (format!("measured {done} of {of}"), theme.good()),
        (None, false) => (format!("stopped at {done} of {of}"), theme.warning()),
        (Some(found), _) => {
            let all = found.attempts.iter().flat_map(|attempt| &attempt.left_out);
            let out: Vec<String> = all
                .map(|out| {
                    let why = match &out.reason {
                        Reason::Lost => "lost",
                        Reason::Outlier => "outlier",
                        Reason::Pair { with } => &format!("its pair with {with}"),
                    };
                    format!("{} is left out: {why}", out.host)
                })
                .collect();
            let remain = format!("{} hosts remain", found.remaining.len());
            let spares = match found.spares_left.is_empty() {
                true => String::new(),
                false => format!(", spares left: {}", found.spares_left.join(" ")),
            };
            match out.is_empty() {
                true => (format!("all fit: {remain}{spares}"), theme.good()),
                false => (
                    format!("{remain}{spares}; {}", out.join("; ")),
                    theme.warning(),
                ),
            }
        }
    }
}

/// The median of medians.
fn median(measured: &Measured) -> f64 {
    let mut medians: Vec<f64> = measured.runs.iter().map(|run| run.median).collect();
    medians.sort_unstable_by(f64::total_cmp);
    quantile(&medians, 0.5)
}

/// The time of a typical pair: by the verdict, or before it, the median of all pairs.
fn typical(validated: &Validated) -> f64 {
    if let Some(attempt) = verdict(validated) {
        return attempt.typical_ns;
    }
    let mut all: Vec<f64> = validated.pairs.values().map(median).collect();
    all.sort_unstable_by(f64::total_cmp);
    match all.is_empty() {
        true => 0.0,
        false => quantile(&all, 0.5),
    }
}

/// The verdict on the hosts that are shown.
fn verdict(validated: &Validated) -> Option<&Attempt> {
    validated.found.as_ref()?.attempts.last()
}

fn is_outlier(validated: &Validated, a: &str, b: &str) -> bool {
    verdict(validated).is_some_and(|attempt| {
        let hosts = pair(a, b);
        let mut nodes = attempt.nodes.iter().filter(|node| node.verdict.outlier);
        nodes.any(|node| hosts.contains(&node.host))
            || attempt
                .pairs
                .iter()
                .any(|it| it.verdict.outlier && pair(&it.hosts[0], &it.hosts[1]) == hosts)
    })
}

fn draw_map(
    buffer: &mut Buffer,
    area: Rect,
    label: u16,
    validated: &Validated,
    at: [usize; 2],
    theme: Theme,
) {
    /// The slowdown against a typical pair that is as hot as it gets.
    const HOTTEST: f64 = 0.25;
    let typical = typical(validated);
    let columns = usize::from(area.width.saturating_sub(label + 1) / CELL);
    let [first_row, first_column] = [
        first_shown(at[0], area.height.into()),
        first_shown(at[1], columns),
    ];
    let hosts = &validated.hosts;
    let rows = hosts
        .iter()
        .enumerate()
        .skip(first_row)
        .take(area.height.into());
    for ((row, host), y) in rows.zip(area.y..) {
        let style = if row == at[0] {
            theme.heading()
        } else {
            theme.aside()
        };
        let name = cut(&printable(host), label.into());
        buffer.set_stringn(area.x, y, name, area.width.into(), style);
        let cells = hosts.iter().enumerate().skip(first_column).take(columns);
        let places = (area.x + label + 1..).step_by(CELL.into());
        for ((column, other), x) in cells.zip(places) {
            let runs = validated.pairs.get(&pair(host, other));
            let (symbol, mut style) = match runs {
                _ if row == column => (" ", Style::new()),
                None => ("?", theme.aside()),
                Some(_) if is_outlier(validated, host, other) => ("!", theme.bad()),
                Some(runs) => {
                    let slower = median(runs) / typical.max(1.0) - 1.0;
                    theme.heat((slower / HOTTEST).clamp(0.01, 1.0))
                }
            };
            if [row, column] == at {
                style = style.patch(theme.here());
            }
            for x in x..(x + CELL).min(area.right()) {
                buffer[(x, y)].set_symbol(symbol).set_style(style);
            }
        }
    }
}

/// The pair that is chosen: all of its round trips, over those of all pairs.
fn draw_pair(buffer: &mut Buffer, area: Rect, validated: &Validated, at: [usize; 2], theme: Theme) {
    let [Some(a), Some(b)] = at.map(|at| validated.hosts.get(at)) else {
        return;
    };
    if a == b {
        return put(
            buffer,
            area,
            0,
            &Line::styled("arrows choose a pair", theme.aside()),
        );
    }
    let title = printable(&format!("{a} - {b}"));
    let mut lines = vec![Line::styled(title, theme.heading())];
    let Some(measured) = validated.pairs.get(&pair(a, b)) else {
        lines.push(Line::from("not measured yet"));
        return put_all(buffer, area, &lines);
    };
    let own = median(measured);
    let slower = show::change(own / typical(validated).max(1.0) - 1.0);
    let outlier = match is_outlier(validated, a, b) {
        true => Span::styled(", an outlier", theme.bad()),
        false => Span::raw(""),
    };
    lines.push(Line::from(vec![
        Span::raw(format!(
            "measured {} times: median {}, {slower}",
            measured.runs.len(),
            show::time(own)
        )),
        outlier,
    ]));
    let others = Histogram::from(&*validated.all);
    let samples = Histogram::from(&*measured.samples);
    let all = validated.pairs.values();
    let heading = format!("{:>8}  {:>9}  {:>9}", "at most", "this pair", "all pairs");
    lines.push(Line::styled(heading, theme.heading()));
    let ladder = Ladder::of(&samples, greatest([measured]));
    lines.extend(ladder.lines(Some(&Ladder::of(&others, greatest(all))), theme));
    put_all(buffer, area, &lines);
    let above = u16::try_from(lines.len())
        .unwrap_or(u16::MAX)
        .min(area.height);
    let below = Rect {
        y: area.y + above,
        height: area.height - above,
        ..area
    };
    let [trips, medians] = match below.height >= WITH_MEDIANS {
        true => Layout::vertical([Constraint::Fill(2), Constraint::Fill(1)]).areas(below),
        false => [below, Rect::default()],
    };
    if let Some(range) = Range::of([&samples, &others], Zoom::Most) {
        let axis = range.axis(histogram::columns(trips));
        let [own, all] = [&samples, &others].map(|it| axis.of_histogram(it));
        histogram::draw_over(buffer, trips, &own, &all, &axis, false, theme);
    }
    draw_medians(buffer, medians, measured, validated, theme);
}

/// The number of rows from which on the medians of a pair are shown, too.
const WITH_MEDIANS: u16 = 24;

/// The longest round trip, in nanoseconds.
fn greatest<'a>(measured: impl IntoIterator<Item = &'a Measured>) -> u64 {
    let runs = measured.into_iter().flat_map(|it| &it.runs);
    runs.map(|run| run.max).fold(0.0, f64::max) as u64
}

/// The medians of its measurements, on the axis of all pairs: where a pair lies among them is what is asked.
fn draw_medians(
    buffer: &mut Buffer,
    area: Rect,
    measured: &Measured,
    validated: &Validated,
    theme: Theme,
) {
    let medians = |of: &[Summary]| -> Vec<f64> {
        let mut medians: Vec<f64> = of.iter().map(|run| run.median).collect();
        medians.sort_unstable_by(f64::total_cmp);
        medians
    };
    let runs = validated.pairs.values().flat_map(|it| &it.runs);
    let all = medians(&runs.copied().collect::<Vec<_>>());
    let (Some(&least), Some(&greatest)) = (all.first(), all.last()) else {
        return;
    };
    let title = Line::styled("medians of its measurements", theme.aside());
    put(buffer, area, 0, &title);
    let below = Rect {
        y: area.y + area.height.min(1),
        height: area.height.saturating_sub(1),
        ..area
    };
    let axis = histogram::axis(least, greatest, histogram::columns(below));
    let counts = axis.of_sorted(&medians(&measured.runs));
    histogram::draw(buffer, below, &counts, &axis, theme);
}
