//! The abilities of the terminal, and the look of things on it: one place for all colours and characters.

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier, Style};

use crate::picture::is_utf8;

/// Colours that a terminal has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colors {
    /// None, or none are wanted: bold, dim and reversed tell what colours would.
    None,
    /// The sixteen that a terminal names.
    Sixteen,
    /// All.
    True,
}

/// Characters that a terminal has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Glyphs {
    /// ASCII alone.
    Ascii,
    /// The blocks and lines that every PC has.
    Coarse,
    /// Also eighths of blocks.
    Fine,
}

/// The abilities of the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Theme {
    /// Its colours.
    pub colors: Colors,
    /// Its characters.
    pub glyphs: Glyphs,
}

impl Theme {
    /// The theme that the environment asks for.
    pub fn of_environment() -> Self {
        Theme::of(|name| Some(std::env::var_os(name)?.to_string_lossy().into_owned()))
    }

    /// The theme by TERM, COLORTERM, NO_COLOR and the locale.
    pub fn of(variable: impl Fn(&str) -> Option<String>) -> Self {
        let term = variable("TERM").unwrap_or_default();
        let is_plain = term.is_empty() || term == "dumb" || term.starts_with("vt");
        let says_true = variable("COLORTERM").is_some_and(|it| it == "truecolor" || it == "24bit");
        // GNU screen passes on what the terminal outside of it says, and not its colours.
        let in_screen = variable("STY").is_some() && term.starts_with("screen");
        let colors = match () {
            () if variable("NO_COLOR").is_some() || is_plain => Colors::None,
            () if term.ends_with("-direct") => Colors::True,
            () if says_true && !in_screen && term != "linux" => Colors::True,
            () => Colors::Sixteen,
        };
        let glyphs = match term.as_str() {
            "dumb" | "" => Glyphs::Ascii,
            old if old.starts_with("vt10") => Glyphs::Ascii,
            _ if !is_utf8(&variable) => Glyphs::Ascii,
            "linux" => Glyphs::Coarse,
            _ => Glyphs::Fine,
        };
        Theme { colors, glyphs }
    }

    /// The style of what cannot be left so.
    pub fn bad(self) -> Style {
        match self.colors {
            Colors::None => Style::new().add_modifier(Modifier::BOLD | Modifier::REVERSED),
            Colors::Sixteen => Style::new()
                .fg(Color::LightRed)
                .add_modifier(Modifier::BOLD),
            Colors::True => Style::new().fg(VERMILION).add_modifier(Modifier::BOLD),
        }
    }

    /// The style of what may be left so.
    pub fn warning(self) -> Style {
        self.colored(Color::Yellow, YELLOW, Modifier::BOLD)
    }

    /// The style of what is as it should be. It is blue: green and red are one to many people.
    pub fn good(self) -> Style {
        self.colored(Color::LightCyan, SKY, Modifier::empty())
    }

    /// The style of what matters less.
    pub fn aside(self) -> Style {
        self.colored(Color::DarkGray, GREY, Modifier::DIM)
    }

    /// The style of what stands above the rest.
    pub fn heading(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// The style of the place where one is.
    pub fn here(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// One of two things that are told apart by more than their colour.
    pub fn series(self, second: bool) -> Style {
        match second {
            false => self.colored(Color::LightCyan, SKY, Modifier::empty()),
            true => self.colored(Color::Yellow, YELLOW, Modifier::BOLD),
        }
    }

    /// A cell of a heat map, from nothing (0) to most (1): it becomes both lighter and fuller.
    pub fn heat(self, share: f64) -> (&'static str, Style) {
        const SHADES: [&str; 6] = [" ", "·", "░", "▒", "▓", "█"];
        if share.is_nan() || share <= 0.0 {
            return (" ", Style::new());
        }
        let step = |steps: usize| ((share.min(1.0) * steps as f64).ceil() as usize).clamp(1, steps);
        match self.colors {
            Colors::None => (SHADES[step(5)], Style::new()),
            Colors::Sixteen => {
                const COLORS: [Color; 5] = [
                    Color::Blue,
                    Color::Blue,
                    Color::Cyan,
                    Color::Yellow,
                    Color::White,
                ];
                let step = step(5);
                (SHADES[step], Style::new().fg(COLORS[step - 1]))
            }
            Colors::True => (" ", Style::new().bg(CIVIDIS[step(CIVIDIS.len()) - 1])),
        }
    }

    fn colored(self, of_sixteen: Color, of_all: Color, otherwise: Modifier) -> Style {
        match self.colors {
            Colors::None => Style::new().add_modifier(otherwise),
            Colors::Sixteen => Style::new().fg(of_sixteen),
            Colors::True => Style::new().fg(of_all),
        }
    }

    /// Puts what the terminal has in the place of what it has not.
    pub fn fit(self, buffer: &mut Buffer) {
        let other = match self.glyphs {
            Glyphs::Fine => return,
            Glyphs::Coarse => coarse,
            Glyphs::Ascii => ascii,
        };
        if self.glyphs == Glyphs::Ascii {
            let width = usize::from(buffer.area.width).max(1);
            buffer.content.chunks_mut(width).for_each(spell_infinity);
        }
        for cell in &mut buffer.content {
            if let Some(symbol) = other(cell.symbol()) {
                cell.set_symbol(symbol);
            }
        }
    }
}

// The colours of Okabe and Ito, "Color Universal Design" (2008), which people see as different whatever cones they lack.
const SKY: Color = Color::Rgb(86, 180, 233);
const YELLOW: Color = Color::Rgb(240, 228, 66);
const VERMILION: Color = Color::Rgb(213, 94, 0);
const GREY: Color = Color::Rgb(136, 136, 136);

/// Eight steps of cividis (Nuñez, Anderton and Renslow, PLOS ONE 13(7), 2018): its lightness grows evenly, also for who sees
/// no red or no green.
const CIVIDIS: [Color; 8] = [
    Color::Rgb(0, 32, 77),
    Color::Rgb(34, 58, 109),
    Color::Rgb(77, 86, 109),
    Color::Rgb(107, 112, 114),
    Color::Rgb(139, 139, 121),
    Color::Rgb(172, 167, 116),
    Color::Rgb(210, 196, 98),
    Color::Rgb(255, 233, 69),
];

fn coarse(symbol: &str) -> Option<&'static str> {
    Some(match symbol {
        "▁" | "▂" | "▃" | "▄" => "▄",
        "▅" | "▆" | "▇" => "█",
        "▕" | "▏" => "│",
        "…" => "~",
        _ => return None,
    })
}

/// Makes each "∞" of a row "inf": two of the next blanks that are three or more make room for it, or else the end of the row.
fn spell_infinity(row: &mut [Cell]) {
    let mut at = 0;
    while at < row.len() {
        if row[at].symbol() == "∞" {
            let style = row[at].style();
            let rest = &mut row[at..];
            let is_gap = |cells: &[Cell]| cells.iter().all(|cell| cell.symbol() == " ");
            let gap = rest.windows(3).position(is_gap);
            let end = gap.map_or(rest.len(), |gap| gap + 2);
            rest[1..end].rotate_right(2.min(end - 1));
            for (cell, letter) in rest[..end].iter_mut().zip(["i", "n", "f"]) {
                cell.set_symbol(letter).set_style(style);
            }
        }
        at += 1;
    }
}

fn ascii(symbol: &str) -> Option<&'static str> {
    if symbol.is_ascii() {
        return None;
    }
    Some(match symbol {
        "▁" => "_",
        "▂" | "·" => ".",
        "▃" | "─" | "━" => "-",
        "▄" | "═" => "=",
        "▅" | "┴" | "┬" | "┼" | "├" | "┤" | "┌" | "┐" | "└" | "┘" | "▒" => {
            "+"
        }
        "▆" => "*",
        "▇" | "▓" => "%",
        "█" => "#",
        "░" => ":",
        "▕" | "▏" | "│" | "┃" => "|",
        "…" => "~",
        "↑" => "^",
        "↓" => "v",
        "←" => "<",
        "→" => ">",
        "●" | "■" => "*",
        "○" | "□" => "o",
        "×" => "x",
        "–" | "−" | "—" => "-",
        "“" | "”" => "\"",
        "µ" | "μ" => "u",
        _ => "?",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> (Colors, Glyphs) {
        let find = |name: &str| {
            let mut all = variables.iter();
            all.find(|(other, _)| *other == name)
                .map(|(_, value)| (*value).to_string())
        };
        let Theme { colors, glyphs } = Theme::of(find);
        (colors, glyphs)
    }

    #[test]
    fn the_terminal_decides() {
        let utf8 = ("LANG", "de_DE.UTF-8");
        let all = ("COLORTERM", "truecolor");
        for (variables, expected) in [
            (
                vec![("TERM", "vt100"), utf8, all],
                (Colors::None, Glyphs::Ascii),
            ),
            (vec![("TERM", "vt220"), utf8], (Colors::None, Glyphs::Fine)),
            (
                vec![("TERM", "linux"), utf8],
                (Colors::Sixteen, Glyphs::Coarse),
            ),
            (vec![("TERM", "linux")], (Colors::Sixteen, Glyphs::Ascii)),
            (
                vec![("TERM", "xterm-256color"), utf8],
                (Colors::Sixteen, Glyphs::Fine),
            ),
            (
                vec![("TERM", "xterm-256color"), utf8, all],
                (Colors::True, Glyphs::Fine),
            ),
            (
                vec![("TERM", "tmux-256color"), utf8, all],
                (Colors::True, Glyphs::Fine),
            ),
            (
                vec![("TERM", "screen"), utf8, all, ("STY", "1.pts")],
                (Colors::Sixteen, Glyphs::Fine),
            ),
            (
                vec![("TERM", "xterm-direct"), ("LC_ALL", "C"), utf8],
                (Colors::True, Glyphs::Ascii),
            ),
            (
                vec![("TERM", "xterm"), ("NO_COLOR", "1"), utf8, all],
                (Colors::None, Glyphs::Fine),
            ),
            (vec![], (Colors::None, Glyphs::Ascii)),
        ] {
            assert_eq!(of(&variables), expected, "{variables:?}");
        }
    }

    #[test]
    fn more_heat_is_never_less_to_see() {
        for colors in [Colors::None, Colors::Sixteen, Colors::True] {
            let theme = Theme {
                colors,
                glyphs: Glyphs::Fine,
            };
            let cells: Vec<_> = (0..=1000).map(|n| theme.heat(f64::from(n) / 1e3)).collect();
            let mut steps = cells.clone();
            steps.dedup();
            assert!(steps.len() >= 6, "{steps:?}");
            // Each step comes once.
            for (n, step) in steps.iter().enumerate() {
                assert!(!steps[..n].contains(step), "{steps:?}");
            }
            assert_eq!(theme.heat(f64::NAN), (" ", Style::new()));
        }
    }
}
