//! Keys, and what is to be done when one was pressed: what the screens and the model have in common.

use std::path::{Path, PathBuf};

use jitterlab_node_tuning::cpus::CpuSet;

/// Keys that mean something somewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// A character.
    Char(char),
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    Home,
    End,
    Enter,
    Tab,
    Escape,
    /// Ctrl-C.
    Break,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// The end.
    Leave,
    /// The node is to be read.
    ReadNode,
    /// Noise is to be measured for a second; where, if it is known already.
    Listen(Option<Where>),
    /// An experiment is to be started.
    Start(Job),
    /// Whoever fills this result folder is to be stopped.
    Stop(PathBuf),
}

/// An experiment that is to be run.
#[derive(Debug, Clone, PartialEq)]
pub enum Job {
    /// A new one.
    Run(PathBuf),
    /// One that was stopped.
    Resume(PathBuf),
}

impl Job {
    /// What it is made from.
    pub fn path(&self) -> &Path {
        match self {
            Job::Run(path) | Job::Resume(path) => path,
        }
    }
}

/// Where noise is measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Where {
    /// The CPUs; all that can be used, where no tuning says which measure.
    pub cpus: Option<CpuSet>,
    /// Whether the processors are an emulator's, whose noise is not judged.
    pub emulated: bool,
}
