//! The common part of tests of screens: keys are pressed, news told, and pictures taken, with their styles.

use std::any::Any;
use std::fmt::Write;

use insta::assert_snapshot;
use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::Rect;
use ratatui::style::Style;

use crate::ui::action::Action;
use crate::ui::app::{App, Input};
use crate::ui::frame::draw;
use crate::ui::keys::Key;
use crate::ui::screen::Base;
use crate::ui::terminal::Screen;
use crate::ui::theme::{Colors, Glyphs, Theme};

/// Terminals that pictures are taken of.
pub const THEMES: [(&str, Theme); 3] = [
    ("color", theme(Colors::True, Glyphs::Fine)),
    ("mono", theme(Colors::None, Glyphs::Fine)),
    ("ascii", theme(Colors::Sixteen, Glyphs::Ascii)),
];

pub const PLAIN: Theme = theme(Colors::None, Glyphs::Fine);

const fn theme(colors: Colors, glyphs: Glyphs) -> Theme {
    Theme { colors, glyphs }
}

/// The model of a folder, with this screen seen.
pub fn app_at(name: &str) -> App {
    let folder = "lab".into();
    let (mut app, _) = App::new(&Base { folder, cpu: 1 });
    while app.screen().name() != name {
        app.on(Input::Key(Key::Tab));
    }
    app
}

pub fn drawn(app: &mut App, width: u16, height: u16, theme: Theme) -> Buffer {
    let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
    draw(&mut buffer, app, theme);
    buffer
}

/// The characters alone.
pub fn picture(app: &mut App, width: u16, height: u16) -> String {
    text(&drawn(app, width, height, PLAIN), |cell| cell.symbol())
}

fn text<'a>(buffer: &'a Buffer, of: impl Fn(&'a Cell) -> &'a str) -> String {
    let rows = buffer.content.chunks(buffer.area.width.max(1).into());
    let line = |row: &'a [Cell]| row.iter().map(&of).collect::<String>();
    rows.map(|row| format!("{}\n", line(row).trim_end()))
        .collect()
}

/// The characters, then the style of each as a letter, then what the letters mean. The row of screens is left out: it is not
/// the screen's.
fn styled(mut buffer: Buffer) -> String {
    let (_, below) = buffer.content.split_at(buffer.area.width.into());
    buffer.content = below.to_vec();
    let buffer = &buffer;
    const LETTERS: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    let mut styles: Vec<Style> = Vec::new();
    for cell in &buffer.content {
        if cell.style() != Cell::default().style() && !styles.contains(&cell.style()) {
            styles.push(cell.style());
        }
    }
    let letter = |cell: &Cell| match styles.iter().position(|style| *style == cell.style()) {
        Some(at) => &LETTERS[at..=at],
        None => " ",
    };
    let mut shown = text(buffer, |cell| cell.symbol());
    shown += "--- styles\n";
    shown += &text(buffer, letter);
    for (at, style) in styles.iter().enumerate() {
        let colors = [style.fg, style.bg].map(|color| color.unwrap_or_default());
        let name = &LETTERS[at..=at];
        let [front, back] = colors;
        writeln!(shown, "{name}: {front} on {back} {:?}", style.add_modifier).unwrap();
    }
    shown
}

/// A terminal that frames are counted at, as what they take of a line.
pub struct Line {
    screen: Screen<Vec<u8>>,
    theme: Theme,
}

impl Line {
    /// A terminal that shows nothing yet.
    pub fn new(width: u16, height: u16, theme: Theme) -> Self {
        let size = Rect::new(0, 0, width, height);
        let screen = Screen::new(Vec::new(), size);
        Line { screen, theme }
    }

    /// The bytes of a frame.
    pub fn frame(&mut self, app: &mut App) -> usize {
        let theme = self.theme;
        self.screen.frame(|buffer| draw(buffer, app, theme)).len()
    }
}

/// Draws so many seconds on 80 x 24, one frame after each turn of `next`. There are some turns in a second. The frames are
/// small enough for a serial line of 11 kB a second, whatever colours it has.
pub fn fits_a_serial_line(
    seconds: usize,
    turns: usize,
    mut next: impl FnMut(&mut App),
    app: &mut App,
) {
    let mut lines = [Colors::True, Colors::Sixteen].map(|colors| {
        let mut line = Line::new(80, 24, theme(colors, Glyphs::Fine));
        line.frame(app);
        (colors, line, Vec::new())
    });
    for _ in 0..seconds * turns {
        next(app);
        for (_, line, frames) in &mut lines {
            frames.push(line.frame(app));
            assert_eq!(line.frame(app), 0, "nothing has changed");
        }
    }
    for (colors, _, frames) in lines {
        let seconds = frames
            .chunks(turns)
            .map(|second| second.iter().sum::<usize>());
        let most = seconds.max().unwrap_or(0);
        let mut sorted = frames;
        sorted.sort_unstable();
        let median = sorted[sorted.len() / 2];
        println!("{colors:?}: median frame {median} B, at most {most} B in a second");
        assert!(0 < median && median <= 1_500, "{colors:?}: {median} B");
        assert!(most <= 8_000, "{colors:?}: {most} B in a second");
    }
}

/// Pictures of every size and terminal, which are drawn once: where nothing has changed, nothing is written.
pub fn pictures(name: &str, app: &mut App) {
    for (width, height) in [(80, 24), (200, 60)] {
        for (kind, theme) in THEMES {
            let mut line = Line::new(width, height, theme);
            assert!(line.frame(app) > 0);
            assert_eq!(line.frame(app), 0, "nothing has changed");
            let shown = styled(drawn(app, width, height, theme));
            assert_snapshot!(format!("{name}_{width}x{height}_{kind}"), shown);
        }
    }
}

/// The actions that are asked for, except for looks at files.
fn asked(actions: Vec<Action>) -> Vec<String> {
    let words = actions.iter().map(|action| format!("{action:?}"));
    words
        .filter(|words| !words.starts_with("Do(Look"))
        .collect()
}

/// Presses keys; gives what is asked for.
pub fn press(app: &mut App, keys: &[Key]) -> Vec<String> {
    let each = keys.iter().flat_map(|&key| app.on(Input::Key(key)));
    asked(each.collect())
}

/// Types letters.
pub fn letters(app: &mut App, letters: &str) -> Vec<String> {
    let keys: Vec<Key> = letters.chars().map(Key::Char).collect();
    press(app, &keys)
}

/// Tells news; gives what is asked for.
pub fn tell(app: &mut App, news: impl Any + Send) -> Vec<String> {
    asked(app.on(Input::News(Box::new(news))))
}

/// A terminal of any size shows something.
pub fn fits_anywhere(app: &mut App) {
    for width in [1, 2, 7, 20, 40, 79] {
        for height in [1, 2, 3, 5, 9, 23] {
            let shown = picture(app, width, height);
            let name = app.screen().name();
            let is_tiny = width < 40 || height < 3;
            assert!(is_tiny || shown.contains(name), "{shown}");
        }
    }
}
