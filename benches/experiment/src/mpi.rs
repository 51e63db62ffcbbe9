//! The needs of ranks over MPI, and what to do where they are missing.

use crate::scene::Launcher;

/// The program of ranks.
pub const PROGRAM: &str = "jitterlab-mpi";

/// The variables for Open MPI's launcher. The user who runs it as root has decided that already, and more ranks than
/// CPUs are a person's choice, too.
pub const ENVIRONMENT: [(&str, &str); 3] = [
    ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
    ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
    ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
];

/// The variable that Slurm sets for what runs in an allocation.
pub const ALLOCATION: &str = "SLURM_JOB_ID";

const BUILD: &str = "`cargo build --release -p jitterlab-mpi`";

/// The needs of ranks that are missing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Missing {
    /// The program that starts them.
    pub launcher: Option<Launcher>,
    /// [`PROGRAM`].
    pub program: bool,
}

impl Missing {
    /// Says in one message what `place` has not, and how to come by it; nothing where all is there.
    pub fn on(self, place: &str) -> Option<String> {
        let Missing { launcher, program } = self;
        let install = "on Debian, `apt-get install libopenmpi-dev openmpi-bin`";
        // The bindings of an MPI are made with libclang.
        let install_and_build =
            "on Debian, `apt-get install libopenmpi-dev openmpi-bin libclang-dev`";
        let built = format!("build it with {BUILD}, which needs an MPI ({install_and_build})");
        let what = match (launcher, program) {
            (None, false) => return None,
            (None, true) => {
                format!("no {PROGRAM}, beside jitterlab or where its PATH leads: {built}")
            }
            (Some(Launcher::Mpirun), false) => format!("no mpirun: {install}"),
            (Some(Launcher::Mpirun), true) => {
                format!("neither mpirun nor {PROGRAM}: {install_and_build}, then {BUILD}")
            }
            (Some(Launcher::Srun), false) => {
                "no srun, which is Slurm's; the launcher mpirun needs none".into()
            }
            (Some(Launcher::Srun), true) => format!(
                "neither srun, which is Slurm's (the launcher mpirun needs none), nor {PROGRAM}: {built}"
            ),
        };
        Some(format!("{place} has {what}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_missing_is_said_at_once() {
        let said = |launcher, program| Missing { launcher, program }.on("host a");
        assert_eq!(said(None, false), None);
        for launcher in [Launcher::Mpirun, Launcher::Srun] {
            for program in [false, true] {
                let said = said(Some(launcher), program).unwrap();
                assert!(said.contains(launcher.name()), "{said}");
                assert_eq!(said.contains(PROGRAM), program, "{said}");
            }
        }
        let said = said(Some(Launcher::Mpirun), true).unwrap();
        assert_eq!(
            said,
            "host a has neither mpirun nor jitterlab-mpi: on Debian, `apt-get install libopenmpi-dev openmpi-bin \
             libclang-dev`, then `cargo build --release -p jitterlab-mpi`"
        );
    }
}
