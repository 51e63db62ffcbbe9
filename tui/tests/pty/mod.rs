//! The program in a pseudo-terminal, and what that shows.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Command, ExitStatus, Stdio};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::pty::{OpenptyResult, Winsize, openpty};
use nix::sys::signal::{Signal, kill};
use nix::sys::termios::{Termios, tcgetattr};
use nix::unistd::Pid;

use super::common::Lab;

/// A program in a terminal.
pub struct Session {
    child: Child,
    keys: File,
    /// Kept open: what the terminal is set to can be asked when the program is gone.
    terminal: OwnedFd,
    before: Termios,
    picture: Picture,
}

impl Session {
    /// Starts `jitterlab` in a terminal of so many columns and rows; a serial line has 0 of both.
    pub fn start(lab: &Lab, arguments: &str, columns: u16, rows: u16) -> Self {
        Self::start_with(lab, arguments, (columns, rows), &[])
    }

    /// The same, with these in its environment.
    pub fn start_with(
        lab: &Lab,
        arguments: &str,
        (columns, rows): (u16, u16),
        environment: &[(&str, &str)],
    ) -> Self {
        let size = Winsize {
            ws_row: rows,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        let OpenptyResult { master, slave } = openpty(Some(&size), None).unwrap();
        let before = tcgetattr(&slave).unwrap();
        let end = || Stdio::from(slave.try_clone().unwrap());
        // In a session of its own, whose terminal this is.
        let child = Command::new("setsid")
            .args(["--ctty", "--wait", "env", "--default-signal"])
            .arg(env!("CARGO_BIN_EXE_jitterlab"))
            .args(arguments.split_whitespace())
            .current_dir(lab.path(""))
            .env("TERM", "vt220")
            .env_remove("NO_COLOR")
            .envs(environment.iter().copied())
            .stdin(end())
            .stdout(end())
            .stderr(end())
            .spawn()
            .unwrap();
        let (columns, rows) = match columns {
            0 => (80, 24),
            _ => (columns, rows),
        };
        Session {
            child,
            keys: File::from(master),
            terminal: slave,
            before,
            picture: Picture::new(columns.into(), rows.into()),
        }
    }

    /// Makes the terminal another size.
    pub fn resize(&mut self, columns: u16, rows: u16) {
        let words = format!("cols {columns} rows {rows}");
        let mut stty = Command::new("stty");
        stty.args(words.split(' '));
        stty.stdin(Stdio::from(self.terminal.try_clone().unwrap()));
        self.picture.cells = vec![vec![' '; columns.into()]; rows.into()];
        assert!(stty.status().unwrap().success());
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.child.id().cast_signed());
        kill(pid, signal).unwrap();
    }

    /// Whether anything was coloured.
    pub fn is_colored(&self) -> bool {
        self.picture.colored
    }

    /// Types.
    pub fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits until the terminal shows this.
    pub fn until(&mut self, text: &str) {
        self.until_it(text, |picture| picture.contains(text));
    }

    /// Waits until the terminal shows what is waited for; `what` is for whoever waits in vain.
    pub fn until_it(&mut self, what: &str, is_there: impl Fn(&str) -> bool) {
        while !is_there(&self.shown()) {
            assert!(self.read(), "no {what} in:\n{}", self.shown());
        }
    }

    /// What the terminal shows.
    pub fn shown(&self) -> String {
        let lines = self.picture.cells.iter();
        lines
            .map(|line| line.iter().collect::<String>() + "\n")
            .collect()
    }

    /// Waits for the end; the terminal has to be as it was.
    pub fn end(mut self) -> ExitStatus {
        let status = self.child.wait().unwrap();
        while self.picture.second_screen && self.read() {}
        assert!(!self.picture.second_screen, "the first screen is not back");
        assert!(!self.picture.hidden, "the cursor is hidden");
        assert_eq!(tcgetattr(&self.terminal).unwrap(), self.before);
        status
    }

    /// Reads what the program has written; gives up when it writes nothing for a long time.
    fn read(&mut self) -> bool {
        let mut ready = [PollFd::new(self.keys.as_fd(), PollFlags::POLLIN)];
        if poll(&mut ready, PollTimeout::from(60_000u16)).unwrap() == 0 {
            return false;
        }
        let mut bytes = [0; 4096];
        let read = self.keys.read(&mut bytes).unwrap();
        self.picture.take(&bytes[..read]);
        read > 0
    }
}

/// What a terminal makes of what is written to it, as far as this program goes.
struct Picture {
    cells: Vec<Vec<char>>,
    at: (usize, usize),
    second_screen: bool,
    hidden: bool,
    colored: bool,
    /// The beginning of a sequence or character whose rest has not come yet.
    begun: Vec<u8>,
}

impl Picture {
    fn new(columns: usize, rows: usize) -> Self {
        Picture {
            cells: vec![vec![' '; columns]; rows],
            at: (0, 0),
            second_screen: false,
            hidden: false,
            colored: false,
            begun: Vec::new(),
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        self.begun.extend(bytes);
        let bytes = std::mem::take(&mut self.begun);
        let whole = match std::str::from_utf8(&bytes) {
            Ok(text) => text,
            Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap(),
        };
        let mut rest = whole;
        while let Some(character) = rest.chars().next() {
            if let Some(sequence) = rest.strip_prefix("\x1b[") {
                let is_end = |c: char| c.is_ascii_alphabetic();
                let Some(end) = sequence.find(is_end) else {
                    break;
                };
                self.control(&sequence[..end], &sequence[end..=end]);
                rest = &sequence[end + 1..];
            } else if rest == "\x1b" {
                break;
            } else {
                self.show(character);
                rest = &rest[character.len_utf8()..];
            }
        }
        let done = whole.len() - rest.len();
        self.begun = bytes[done..].to_vec();
    }

    fn show(&mut self, character: char) {
        let (column, row) = self.at;
        match character {
            '\r' => self.at.0 = 0,
            '\n' => self.at.1 += 1,
            _ => {
                if let Some(cell) = self.cells.get_mut(row).and_then(|row| row.get_mut(column)) {
                    *cell = character;
                }
                self.at.0 += 1;
            }
        }
    }

    fn control(&mut self, parameters: &str, what: &str) {
        match (parameters, what) {
            (place, "H") => {
                let mut numbers = place.split(';').map(|n| n.parse().unwrap_or(1));
                let row: usize = numbers.next().unwrap_or(1);
                let column: usize = numbers.next().unwrap_or(1);
                self.at = (column - 1, row - 1);
            }
            ("2", "J") => self.cells.iter_mut().for_each(|line| line.fill(' ')),
            ("?1049", switch) => self.second_screen = switch == "h",
            ("?25", switch) => self.hidden = switch == "l",
            (style, "m") => self.colored |= style.starts_with("38;") || style.contains(";38;"),
            other => panic!("{other:?} is not understood"),
        }
    }
}
