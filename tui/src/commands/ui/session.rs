//! The terminal, threads and processes: what happens goes to the model over one channel, and what it asks for is done.

use std::io::{self, Stdout, Write};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::crossterm::terminal::{self, Clear, ClearType, EnterAlternateScreen};
use ratatui::crossterm::{cursor, execute};
use ratatui::layout::Rect;
use ratatui::{Terminal, TerminalOptions, Viewport};

use crate::commands::ui::action::{Action, Key, Where};
use crate::commands::ui::app::{App, Input};
use crate::commands::ui::experiments::Wanted;
use crate::commands::ui::noise::Listened;
use crate::commands::ui::view::{self, Theme};
use crate::commands::ui::{jobs, node, watch};
use crate::outcome::Failure;
use crate::output::printable;
use crate::stopped::when_stopped;

/// Shows the UI of a folder until somebody leaves it.
pub fn run(folder: PathBuf) -> Result<(), Failure> {
    // Who stops it finds a terminal that works.
    when_stopped(close)?;
    let ended = open().and_then(|terminal| Session::new(folder, terminal).run());
    close();
    ended.map_err(Failure::run)
}

/// The exit status of a Rust program that has panicked.
const PANICKED: i32 = 101;

type Screen = Terminal<CrosstermBackend<Stdout>>;

/// Takes the terminal. A panic, in whichever thread, gives it back and is the end: what went on would draw over what is said.
fn open() -> io::Result<Screen> {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        close();
        hook(panic);
        std::process::exit(PANICKED);
    }));
    terminal::enable_raw_mode()?;
    execute!(io::stdout(), EnterAlternateScreen)?;
    screen()
}

/// Gives the terminal back. One without a second screen is cleared: it would keep the last picture.
fn close() {
    let mut out = io::stdout();
    // It may be the terminal that is gone.
    let _ = execute!(
        out,
        Clear(ClearType::All),
        cursor::MoveTo(0, 0),
        cursor::Show
    );
    let _ = ratatui::try_restore();
    let _ = out.flush();
}

/// The whole terminal, empty. It is made anew where its size has changed: to clear the old one would be to ask the terminal
/// where its cursor is, and wait for one that does not answer.
fn screen() -> io::Result<Screen> {
    execute!(io::stdout(), Clear(ClearType::All))?;
    let viewport = Viewport::Fixed(size());
    Terminal::with_options(
        CrosstermBackend::new(io::stdout()),
        TerminalOptions { viewport },
    )
}

/// Of the terminal. A serial line knows of none.
fn size() -> Rect {
    match terminal::size() {
        Ok((width, height)) if width > 0 && height > 0 => Rect::new(0, 0, width, height),
        _ => Rect::new(0, 0, 80, 24),
    }
}

struct Session {
    folder: PathBuf,
    terminal: Screen,
    theme: Theme,
    inputs: Receiver<Input>,
    input: Sender<Input>,
    wanted: Sender<Option<Wanted>>,
}

impl Session {
    fn new(folder: PathBuf, terminal: Screen) -> Self {
        let (input, inputs) = channel();
        let (wanted, wants) = channel();
        let keys = input.clone();
        thread::spawn(move || read_keys(&keys));
        let (base, seen) = (folder.clone(), input.clone());
        thread::spawn(move || watch::watch(base, &wants, &seen));
        Session {
            folder,
            terminal,
            theme: Theme::of_environment(),
            inputs,
            input,
            wanted,
        }
    }

    fn run(mut self) -> io::Result<()> {
        let mut app = App::new();
        let mut want = None;
        self.perform(Action::ReadNode);
        self.draw(&mut app)?;
        while let Ok(input) = self.inputs.recv() {
            if matches!(input, Input::Resized) {
                self.terminal = screen()?;
            }
            let action = app.on(input);
            if action == Some(Action::Leave) {
                break;
            }
            // Before anything is done: what measures noise is not to measure this.
            self.draw(&mut app)?;
            if let Some(action) = action {
                self.perform(action);
            }
            let next = app.wanted();
            if next != want {
                // Without a watcher there is nothing to be seen, and the rest goes on.
                let _ = self.wanted.send(next.clone());
                want = next;
            }
        }
        Ok(())
    }

    fn draw(&mut self, app: &mut App) -> io::Result<()> {
        let theme = self.theme;
        self.terminal
            .draw(|frame| view::draw(frame, app, theme))
            .map(drop)
    }

    fn perform(&self, action: Action) {
        match action {
            Action::Leave => {}
            Action::ReadNode => {
                self.beside(|| Input::Node(Box::new(node::Facts::read().map_err(in_words))));
            }
            Action::Listen(place) => self.beside(move || {
                let place = place.map_or_else(Where::find, Ok);
                let listened = place.and_then(Listened::at);
                Input::Noise(Box::new(listened.map_err(in_words)))
            }),
            Action::Start(job) => match jobs::start(&self.folder, &job) {
                Ok(started) => self.beside(move || Input::Said(started.wait())),
                Err(error) => self.say(error),
            },
            Action::Stop(folder) => {
                if let Err(error) = jobs::stop(&folder) {
                    self.say(error);
                }
            }
        }
    }

    /// Does something that takes its time, in a thread.
    fn beside(&self, what: impl FnOnce() -> Input + Send + 'static) {
        let input = self.input.clone();
        // Who has left meanwhile does not want to know.
        thread::spawn(move || input.send(what()).ok());
    }

    fn say(&self, what: String) {
        // The receiver is our own.
        let _ = self.input.send(Input::Said(what));
    }
}

fn in_words(failure: Failure) -> String {
    printable(&failure.to_string())
}

fn read_keys(inputs: &Sender<Input>) {
    loop {
        let input = match event::read() {
            Ok(Event::Key(key)) => match key_of(key) {
                Some(key) => Input::Key(key),
                None => continue,
            },
            Ok(Event::Resize(..)) => Input::Resized,
            Ok(_) => continue,
            Err(_) => Input::Gone,
        };
        let is_last = matches!(input, Input::Gone);
        if inputs.send(input).is_err() || is_last {
            return;
        }
    }
}

fn key_of(key: KeyEvent) -> Option<Key> {
    if key.kind == KeyEventKind::Release {
        return None;
    }
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return (key.code == KeyCode::Char('c')).then_some(Key::Break);
    }
    Some(match key.code {
        KeyCode::Char(character) => Key::Char(character),
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        KeyCode::Enter => Key::Enter,
        KeyCode::Tab => Key::Tab,
        KeyCode::Esc => Key::Escape,
        _ => return None,
    })
}
