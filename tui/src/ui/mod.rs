//! The terminal UI.
//!
//! [`app`] is a model of [`screens`] that takes what happens and says what is to be done; [`frame`] draws it with the
//! screens' own views, as [`theme`] has it look. They know of no terminal, thread or process. [`session`] has these, and
//! brings them together; [`terminal`] is what it writes to. [`headless`] prints a screen where there is no terminal. [`attach`] brings up
//! the UI of another machine.

mod action;
mod app;
pub mod attach;
mod detached;
mod files;
mod frame;
pub mod headless;
pub mod keys;
mod parts;
mod screen;
mod screens;
pub mod session;
mod terminal;
mod theme;

#[cfg(test)]
mod recorded;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
