//! `jitterlab ui`: the terminal UI.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::Duration;

use jitterlab_appliance::report::BootReport;
use jitterlab_base::units::Nanos;

use crate::outcome::{Exit, Failure};
use crate::output::print_text;
use crate::ui::attach::Elsewhere;
use crate::ui::headless::{self, Wanted};
use crate::ui::keys::Key;
use crate::ui::session;

/// Options of `jitterlab ui`.
#[derive(Default, clap::Args)]
pub struct Command {
    /// The folder that holds the experiment files and, in its folder `results`, what came of them. For a folder on another machine,
    /// write ssh://HOST/FOLDER; the UI then runs there [default: the working directory; on a node booted from the image, its disk]
    folder: Option<PathBuf>,
    /// Print what this screen shows, without a terminal: Node, Noise, Suites, Live, Injector, Messages, Results, Validate or Log
    #[arg(long, value_name = "SCREEN")]
    print: Option<String>,
    /// With --print: how long to watch before printing
    #[arg(long, default_value = "3s", requires = "print")]
    watch: Nanos,
    /// With --print: keys to press. The command watches as long as --watch says, presses the keys, and watches as long again. A key
    /// is a character, or a name such as Enter, Esc, Space or Down
    #[arg(long, value_delimiter = ' ', requires = "print")]
    keys: Vec<Key>,
    /// Columns and rows of what is printed
    #[arg(long, default_value = "80x24", value_parser = size, requires = "print")]
    size: (u16, u16),
    /// Print an SVG with colours
    #[arg(long, requires = "print")]
    svg: bool,
}

fn size(text: &str) -> Result<(u16, u16), String> {
    const MOST: u16 = 1000;
    let both = text.split_once('x').and_then(|(columns, rows)| {
        let both = (columns.parse().ok()?, rows.parse().ok()?);
        let is_it = |n: u16| (1..=MOST).contains(&n);
        (is_it(both.0) && is_it(both.1)).then_some(both)
    });
    both.ok_or_else(|| format!("a size is COLUMNSxROWS, such as 80x24, each at most {MOST}"))
}

/// True if there is a terminal to show it on.
pub fn has_terminal() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

/// Shows it until somebody leaves it.
pub fn run(command: Command) -> Result<Exit, Failure> {
    if command.print.is_none() && !has_terminal() {
        return Err(Failure::input(
            "the terminal UI needs a terminal as its stdin and stdout; without a terminal, use `jitterlab run`, \
             `check`, `noise run` and `ui --print SCREEN`",
        ));
    }
    let address = command.folder.as_ref().and_then(|folder| folder.to_str());
    match (address.and_then(Elsewhere::of), &command.print) {
        (None, _) => {}
        (Some(elsewhere), None) => return elsewhere?.show(),
        (Some(_), Some(_)) => {
            return Err(Failure::input(
                "--print is of a folder of this machine: on another one, start it there, as with `ssh HOST jitterlab ui --print …`",
            ));
        }
    }
    let folder = command.folder.unwrap_or_else(usual_folder);
    if !folder.is_dir() {
        return Err(Failure::input(format!(
            "{} is no folder: give the one where experiment files and results/ are",
            folder.display()
        )));
    }
    match command.print {
        None => session::run(folder)?,
        Some(screen) => {
            let wanted = Wanted {
                screen,
                watch: Duration::from_nanos(command.watch.0),
                keys: command.keys,
                size: command.size,
                svg: command.svg,
            };
            print_text(headless::picture(folder, &wanted)?)?;
        }
    }
    Ok(Exit::Done)
}

/// The volume of an appliance that has one; where this program is, otherwise.
fn usual_folder() -> PathBuf {
    let volume = BootReport::load().ok().and_then(|report| report.volume);
    volume.map_or_else(|| ".".into(), PathBuf::from)
}
