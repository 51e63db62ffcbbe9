//! `jitterlab`, the one program people start: a thin edge that turns a command line into calls of
//! the rooms below, and their errors into messages and exit statuses.

#![forbid(unsafe_code)]

mod allocated;
mod choice;
mod commands;
mod cpus;
mod files;
mod itself;
mod loops;
mod outcome;
mod output;
mod peer;
mod picture;
mod priority;
mod shown;
mod status;
mod stopped;
mod ui;

use std::any::TypeId;
use std::process::ExitCode;

use clap::{Arg, CommandFactory, FromArgMatches, Parser};
use jitterlab_base::units::{Bandwidth, Bytes, Nanos, Percent};

#[derive(Parser)]
#[command(name = "jitterlab", version, about, propagate_version = true)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    #[command(flatten)]
    Work(Box<commands::Command>),
    #[command(flatten)]
    Itself(itself::Command),
}

fn main() -> ExitCode {
    if std::env::args_os().len() == 1 && commands::ui::has_terminal() {
        return outcome::report(commands::ui::run(commands::ui::Command::default()));
    }
    let command = quantities_may_be_negative(by_task(CommandLine::command()));
    let line = match CommandLine::from_arg_matches(&command.clone().get_matches()) {
        Ok(line) => line,
        Err(error) => error.exit(),
    };
    outcome::report(match line.command {
        Command::Work(work) => commands::run(*work),
        Command::Itself(asked) => itself::run(asked, command),
    })
}

/// Lists the commands by task in `--help`.
fn by_task(command: clap::Command) -> clap::Command {
    let mut list = String::new();
    for (task, names) in commands::TASKS.iter().chain([&itself::TASK]) {
        let lines: String = names
            .iter()
            .filter_map(|name| command.find_subcommand(name))
            .filter(|command| !command.is_hide_set())
            .map(|command| {
                let about = command.get_about().map(ToString::to_string);
                format!(
                    "  {:<9} {}\n",
                    command.get_name(),
                    about.unwrap_or_default()
                )
            })
            .collect();
        if !lines.is_empty() {
            list += &format!("{task}:\n{lines}\n");
        }
    }
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{list}Options:\n{{options}}\n"
    ))
}

/// `--mean -10us` is a wrong quantity, and not a list of options: that is said by who reads it.
fn quantities_may_be_negative(command: clap::Command) -> clap::Command {
    let is_quantity = |arg: &Arg| {
        let of = arg.get_value_parser().type_id();
        arg.get_action().takes_values()
            && [
                TypeId::of::<Nanos>(),
                TypeId::of::<Bytes>(),
                TypeId::of::<Bandwidth>(),
                TypeId::of::<Percent>(),
                TypeId::of::<f64>(),
            ]
            .iter()
            .any(|quantity| of == *quantity)
    };
    command
        .mut_args(|arg| {
            let quantity = is_quantity(&arg);
            if quantity {
                arg.allow_hyphen_values(true)
            } else {
                arg
            }
        })
        .mut_subcommands(quantities_may_be_negative)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The README has the groups of `--help` in the same order, and each with its commands; `Install` follows, which is not the program's.
    #[test]
    fn the_readme_lists_commands_by_the_same_tasks() {
        let readme = concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md");
        let readme = std::fs::read_to_string(readme).unwrap();
        let part = readme
            .split("\n## ")
            .find(|part| part.starts_with("Commands by task\n"));
        let groups = part.unwrap().split("\n**").skip(1);
        let groups = groups.map(|group| group.split_once("**\n").unwrap());
        let command = CommandLine::command();
        let is_shown = |name: &&&str| {
            let found = command.find_subcommand(name);
            found.is_some_and(|command| !command.is_hide_set())
        };
        let tasks = commands::TASKS.iter().chain([&itself::TASK]);
        let tasks = tasks.map(|&(task, names)| (task, names.iter().filter(is_shown).collect()));
        let tasks: Vec<(&str, Vec<&&str>)> = tasks.collect();
        let shown = tasks.iter().filter(|(_, names)| !names.is_empty());
        let headings: Vec<&str> = groups.clone().map(|(heading, _)| heading).collect();
        let expected = shown.clone().map(|(task, _)| *task).chain(["Install"]);
        assert_eq!(headings, expected.collect::<Vec<_>>());
        for ((task, names), (_, text)) in shown.zip(groups) {
            for name in names {
                let has = |it: &str| text.contains(&format!("{it}{name}"));
                assert!(
                    has("jitterlab ") || has("; `"),
                    "{task}: no `{name}` in {text}"
                );
            }
        }
    }

    #[test]
    fn help_lists_every_command_under_one_task() {
        let mut command = by_task(CommandLine::command());
        let help = command.render_help().to_string();
        for name in command
            .get_subcommands()
            .filter(|command| !command.is_hide_set())
            .map(clap::Command::get_name)
            // clap's own.
            .filter(|&name| name != "help")
        {
            let lines = help
                .lines()
                .filter(|line| line.split_whitespace().next() == Some(name));
            assert_eq!(lines.count(), 1, "{name}: {help}");
        }
        for task in ["Run experiments:", "Delay a program:", "Prepare nodes:"] {
            assert!(help.contains(&format!("\n{task}\n")), "{help}");
        }
        assert!(!help.contains("agent"), "{help}");
    }
}
