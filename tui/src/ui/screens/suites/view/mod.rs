//! The drawing of the screen.

mod builder;

use jitterlab_base::show;
use jitterlab_stats::summary::quantile;
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::seen::{Folder, Followed, RunLine, Samples, Seen, Shown, State, name};
use super::{Focus, Suites};
use crate::shown::{self, cut, time};
use crate::ui::parts::axis::{Range, Zoom};
use crate::ui::parts::text::{first_shown, put, put_all, wrapped};
use crate::ui::parts::{beside, histogram};
use crate::ui::theme::Theme;

/// Draws it.
pub(super) fn draw(buffer: &mut Buffer, area: Rect, screen: &Suites, theme: Theme) {
    let Some(seen) = &screen.seen else {
        return put(buffer, area, 0, &Line::from("looking"));
    };
    /// With this much room, the list stays beside what one is in.
    const BESIDE: u16 = 110;
    let is_tree = screen.focus == Focus::Tree;
    let right = match screen.focus {
        Focus::Tree | Focus::Runs if area.width < BESIDE => area,
        _ => {
            let [left, right] = beside(area, (area.width * 2 / 5).min(44));
            draw_list(buffer, left, screen, seen, theme);
            right
        }
    };
    if is_tree || screen.selected.is_none() {
        builder::draw(buffer, right, screen.builder(), is_tree, theme);
    } else if let Some(file) = screen.file() {
        let lines = match &file.about {
            Ok(about) => about.iter().cloned().map(Line::from).collect(),
            Err(error) => wrapped(Span::raw(""), error, theme.bad(), right.width),
        };
        put_all(buffer, right, &lines);
    } else if let Some(folder) = screen.folder() {
        match &folder.state {
            Ok(state) => draw_folder(buffer, right, screen, state, theme),
            Err(error) => {
                let lines = wrapped(Span::raw(""), error, theme.bad(), right.width);
                put_all(buffer, right, &lines);
            }
        }
    }
}

/// Files and folders; the one that is chosen is among those that are shown.
fn draw_list(buffer: &mut Buffer, area: Rect, screen: &Suites, seen: &Seen, theme: Theme) {
    let mut lines = Vec::new();
    let mut chosen = 0;
    let mut add = |lines: &mut Vec<Line<'static>>, path, line: Line<'static>| {
        let is_chosen = screen.selected.as_ref() == path;
        if is_chosen {
            chosen = lines.len();
        }
        lines.push(match (is_chosen, screen.focus) {
            (true, Focus::List) => line.patch_style(theme.here()),
            (true, _) => line.patch_style(theme.heading()),
            (false, _) => line,
        });
    };
    add(&mut lines, None, Line::from("new experiment"));
    lines.push(Line::default());
    lines.push(Line::styled("experiment files", theme.heading()));
    for file in &seen.files {
        let style = match file.about {
            Ok(_) => Style::new(),
            Err(_) => theme.aside(),
        };
        let line = Line::styled(name(&file.path), style);
        add(&mut lines, Some(&file.path), line);
    }
    if seen.files.is_empty() {
        lines.push(Line::styled("none here", theme.aside()));
    }
    lines.push(Line::default());
    lines.push(Line::styled("results", theme.heading()));
    for folder in &seen.folders {
        let line = folder_line(folder, area.width, theme);
        add(&mut lines, Some(&folder.path), line);
    }
    if seen.folders.is_empty() {
        lines.push(Line::styled("none yet", theme.aside()));
    }
    let first = first_shown(chosen, area.height.into());
    put_all(buffer, area, &lines[first..]);
}

/// State and name, as far as there is room for it: the time, which ends it, tells folders apart.
fn folder_line(folder: &Folder, width: u16, theme: Theme) -> Line<'static> {
    let (word, style) = match &folder.state {
        Err(_) => ("broken".into(), theme.bad()),
        Ok(state) => {
            let finished = state.standing.finished();
            let of = format!("{finished}/{}", state.standing.runs);
            match (state.running, state.standing.left, state.standing.failed) {
                (true, ..) if state.paused => (format!("paused {of}"), theme.warning()),
                (true, ..) => (format!("runs {of}"), theme.good()),
                (false, 0, 0) => ("done".into(), Style::new()),
                (false, 0, failed) => (format!("{failed} failed"), theme.warning()),
                (false, ..) => (format!("at {of}"), theme.warning()),
            }
        }
    };
    let room = usize::from(width).saturating_sub(word.len() + 1);
    let name = cut(&name(&folder.path), room);
    Line::from(vec![
        Span::raw(format!("{name:room$} ")),
        Span::styled(word, style),
    ])
}

fn draw_folder(buffer: &mut Buffer, area: Rect, screen: &Suites, state: &State, theme: Theme) {
    let [head, list, large] = Layout::vertical([
        Constraint::Length(4),
        Constraint::Fill(1),
        Constraint::Fill(1),
    ])
    .areas(area);
    put_all(buffer, head, &heading(state, head.width, theme));
    let (Some(followed), Some(at)) = (screen.followed(), screen.run_at()) else {
        return;
    };
    draw_runs(buffer, list, screen, followed, at, theme);
    if let Some(samples) = followed.samples.as_ref().filter(|samples| samples.at == at) {
        draw_samples(buffer, large, &followed.runs[at], samples, theme);
    }
}

/// The heading on how far it is.
fn heading(state: &State, width: u16, theme: Theme) -> Vec<Line<'static>> {
    let standing = &state.standing;
    let mut lines = vec![Line::styled(state.words(), theme.heading())];
    let bar = usize::from(width).saturating_sub(18);
    let done = bar * standing.finished() / standing.runs.max(1);
    let left = match standing.left {
        0 => String::new(),
        _ => format!(" {} left", time(standing.seconds_left)),
    };
    lines.push(Line::from(vec![
        Span::styled("█".repeat(done), theme.good()),
        Span::styled("─".repeat(bar - done), theme.aside()),
        Span::raw(left),
    ]));
    if let (true, false, Some(run)) = (state.running, state.paused, &standing.next) {
        let run = cut(run, usize::from(width).saturating_sub(11));
        lines.push(Line::from(format!("under way  {run}")));
    }
    lines
}

fn draw_runs(
    buffer: &mut Buffer,
    area: Rect,
    screen: &Suites,
    followed: &Followed,
    at: usize,
    theme: Theme,
) {
    let rows = usize::from(area.height).saturating_sub(1);
    let first = first_shown(at, rows);
    let names = followed.runs.iter().map(|run| run.run.chars().count());
    let longest = names.max().unwrap_or(0);
    let shown = followed.runs.iter().enumerate().skip(first).take(rows);
    for (row, (place, run)) in shown.enumerate() {
        let style = match (place == at, screen.focus) {
            (true, Focus::Runs) => theme.here(),
            (true, _) => theme.heading(),
            (false, _) => Style::new(),
        };
        let line = run_line(run, longest, area.width, style, theme);
        put(buffer, area, row, &line);
    }
}

/// A run and what is shown of it, as far as the longest name leaves room.
fn run_line(
    run: &RunLine,
    longest: usize,
    width: u16,
    style: Style,
    theme: Theme,
) -> Line<'static> {
    /// Columns of bars, whether figures follow, and how wide both are with their axis.
    const FORMS: [(usize, bool, usize); 3] = [
        (shown::WIDTH, true, shown::WIDTH + 46),
        (shown::WIDTH, false, shown::WIDTH + 9),
        (shown::WIDTH / 2, false, shown::WIDTH / 2 + 9),
    ];
    let width = usize::from(width);
    let fits = |form: &&(usize, bool, usize)| form.2 + longest < width;
    let (columns, figures, taken) = *FORMS.iter().find(fits).unwrap_or(&FORMS[2]);
    let shown = match &run.shown {
        Shown::Later => "is being read".into(),
        Shown::Words(words) => words.clone(),
        Shown::Outline(outline) if figures => {
            format!("{}  {}", outline.histogram(columns), outline.quantiles())
        }
        Shown::Outline(outline) => outline.histogram(columns),
    };
    let rest = if run.done { Style::new() } else { theme.bad() };
    let room = width.saturating_sub(taken + 1);
    let name = cut(&run.run, room);
    Line::from(vec![
        Span::styled(format!("{name:room$}"), style),
        Span::raw(" "),
        Span::styled(shown, rest),
    ])
}

/// The samples of a run; of one that has none, the words that are said of it, as a whole.
fn draw_samples(buffer: &mut Buffer, area: Rect, run: &RunLine, samples: &Samples, theme: Theme) {
    let title = Line::styled(run.run.clone(), theme.heading());
    let says = |text: &str, style| wrapped(Span::raw(""), text, style, area.width);
    let mut lines = vec![title];
    let sorted = match &samples.sorted {
        Ok(sorted) => sorted.as_slice(),
        Err(error) => {
            lines.extend(says(error, theme.bad()));
            &[]
        }
    };
    let (Some(range), Some(&most)) = (Range::of_sorted(sorted, Zoom::Most), sorted.last()) else {
        if let Shown::Words(words) = &run.shown {
            lines.extend(says(words, Style::new()));
        }
        return put_all(buffer, area, &lines);
    };
    let [median, p99, p999] = [0.5, 0.99, 0.999].map(|p| show::time(quantile(sorted, p)));
    let n = sorted.len();
    let most = show::time(most);
    let figures = format!("n {n}, median {median}, 99 % {p99}, 99.9 % {p999}, max {most}");
    lines.extend(says(&figures, Style::new()));
    put_all(buffer, area, &lines);
    let above = u16::try_from(lines.len())
        .unwrap_or(u16::MAX)
        .min(area.height);
    let rest = Rect {
        y: area.y + above,
        height: area.height - above,
        ..area
    };
    let axis = range.axis(histogram::columns(rest));
    histogram::draw(buffer, rest, &axis.of_sorted(sorted), &axis, theme);
}
