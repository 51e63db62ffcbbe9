//! Launchers of MPI programs: the environment of the ranks on other hosts.
//!
//! Ranks on this host inherit it, and MPICH's and Slurm's launchers hand theirs on to all. Open MPI's
//! mpirun hands on what it is told to.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Command;

use jitterlab_injector::environment;

use jitterlab_doctor::elf;

/// The name that Open MPI gives its launcher, whatever name leads to it.
const OPEN_MPI: &str = "orterun";
/// The variable that tells Open MPI what to hand on, if its command line does not. It refuses both.
const OPEN_MPI_LIST: &str = "OMPI_MCA_mca_base_env_list";
/// The parameter for that on its command line.
const OPEN_MPI_OPTION: &str = "mca_base_env_list";

/// Variables that are in the environment already, if anywhere.
const INHERITED: [&str; 3] = [
    environment::RECORDS,
    environment::CONTROL_DIR,
    environment::RANK,
];

/// Tells the launcher that `command` starts, if it is one that has to be told, to hand on to all ranks
/// what is set for `command` here; and gives `command` its arguments. Where these have a list of their own,
/// nothing can be added to it.
pub fn give_arguments(command: &mut Command, arguments: &[OsString]) {
    let has_list = arguments.iter().any(|argument| argument == OPEN_MPI_OPTION);
    if is_open_mpi(Path::new(command.get_program())) && !has_list {
        hand_on(command);
    }
    command.args(arguments);
}

fn hand_on(command: &mut Command) {
    let set = command
        .get_envs()
        .filter_map(|(name, value)| value.and(name.to_str()));
    let inherited = INHERITED
        .into_iter()
        .filter(|name| std::env::var_os(name).is_some());
    let names: Vec<String> = set.chain(inherited).map(str::to_owned).collect();
    match std::env::var(OPEN_MPI_LIST) {
        Ok(list) => {
            command.env(OPEN_MPI_LIST, format!("{list};{}", names.join(";")));
        }
        Err(_) => {
            for name in names {
                command.args(["-x", &name]);
            }
        }
    }
}

fn is_open_mpi(program: &Path) -> bool {
    elf::find(program)
        .and_then(|path| path.canonicalize().ok())
        .is_some_and(|path| path.file_name() == Some(OsStr::new(OPEN_MPI)))
}
