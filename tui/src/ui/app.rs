//! The model: what is on the screen, and what follows from what happens.

use std::any::Any;
use std::time::Duration;

use crate::ui::action::{Action, News, Question, Said};
use crate::ui::keys::{Binding, Hint, Key, command, hints};
use crate::ui::screen::{Base, Screen};
use crate::ui::screens;

/// An event.
#[derive(Debug)]
pub enum Input {
    /// Somebody has pressed a key.
    Key(Key),
    /// The terminal has another size: there is nothing to be done but to draw.
    Resized,
    /// A task tells something.
    News(News),
    /// It is time to look for what the screen shows.
    Due,
    /// The terminal gives no more keys.
    Gone,
}

#[derive(Debug, Clone, Copy)]
enum General {
    Number,
    Next,
    Help,
    Leave,
    Break,
}

/// Keys that do the same on all screens.
const KEYS: &[Binding<General>] = &[
    Binding {
        keys: &[
            Key::Char('1'),
            Key::Char('2'),
            Key::Char('3'),
            Key::Char('4'),
            Key::Char('5'),
            Key::Char('6'),
            Key::Char('7'),
            Key::Char('8'),
            Key::Char('9'),
        ],
        does: "show the screen of this number",
        command: General::Number,
    },
    Binding {
        keys: &[Key::Tab],
        does: "show the next screen",
        command: General::Next,
    },
    Binding {
        keys: &[Key::Char('?')],
        does: "help",
        command: General::Help,
    },
    Binding {
        keys: &[Key::Char('q')],
        does: "leave",
        command: General::Leave,
    },
    Binding {
        keys: &[Key::Break],
        does: "leave, also from a question",
        command: General::Break,
    },
];

/// Keys that answer a question.
const ANSWERS: &[Binding<bool>] = &[
    Binding {
        keys: &[Key::Char('y')],
        does: "yes",
        command: true,
    },
    Binding {
        keys: &[Key::Char('n'), Key::Escape],
        does: "no",
        command: false,
    },
];

/// All that is shown.
pub struct App {
    screens: Vec<Box<dyn Screen>>,
    seen: usize,
    /// The question that has to be answered first.
    pub question: Option<Question>,
    /// The outcome of what was asked for.
    pub notice: Option<String>,
    /// True if all keys are explained.
    pub help: bool,
}

impl App {
    /// The first screen, before anything has happened; and what it asks for.
    pub fn new(base: &Base) -> (Self, Vec<Action>) {
        let mut app = App {
            screens: screens::all(base),
            seen: 0,
            question: None,
            notice: None,
            help: false,
        };
        let first = app.screen().look(true);
        (app, first.into_iter().collect())
    }

    /// The screen that is seen.
    pub fn screen(&mut self) -> &mut dyn Screen {
        &mut *self.screens[self.seen]
    }

    /// The place of the screen that is seen.
    pub fn seen(&self) -> usize {
        self.seen
    }

    /// The names of the screens.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.screens.iter().map(|screen| screen.name())
    }

    /// Keys of the screen that is seen, and those of all screens.
    pub fn hints(&self) -> [Vec<Hint>; 2] {
        [self.screens[self.seen].hints(), hints(KEYS)]
    }

    /// Keys that do something now: as many as there is room for, and those that are shown in any case.
    pub fn footer(&self) -> [Vec<Hint>; 2] {
        let screen = &self.screens[self.seen];
        if self.question.is_some() {
            return [Vec::new(), hints(ANSWERS)];
        }
        if screen.is_typed_into() {
            return [Vec::new(), screen.hints()];
        }
        let always = KEYS
            .iter()
            .filter(|it| matches!(it.command, General::Help | General::Leave));
        [screen.hints(), hints(always)]
    }

    /// The time until the screen that is seen has to look again.
    pub fn period(&self) -> Option<Duration> {
        self.screens[self.seen].period()
    }

    /// Takes in what happens; says what is to be done.
    pub fn on(&mut self, input: Input) -> Vec<Action> {
        let before = self.seen;
        let mut due = matches!(input, Input::Due);
        let mut actions = match input {
            Input::Key(key) => self.key(key).into_iter().collect(),
            Input::Resized | Input::Due => Vec::new(),
            Input::News(news) => self.take(&*news),
            Input::Gone => vec![Action::Leave],
        };
        due |= self.seen != before;
        actions.extend(self.screen().look(due));
        let asks = actions.into_iter().filter_map(|action| self.keep(action));
        asks.collect()
    }

    /// Keeps what is for people; passes on what is to be done.
    fn keep(&mut self, action: Action) -> Option<Action> {
        match action {
            Action::Ask(question) => self.question = Some(question),
            Action::Say(what) => self.notice = Some(what),
            other => return Some(other),
        }
        None
    }

    fn take(&mut self, news: &dyn Any) -> Vec<Action> {
        if let Some(said) = news.downcast_ref::<Said>() {
            self.notice = Some(said.text.clone());
        }
        let screens = self.screens.iter_mut();
        screens.filter_map(|screen| screen.take(news)).collect()
    }

    fn key(&mut self, key: Key) -> Option<Action> {
        // Whoever presses it a second time means it.
        if key == Key::Break {
            return Some(match self.question {
                Some(_) => Action::Leave,
                None => self.leave(),
            });
        }
        if let Some(question) = self.question.take() {
            match command(ANSWERS, key) {
                Some(true) => return Some(*question.action),
                Some(false) => {}
                None => self.question = Some(question),
            }
            return None;
        }
        if std::mem::take(&mut self.help) {
            return None;
        }
        self.notice = None;
        match command(KEYS, key) {
            Some(general) if !self.screen().is_typed_into() => self.general(general, key),
            _ => {
                let others = self.screens.iter().enumerate();
                let measures = others.filter(|(at, screen)| *at != self.seen && screen.measures());
                let measures = measures.count() > 0;
                self.screen().key(key, measures)
            }
        }
    }

    fn general(&mut self, general: General, key: Key) -> Option<Action> {
        match (general, key) {
            (General::Number, Key::Char(digit)) => {
                let at = digit.to_digit(10).map_or(0, |digit| digit as usize);
                if (1..=self.screens.len()).contains(&at) {
                    self.seen = at - 1;
                }
            }
            (General::Number, _) => {}
            (General::Next, _) => self.seen = (self.seen + 1) % self.screens.len(),
            (General::Help, _) => self.help = true,
            (General::Leave | General::Break, _) => return Some(self.leave()),
        }
        None
    }

    /// The end, after a question where something would be lost.
    fn leave(&self) -> Action {
        let mut screens = self.screens.iter();
        let Some(unsaved) = screens.find_map(|screen| screen.unsaved()) else {
            return Action::Leave;
        };
        Action::Ask(Question {
            words: format!("{unsaved}: leave all the same?"),
            action: Box::new(Action::Leave),
        })
    }
}
