//! Draws the new experiment: a tree of what can be chosen, what it costs, and its file.

use jitterlab_base::show::printable;
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::shown::{cut, time};
use crate::ui::parts::beside;
use crate::ui::parts::text::{put, put_all, scrolled, wrapped};
use crate::ui::screens::suites::builder::{Builder, Row};
use crate::ui::screens::suites::catalogue::Kind;
use crate::ui::screens::suites::seen::name;
use crate::ui::theme::Theme;

/// Draws it; `is_here`: keys go to it.
pub fn draw(buffer: &mut Buffer, area: Rect, builder: &Builder, is_here: bool, theme: Theme) {
    /// The columns that the tree takes at least, and those that make room for the file beside it.
    const TREE: u16 = 60;
    const WITH_FILE: u16 = 110;
    let (tree, file) = match area.width >= WITH_FILE {
        true => {
            let [tree, file] = beside(area, TREE);
            (tree, Some(file))
        }
        false => (area, None),
    };
    let cost = cost(builder, tree.width, theme);
    let rows = u16::try_from(cost.len()).unwrap_or(u16::MAX);
    let [head, tree] = Layout::vertical([Constraint::Length(rows), Constraint::Min(1)]).areas(tree);
    put_all(buffer, head, &cost);
    draw_tree(buffer, tree, builder, is_here, theme);
    if let Some(file) = file {
        let mut lines = vec![Line::styled("the file", theme.heading())];
        for line in builder.plan.text.lines() {
            lines.extend(wrapped(Span::raw(""), line, theme.aside(), file.width));
        }
        put_all(buffer, file, &lines);
    }
}

fn cost(builder: &Builder, width: u16, theme: Theme) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    if let Some(file) = builder.file() {
        let edits = format!("edits {}", name(file));
        lines.push(Line::styled(edits, theme.heading()));
    }
    let place = printable(&builder.place.about());
    lines.push(Line::styled(cut(&place, width.into()), theme.aside()));
    match &builder.plan.cost {
        Ok((runs, seconds)) => {
            let each = u32::try_from(*runs).unwrap_or(u32::MAX) / builder.repetitions;
            let runs = match builder.repetitions {
                1 => format!("{runs} runs"),
                n => format!("{each} different runs, {n} times each: {runs} in all"),
            };
            let cost = format!("{runs}, about {}", time(*seconds));
            lines.push(Line::styled(cost, theme.good()));
            for partial in &builder.plan.partial {
                lines.extend(wrapped(Span::raw(""), partial, theme.warning(), width));
            }
        }
        Err(error) => {
            let why = wrapped(Span::raw("not yet: "), error, theme.warning(), width);
            lines.extend(why);
        }
    }
    lines
}

fn draw_tree(buffer: &mut Buffer, area: Rect, builder: &Builder, is_here: bool, theme: Theme) {
    /// Columns for names.
    const NAME: usize = 20;
    let room = usize::from(area.width).saturating_sub(NAME + 1);
    let of = builder.rows().count();
    let (area, last) = match of > area.height.into() {
        true => {
            let [area, last] =
                Layout::vertical([Constraint::Min(1), Constraint::Length(1)]).areas(area);
            (area, Some(last))
        }
        false => (area, None),
    };
    let first = scrolled(builder.first.get(), builder.at, area.height.into(), of);
    builder.first.set(first);
    if let Some(last) = last {
        let below = below(builder, first + usize::from(area.height));
        put(
            buffer,
            last,
            0,
            &Line::styled(cut(&below, last.width.into()), theme.aside()),
        );
    }
    for (at, row) in builder.rows().enumerate().skip(first) {
        let (name, about, style) = match row {
            Row::Group(group) => {
                let of = group.options.len();
                let on = group.options.iter().filter(|option| option.is_on).count();
                let about = format!("{on}/{of}  {}", group.about);
                (group.name.to_string(), about, theme.heading())
            }
            Row::Choice(choice) => {
                let (mark, style) = match choice.is_on {
                    true => ("[x]", theme.good()),
                    false => ("[ ]", Style::new()),
                };
                let name = format!("  {mark} {}", choice.name);
                (name, choice.about.to_string(), style)
            }
        };
        let style = match at == builder.at && is_here {
            true => theme.here(),
            false => style,
        };
        let line = Line::from(vec![
            Span::styled(format!("{name:<NAME$}"), style),
            Span::styled(format!(" {}", cut(&about, room)), theme.aside()),
        ]);
        put(buffer, area, at - first, &line);
    }
}

/// What lies below the lines that are shown, which end before line `end`: the groups that are no suites, or the number of lines.
fn below(builder: &Builder, end: usize) -> String {
    let hidden: Vec<Row> = builder.rows().skip(end).collect();
    let groups: Vec<&str> = hidden
        .iter()
        .filter_map(|row| match row {
            Row::Group(group) if !matches!(group.kind, Kind::Suite { .. }) => Some(group.name),
            _ => None,
        })
        .collect();
    match (groups.is_empty(), hidden.len()) {
        (true, 0) => String::new(),
        (true, lines) => format!("below: {lines} more"),
        (false, _) => format!("below: {}", groups.join(", ")),
    }
}
