//! The model: what is on the screen, and what follows from what happens.

use crate::commands::ui::action::{Action, Key};
use crate::commands::ui::experiments::{Experiments, Seen, Wanted};
use crate::commands::ui::node::{Facts, NodeScreen};
use crate::commands::ui::noise::{Listened, NoiseScreen};
use jitterlab_base::named;

/// What happens.
#[derive(Debug)]
pub enum Input {
    /// Somebody has pressed a key.
    Key(Key),
    /// The terminal has another size: there is nothing to be done but to draw.
    Resized,
    /// The node was read, or why not.
    Node(Box<Result<Facts, String>>),
    /// A second of noise was measured, or why not.
    Noise(Box<Result<Listened, String>>),
    /// What experiments there are.
    Seen(Box<Seen>),
    /// Something came of what was asked for: for people.
    Said(String),
    /// The terminal gives no more keys.
    Gone,
}

/// The screens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Screen {
    Node,
    Noise,
    Experiments,
}

named!(Screen, Node => "Node", Noise => "Noise", Experiments => "Experiments");

impl Screen {
    fn next(self) -> Self {
        match self {
            Screen::Node => Screen::Noise,
            Screen::Noise => Screen::Experiments,
            Screen::Experiments => Screen::Node,
        }
    }
}

/// All that is shown.
#[derive(Debug)]
pub struct App {
    /// Which of them is seen.
    pub screen: Screen,
    /// The first screen.
    pub node: NodeScreen,
    /// The second one.
    pub noise: NoiseScreen,
    /// The third one.
    pub experiments: Experiments,
}

impl App {
    /// Before anything has happened. The node is being read.
    pub fn new() -> Self {
        App {
            screen: Screen::Node,
            node: NodeScreen::new(),
            noise: NoiseScreen::default(),
            experiments: Experiments::default(),
        }
    }

    /// Takes in what happens.
    pub fn on(&mut self, input: Input) -> Option<Action> {
        match input {
            Input::Key(key) => self.key(key),
            Input::Resized => None,
            Input::Node(facts) => {
                self.node.take(*facts);
                None
            }
            Input::Noise(listened) => self.noise.take(*listened),
            Input::Seen(seen) => {
                self.experiments.take(*seen);
                None
            }
            Input::Said(what) => {
                self.experiments.say(what);
                None
            }
            Input::Gone => Some(Action::Leave),
        }
    }

    /// What has to be watched for what is seen now; nothing where no experiments are seen.
    pub fn wanted(&self) -> Option<Wanted> {
        (self.screen == Screen::Experiments).then(|| self.experiments.wanted())
    }

    fn key(&mut self, key: Key) -> Option<Action> {
        let experiments = self.screen == Screen::Experiments;
        match key {
            Key::Break => Some(Action::Leave),
            key if experiments && self.experiments.is_asked() => self.experiments.answer(key),
            Key::Char('q') => Some(Action::Leave),
            Key::Char('1') => self.show(Screen::Node),
            Key::Char('2') => self.show(Screen::Noise),
            Key::Char('3') => self.show(Screen::Experiments),
            Key::Tab => self.show(self.screen.next()),
            key => match self.screen {
                Screen::Node => self.node.key(key),
                Screen::Noise => self.noise.key(key),
                Screen::Experiments => self.experiments.key(key, self.noise.is_busy()),
            },
        }
    }

    fn show(&mut self, screen: Screen) -> Option<Action> {
        self.screen = screen;
        None
    }
}
