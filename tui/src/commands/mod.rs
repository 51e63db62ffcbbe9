//! The commands, one file a noun.

mod agent;
mod amvia;
mod analyze;
mod boot;
mod check;
mod dist;
pub mod inject;
mod job;
mod load;
mod node;
mod noise;
mod packet;
mod report;
mod results;
mod run;
mod stats;
pub mod tune;
pub mod ui;
mod validate;

use crate::outcome::{Exit, Failure};

macro_rules! commands {
    ($($task:literal { $($(#[$doc:meta])* $name:ident => $module:ident),* $(,)? })*) => {
        /// What `jitterlab` can be asked to do.
        #[derive(clap::Subcommand)]
        pub enum Command {
            $($($(#[$doc])* $name($module::Command),)*)*
        }

        /// The names of the commands by task, as `--help` lists them.
        pub const TASKS: &[(&str, &[&str])] = &[$(($task, &[$(stringify!($module)),*])),*];

        /// Does it.
        pub fn run(command: Command) -> Result<Exit, Failure> {
            match command {
                $($(Command::$name(command) => $module::run(command),)*)*
            }
        }
    };
}

commands! {
    "Run experiments" {
        /// Run an experiment file, and store its results in a folder
        Run => run,
        /// Print a batch script that runs an experiment file under Slurm
        #[command(subcommand)]
        Job => job,
        /// Write the HTML report of a result folder
        Report => report,
        /// Print the tables of a result folder
        Analyze => analyze,
        /// Compare a result folder with an earlier one, or merge folders
        #[command(subcommand)]
        Results => results,
        /// Show nodes, measurements and experiments in a terminal. `jitterlab` without arguments does the same
        Ui => ui,
    }
    "Delay a program" {
        /// Delay the messages of an unmodified program
        #[command(subcommand)]
        Inject => inject,
        /// Make, fit and show distribution tables, from which delays are drawn
        #[command(subcommand)]
        Dist => dist,
    }
    "Measure a network" {
        /// Measure latency and bandwidth between two hosts
        #[command(subcommand)]
        Packet => packet,
        /// Send background load over the network
        #[command(subcommand)]
        Load => load,
        /// Compare two sets of samples
        #[command(subcommand)]
        Stats => stats,
    }
    "Prepare nodes" {
        /// Show this node's hardware
        #[command(subcommand)]
        Node => node,
        /// Set up a node for measurements, verify the settings, restore the old ones
        #[command(subcommand)]
        Tune => tune,
        /// Find what interrupts a busy CPU, and for how long
        #[command(subcommand)]
        Noise => noise,
        /// Check the settings and the noise of this node: can it measure microseconds?
        Check => check,
        /// Measure all pairs of hosts and find slow nodes and slow pairs
        Validate => validate,
    }
    "Send active messages" {
        /// Send and measure active messages, show endpoints, run the name server
        #[command(subcommand)]
        Amvia => amvia,
    }
    "Boot nodes" {
        /// Show how a node booted from the boot image, or check its node.yaml
        #[command(subcommand)]
        Boot => boot,
    }
    "Started by jitterlab" {
        /// Work for an experiment over stdin and stdout (started by `jitterlab run`)
        #[command(hide = true)]
        Agent => agent,
    }
}
