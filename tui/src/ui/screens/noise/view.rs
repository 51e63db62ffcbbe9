//! The drawing of the screen.

use jitterlab_base::show;
use jitterlab_base::units::Nanos;
use jitterlab_node_tuning::noise::limits::Figure;
use jitterlab_stats::histogram::Bins;
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::{CpuNoise, NoiseScreen};
use crate::picture;
use crate::ui::parts::histogram;
use crate::ui::parts::text::{first_shown, put, put_all, wrapped};
use crate::ui::theme::Theme;

/// The axis: from 128 ns, below which there is no gap, to 268 ms, in steps of a factor of 2.
const FROM_NS: f64 = (1 << 7) as f64;
const TO_NS: f64 = (1 << 28) as f64;
const OCTAVES: usize = 28 - 7;

/// Draws it. The heat map is beside the figures where there is room, and below them otherwise.
pub(super) fn draw(buffer: &mut Buffer, area: Rect, screen: &NoiseScreen, theme: Theme) {
    const FIGURES: u16 = 76;
    const HEAT: u16 = 24;
    let Some((&cpu, chosen)) = screen.cpus.iter().nth(screen.selected) else {
        return put_all(buffer, area, &before(screen, area.width, theme));
    };
    let is_beside = area.width >= FIGURES + HEAT;
    let cpus = u16::try_from(screen.cpus.len()).unwrap_or(u16::MAX);
    let rows = cpus.min(area.height / 5).max(1);
    let [head, table, below, said, name, large] = Layout::vertical([
        Constraint::Length(2),
        Constraint::Length(rows + if is_beside { 2 } else { 1 }),
        Constraint::Length(if is_beside { 0 } else { rows + 2 }),
        Constraint::Length(4),
        Constraint::Length(1),
        Constraint::Min(0),
    ])
    .areas(area);
    put_all(buffer, head, &heading(screen, theme));
    draw_table(buffer, table, usize::from(rows), screen, theme);
    let heat = match is_beside {
        true => Rect {
            x: area.x + FIGURES,
            y: head.bottom() - 1,
            width: area.width - FIGURES,
            height: rows + 2,
        },
        false => below,
    };
    draw_heat(buffer, heat, screen, theme);
    put_all(buffer, said, &findings(screen, said, theme));
    let gaps: u64 = chosen.gaps.count();
    let title = format!("CPU {cpu}: {gaps} gaps since the beginning, by length");
    put(buffer, name, 0, &Line::styled(title, theme.heading()));
    draw_large(buffer, large, chosen, theme);
}

/// The CPUs, and the share that each lost in each of the last seconds; below them a mark at the newest one.
fn draw_heat(buffer: &mut Buffer, area: Rect, screen: &NoiseScreen, theme: Theme) {
    const LABEL: u16 = 5;
    let title = "lost in each second: 0.0001 % to 10 %";
    put(buffer, area, 0, &Line::styled(title, theme.heading()));
    let rows = usize::from(area.height.saturating_sub(2));
    let width = usize::from(area.width.saturating_sub(LABEL));
    // Narrower than the area, whose width is an u16.
    let x = |column: usize| area.x + LABEL + column as u16;
    let first = first_shown(screen.selected, rows);
    let shown = screen.cpus.iter().skip(first).take(rows);
    for ((cpu, noise), y) in shown.zip(area.y + 1..) {
        buffer.set_stringn(
            area.x,
            y,
            format!("{cpu:>4}"),
            area.width.into(),
            theme.aside(),
        );
        for (column, &lost) in noise.lost.columns(width) {
            let (symbol, style) = theme.heat(heat(lost));
            buffer[(x(column), y)].set_symbol(symbol).set_style(style);
        }
    }
    // All CPUs are measured in the same seconds.
    let first = screen.cpus.values().next();
    if let (Some(newest), true) = (first.and_then(|noise| noise.lost.newest(width)), rows > 0) {
        let mark = &mut buffer[(x(newest), area.bottom() - 1)];
        mark.set_symbol("↑").set_style(theme.aside());
    }
}

/// A share that is lost, as heat: even in its logarithm.
fn heat(lost: f64) -> f64 {
    const LEAST: f64 = 1e-6;
    const DECADES: f64 = 5.0;
    match lost > 0.0 {
        true => ((lost / LEAST).log10() / DECADES).clamp(0.01, 1.0),
        false => 0.0,
    }
}

/// Before anything was measured.
fn before(screen: &NoiseScreen, width: u16, theme: Theme) -> Vec<Line<'static>> {
    match &screen.error {
        Some(error) => wrapped(Span::raw(""), error, theme.bad(), width),
        None if screen.running => vec![Line::from("measuring the first second")],
        None => wrapped(
            Span::raw(""),
            "Enter begins to measure what takes CPUs away from a program that only spins: the CPUs that measure, as \
             `jitterlab check` takes them, or all where no tuning names any. They are busy meanwhile; Enter ends it.",
            Style::new(),
            width,
        ),
    }
}

fn heading(screen: &NoiseScreen, theme: Theme) -> Vec<Line<'static>> {
    let state = match (screen.running, &screen.error) {
        (true, _) => Span::styled("measuring", theme.good()),
        (false, Some(error)) => Span::styled(error.clone(), theme.bad()),
        (false, None) => Span::styled("ended", theme.heading()),
    };
    let judged = match &screen.place {
        Some(place) if place.emulated => "; emulated processors: not judged",
        _ => "",
    };
    let what = format!(
        ": {} s, gaps above {}{judged}",
        screen.seconds,
        Nanos(screen.threshold_ns)
    );
    let columns = format!(
        "{:>4} {:>9} {:>9} {:>11} {:>12}  {}",
        "CPU", "gaps/s", "lost %", "longest", "of all", "128ns to 268ms"
    );
    vec![
        Line::from(vec![state, Span::raw(what)]),
        Line::styled(columns, theme.heading()),
    ]
}

fn draw_table(buffer: &mut Buffer, area: Rect, rows: usize, screen: &NoiseScreen, theme: Theme) {
    let first = first_shown(screen.selected, rows);
    let shown = screen.cpus.iter().enumerate().skip(first).take(rows);
    for (row, (at, (cpu, noise))) in shown.enumerate() {
        let here = at == screen.selected;
        let style = if here { theme.here() } else { Style::new() };
        let mut line = vec![Span::styled(format!("{cpu:>4}"), style)];
        line.extend(figures(noise, theme));
        let by_octave = Bins::logarithmic(FROM_NS, TO_NS, OCTAVES).of_histogram(&noise.gaps);
        line.push(Span::raw(format!("  {}", picture::line(&by_octave))));
        put(buffer, area, row, &Line::from(line));
    }
}

fn figures(noise: &CpuNoise, theme: Theme) -> [Span<'static>; 4] {
    let shown = |figure: Figure, text: String| match noise.exceeds.contains(&figure) {
        true => Span::styled(text, theme.bad()),
        false => Span::raw(text),
    };
    let time = |ns: u64| show::time(ns as f64);
    [
        shown(Figure::GapsPerSecond, format!(" {:>9.1}", noise.gaps_per_s)),
        shown(
            Figure::LostShare,
            format!(" {:>9.4}", noise.lost_share * 100.0),
        ),
        shown(Figure::Longest, format!(" {:>11}", time(noise.longest_ns))),
        Span::raw(format!(" {:>12}", time(noise.longest_of_all_ns))),
    ]
}

/// The findings that exceed the limits, as far as there is room.
fn findings(screen: &NoiseScreen, area: Rect, theme: Theme) -> Vec<Line<'static>> {
    let room = usize::from(area.height).saturating_sub(1);
    let all = screen.findings.len();
    let mut lines: Vec<Line> = screen
        .findings
        .iter()
        .take(if all > room {
            room.saturating_sub(1)
        } else {
            room
        })
        .map(|finding| Line::styled(format!("too much: {finding}"), theme.bad()))
        .collect();
    if all > room {
        let more = format!("and {} more", all - lines.len());
        lines.push(Line::styled(more, theme.bad()));
    }
    lines
}

fn draw_large(buffer: &mut Buffer, area: Rect, noise: &CpuNoise, theme: Theme) {
    let axis = histogram::axis(FROM_NS, TO_NS, histogram::columns(area));
    histogram::draw(buffer, area, &axis.of_histogram(&noise.gaps), &axis, theme);
}
