//! How the model is drawn.

mod experiments;
mod histogram;
mod node;
mod noise;
mod text;

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

use crate::commands::ui::app::{App, Screen};
use crate::commands::ui::experiments::Focus;
use text::put;

/// What the terminal can show.
#[derive(Debug, Clone, Copy)]
pub struct Theme {
    /// Whether colours are wanted.
    pub color: bool,
    /// Whether its font has only the blocks and lines that every PC has.
    pub coarse: bool,
}

impl Theme {
    /// As the environment says.
    pub fn of_environment() -> Self {
        Theme {
            color: std::env::var_os("NO_COLOR").is_none(),
            coarse: std::env::var_os("TERM").is_some_and(|term| term == "linux"),
        }
    }

    /// What cannot be left so.
    fn bad(self) -> Style {
        self.colored(Color::Red, Modifier::BOLD | Modifier::REVERSED)
            .add_modifier(Modifier::BOLD)
    }

    /// What may be left so.
    fn warning(self) -> Style {
        self.colored(Color::Yellow, Modifier::BOLD)
    }

    /// What is as it should be.
    fn good(self) -> Style {
        self.colored(Color::Green, Modifier::empty())
    }

    /// What matters less.
    fn aside(self) -> Style {
        self.colored(Color::DarkGray, Modifier::DIM)
    }

    /// What stands above the rest.
    fn heading(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// Where one is.
    fn here(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    fn colored(self, color: Color, otherwise: Modifier) -> Style {
        match self.color {
            true => Style::new().fg(color),
            false => Style::new().add_modifier(otherwise),
        }
    }
}

/// Draws the screen that is seen.
pub fn draw(frame: &mut Frame, app: &mut App, theme: Theme) {
    let [top, body, said, bottom] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Min(1),
        Constraint::Length(u16::from(notice(app).is_some())),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    let buffer = frame.buffer_mut();
    put(buffer, top, 0, &tabs(app.screen, theme));
    match app.screen {
        Screen::Node => node::draw(buffer, body, &mut app.node, theme),
        Screen::Noise => noise::draw(buffer, body, &app.noise, theme),
        Screen::Experiments => experiments::draw(buffer, body, &app.experiments, theme),
    }
    if let Some(notice) = notice(app) {
        put(
            buffer,
            said,
            0,
            &Line::styled(notice.to_string(), theme.warning()),
        );
    }
    put(buffer, bottom, 0, &keys(app, theme));
    if theme.coarse {
        coarsen(buffer);
    }
}

fn notice(app: &App) -> Option<&str> {
    match app.screen {
        Screen::Experiments => app.experiments.notice.as_deref(),
        _ => None,
    }
}

fn tabs(seen: Screen, theme: Theme) -> Line<'static> {
    let mut line = vec![Span::styled(" jitterlab ", theme.heading())];
    for (i, screen) in Screen::ALL.into_iter().enumerate() {
        let style = match screen == seen {
            true => theme.here(),
            false => Style::new(),
        };
        let name = format!(" {} {} ", i + 1, screen.name());
        line.push(Span::raw(" "));
        line.push(Span::styled(name, style));
    }
    Line::from(line)
}

/// What can be pressed, or what is asked.
fn keys(app: &App, theme: Theme) -> Line<'static> {
    if let (Screen::Experiments, Some(question)) = (app.screen, &app.experiments.question) {
        return Line::styled(format!("{} y/n", question.words), theme.warning());
    }
    let own = match app.screen {
        Screen::Node => "arrows scroll   r read again",
        Screen::Noise if app.noise.running => "Enter end   arrows CPU",
        Screen::Noise => "Enter begin   arrows CPU",
        Screen::Experiments => match app.experiments.focus {
            Focus::List => "arrows choose   Enter run, resume   s stop",
            Focus::Runs => "arrows choose   left back   s stop",
        },
    };
    Line::styled(
        format!("{own}   1 2 3 Tab screens   q leave"),
        theme.aside(),
    )
}

/// Puts what every font has in the place of finer blocks.
fn coarsen(buffer: &mut Buffer) {
    for cell in &mut buffer.content {
        let symbol = match cell.symbol() {
            "▁" | "▂" | "▃" | "▄" => "▄",
            "▅" | "▆" | "▇" => "█",
            "▕" | "▏" => "|",
            "…" => "~",
            _ => continue,
        };
        cell.set_symbol(symbol);
    }
}

/// The columns of an area that it is divided in; the second part gets the rest.
fn beside(area: Rect, first: u16) -> [Rect; 2] {
    let [left, _, right] = Layout::horizontal([
        Constraint::Length(first),
        Constraint::Length(2),
        Constraint::Min(1),
    ])
    .areas(area);
    [left, right]
}
