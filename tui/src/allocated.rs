//! Hosts of the allocation that this runs in, for files that name none.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use jitterlab_base::show::counted;
use jitterlab_cluster::schedulers::Allocation;
use jitterlab_experiment::spec::{lacks_hosts, with_hosts};

use crate::outcome::Failure;

/// The names of the hosts of an allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Names {
    /// The scheduler's names of its nodes: for launchers.
    OfNodes,
    /// `node1`, `node2` and so on: a file can name these, whatever nodes it will have.
    Numbered,
}

/// The name of the host at a place of an allocation, counted from 0.
pub fn numbered(place: usize) -> String {
    format!("node{}", place + 1)
}

/// The text of a file; where it lacks hosts, those of the allocation stand at its end. `path` is for messages.
///
/// # Errors
/// What the scheduler says of its nodes cannot be used.
pub fn filled(text: String, path: &Path, names: Names) -> Result<String, Failure> {
    match lacks_hosts(&text) {
        true => Ok(with_those_of_here(&text, path, names)?.unwrap_or(text)),
        false => Ok(text),
    }
}

/// A text with the hosts of the allocation that this runs in, if it does.
///
/// # Errors
/// As those of [`filled`].
pub fn with_those_of_here(
    text: &str,
    path: &Path,
    names: Names,
) -> Result<Option<String>, Failure> {
    let Some(allocation) = Allocation::here().map_err(Failure::run)? else {
        return Ok(None);
    };
    let own = std::env::current_exe().map_err(Failure::run)?;
    let hosts = allocation.hosts(&own).map_err(Failure::run)?;
    let called = |place: usize| match names {
        Names::OfNodes => allocation.nodes[place].name.clone(),
        Names::Numbered => numbered(place),
    };
    let hosts = hosts.into_iter().enumerate();
    let hosts: BTreeMap<_, _> = hosts.map(|(i, host)| (called(i), host)).collect();
    let said = in_a_line(&allocation, names);
    // Nobody may be left to tell.
    let _ = writeln!(std::io::stderr(), "{said}");
    let text = with_hosts(text, path, &hosts, &said).map_err(Failure::input)?;
    Ok(Some(text))
}

fn in_a_line(allocation: &Allocation, names: Names) -> String {
    const SHOWN: usize = 16;
    let nodes = allocation.nodes.iter().enumerate().take(SHOWN);
    let mut said: Vec<String> = nodes
        .map(|(i, node)| {
            let here = if node.is_here { ", this machine" } else { "" };
            let name = match names {
                Names::OfNodes => node.name.clone(),
                Names::Numbered => format!("{} is {}", numbered(i), node.name),
            };
            format!("{name} ({}{here})", counted(node.ranks as usize, "rank"))
        })
        .collect();
    if allocation.nodes.len() > SHOWN {
        said.push(format!("and {} more", allocation.nodes.len() - SHOWN));
    }
    format!("{}: {}", allocation.job, said.join(", "))
}
