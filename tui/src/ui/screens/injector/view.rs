//! The drawing of the screen.

use jitterlab_base::show::{count, number, printable, time};
use jitterlab_injector::control::{Mode, Totals};
use jitterlab_injector::replay::Order;
use jitterlab_injector::table::DelayUnit;
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::watch::Program;
use super::{Injector, Second};
use crate::shown::cut;
use crate::ui::parts::beside;
use crate::ui::parts::curves::{self, Curve};
use crate::ui::parts::text::{first_shown, put, put_all, wrapped};
use crate::ui::screens::live::lens::Lens;
use crate::ui::screens::live::view::{draw_histogram, shift_line};
use crate::ui::theme::Theme;

/// Draws it.
pub fn draw(buffer: &mut Buffer, area: Rect, screen: &Injector, theme: Theme) {
    let says = |text: &str, style| wrapped(Span::raw(""), text, style, area.width);
    let Some(seen) = &screen.seen else {
        return put_all(buffer, area, &says("looking", Style::new()));
    };
    if let Err(error) = &seen.programs {
        return put_all(buffer, area, &says(error, theme.bad()));
    }
    let Some(program) = screen.program() else {
        let text = "No program is under injection. `jitterlab inject run --table FILE -- PROGRAM` starts one, and so does a run \
                    of an experiment at an injected level.";
        return put_all(buffer, area, &says(text, Style::new()));
    };
    let programs = screen.programs().len();
    // The programs take a third of the screen at most.
    let rows = (programs + 2).min(usize::from(area.height / 3).max(3));
    let [list, rest] = Layout::vertical([
        Constraint::Length(u16::try_from(rows).unwrap_or(u16::MAX)),
        Constraint::Fill(1),
    ])
    .areas(area);
    draw_list(buffer, list, screen, theme);
    let lines = about(program, area.width, theme);
    let [text, pictures] = Layout::vertical([
        Constraint::Length(u16::try_from(lines.len() + 1).unwrap_or(u16::MAX)),
        Constraint::Fill(1),
    ])
    .areas(rest);
    put_all(buffer, text, &lines);
    if let Some(at) = screen.picked {
        return draw_tables(buffer, pictures, screen, at, theme);
    }
    // Without samples there is no effect to be seen.
    if screen.picture.running.samples.is_empty() && screen.picture.pinned.is_none() {
        return draw_curves(buffer, pictures, screen, program, theme);
    }
    let [left, right] = match pictures.width >= 100 {
        true => beside(pictures, pictures.width / 2 - 1),
        false => Layout::vertical([Constraint::Fill(1); 2]).areas(pictures),
    };
    draw_curves(buffer, left, screen, program, theme);
    draw_effect(buffer, right, screen, theme);
}

fn draw_list(buffer: &mut Buffer, area: Rect, screen: &Injector, theme: Theme) {
    let programs = screen.programs();
    let heading = match (programs.len(), screen.all) {
        (1, _) => "a program under injection".into(),
        (n, false) => format!("{n} programs under injection; keys are for the one that is chosen"),
        (n, true) => format!("{n} programs under injection; keys are for all of them"),
    };
    put(buffer, area, 0, &Line::styled(heading, theme.heading()));
    let rows = usize::from(area.height).saturating_sub(2);
    let at = screen.at();
    let first = first_shown(at, rows);
    for (row, (place, program)) in programs
        .iter()
        .enumerate()
        .skip(first)
        .take(rows)
        .enumerate()
    {
        let style = match place == at || screen.all {
            true => theme.here(),
            false => Style::new(),
        };
        let settings = &program.settings;
        let state = if settings.enabled { "on" } else { "off" };
        let text = format!(
            "{:>8}  {state:<3}  {:<5}  {:<6}  {:>12} delays  rank {:<4} {}  {}",
            program.address.to_string(),
            settings.mode.name(),
            format!("×{}", program.times),
            count(program.totals.delays),
            program.rank,
            in_folder(&program.name),
            in_folder(&program.table)
        );
        put(
            buffer,
            area,
            row + 1,
            &Line::styled(cut(&text, area.width.into()), style),
        );
    }
}

/// A path without the folders that lead to it.
fn in_folder(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn about(program: &Program, width: u16, theme: Theme) -> Vec<Line<'static>> {
    let settings = &program.settings;
    let source = match settings.order {
        Order::Drawn => "table     ",
        Order::ByMessage | Order::ByTime => "recording ",
    };
    let mean = match settings.unit {
        DelayUnit::Nanoseconds => format!("mean {}", time(program.table_mean)),
        DelayUnit::Spins => format!("mean {} spins", number(program.table_mean)),
    };
    let hooks: Vec<&str> = program.hooks.iter().map(|family| family.name()).collect();
    let calls: Vec<String> = program
        .calls()
        .map(|(hook, calls)| format!("{hook} {}", count(calls)))
        .collect();
    let calls = if calls.is_empty() {
        "none yet".into()
    } else {
        calls.join(", ")
    };
    let how = match settings.mode {
        Mode::Spin => "spin: the CPU is held",
        Mode::Defer => "defer: sent later",
        Mode::Pace => "pace: sends are spaced out",
    };
    let row = |label: &'static str, text: String| {
        wrapped(
            Span::styled(label, theme.aside()),
            &text,
            Style::new(),
            width,
        )
    };
    let times = match program.times {
        1.0 => String::new(),
        times => format!(", times {times}"),
    };
    let mut lines = row(source, format!("{}{times}, {mean}", program.table));
    lines.extend(row(
        "delays    ",
        format!("{how}, on {}; {}", hooks.join(", "), means(program)),
    ));
    lines.extend(row("calls     ", calls));
    lines
}

/// Since the program began.
fn means(program: &Program) -> String {
    let Totals {
        delays,
        asked_ns,
        achieved_ns,
        late_max_ns,
        send_errors,
        ..
    } = program.totals;
    let mean = |sum: u64| sum as f64 / delays.max(1) as f64;
    let mut text = match program.settings.unit {
        DelayUnit::Nanoseconds => format!(
            "mean asked {}, achieved {}, worst late by {}",
            time(mean(asked_ns)),
            time(mean(achieved_ns)),
            time(late_max_ns as f64)
        ),
        DelayUnit::Spins => format!("mean asked {} spins", number(mean(asked_ns))),
    };
    if send_errors > 0 {
        text += &format!(", {} sends failed", count(send_errors));
    }
    text
}

fn draw_curves(
    buffer: &mut Buffer,
    area: Rect,
    screen: &Injector,
    program: &Program,
    theme: Theme,
) {
    if program.settings.unit == DelayUnit::Spins {
        let text = "A table of spins asks for no time, so there is none to be achieved.";
        return put_all(
            buffer,
            area,
            &wrapped(Span::raw(""), text, theme.aside(), area.width),
        );
    }
    let width = curves::columns(area);
    let points = |of: fn(&Second) -> Option<f64>| {
        let seconds = screen.seconds.columns(width);
        let delayed = seconds.filter_map(|(column, second)| Some((column, of(second.as_ref()?)?)));
        delayed.collect()
    };
    let curves = [
        Curve {
            name: "achieved, mean of a second",
            points: points(|it| it.achieved),
        },
        Curve {
            name: "asked",
            points: points(|it| Some(it.asked)),
        },
    ];
    curves::draw(buffer, area, &curves, curves::short_of, theme);
}

/// The distribution that is measured, the one before the last change, and the shift of the median.
fn draw_effect(buffer: &mut Buffer, area: Rect, screen: &Injector, theme: Theme) {
    let picture = &screen.picture;
    let sources = screen.seen.iter().flat_map(|seen| &seen.live.found).count();
    let which = match sources {
        0 | 1 => String::new(),
        n => format!(" (one of {n})"),
    };
    let title = format!("what is measured{which}: {}", picture.running.name);
    let mut lines = vec![Line::styled(
        cut(&title, area.width.into()),
        theme.heading(),
    )];
    lines.extend(picture.shift().map(|shift| shift_line(shift, theme)));
    put_all(buffer, area, &lines);
    let above = area.height.min(u16::try_from(lines.len()).unwrap_or(1));
    let below = Rect {
        y: area.y + above,
        height: area.height - above,
        ..area
    };
    draw_histogram(buffer, below, picture, &Lens::default(), theme);
}

fn draw_tables(buffer: &mut Buffer, area: Rect, screen: &Injector, at: usize, theme: Theme) {
    put(
        buffer,
        area,
        0,
        &Line::styled("delays from which table?", theme.heading()),
    );
    let rows = usize::from(area.height).saturating_sub(1);
    let first = first_shown(at, rows);
    let tables = screen.tables().iter().enumerate().skip(first).take(rows);
    for (row, (place, table)) in tables.enumerate() {
        let name = table.strip_prefix(&screen.folder).unwrap_or(table);
        let name = printable(&name.to_string_lossy());
        let style = if place == at {
            theme.here()
        } else {
            Style::new()
        };
        put(
            buffer,
            area,
            row + 1,
            &Line::styled(cut(&name, area.width.into()), style),
        );
    }
}
