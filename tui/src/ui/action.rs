//! What the model asks for, and what comes of it.

use std::any::Any;
use std::fmt::Debug;

/// What is to be done.
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

    /// Whether it, or what it starts, may run on other CPUs than those that keep house.
    fn leaves_house(&self) -> bool {
        false
    }
}

/// What a task tells: a type that whoever asked for it knows.
pub type News = Box<dyn Any + Send>;

/// News for people.
#[derive(Debug, Clone, PartialEq)]
pub struct Said(pub String);

/// News for people: something that was asked for was not done, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct Failed(pub String);

/// What came of what was asked for, or why it was not done, as news.
pub fn outcome(of: Result<String, String>) -> News {
    match of {
        Ok(said) => Box::new(Said(said)),
        Err(why) => Box::new(Failed(why)),
    }
}

/// What is asked, and what is done after a yes.
#[derive(Debug)]
pub struct Question {
    /// In words.
    pub words: String,
    /// What is done then.
    pub action: Box<Action>,
}
