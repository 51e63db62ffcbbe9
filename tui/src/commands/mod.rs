//! The commands, one file a noun.

mod agent;
mod analyze;
mod boot;
mod check;
mod dist;
mod inject;
mod load;
mod node;
mod noise;
mod packet;
mod report;
mod run;
mod stats;
mod tune;
mod ui;
mod validate;

use crate::outcome::{Exit, Failure};

macro_rules! commands {
    ($($(#[$doc:meta])* $name:ident => $module:ident),* $(,)?) => {
        /// What `jitterlab` can be asked to do.
        #[derive(clap::Subcommand)]
        pub enum Command {
            $($(#[$doc])* $name($module::Command),)*
        }

        /// Does it.
        pub fn run(command: Command) -> Result<Exit, Failure> {
            match command {
                $(Command::$name(command) => $module::run(command),)*
            }
        }
    };
}

commands! {
    /// Run an experiment file: schedule, workers, results
    Run => run,
    /// Compute the tables of a result folder
    Analyze => analyze,
    /// Write the HTML report of a result folder
    Report => report,
    /// Make, fit and look at distribution tables
    #[command(subcommand)]
    Dist => dist,
    /// Inject latency into an unmodified program
    #[command(subcommand)]
    Inject => inject,
    /// Put background load on the network
    #[command(subcommand)]
    Load => load,
    /// Measure packets: the packet suite
    #[command(subcommand)]
    Packet => packet,
    /// Look at what this node is made of
    #[command(subcommand)]
    Node => node,
    /// Measure what takes a CPU away from a program that only spins, and who it was
    #[command(subcommand)]
    Noise => noise,
    /// Measure all pairs of hosts and find the nodes and pairs that do not fit
    Validate => validate,
    /// Bring a node to the measuring state, prove it, and put it back
    #[command(subcommand)]
    Tune => tune,
    /// Say whether microseconds can be measured on this node: its settings and its noise
    Check => check,
    /// Look at this node, its noise and its experiments in a terminal, and run them
    Ui => ui,
    /// Look at the boot of an appliance
    #[command(subcommand)]
    Boot => boot,
    /// Compare samples with the right tests
    #[command(subcommand)]
    Stats => stats,
    /// Work for an experiment over stdin and stdout (started by `jitterlab run`)
    #[command(hide = true)]
    Agent => agent,
}
