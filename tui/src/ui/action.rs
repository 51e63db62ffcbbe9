//! The requests of the model, and their outcomes.

use std::any::Any;
use std::fmt::Debug;
use std::time::SystemTime;

/// The action that is to be done.
#[derive(Debug)]
pub enum Action {
    /// The end.
    Leave,
    /// Something that takes its time, beside the loop.
    Do(Box<dyn Task>),
    /// People are asked before something is done.
    Ask(Question),
    /// People are told something.
    Say(String),
}

impl Action {
    /// A task.
    pub fn work(task: impl Task + 'static) -> Self {
        Action::Do(Box::new(task))
    }

    /// The answer to whoever would disturb noise that is being measured.
    pub fn refused_for_noise() -> Self {
        Action::Say("noise is being measured: end that first, on its screen".into())
    }
}

/// Something that takes its time: it runs in a thread of its own, and knows of no screen.
pub trait Task: Debug + Send {
    /// Does it. Whatever is told goes to all screens.
    fn run(self: Box<Self>, tell: &mut dyn FnMut(News));

    /// True if it, or what it starts, may run on other CPUs than the housekeeping CPUs.
    fn leaves_housekeeping(&self) -> bool {
        false
    }
}

/// The news of a task: a type that whoever asked for it knows.
pub type News = Box<dyn Any + Send>;

/// News for people.
#[derive(Debug, Clone, PartialEq)]
pub struct Said {
    /// When it was said.
    pub at: SystemTime,
    /// In words.
    pub text: String,
    /// Whether something that was asked for was not done, and the words say why.
    pub is_failure: bool,
}

impl Said {
    /// Something is said now.
    pub fn now(text: String) -> Self {
        Said {
            at: SystemTime::now(),
            text,
            is_failure: false,
        }
    }

    /// Something was not done, which is said now.
    pub fn failed(text: String) -> Self {
        Said {
            is_failure: true,
            ..Said::now(text)
        }
    }

    /// What came of what was asked for, or why it was not done.
    pub fn outcome(of: Result<String, String>) -> Self {
        match of {
            Ok(said) => Said::now(said),
            Err(why) => Said::failed(why),
        }
    }
}

/// A question, and the action after a yes.
#[derive(Debug)]
pub struct Question {
    /// The question in words.
    pub words: String,
    /// The action after a yes.
    pub action: Box<Action>,
}
