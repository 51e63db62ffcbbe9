//! `jitterlab job`: batch scripts that run an experiment.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::path::{Path, PathBuf};

use jitterlab_base::show::printable;
use jitterlab_base::units::Nanos;
use jitterlab_base::yaml::{self, FileError, text_of};
use jitterlab_cluster::{Host, Place};
use jitterlab_experiment::conduct::duration;
use jitterlab_experiment::schedule::schedule;
use jitterlab_experiment::spec::{Experiment, Repetitions, filled_in, lacks_hosts, with_hosts};
use jitterlab_experiment::suites::Suites;
use serde::Deserialize;

use crate::allocated::numbered;
use crate::commands::packet::count;
use crate::outcome::{Exit, Failure};
use crate::output;
use crate::shown::shell_word;

/// The schedulers.
#[derive(clap::Subcommand)]
pub enum Command {
    /// Print a batch script for Slurm: `jitterlab job slurm EXPERIMENT.yaml | sbatch`
    Slurm(Slurm),
}

/// Options of `job slurm`.
#[derive(clap::Args)]
pub struct Slurm {
    /// The experiment file. If it names no hosts, the experiment runs on the nodes of the job
    experiment: PathBuf,
    /// Number of nodes [default: 2, or 1 where the file names its hosts]
    #[arg(long, value_parser = count::<u16>(1..=u16::MAX.into()))]
    nodes: Option<u16>,
    /// Ranks on each node [default: as many as the largest measurement in the file needs]
    #[arg(long, value_parser = count::<u32>(1..=u32::MAX.into()))]
    ranks: Option<u32>,
    /// Time limit of the job [default: 1.5 times what `run --dry-run` says, plus 5 minutes]
    #[arg(long)]
    time: Option<Nanos>,
    /// Partition [default: as Slurm has it]
    #[arg(long, value_parser = partition)]
    partition: Option<String>,
}

/// Does it.
pub fn run(command: Command) -> Result<Exit, Failure> {
    let Command::Slurm(asked) = command;
    let text = text_of("experiment file", &asked.experiment).map_err(Failure::input)?;
    let text = filled_in(text, &asked.experiment).map_err(Failure::input)?;
    let of_job = lacks_hosts(&text);
    let nodes = asked.nodes.unwrap_or(if of_job { 2 } else { 1 });
    let ranks = match asked.ranks {
        Some(ranks) => ranks,
        None => {
            let most = most_ranks(&text, &asked.experiment).map_err(Failure::input)?;
            most.div_ceil(nodes.into()).max(1)
        }
    };
    let planned = match of_job {
        true => {
            let hosts = stand_ins(nodes, ranks);
            with_hosts(&text, &asked.experiment, &hosts, "").map_err(Failure::input)?
        }
        false => text,
    };
    let experiment = Experiment::parse(&planned, &asked.experiment).map_err(Failure::input)?;
    let own = std::env::current_exe().map_err(Failure::run)?;
    let script = Script {
        name: &experiment.name,
        nodes,
        ranks,
        minutes: minutes(&experiment, asked.time)?,
        partition: asked.partition.as_deref(),
        program: &quoted(&own)?,
        experiment: &quoted(&asked.experiment)?,
    };
    output::print(output::Format::Text, &(), || script.text())?;
    Ok(Exit::Done)
}

/// A name of a partition, or several with commas: nothing that sbatch would read more into.
fn partition(text: &str) -> Result<String, String> {
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
            && name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
    };
    match text.split(',').all(is_name) {
        true => Ok(text.into()),
        false => Err("a partition has letters, digits and any of `._-`".into()),
    }
}

/// Nodes in the place of those that Slurm will choose, to find out what the experiment does on so many.
fn stand_ins(nodes: u16, ranks: u32) -> BTreeMap<String, Host> {
    let host = |i: u16| Host {
        // Addresses of documentation (RFC 3849): nothing is sent there.
        address: Some(IpAddr::from(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 1, i))),
        slots: Some(ranks),
        ..Host::at(match i {
            0 => Place::Local,
            _ => Place::Ssh(numbered(i.into())),
        })
    };
    (0..nodes).map(|i| (numbered(i.into()), host(i))).collect()
}

/// The part of an experiment file that can be read before its hosts are known.
#[derive(Deserialize)]
struct Measured {
    suites: Suites,
}

/// The ranks of the case that has most; 0 where no case says how many.
fn most_ranks(text: &str, path: &Path) -> Result<u32, FileError> {
    let Measured { suites } = yaml::parse(text, path, |_| Ok(()))?;
    let cases = suites.cases().into_iter();
    let ranks = cases.filter_map(|(_, _, case)| case.ranks());
    Ok(ranks.max().unwrap_or(0))
}

/// The time that the job takes at most, in minutes.
fn minutes(experiment: &Experiment, asked: Option<Nanos>) -> Result<u64, Failure> {
    let seconds = match (asked, experiment.repetitions, experiment.at_most) {
        (Some(asked), ..) => asked.as_secs_f64(),
        (None, Repetitions::Auto, None) => {
            return Err(Failure::input(
                "`repetitions: auto` takes as long as it takes: give the file an `at_most`, or the job a --time",
            ));
        }
        (None, _, at_most) => {
            let blocks = experiment.repetitions.first();
            let planned = duration(&schedule(experiment, blocks));
            let planned = planned.max(at_most.map_or(0.0, Nanos::as_secs_f64));
            1.5 * planned + 300.0
        }
    };
    Ok((seconds / 60.0).ceil().max(1.0) as u64)
}

/// A path as a word of the shell: absolute, since a job may run elsewhere.
fn quoted(path: &Path) -> Result<String, Failure> {
    let path = std::path::absolute(path).map_err(Failure::run)?;
    let text = path
        .to_str()
        .filter(|text| !text.contains(char::is_control));
    let text = text.ok_or_else(|| {
        let shown = printable(&path.to_string_lossy());
        Failure::input(format!(
            "{shown} cannot stand in a batch script: it is no line of UTF-8 text"
        ))
    })?;
    Ok(shell_word(text))
}

/// A batch script. Names are of letters, digits and hyphens; paths are quoted.
struct Script<'a> {
    name: &'a str,
    nodes: u16,
    ranks: u32,
    minutes: u64,
    partition: Option<&'a str>,
    program: &'a str,
    experiment: &'a str,
}

impl Script<'_> {
    fn text(&self) -> String {
        let Script {
            name,
            nodes,
            ranks,
            minutes,
            program,
            experiment,
            ..
        } = self;
        let partition = self
            .partition
            .map(|name| format!("#SBATCH --partition={name}\n"));
        let (days, hours, minutes) = (minutes / 1440, minutes / 60 % 24, minutes % 60);
        format!(
            "#!/bin/sh\n\
             # Runs an experiment under Slurm: `sbatch` this file. The result folder is made in `results` of where it is submitted.\n\
             #SBATCH --job-name={name}\n\
             #SBATCH --nodes={nodes}\n\
             #SBATCH --ntasks-per-node={ranks}\n\
             # Jobs of others on the same nodes would be measured, too.\n\
             #SBATCH --exclusive\n\
             #SBATCH --time={days}-{hours:02}:{minutes:02}:00\n\
             {}\
             exec {program} run {experiment}\n",
            partition.unwrap_or_default()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_word_of_the_shell() {
        for (path, word) in [
            ("/a/e.yaml", "'/a/e.yaml'"),
            ("/a b/$(x);`y`", "'/a b/$(x);`y`'"),
            ("/it's", r"'/it'\''s'"),
        ] {
            assert_eq!(quoted(Path::new(path)).unwrap(), word);
        }
        assert!(quoted(Path::new("/a\n#SBATCH --uid=0")).is_err());
    }

    #[test]
    fn a_partition_is_a_name() {
        for name in ["short", "a_b-c.d", "short,long"] {
            assert_eq!(partition(name).as_deref(), Ok(name));
        }
        for name in ["", "a,", "a b", "-x", "a\nb", "a;b", "$(x)", "a'b"] {
            assert!(partition(name).is_err(), "{name}");
        }
    }

    #[test]
    fn stand_ins_are_hosts_that_reach_each_other() {
        let hosts = stand_ins(3, 4);
        assert_eq!(
            hosts.keys().collect::<Vec<_>>(),
            ["node1", "node2", "node3"]
        );
        let addresses: std::collections::BTreeSet<_> =
            hosts.values().map(|host| host.address).collect();
        assert_eq!(addresses.len(), 3);
    }
}
