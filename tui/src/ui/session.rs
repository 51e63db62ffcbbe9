//! The terminal, threads and processes: what happens goes to the model over one channel, and what it asks for is done.

use std::io::{self, Stdout};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use jitterlab_base::show::printable;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use crate::cpus::{anywhere, kept_for_measuring, to_housekeeping};
use crate::outcome::Failure;
use crate::stopped::when_stopped;
use crate::ui::action::Action;
use crate::ui::app::{App, Input};
use crate::ui::files::under_way;
use crate::ui::frame;
use crate::ui::keys::Key;
use crate::ui::screen::Base;
use crate::ui::terminal::{self, Screen, close};
use crate::ui::theme::Theme;

/// Between two frames, at least.
const FRAME: Duration = Duration::from_millis(50);

/// Shows the UI of a folder until somebody leaves it.
///
/// # Errors
/// There is no terminal, or it is gone.
pub fn run(folder: PathBuf) -> Result<(), Failure> {
    // A user who stops it finds a terminal that works.
    when_stopped(close)?;
    // The measurements on this node are not to be disturbed.
    to_housekeeping();
    let base = base(folder);
    let ended = terminal::open().and_then(|screen| Session::new(screen).run(&base));
    close();
    for experiment in under_way(&base.folder.join("results")) {
        let name = experiment.file_name().unwrap_or_default();
        let name = printable(&name.to_string_lossy());
        eprintln!("{name} goes on; the same command shows it again");
    }
    ended.map_err(Failure::run)
}

/// What the screens of a folder are about.
pub fn base(folder: PathBuf) -> Base {
    let cpu = measuring_cpu();
    Base { folder, cpu }
}

/// The first CPU that the node keeps for measuring, or else the second one that there is.
fn measuring_cpu() -> u32 {
    if let Some(cpu) = kept_for_measuring().and_then(|kept| kept.first()) {
        return cpu;
    }
    let all = core_affinity::get_core_ids().unwrap_or_default();
    let cpu = all.get(1).or(all.first()).map_or(0, |core| core.id);
    u32::try_from(cpu).unwrap_or(0)
}

struct Session {
    screen: Screen<Stdout>,
    theme: Theme,
    inputs: Receiver<Input>,
    input: Sender<Input>,
}

impl Session {
    fn new(screen: Screen<Stdout>) -> Self {
        let (input, inputs) = channel();
        let keys = input.clone();
        thread::spawn(move || read_keys(&keys));
        Session {
            screen,
            theme: Theme::of_environment(),
            inputs,
            input,
        }
    }

    /// A frame is drawn before anything that the model asks for is done: what measures noise is not to measure the drawing.
    fn run(mut self, base: &Base) -> io::Result<()> {
        let (mut app, mut asked) = App::new(base);
        let mut looked = Instant::now();
        loop {
            let drawn = Instant::now();
            self.draw(&mut app)?;
            for action in asked.drain(..) {
                perform(action, &self.input);
            }
            let due = app.period().map(|period| looked + period);
            let mut input = self.wait(due);
            // Whatever comes until the next frame is shown by it.
            while let Some(next) = input {
                looked = match next {
                    Input::Due => Instant::now(),
                    _ => looked,
                };
                if matches!(next, Input::Resized) {
                    self.screen.resize(terminal::size());
                }
                asked.extend(app.on(next));
                if asked.iter().any(|action| matches!(action, Action::Leave)) {
                    return Ok(());
                }
                let left = (drawn + FRAME).saturating_duration_since(Instant::now());
                input = match left {
                    Duration::ZERO => None,
                    left => self.inputs.recv_timeout(left).ok(),
                };
            }
        }
    }

    /// Waits for what happens next.
    fn wait(&self, due: Option<Instant>) -> Option<Input> {
        let Some(due) = due else {
            return self.inputs.recv().ok();
        };
        let left = due.saturating_duration_since(Instant::now());
        match self.inputs.recv_timeout(left) {
            Ok(input) => Some(input),
            Err(RecvTimeoutError::Timeout) => Some(Input::Due),
            Err(RecvTimeoutError::Disconnected) => None,
        }
    }

    fn draw(&mut self, app: &mut App) -> io::Result<()> {
        let theme = self.theme;
        self.screen.draw(|buffer| frame::draw(buffer, app, theme))
    }
}

/// Does what is asked for in a thread of its own, and sends what is told of it.
pub fn perform(action: Action, input: &Sender<Input>) {
    let Action::Do(task) = action else {
        return;
    };
    let input = input.clone();
    let leaves = task.leaves_housekeeping();
    thread::spawn(move || {
        if leaves {
            anywhere();
        }
        task.run(&mut |news| {
            // A user who has left meanwhile does not want to know.
            let _ = input.send(Input::News(news));
        });
    });
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
        KeyCode::Backspace => Key::Backspace,
        _ => return None,
    })
}
