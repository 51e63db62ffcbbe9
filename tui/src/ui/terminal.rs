//! The terminal: taken, written to and given back.
//!
//! A frame is what has changed since the last one, and no byte where nothing has: a serial line takes 11 kB a second.

use std::io::{self, Stdout, Write};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use ratatui::buffer::{Buffer, Cell};
use ratatui::crossterm::terminal::{
    self, Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen,
};
use ratatui::crossterm::{cursor, execute};
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier};

/// Whether the terminal is ours. Who writes holds it, so that nothing is drawn after the terminal was given back.
static OURS: Mutex<bool> = Mutex::new(false);

/// The exit status of a Rust program that has panicked.
const PANICKED: i32 = 101;

/// Takes the terminal. A panic, in whichever thread, gives it back and is the end: what went on would draw over what is said.
///
/// # Errors
/// There is no terminal, or it is gone.
pub fn open() -> io::Result<Screen<Stdout>> {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        close();
        hook(panic);
        std::process::exit(PANICKED);
    }));
    if let Ok(mut ours) = OURS.lock() {
        *ours = true;
    }
    terminal::enable_raw_mode()?;
    execute!(io::stdout(), EnterAlternateScreen, cursor::Hide)?;
    let mut screen = Screen::new(io::stdout(), size());
    screen.resize(size());
    Ok(screen)
}

/// Gives the terminal back, once. One without a second screen is cleared: it would keep the last picture.
pub fn close() {
    /// A frame is written in less, unless the line is held up: then nobody waits for it.
    const TRIES: u32 = 100;
    let mut ours = None;
    for _ in 0..TRIES {
        ours = OURS.try_lock().ok();
        if ours.is_some() {
            break;
        }
        thread::sleep(Duration::from_millis(1));
    }
    if let Some(ours) = &mut ours
        && !std::mem::take(&mut **ours)
    {
        return;
    }
    restore();
    let _ = terminal::disable_raw_mode();
}

/// Undoes what a program has done to the terminal's picture; the terminal may be gone.
pub fn restore() {
    let mut out = io::stdout();
    let _ = write!(out, "\x1b[m");
    let _ = execute!(
        out,
        Clear(ClearType::All),
        cursor::MoveTo(0, 0),
        LeaveAlternateScreen,
        cursor::Show
    );
}

/// The size of the terminal. A serial line knows of none.
pub fn size() -> Rect {
    match terminal::size() {
        Ok((width, height)) if width > 0 && height > 0 => Rect::new(0, 0, width, height),
        _ => Rect::new(0, 0, 80, 24),
    }
}

/// The picture on the terminal, and the one that is to be there.
pub struct Screen<W> {
    out: W,
    shown: Buffer,
    next: Buffer,
    /// True if the terminal shows something else than is known.
    unknown: bool,
}

impl<W: Write> Screen<W> {
    /// An empty terminal of this size.
    pub fn new(out: W, size: Rect) -> Self {
        Screen {
            out,
            shown: Buffer::empty(size),
            next: Buffer::empty(size),
            unknown: false,
        }
    }

    /// The terminal has another size now, and shows whatever it likes.
    pub fn resize(&mut self, size: Rect) {
        self.shown = Buffer::empty(size);
        self.next = Buffer::empty(size);
        self.unknown = true;
    }

    /// Draws a frame, and writes what has changed, in one piece.
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn draw(&mut self, draw: impl FnOnce(&mut Buffer)) -> io::Result<()> {
        let bytes = self.frame(draw);
        if bytes.is_empty() {
            return Ok(());
        }
        let ours = OURS.lock();
        if ours.is_ok_and(|ours| *ours) {
            self.out.write_all(&bytes)?;
            self.out.flush()?;
        }
        Ok(())
    }

    /// The changes of a frame, as the terminal takes them.
    pub fn frame(&mut self, draw: impl FnOnce(&mut Buffer)) -> Vec<u8> {
        self.next.reset();
        draw(&mut self.next);
        let mut bytes = Vec::new();
        if std::mem::take(&mut self.unknown) {
            bytes.extend(b"\x1b[m\x1b[2J");
        }
        encode(&self.shown.diff(&self.next), &mut bytes);
        std::mem::swap(&mut self.shown, &mut self.next);
        bytes
    }
}

/// Cells as a terminal takes them. It ends with the style that it began with, which is none.
fn encode(cells: &[(u16, u16, &Cell)], bytes: &mut Vec<u8>) {
    let plain = Look::default();
    let mut look = plain;
    let mut next = None;
    for &(x, y, cell) in cells {
        let place = match next {
            Some((column, row)) if row == y && column == x => String::new(),
            Some((column, row)) if row == y && column < x => format!("\x1b[{}C", x - column),
            _ => format!("\x1b[{};{}H", y + 1, x + 1),
        };
        bytes.extend(place.bytes());
        let here = Look::of(cell);
        if here != look {
            bytes.extend(here.words().bytes());
            look = here;
        }
        bytes.extend(cell.symbol().bytes());
        // The terminal is asked for the place behind a wider character.
        next = cell.symbol().chars().count().eq(&1).then_some((x + 1, y));
    }
    if look != plain {
        bytes.extend(plain.words().bytes());
    }
}

/// The look of a cell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Look {
    front: Color,
    back: Color,
    modifier: Modifier,
}

impl Look {
    fn of(cell: &Cell) -> Self {
        Look {
            front: cell.fg,
            back: cell.bg,
            modifier: cell.modifier,
        }
    }

    /// The words of ECMA-48, from no style on. Terminals of sixteen colours know only 30 to 37 and 90 to 97.
    fn words(&self) -> String {
        let mut words = String::from("\x1b[");
        for (modifier, word) in [
            (Modifier::BOLD, ";1"),
            (Modifier::DIM, ";2"),
            (Modifier::UNDERLINED, ";4"),
            (Modifier::REVERSED, ";7"),
        ] {
            if self.modifier.contains(modifier) {
                words += word;
            }
        }
        for (color, base) in [(self.front, 30), (self.back, 40)] {
            words += &match (color, named(color)) {
                (Color::Rgb(red, green, blue), _) => {
                    format!(";{};2;{red};{green};{blue}", base + 8)
                }
                (_, Some(number @ 0..=7)) => format!(";{}", base + number),
                (_, Some(number)) => format!(";{}", base + 60 + number - 8),
                (_, None) => String::new(),
            };
        }
        words + "m"
    }
}

/// The number of a colour among sixteen.
fn named(color: Color) -> Option<u8> {
    Some(match color {
        Color::Black => 0,
        Color::Red => 1,
        Color::Green => 2,
        Color::Yellow => 3,
        Color::Blue => 4,
        Color::Magenta => 5,
        Color::Cyan => 6,
        Color::Gray => 7,
        Color::DarkGray => 8,
        Color::LightRed => 9,
        Color::LightGreen => 10,
        Color::LightYellow => 11,
        Color::LightBlue => 12,
        Color::LightMagenta => 13,
        Color::LightCyan => 14,
        Color::White => 15,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use ratatui::style::Style;

    use super::*;

    fn written(before: &Buffer, after: &Buffer) -> String {
        let mut bytes = Vec::new();
        encode(&before.diff(after), &mut bytes);
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn nothing_is_written_where_nothing_has_changed() {
        let size = Rect::new(0, 0, 20, 2);
        let mut screen = Screen::new(Vec::new(), size);
        let draw = |buffer: &mut Buffer| {
            buffer.set_string(0, 0, "words", Style::new().fg(Color::LightRed));
        };
        assert!(!screen.frame(draw).is_empty());
        assert_eq!(screen.frame(draw), b"");
        // A screen of another size shows whatever it likes.
        screen.resize(size);
        assert!(screen.frame(draw).starts_with(b"\x1b[m\x1b[2J"));
    }

    /// Named by the test below, which starts this program in a terminal.
    const PANICS: &str = "JITTERLAB_TEST_PANICS";

    #[test]
    fn panics_if_it_is_told_to() {
        if std::env::var_os(PANICS).is_some() {
            let mut screen = open().unwrap();
            screen.draw(|_| panic!("on purpose")).unwrap();
        }
    }

    #[test]
    fn after_a_panic_the_terminal_is_as_it_was() {
        let pty = nix::pty::openpty(None, None).unwrap();
        let before = nix::sys::termios::tcgetattr(&pty.slave).unwrap();
        let end = || std::process::Stdio::from(pty.slave.try_clone().unwrap());
        let mut child = std::process::Command::new("setsid")
            .args(["--ctty", "--wait"])
            .arg(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "--nocapture",
                "ui::terminal::tests::panics_if_it_is_told_to",
            ])
            .env(PANICS, "1")
            .stdin(end())
            .stdout(end())
            .stderr(end())
            .spawn()
            .unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(PANICKED));
        assert_eq!(nix::sys::termios::tcgetattr(&pty.slave).unwrap(), before);
        // All that is left in it: nobody writes any more.
        drop(pty.slave);
        let mut said = Vec::new();
        // The other end is gone, which is an error here.
        let _ = io::Read::read_to_end(&mut std::fs::File::from(pty.master), &mut said);
        let said = String::from_utf8_lossy(&said);
        let back = said.find("\x1b[?1049l").expect("the first screen is back");
        let shown = said.find("on purpose").expect("why");
        assert!(back < shown && said.contains("\x1b[?25h"), "{said:?}");
    }

    #[test]
    fn only_what_has_changed_is_written() {
        let size = Rect::new(0, 0, 20, 2);
        let empty = Buffer::empty(size);
        assert_eq!(written(&empty, &empty), "");
        let mut words = empty.clone();
        words.set_string(2, 1, "one two", Style::new());
        assert_eq!(written(&empty, &words), "\x1b[2;3Hone\x1b[1Ctwo");
        let mut other = words.clone();
        other.set_string(
            2,
            1,
            "on",
            Style::new().fg(Color::LightRed).bg(Color::Rgb(1, 2, 3)),
        );
        assert_eq!(
            written(&words, &other),
            "\x1b[2;3H\x1b[;91;48;2;1;2;3mon\x1b[m"
        );
    }
}
