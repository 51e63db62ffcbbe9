//! The program in a pseudo-terminal, and what that shows: `vt100` reads it as a terminal does.

#![allow(dead_code, reason = "each test program uses its own part")]

use std::fs::File;
use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Command, ExitStatus, Stdio};

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::pty::{OpenptyResult, Winsize, openpty};
use nix::sys::signal::{Signal, kill};
use nix::sys::termios::{Termios, tcgetattr};
use nix::unistd::Pid;
use vt100::{Color, Parser};

use super::common::Lab;

/// So many, which is not 0.
fn some(of: u16) -> NonZeroU16 {
    NonZeroU16::new(of).unwrap()
}

/// A program in a terminal.
pub struct Session {
    child: Child,
    keys: File,
    /// Kept open: what the terminal is set to can be asked when the program is gone.
    terminal: OwnedFd,
    before: Termios,
    parser: Parser,
    colored: bool,
    ascii: bool,
    /// What was written so far.
    pub bytes: usize,
    /// How often all of the terminal was drawn anew.
    pub anew: usize,
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
        // A program that had the other end itself would never be told that the terminal is gone.
        for end in [&master, &slave] {
            fcntl(end, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC)).unwrap();
        }
        let before = tcgetattr(&slave).unwrap();
        let end = || Stdio::from(slave.try_clone().unwrap());
        // In a session of its own, whose terminal this is.
        let child = Command::new("setsid")
            .args(["--ctty", "--wait", "env", "--default-signal"])
            .arg(env!("CARGO_BIN_EXE_jitterlab"))
            .args(arguments.split_whitespace())
            .current_dir(lab.path(""))
            .env("TERM", "xterm-256color")
            .env("LC_ALL", "C.UTF-8")
            .env_remove("COLORTERM")
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
            parser: Parser::new(some(rows), some(columns), 0),
            colored: false,
            ascii: true,
            bytes: 0,
            anew: 0,
        }
    }

    /// Makes the terminal another size.
    pub fn resize(&mut self, columns: u16, rows: u16) {
        let words = format!("cols {columns} rows {rows}");
        let mut stty = Command::new("stty");
        stty.args(words.split(' '));
        stty.stdin(Stdio::from(self.terminal.try_clone().unwrap()));
        self.parser.screen_mut().set_size(some(rows), some(columns));
        assert!(stty.status().unwrap().success());
    }

    /// Whether it writes nothing for so long, in ms.
    pub fn is_silent(&mut self, ms: u16) -> bool {
        let before = self.bytes;
        !self.read_within(ms) && self.bytes == before
    }

    /// Waits until it has written nothing for so long, in ms.
    pub fn until_silent(&mut self, ms: u16) {
        while self.read_within(ms) {}
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.child.id().cast_signed());
        kill(pid, signal).unwrap();
    }

    /// The process that was started.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Whether anything was coloured.
    pub fn is_colored(&self) -> bool {
        self.colored
    }

    /// Whether all that was written is ASCII.
    pub fn is_ascii(&self) -> bool {
        self.ascii
    }

    /// The chosen line: the text that the terminal shows reversed, but for the name of the screen in the first row.
    pub fn chosen(&self) -> String {
        let screen = self.parser.screen();
        let (rows, columns) = screen.size();
        let places =
            (1..rows.get()).flat_map(|row| (0..columns.get()).map(move |column| (row, column)));
        let cells = places.filter_map(|(row, column)| screen.cell(row, column));
        let reversed = cells.filter(|cell| cell.inverse());
        reversed.map(|cell| cell.contents()).collect()
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

    /// Leads to the line with this text in a list, in which something is chosen; others may come and go there.
    pub fn choose(&mut self, text: &str) {
        loop {
            let (chosen, shown) = (self.chosen(), self.shown());
            if chosen.contains(text) {
                return;
            }
            let row = |text: &str| shown.lines().position(|line| line.contains(text));
            let is_below = row(text) > row(chosen.trim());
            self.press(if is_below { "\x1b[B" } else { "\x1b[A" });
            while self.chosen() == chosen {
                assert!(self.read(), "no {text} is chosen in:\n{}", self.shown());
            }
        }
    }

    /// What the terminal shows.
    pub fn shown(&self) -> String {
        self.parser.screen().contents()
    }

    /// Cuts the line, and waits for the end.
    pub fn cut(self) -> ExitStatus {
        let Session {
            mut child,
            keys,
            terminal,
            ..
        } = self;
        drop((keys, terminal));
        child.wait().unwrap()
    }

    /// Waits for the end; the terminal has to be as it was.
    pub fn end(mut self) -> ExitStatus {
        let status = self.child.wait().unwrap();
        while self.parser.screen().alternate_screen() && self.read() {}
        let screen = self.parser.screen();
        assert!(!screen.alternate_screen(), "the first screen is not back");
        assert!(!screen.hide_cursor(), "the cursor is hidden");
        assert_eq!(tcgetattr(&self.terminal).unwrap(), self.before);
        status
    }

    /// Reads what the program has written; gives up when it writes nothing for a long time.
    fn read(&mut self) -> bool {
        self.read_within(60_000)
    }

    fn read_within(&mut self, ms: u16) -> bool {
        let mut ready = [PollFd::new(self.keys.as_fd(), PollFlags::POLLIN)];
        if poll(&mut ready, PollTimeout::from(ms)).unwrap() == 0 {
            return false;
        }
        let mut bytes = [0; 4096];
        let read = self.keys.read(&mut bytes).unwrap();
        self.bytes += read;
        self.ascii &= bytes[..read].is_ascii();
        // It is written in one piece at the beginning of a frame.
        self.anew += bytes[..read]
            .windows(4)
            .filter(|it| it == b"\x1b[2J")
            .count();
        self.parser.process(&bytes[..read]);
        let screen = self.parser.screen();
        let (rows, columns) = screen.size();
        let (rows, columns) = (rows.get(), columns.get());
        let mut cells = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
        let is_colored = |(row, column)| {
            let cell = screen.cell(row, column);
            cell.is_some_and(|it| [it.fgcolor(), it.bgcolor()] != [Color::Default; 2])
        };
        self.colored |= cells.any(is_colored);
        read > 0
    }
}
