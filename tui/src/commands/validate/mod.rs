//! `jitterlab validate`: nodes and pairs that do not fit.

mod events;
mod heat_map;
mod text;

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use jitterlab_base::yaml::text_of;
use jitterlab_cluster::inventory::is_inventory;
use jitterlab_experiment::spec::Cluster;
use jitterlab_experiment::validate::{self, Event, Kept, Setup, Validation};
use jitterlab_node_tuning::validation::hostfile;
use jitterlab_packet::transport::Transport;

use crate::allocated::{self, Names};
use crate::files;
use crate::outcome::{Exit, Failure};
use crate::output::{self, Format};
use crate::stopped::when_stopped;
use events::Events;

/// Options of `jitterlab validate`.
#[derive(clap::Args)]
#[command(
    after_help = "Exit status 0: all hosts passed. 1: a host was left out, or something became slower than the baseline. 2: wrong input. \
                        3: no host could be measured. 4: the measurements do not decide whether anything became slower."
)]
pub struct Command {
    /// Hosts file: the hosts to validate, and spare hosts [default: the nodes of the allocation that this runs in]
    hosts: Option<PathBuf>,
    /// udp, tcp or verbs
    #[arg(long)]
    transport: Transport,
    /// Write the good hosts to this file, for `mpirun --hostfile`
    #[arg(long)]
    hostfile: Option<PathBuf>,
    /// Write the good hosts to this file, for `srun --nodelist`
    #[arg(long)]
    nodelist: Option<PathBuf>,
    /// Keep this validation in a file, for `--baseline`
    #[arg(long)]
    keep: Option<PathBuf>,
    /// Compare with a validation that --keep saved, and name the hosts and pairs that became slower
    #[arg(long)]
    baseline: Option<PathBuf>,
    /// Write events to this file; each line is one JSON object
    #[arg(long)]
    events: Option<PathBuf>,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

const NO_HOSTS: &str = "give a hosts file, or run the command in a job of Slurm or PBS, whose nodes are then validated";

/// Does it.
pub fn run(command: Command) -> Result<Exit, Failure> {
    let cluster = command.cluster()?;
    for path in [&command.hostfile, &command.nodelist].into_iter().flatten() {
        files::check_place("the remaining hosts ", path)?;
    }
    if let Some(path) = &command.keep {
        files::check_place("the validation ", path)?;
    }
    let setup = Setup::of(&cluster, command.transport);
    let kept = command
        .baseline
        .as_deref()
        .map(|path| Kept::load(path, &setup, cluster.hosts.keys()))
        .transpose()
        .map_err(Failure::input)?;
    if kept.is_some() && setup.minimum_effect == 0.0 {
        return Err(Failure::input(
            "a baseline takes a `minimum_effect` above 0: no measurement shows a slowdown of 0 %",
        ));
    }
    // The processes that were started end with this one.
    when_stopped(|| {
        let _ = writeln!(std::io::stderr(), "\nstopped; nothing was written");
    })?;
    let own = std::env::current_exe().map_err(Failure::run)?;
    let terminal = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let mut events = Events::to(command.events.as_deref())?;
    let mut watch = |event: Event| {
        show(terminal, &event);
        events.happens(&event);
    };
    let mut validation =
        validate::validate(&cluster, command.transport, own, &mut watch).map_err(Failure::run)?;
    if let Some(kept) = &kept {
        validation.baseline = Some(kept.against(&validation).map_err(Failure::run)?);
    }
    // First: what took an hour is not lost where a file cannot be written.
    output::print(command.format, &validation, || text::text(&validation))?;
    events.end(&validation)?;
    if validation.remaining.is_empty() {
        return Err(Failure::run("no host could be measured"));
    }
    command.write(&cluster, &validation)?;
    let drift = validation.baseline.as_ref().map(|it| it.slower);
    match validation.all_fit() {
        true => Ok(drift.map_or(Exit::Done, Exit::from)),
        false => Ok(Exit::Finding),
    }
}

impl Command {
    /// The hosts of the file, or of the allocation.
    fn cluster(&self) -> Result<Cluster, Failure> {
        let (path, text) = match &self.hosts {
            Some(path) => {
                let text = text_of("hosts file", path).map_err(Failure::input)?;
                let text = match is_inventory(&text, path) {
                    true => text,
                    false => allocated::filled(text, path, Names::OfNodes)?,
                };
                (path.as_path(), text)
            }
            None => {
                let path = Path::new("hosts of the job");
                let text = allocated::with_those_of_here("", path, Names::OfNodes)?;
                (path, text.ok_or_else(|| Failure::input(NO_HOSTS))?)
            }
        };
        Cluster::parse(&text, path, self.transport).map_err(Failure::input)
    }

    fn write(&self, cluster: &Cluster, validation: &Validation) -> Result<(), Failure> {
        let names = || validation.remaining.iter().map(String::as_str);
        if let Some(path) = &self.hostfile {
            let nodes = names().map(|name| (name, cluster.slots(name)));
            files::write(path, hostfile::mpirun(nodes).as_bytes())?;
        }
        if let Some(path) = &self.nodelist {
            files::write(path, hostfile::slurm(names()).as_bytes())?;
        }
        if let Some(path) = &self.keep {
            let kept = serde_json::to_vec_pretty(validation).map_err(Failure::run)?;
            files::write(path, &kept)?;
        }
        Ok(())
    }
}

/// Progress, on stderr; a terminal that has gone stops nothing.
fn show(terminal: bool, event: &Event) {
    let mut stderr = std::io::stderr();
    let clear = if terminal { "\r\x1b[K" } else { "" };
    let _ = match event {
        Event::Begins {
            hosts,
            measurements,
            ..
        } => writeln!(
            stderr,
            "{clear}{} hosts, {measurements} measurements",
            hosts.len()
        ),
        Event::Lost { lost } => {
            writeln!(
                stderr,
                "{clear}host {} is left out: {}",
                lost.host, lost.reason
            )
        }
        Event::Failed { failed } => writeln!(
            stderr,
            "{clear}{} - {}: {}",
            failed.client, failed.server, failed.reason
        ),
        Event::Measured { done, of } if terminal => write!(stderr, "{clear}{done} of {of}"),
        Event::Run { .. } | Event::Measured { .. } | Event::Ends { .. } => Ok(()),
    };
    if let (true, Event::Measured { done, of }) = (terminal, event)
        && done == of
    {
        let _ = write!(stderr, "{clear}");
    }
}
