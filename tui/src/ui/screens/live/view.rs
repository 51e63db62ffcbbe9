//! The drawing of the screen.

use jitterlab_base::show::{bandwidth, count, percent, time};
use jitterlab_experiment::live::Stage;
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::history::Done;
use super::lens::Lens;
use super::picture::{Picture, Shift};
use super::watch::Heard;
use super::{Live, ranks};
use crate::shown::{self, cut};
use crate::ui::parts::curves::{self, Curve};
use crate::ui::parts::text::{put, put_all, wrapped};
use crate::ui::parts::{beside, histogram, over_time};
use crate::ui::theme::Theme;

/// Draws it.
pub(super) fn draw(buffer: &mut Buffer, area: Rect, screen: &Live, theme: Theme) {
    let picture = screen.shown();
    let Some(heard) = &picture.heard else {
        let text = match &screen.found {
            None => "looking",
            Some(found) if !found.is_empty() => {
                return draw_found(buffer, area, screen, theme);
            }
            Some(_) => {
                "Nothing is being measured. An experiment that is started on the screen Suites, or by `jitterlab run` in this \
                 folder, is shown here, and so are `jitterlab packet run`, `noise run` and `amvia` in a terminal."
            }
        };
        return put_all(
            buffer,
            area,
            &wrapped(Span::raw(""), text, Style::new(), area.width),
        );
    };
    let head = head(screen, picture, heard, area.width, theme);
    let [top, body] = Layout::vertical([
        Constraint::Length(u16::try_from(head.len()).unwrap_or(u16::MAX)),
        Constraint::Fill(1),
    ])
    .areas(area);
    put_all(buffer, top, &head);
    let sources = u16::try_from(screen.found.iter().flatten().count() + 2).unwrap_or(2);
    // Between two runs what is pinned stays in sight.
    let is_counted = Done::of(&heard.total) != Done::default() || !heard.said.is_empty();
    if heard.total.samples() == 0 && (picture.pinned.is_none() || is_counted) {
        let sources = if is_large(area) { sources } else { 0 };
        let [progress, found] =
            Layout::vertical([Constraint::Fill(1), Constraint::Length(sources)]).areas(body);
        let has_ranks = is_large(area) || screen.ranks;
        draw_progress(buffer, progress, has_ranks, picture, heard, theme);
        draw_found(buffer, found, screen, theme);
    } else if is_large(area) {
        let [left, right] = beside(body, body.width / 2 - 1);
        let [bars, ladder, found] = Layout::vertical([
            Constraint::Fill(1),
            Constraint::Length(8),
            Constraint::Length(sources),
        ])
        .areas(left);
        draw_histogram(buffer, bars, picture, &screen.lens, theme);
        draw_ladder(buffer, ladder, picture, theme);
        draw_found(buffer, found, screen, theme);
        let [strip, heat, table] = Layout::vertical([
            Constraint::Fill(1),
            Constraint::Fill(2),
            Constraint::Length(rows_of_ranks(heard, right.height / 3)),
        ])
        .areas(right);
        draw_strip(buffer, strip, picture, theme);
        draw_heat(buffer, heat, picture, &screen.lens, theme);
        draw_ranks(buffer, table, heard, theme);
    } else {
        let [bars, middle, heat] = Layout::vertical([
            Constraint::Fill(1),
            Constraint::Length(7),
            Constraint::Fill(1),
        ])
        .areas(body);
        draw_histogram(buffer, bars, picture, &screen.lens, theme);
        let [ladder, strip] = beside(middle, if picture.pinned.is_some() { 43 } else { 21 });
        draw_ladder(buffer, ladder, picture, theme);
        draw_strip(buffer, strip, picture, theme);
        match screen.ranks && !heard.total.ranks.is_empty() {
            true => draw_ranks(buffer, heat, heard, theme),
            false => draw_heat(buffer, heat, picture, &screen.lens, theme),
        }
    }
}

/// Rows for the ranks that were heard of, at most so many; none where there are no ranks.
fn rows_of_ranks(heard: &Heard, most: u16) -> u16 {
    match heard.total.ranks.len() {
        0 => 0,
        ranks => u16::try_from(ranks + 1).unwrap_or(most).min(most),
    }
}

fn draw_ranks(buffer: &mut Buffer, area: Rect, heard: &Heard, theme: Theme) {
    if !heard.total.ranks.is_empty() {
        ranks::draw(buffer, area, &heard.total.ranks, theme);
    }
}

fn is_large(area: Rect) -> bool {
    area.width >= 120 && area.height >= 36
}

/// The run and its progress; with a distribution that is pinned, the shift from that.
fn head(
    screen: &Live,
    picture: &Picture,
    heard: &Heard,
    width: u16,
    theme: Theme,
) -> Vec<Line<'static>> {
    let mut state = Vec::new();
    if screen.frozen.is_some() {
        state.push(Span::styled("  frozen", theme.warning()));
    }
    let stage = match (picture.is_over, heard.stage) {
        (true, _) => "  ended",
        (false, Stage::UnderWay) => "",
        (false, Stage::Done) => "  done",
        (false, Stage::Failed) => "  failed",
    };
    state.push(Span::styled(stage, theme.aside()));
    if let Some(timing) = heard.total.timing {
        state.push(Span::raw(format!("  {timing}")));
    }
    let taken: usize = state.iter().map(Span::width).sum();
    let name = &picture.running.name;
    let room = usize::from(width).saturating_sub(taken);
    let mut title = vec![Span::styled(cut(name, room), theme.heading())];
    title.extend(state);
    let mut lines = vec![
        Line::from(title),
        Line::from(figures(screen, picture, heard)),
    ];
    let Some(pinned) = &picture.pinned else {
        return lines;
    };
    let pinned = format!("over {}", pinned.name);
    lines.push(Line::styled(cut(&pinned, width.into()), theme.series(true)));
    if let Some(shift) = picture.shift() {
        lines.push(shift_line(shift, theme));
    }
    lines
}

fn figures(screen: &Live, picture: &Picture, heard: &Heard) -> String {
    let mut figures = vec![format!(
        "{} samples",
        count(picture.running.samples.count())
    )];
    if let Some(progress) = heard.progress {
        figures.push(format!(
            "run {} of {}",
            progress.finished + 1,
            progress.runs
        ));
        if !picture.is_over {
            figures.push(format!("{} left", shown::time(progress.seconds_left)));
        }
    }
    if heard.load.is_some() {
        figures.push("under load".into());
    }
    figures.push(screen.lens.about(&picture.running));
    if let Some(cursor) = screen.lens.cursor {
        let beyond = picture.running.beyond(cursor);
        figures.push(format!("{} beyond {}", percent(beyond), time(cursor)));
    }
    let found = screen.found.iter().flatten().count();
    if let (Some(at), true) = (screen.watched_at(), found > 1) {
        figures.push(format!("{} of {found} sources", at + 1));
    }
    figures.join("  ")
}

/// The shift of the median, in a line.
pub fn shift_line(shift: Shift, theme: Theme) -> Line<'static> {
    let signed = |ns: f64| match ns {
        ns if ns < 0.0 => format!("-{}", time(-ns)),
        ns => format!("+{}", time(ns)),
    };
    match shift {
        Shift::Awaits(blocks) => {
            let text = format!("shift of the median: known in {blocks} s or more");
            Line::styled(text, theme.aside())
        }
        Shift::Unknown => {
            let text = "shift of the median: unknown, since what is pinned ran for less than 16 s";
            Line::styled(text, theme.aside())
        }
        Shift::Known(it) => {
            let verdict = match (it.low > 0.0, it.high < 0.0) {
                (true, _) => "slower",
                (_, true) => "faster",
                _ => "not told apart",
            };
            let interval = format!("{} to {}", signed(it.low), signed(it.high));
            Line::from(vec![
                Span::styled(verdict, theme.heading()),
                Span::raw(format!(
                    ": median {}, {interval} (95 % at all times)",
                    signed(it.estimate)
                )),
            ])
        }
    }
}

/// Draws what runs, and over it what is pinned.
pub fn draw_histogram(
    buffer: &mut Buffer,
    area: Rect,
    picture: &Picture,
    lens: &Lens,
    theme: Theme,
) {
    let Some(range) = lens.range(picture.distributions()) else {
        return;
    };
    let axis = lens.axis(range, histogram::columns(area));
    let counts = axis.of_histogram(&picture.running.samples);
    let is_part = lens.shows_part();
    match &picture.pinned {
        None => histogram::draw_part(buffer, area, &counts, &axis, is_part, theme),
        Some(pinned) => {
            let others = axis.of_histogram(&pinned.samples);
            histogram::draw_over(buffer, area, &counts, &others, &axis, is_part, theme);
        }
    }
    for at in lens.mark.into_iter().chain(lens.cursor) {
        histogram::mark(buffer, area, axis.place(at), theme);
    }
}

pub(super) fn draw_ladder(buffer: &mut Buffer, area: Rect, picture: &Picture, theme: Theme) {
    let pinned = picture.pinned.as_ref().map(|it| it.ladder());
    let heading = match pinned {
        Some(_) => format!(
            "{:>8}  {:>9}  {:>9}  {:>9}",
            "at most", "running", "pinned", "change"
        ),
        None => format!("{:>8}  {:>9}", "at most", "running"),
    };
    put(buffer, area, 0, &Line::styled(heading, theme.heading()));
    let below = Rect {
        y: area.y + area.height.min(1),
        height: area.height.saturating_sub(1),
        ..area
    };
    let lines = picture.running.ladder().lines(pinned.as_ref(), theme);
    put_all(buffer, below, &lines);
}

/// All that can be watched.
fn draw_found(buffer: &mut Buffer, area: Rect, screen: &Live, theme: Theme) {
    let heading = match screen.found.as_deref() {
        Some([]) => "nothing is measured now",
        _ => "being measured",
    };
    put(buffer, area, 0, &Line::styled(heading, theme.heading()));
    let watched = screen.watched_at();
    for (at, found) in screen.found.iter().flatten().enumerate() {
        let style = match watched == Some(at) {
            true => theme.here(),
            false => Style::new(),
        };
        let line = Line::styled(cut(&found.name, area.width.into()), style);
        put(buffer, area, at + 1, &line);
    }
}

pub(super) fn draw_strip(buffer: &mut Buffer, area: Rect, picture: &Picture, theme: Theme) {
    let width = curves::columns(area);
    let points = |of: fn(&super::history::Slice) -> u64| {
        let slices = picture.history.seconds().columns(width);
        slices
            .map(|(column, slice)| (column, of(slice) as f64))
            .collect()
    };
    let curves = [
        Curve {
            name: "median of a second",
            points: points(|slice| slice.median),
        },
        Curve {
            name: "99.9 %",
            points: points(|slice| slice.tail),
        },
    ];
    curves::draw(buffer, area, &curves, curves::short_of, theme);
}

pub(super) fn draw_heat(
    buffer: &mut Buffer,
    area: Rect,
    picture: &Picture,
    lens: &Lens,
    theme: Theme,
) {
    let (columns, rows) = (over_time::columns(area), over_time::rows(area));
    let range = lens.range(picture.distributions());
    let Some(range) = range.filter(|_| rows > 0) else {
        return;
    };
    let axis = lens.axis(range, rows);
    let mut slices = vec![None; columns];
    for (column, slice) in picture.history.seconds().columns(columns) {
        slices[column] = Some(slice);
    }
    let shares = |column: usize, shares: &mut [f64]| match slices[column] {
        Some(slice) => {
            slice.shares(&axis, shares);
            true
        }
        None => false,
    };
    let newest = picture.history.seconds().newest(columns);
    over_time::draw(buffer, area, &axis, newest, shares, theme);
}

/// A program without samples: an application, by its iterations or its last line, or a case that counts its messages; `has_ranks`: with
/// its ranks, if it has some.
fn draw_progress(
    buffer: &mut Buffer,
    area: Rect,
    has_ranks: bool,
    picture: &Picture,
    heard: &Heard,
    theme: Theme,
) {
    /// The count that a curve shows.
    type Of = fn(Done) -> u64;
    let mut lines = vec![Line::default()];
    let last = picture.history.seconds().columns(2).last();
    let last = last.map_or(Done::default(), |(_, slice)| slice.done);
    let now = Done::of(&heard.total);
    let curve: Option<(&'static str, Of)> = match heard.total.iterations() {
        Some((done, planned)) => {
            let share = done as f64 / planned.max(1) as f64;
            let width = usize::from(area.width);
            let filled = (share.min(1.0) * width as f64) as usize;
            lines.push(Line::from(format!(
                "{} of its iterations: {} of {}",
                percent(share),
                count(done),
                count(planned)
            )));
            lines.push(Line::from(vec![
                Span::styled("█".repeat(filled), theme.series(false)),
                Span::styled("─".repeat(width - filled), theme.aside()),
            ]));
            lines.push(Line::from(format!(
                "{} iterations in the last second",
                count(last.iterations)
            )));
            Some(("iterations a second", |done| done.iterations))
        }
        None if now.messages > 0 => {
            lines.push(Line::from(format!(
                "{} messages, {} bytes",
                count(now.messages),
                count(now.bytes)
            )));
            lines.push(Line::from(format!(
                "{} messages in the last second, {}",
                count(last.messages),
                bandwidth(last.bytes as f64)
            )));
            Some(("messages a second", |done| done.messages))
        }
        None if heard.said.is_empty() => {
            let why = match picture.is_over {
                true => "it ended before a sample was seen; 7 Results has them all",
                false => "no samples yet",
            };
            lines.push(Line::styled(why, theme.aside()));
            None
        }
        None => {
            let said = wrapped(
                Span::raw("it says  "),
                &heard.said,
                Style::new(),
                area.width,
            );
            lines.extend(said);
            None
        }
    };
    put_all(buffer, area, &lines);
    let Some((name, of)) = curve else {
        return;
    };
    let above = u16::try_from(lines.len() + 1).unwrap_or(u16::MAX);
    let above = above.min(area.height);
    let below = Rect {
        y: area.y + above,
        height: area.height - above,
        ..area
    };
    let rows = match has_ranks {
        true => rows_of_ranks(heard, below.height / 2),
        false => 0,
    };
    let [below, table] =
        Layout::vertical([Constraint::Fill(1), Constraint::Length(rows)]).areas(below);
    draw_ranks(buffer, table, heard, theme);
    let seconds = picture.history.seconds().columns(curves::columns(below));
    let points = seconds.map(|(column, slice)| (column, of(slice.done) as f64));
    let curve = Curve {
        name,
        points: points.collect(),
    };
    curves::draw(buffer, below, &[curve], curves::number_of, theme);
}
