//! The parts of a report for people, before they are laid out.

/// A part of what is printed for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// A line.
    Line(String),
    /// The rows of a table, the names of its columns first.
    Table(Vec<Vec<String>>),
}

/// What can be printed for people.
pub trait Text {
    /// Its parts, in order.
    fn parts(&self) -> Vec<Part>;
}
