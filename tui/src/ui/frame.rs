//! The frame around each screen: the row of screens, what is said and asked, the keys.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout};
use ratatui::text::{Line, Span};

use crate::shown::cut;
use crate::ui::app::App;
use crate::ui::keys::Hint;
use crate::ui::parts::text::{put, put_all, wrapped};
use crate::ui::theme::Theme;

/// Draws all that is seen.
pub fn draw(buffer: &mut Buffer, app: &mut App, theme: Theme) {
    let words = app.question.as_ref().map(|question| &question.words);
    let said = words.or(app.notice.as_ref()).cloned();
    let said = match said {
        Some(said) => wrapped(Span::raw(""), &said, theme.warning(), buffer.area.width),
        None => Vec::new(),
    };
    /// More would take too much of the screen.
    const SAID: usize = 3;
    let rows = said.len().min(SAID) as u16;
    let [top, body, below, bottom] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Min(1),
        Constraint::Length(rows),
        Constraint::Length(1),
    ])
    .areas(buffer.area);
    put(buffer, top, 0, &tabs(app, top.width, theme));
    if app.help {
        put_all(buffer, body, &help(app, theme));
    } else {
        app.screen().draw(buffer, body, theme);
    }
    put_all(buffer, below, &said);
    put(buffer, bottom, 0, &footer(app, bottom.width, theme));
    theme.fit(buffer);
}

/// The screens by number and name, as far as there is room: the name of the one that is seen is always there.
fn tabs(app: &App, width: u16, theme: Theme) -> Line<'static> {
    let all = |title: &str, has_name: &dyn Fn(usize) -> bool| {
        let mut line = vec![Span::styled(title.to_string(), theme.heading())];
        for (at, name) in app.names().enumerate() {
            let text = match has_name(at) {
                true => format!("{} {name}", at + 1),
                false => format!("{}", at + 1),
            };
            let is_seen = at == app.seen();
            let style = if is_seen { theme.here() } else { theme.aside() };
            line.push(Span::raw(" "));
            line.push(Span::styled(text, style));
        }
        Line::from(line)
    };
    let forms = [
        all("jitterlab ", &|_| true),
        all("", &|_| true),
        all("", &|at| at == app.seen()),
    ];
    let fits = |line: &&Line| line.width() <= usize::from(width);
    forms.iter().find(fits).unwrap_or(&forms[2]).clone()
}

/// The keys that can be pressed, or that answer the question.
fn footer(app: &App, width: u16, theme: Theme) -> Line<'static> {
    let style = match app.question {
        Some(_) => theme.heading(),
        None if app.help => return Line::styled("any key closes this", theme.aside()),
        None => theme.aside(),
    };
    let [own, always] = app.footer().map(|hints| {
        let all = hints.iter().map(Hint::short);
        all.collect::<Vec<String>>()
    });
    let always = always.join("   ");
    let mut text = String::new();
    for hint in own {
        let taken = text.chars().count() + hint.chars().count() + 3 + always.chars().count();
        if taken <= usize::from(width) {
            text += &format!("{hint}   ");
        }
    }
    Line::styled(cut(&format!("{text}{always}"), width.into()), style)
}

/// All keys.
fn help(app: &mut App, theme: Theme) -> Vec<Line<'static>> {
    const KEYS: usize = 36;
    let [own, general] = app.hints();
    let name = app.screen().name();
    let mut lines = Vec::new();
    for (title, hints) in [(name, own), ("everywhere", general)] {
        lines.push(Line::styled(title, theme.heading()));
        lines.extend(hints.iter().map(|hint| {
            let keys = format!("  {:<KEYS$}", hint.keys());
            Line::from(vec![Span::raw(keys), Span::raw(hint.does)])
        }));
        lines.push(Line::default());
    }
    lines
}
