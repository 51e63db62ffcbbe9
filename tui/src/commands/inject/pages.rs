//! Finding the programs under injection.

use std::fmt;
use std::str::FromStr;

use jitterlab_injector::control::{Collector, Program, programs};

use crate::outcome::Failure;

/// The name of a program: its number here, or, if it has none here, the one that it has in its pid namespace and that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address {
    pid: u32,
    namespace: Option<u64>,
}

impl Address {
    pub fn of(program: &Program) -> Self {
        let identity = program.page.identity();
        match program.pid {
            Some(pid) => Address {
                pid,
                namespace: None,
            },
            None => Address {
                pid: identity.pid,
                namespace: Some(identity.namespaces.pid),
            },
        }
    }

    fn names(self, program: &Program) -> bool {
        let identity = program.page.identity();
        match self.namespace {
            None => program.pid == Some(self.pid),
            Some(namespace) => (identity.pid, identity.namespaces.pid) == (self.pid, namespace),
        }
    }
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parse = || {
            let (pid, namespace) = match text.split_once('@') {
                Some((pid, namespace)) => (pid, Some(namespace.parse().ok()?)),
                None => (text, None),
            };
            let pid = pid.parse().ok()?;
            Some(Address { pid, namespace })
        };
        parse().ok_or_else(|| {
            "a process number is wanted, or, as inject status shows it, NUMBER@NAMESPACE".into()
        })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.namespace {
            None => write!(f, "{}", self.pid),
            Some(namespace) => write!(f, "{}@{namespace}", self.pid),
        }
    }
}

/// The programs that run now.
pub fn running() -> Result<Vec<Program>, Failure> {
    programs(Collector::Anybody).map_err(Failure::run)
}

/// The program of that name.
pub fn of(address: Address) -> Result<Program, Failure> {
    let mut programs = running()?;
    let others: Vec<String> = programs
        .iter()
        .map(|program| Address::of(program).to_string())
        .collect();
    match programs.iter().position(|program| address.names(program)) {
        Some(index) => Ok(programs.swap_remove(index)),
        None if others.is_empty() => Err(Failure::input(format!(
            "no program is being delayed, so there is none with pid {address}"
        ))),
        None => Err(Failure::input(format!(
            "no program with pid {address} is under injection; there are {}",
            others.join(", ")
        ))),
    }
}
