//! The drawing of the screen.

use jitterlab_base::show::printable;
use jitterlab_report::analysis::levels::{CaseAtLevel, Comparison};
use jitterlab_report::table::{Estimate, Value};
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::against::{name, verdict};
use super::table::{Place, TextTable};
use super::{Results, table};
use crate::shown::cut;
use crate::ui::parts::axis::{Range, Zoom};
use crate::ui::parts::text::{first_shown, put, put_all, wrapped};
use crate::ui::parts::{beside, histogram};
use crate::ui::theme::Theme;

/// Draws it.
pub fn draw(buffer: &mut Buffer, area: Rect, screen: &Results, theme: Theme) {
    let says = |text: &str| wrapped(Span::raw(""), text, Style::new(), area.width);
    let folders = match &screen.folders {
        None => return put_all(buffer, area, &says("looking")),
        Some(folders) if folders.is_empty() => {
            let text = "No results yet: an experiment that has measured something is shown here.";
            return put_all(buffer, area, &says(text));
        }
        Some(folders) => folders,
    };
    let has_room = area.width >= 120;
    let is_entered = screen.inside || screen.table.is_some() || screen.against.is_some();
    if is_entered && !has_room {
        return draw_opened(buffer, area, screen, theme);
    }
    let [left, right] = beside(area, if has_room { 44 } else { 30 });
    let at = folders
        .iter()
        .position(|it| Some(it) == screen.folder.as_ref());
    let rows = usize::from(left.height).saturating_sub(1);
    let first = first_shown(at.unwrap_or(0), rows);
    put(buffer, left, 0, &Line::styled("results", theme.heading()));
    for (row, (place, folder)) in folders
        .iter()
        .enumerate()
        .skip(first)
        .take(rows)
        .enumerate()
    {
        let mark = match screen.kept.as_ref() == Some(folder) {
            true => "a ",
            false => "",
        };
        let name = format!("{mark}{}", name(folder));
        let style = match (Some(place) == at, is_entered) {
            (true, false) => theme.here(),
            (true, true) => theme.heading(),
            (false, _) => Style::new(),
        };
        put(
            buffer,
            left,
            row + 1,
            &Line::styled(cut(&name, left.width.into()), style),
        );
    }
    draw_opened(buffer, right, screen, theme);
}

/// The content of the folder that is chosen.
fn draw_opened(buffer: &mut Buffer, area: Rect, screen: &Results, theme: Theme) {
    if let Some(against) = &screen.against {
        return against.draw(buffer, area, screen.figure, screen.share(), theme);
    }
    let says = |text: &str, style| wrapped(Span::raw(""), text, style, area.width);
    let head = head_lines(screen, area.width, theme);
    put_all(buffer, area, &head);
    let head = u16::try_from(head.len()).unwrap_or(u16::MAX);
    let head = head.min(area.height);
    let area = Rect {
        y: area.y + head,
        height: area.height - head,
        ..area
    };
    let opened = match &screen.analysis {
        None => return put_all(buffer, area, &says("is being analysed", Style::new())),
        Some(Err(error)) => return put_all(buffer, area, &says(error, theme.bad())),
        Some(Ok(opened)) => opened,
    };
    if let Some(place) = screen.table {
        return table::draw(buffer, area, &opened.tables, place, theme);
    }
    let mut below = match screen.comparison() {
        Some(Ok(comparison)) => comparison_lines(&comparison, area.width, theme),
        Some(Err(refused)) => says(&printable(&refused.to_string()), theme.warning()),
        None if screen.inside => says(
            "choose a level: it is b, and is compared with a, which is the first level of the same case until you mark another",
            theme.aside(),
        ),
        None => Vec::new(),
    };
    if !screen.inside || usize::from(area.height) > below.len() + screen.cases().len() + 11 {
        below.push(Line::default());
        below.extend(says(&opened.answer, Style::new()));
        below.extend(match &opened.report {
            Some(report) => says(
                &format!("report: {}", printable(&report.to_string_lossy())),
                theme.aside(),
            ),
            None => says("report: not written; `w` writes it", theme.aside()),
        });
    }
    let most = usize::from(area.height) / 2;
    below.truncate(most.max(4));
    let [levels, text] = Layout::vertical([
        Constraint::Fill(1),
        Constraint::Length(u16::try_from(below.len() + 1).unwrap_or(u16::MAX)),
    ])
    .areas(area);
    draw_levels(buffer, levels, screen, theme);
    match screen.inside {
        true => draw_over(buffer, levels, screen, theme),
        false => draw_tables(buffer, levels, screen, &opened.tables, theme),
    }
    let text = Rect {
        y: text.y + text.height.min(1),
        height: text.height.saturating_sub(1),
        ..text
    };
    put_all(buffer, text, &below);
}

/// The name of a folder that was entered, the runs that it lacks, and whether there is a newer one.
fn head_lines(screen: &Results, width: u16, theme: Theme) -> Vec<Line<'static>> {
    let is_entered = screen.inside || screen.table.is_some();
    let title = screen.folder.as_deref().filter(|_| is_entered);
    let title = title.map(|it| Line::styled(cut(&name(it), width.into()), theme.heading()));
    let says = |text: &str| wrapped(Span::raw(""), text, theme.warning(), width);
    let missing = screen.opened().and_then(|it| it.missing.as_deref());
    let newer = screen.newer().map(|newer| {
        let back = if is_entered { "Esc, then " } else { "" };
        says(&format!("a newer folder: {}: {back}choose it", name(newer)))
    });
    let lines = title.into_iter();
    let lines = lines.chain(missing.map(says).into_iter().flatten());
    lines.chain(newer.into_iter().flatten()).collect()
}

/// What levels leave of an area, if that is so many rows.
fn below_levels(area: Rect, screen: &Results, least: usize, theme: Theme) -> Option<Rect> {
    let above = level_lines(screen, area.width, theme).0.len() + 1;
    let has_room = usize::from(area.height) >= above + least;
    // The area's height is the limit.
    let above = above as u16;
    has_room.then(|| Rect {
        y: area.y + above,
        height: area.height - above,
        ..area
    })
}

/// Tables of the report, where levels leave room for them.
fn draw_tables(
    buffer: &mut Buffer,
    area: Rect,
    screen: &Results,
    tables: &[TextTable],
    theme: Theme,
) {
    const LEAST: usize = 6;
    let rest = below_levels(area, screen, LEAST, theme);
    if let Some(rest) = rest.filter(|rest| rest.width >= table::WIDE) {
        table::draw(buffer, rest, tables, Place::default(), theme);
    }
}

/// The samples of b over those of a, where levels leave room for them.
fn draw_over(buffer: &mut Buffer, area: Rect, screen: &Results, theme: Theme) {
    /// The rows that a picture takes, at least.
    const LEAST: usize = 12;
    let Some(rest) = below_levels(area, screen, LEAST, theme) else {
        return;
    };
    let Some([a, b]) = screen.distributions() else {
        return;
    };
    let Some(range) = Range::of([&a, &b], Zoom::Most) else {
        return;
    };
    let title = Line::from(vec![
        Span::styled("all samples of b", theme.heading()),
        Span::raw(", over those of a "),
        Span::styled("━", theme.series(true)),
    ]);
    put(buffer, rest, 0, &title);
    let picture = Rect {
        y: rest.y + 1,
        height: rest.height - 1,
        ..rest
    };
    let axis = range.axis(histogram::columns(picture));
    let [others, counts] = [a, b].map(|it| axis.of_histogram(&it));
    histogram::draw_over(buffer, picture, &counts, &others, &axis, false, theme);
}

/// Levels, as far as there is room; the one that is chosen is among them.
fn draw_levels(buffer: &mut Buffer, area: Rect, screen: &Results, theme: Theme) {
    let (lines, chosen) = level_lines(screen, area.width, theme);
    let from = first_shown(chosen, area.height.into());
    put_all(buffer, area, &lines[from.min(lines.len())..]);
}

/// Levels, grouped by case; and the last line of the one that is chosen.
fn level_lines(screen: &Results, width: u16, theme: Theme) -> (Vec<Line<'static>>, usize) {
    let [a, b] = screen.compared().map_or([None; 2], |both| both.map(Some));
    let mut lines = Vec::new();
    let mut chosen = 0;
    let mut first: Option<&CaseAtLevel> = None;
    for (place, case) in screen.cases().iter().enumerate() {
        if first.is_none_or(|first| first.subject != case.subject) {
            first = Some(case);
            let what = match case.is_timed() {
                true => "runtime".into(),
                false => screen.figure.to_string(),
            };
            let text = format!(
                "{}, {what} of a run, mean over runs",
                printable(&case.subject)
            );
            lines.push(Line::styled(text, theme.heading()));
        }
        let mark = match (screen.inside, Some(place) == a, Some(place) == b) {
            (true, true, _) => "a ",
            (true, _, true) => "b ",
            _ => "  ",
        };
        let is_chosen = screen.inside && place == screen.at;
        let style = if is_chosen {
            theme.here()
        } else {
            Style::new()
        };
        let base = first.filter(|first| first.name != case.name);
        let texts = level_texts(case, base, screen, width.saturating_sub(2));
        for (mark, text) in std::iter::once(mark)
            .chain(std::iter::repeat("  "))
            .zip(texts)
        {
            lines.push(Line::styled(
                cut(&format!("{mark}{text}"), width.into()),
                style,
            ));
        }
        if place == screen.at {
            chosen = lines.len().saturating_sub(1);
        }
    }
    (lines, chosen)
}

/// A level in a line; in a second one its change, where there is no room for that in the first.
fn level_texts(
    case: &CaseAtLevel,
    base: Option<&CaseAtLevel>,
    screen: &Results,
    width: u16,
) -> Vec<String> {
    let figure = screen.figure;
    let mean = seconds(case.mean(figure));
    let change = base.map(|base| case.against(base, figure));
    let change = change.and_then(|it| it.ok().flatten());
    let names = screen.cases().iter().map(|it| it.level.to_string().len());
    let column = names.max().unwrap_or(0);
    let level = format!("{:<column$}", case.level.to_string());
    if !screen.inside {
        return vec![format!("{level}  {mean}")];
    }
    let begin = format!("{level} {:>3}  ", case.runs());
    let Some(change) = change else {
        return vec![begin + &mean];
    };
    let change = told(&Value::Change(change.ratio));
    let line = format!("{begin}{mean:<25}  {change}");
    match line.chars().count() <= width.into() {
        true => vec![line],
        false => {
            let indent = begin.chars().count();
            vec![begin + &mean, format!("{:indent$}{change}", "")]
        }
    }
}

/// A time in nanoseconds, with its interval.
fn seconds(ns: Estimate) -> String {
    told(&Value::Seconds(ns.scaled(1e-9)))
}

/// An estimate with its interval, or that it has none.
fn told(estimate: &Value) -> String {
    match estimate.estimated() {
        Some((value, None)) => format!("{value} (no interval)"),
        _ => estimate.for_people(),
    }
}

/// Whether b is slower than a.
fn comparison_lines(it: &Comparison, width: u16, theme: Theme) -> Vec<Line<'static>> {
    let side = |label: &'static str, name: &str, ns: Estimate| {
        let text = format!("{}  {}", printable(name), seconds(ns));
        wrapped(
            Span::styled(label, theme.heading()),
            &text,
            Style::new(),
            width,
        )
    };
    let mut lines = side("a  ", &it.a, it.a_ns);
    lines.extend(side("b  ", &it.b, it.b_ns));
    let style = match it.slowdown {
        Some(_) => Style::new(),
        None => theme.warning(),
    };
    lines.extend(wrapped(Span::raw(""), &it.change(), style, width));
    lines.push(Line::from(vec![
        Span::raw(format!("{}  ", it.question())),
        verdict(it.slower, theme),
        Span::styled("  (+ - change the share)", theme.aside()),
    ]));
    lines
}
