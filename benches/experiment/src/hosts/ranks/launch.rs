//! The command that starts ranks, and the files that it reads.

use std::path::Path;

use jitterlab_base::units::Nanos;
use jitterlab_cluster::ssh::{self, KNOWN_HOSTS};
use jitterlab_cluster::{Ended, Host, Place, Trust, failure};

use crate::command::words;
use crate::mpi::{ALLOCATION, ENVIRONMENT};
use crate::scene::{Launcher, Mpi, Scene};

/// Names of files in a worker's directory.
const HOSTFILE: &str = "hostfile";
const AGENT: &str = "agent.sh";

/// The MPI that an mpirun belongs to: each tells it of hosts in its own way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mpirun {
    OpenMpi,
    /// Hydra, of MPICH and those that come from it.
    Mpich,
}

impl Mpirun {
    /// The MPI by what `mpirun --version` has said.
    ///
    /// # Errors
    /// It is of neither; for people.
    pub fn of(version: &Ended, timeout: Nanos) -> Result<Self, String> {
        let said = format!("{}{}", version.stdout, version.stderr);
        if said.contains("Open MPI") || said.contains("OpenRTE") {
            return Ok(Mpirun::OpenMpi);
        }
        if said.to_ascii_lowercase().contains("hydra") {
            return Ok(Mpirun::Mpich);
        }
        let line = said.lines().find(|line| !line.trim().is_empty());
        let line = line
            .map(str::to_string)
            .or_else(|| failure("it", version, timeout));
        Err(format!(
            "this mpirun is neither Open MPI's nor MPICH's and may not understand `hosts`: leave them out, and tell it \
             in `arguments` where ranks run; `mpirun --version`: {}",
            line.as_deref().unwrap_or("nothing")
        ))
    }
}

/// The launch of ranks: a command, and the files that it reads.
#[derive(Debug, PartialEq)]
pub struct Launch {
    pub command: Vec<String>,
    pub files: Vec<(&'static str, String)>,
}

/// The command that starts so many ranks of a program. Whose mpirun it is matters where there are hosts.
pub fn launch(
    scene: Scene,
    mpi: &Mpi,
    mpirun: Mpirun,
    ranks: u32,
    rank: impl Iterator<Item = String>,
) -> Launch {
    let (before, after, files) = match mpi.launcher {
        // Without this option, the others wait for a dead rank until the time of the run is over.
        Launcher::Srun => (Vec::new(), vec!["--kill-on-bad-exit=1".into()], Vec::new()),
        Launcher::Mpirun if mpi.hosts.is_empty() => (environment(&[], &[]), Vec::new(), Vec::new()),
        Launcher::Mpirun => on_hosts(scene, mpi, mpirun),
    };
    let command = before
        .into_iter()
        .chain([mpi.launcher.name().into()])
        .chain(after)
        .chain(words(&["-n", &ranks.to_string()]))
        .chain(mpi.arguments.iter().cloned())
        .chain(rank);
    Launch {
        command: command.collect(),
        files,
    }
}

/// The words before mpirun, those after it, and its files, where the experiment names hosts.
fn on_hosts(
    scene: Scene,
    mpi: &Mpi,
    mpirun: Mpirun,
) -> (Vec<String>, Vec<String>, Vec<(&'static str, String)>) {
    let mut files = vec![
        (HOSTFILE, hostfile(scene, mpi, mpirun)),
        (AGENT, agent(scene, mpi)),
    ];
    let hosts = scene.hosts.iter();
    let known = ssh::known_hosts(hosts.map(|(name, host)| (name.as_str(), host)));
    if !known.is_empty() {
        files.push((KNOWN_HOSTS, known));
    }
    // The file says where ranks run, and not the allocation that this may be in.
    let before = |variables: &[(&str, &str)]| {
        environment(&["-u", ALLOCATION, "-u", "SLURM_JOBID"], variables)
    };
    let (before, after) = match mpirun {
        Mpirun::OpenMpi => {
            let here = mpi
                .hosts
                .keys()
                .filter(|&name| *name == mpi.on || !matches!(scene.hosts[name].at, Place::Ssh(_)));
            let variables: &[(&str, &str)] = match here.count() {
                0..=1 => &[],
                // Each would take the first core for its own, and keep it while it waits.
                _ => &[
                    ("OMPI_MCA_hwloc_base_binding_policy", "none"),
                    ("OMPI_MCA_mpi_yield_when_idle", "1"),
                ],
            };
            let agent = format!("sh {AGENT}");
            // Only the first machine has the agent.
            let directly = ["--mca", "plm_rsh_no_tree_spawn", "1"];
            let after = words(&["--hostfile", HOSTFILE])
                .chain(words(&["--mca", "plm_rsh_agent", &agent]))
                .chain(words(&directly))
                .chain(words(&["-x", jitterlab_live::PLACE]));
            (before(variables), after.collect())
        }
        Mpirun::Mpich => {
            let address = scene.hosts[&mpi.on].address();
            let own = address.map(|address| ["-localhost".into(), address.to_string()]);
            let after = words(&["-f", HOSTFILE, "-launcher", "rsh"])
                .chain(words(&["-launcher-exec", "/bin/sh"]))
                .chain(own.into_iter().flatten());
            let variables = [("HYDRA_LAUNCHER_EXTRA_ARGS", AGENT)];
            (before(&variables), after.collect())
        }
    };
    (before, after, files)
}

/// `env` with options, and with the variables that mpirun finds besides those that it always does.
fn environment(options: &[&str], variables: &[(&str, &str)]) -> Vec<String> {
    let variables = ENVIRONMENT.iter().chain(variables);
    let set = variables.map(|(name, value)| format!("{name}={value}"));
    words(&["env"]).chain(words(options)).chain(set).collect()
}

/// The hosts as mpirun reads them: the one with rank 0 first.
fn hostfile(scene: Scene, mpi: &Mpi, mpirun: Mpirun) -> String {
    let others = mpi.hosts.iter().filter(|(name, _)| **name != mpi.on);
    let first = mpi.hosts.get_key_value(&mpi.on);
    first
        .into_iter()
        .chain(others)
        .filter_map(|(name, slots)| {
            let address = scene.hosts[name].address()?;
            Some(match mpirun {
                Mpirun::OpenMpi => format!("{address} slots={slots}\n"),
                Mpirun::Mpich => format!("{address}:{slots}\n"),
            })
        })
        .collect()
}

/// A script that mpirun starts where it would start `ssh HOST COMMAND`: it enters the host.
fn agent(scene: Scene, mpi: &Mpi) -> String {
    let mut script = String::from("host=$1\nshift\ncase $host in\n");
    for name in mpi.hosts.keys().filter(|name| **name != mpi.on) {
        let host = &scene.hosts[name];
        if let (Some(address), Some(enter)) = (host.address(), enter(name, host, scene.trust)) {
            script.push_str(&format!("{address}) {enter} ;;\n"));
        }
    }
    script.push_str(
        "esac\necho \"jitterlab: no host of the experiment has the address $host\" >&2\nexit 1\n",
    );
    script
}

/// A line of shell that runs the command in `$@` on another host, of this name, and ends with it. The command is meant for a shell; names
/// and paths
/// of the experiment file hold nothing that one would read more into.
fn enter(name: &str, host: &Host, trust: Trust) -> Option<String> {
    match &host.at {
        Place::Local => None,
        // All have the temporary files of this machine. If eight daemons of Open MPI started at once, one ended now and
        // then, and mpirun waited for it for ever. That is over since each has a place of its own. Its #3818 and #8510 tell
        // of daemons that make and remove the same directory at the same time.
        Place::Netns(namespace) => Some(format!(
            "mkdir -p tmp-{name} && TMPDIR=$PWD/tmp-{name} exec ip netns exec {namespace} sh -c \"$*\""
        )),
        Place::Ssh(destination) => {
            // Ranks are found where the worker's program is.
            let program = host.jitterlab.as_deref();
            let path = match program.and_then(|path| path.rsplit_once('/')) {
                None => String::new(),
                Some((folder, _)) => {
                    let home = if folder.is_empty() || folder.starts_with('/') {
                        ""
                    } else {
                        "$HOME/"
                    };
                    format!("'PATH={home}{folder}/:$PATH; export PATH;' ")
                }
            };
            // It is started in the worker's directory.
            let options = ssh::options(name, host, trust, Path::new(KNOWN_HOSTS)).join(" ");
            Some(format!("exec ssh {options} -- {destination} {path}\"$@\""))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Experiment;

    fn launched(mpi: &str, mpirun: Mpirun) -> (String, Vec<(&'static str, String)>) {
        let text = format!(
            "name: e\nseed: 1\nrepetitions: 1\nhosts:\n  a: {{ at: netns na, address: 10.0.0.1 }}\n  \
             b: {{ at: netns nb, address: 10.0.0.2 }}\n  c: {{ at: ssh me@far, address: 10.0.0.3 }}\n  \
             d: {{ at: local }}\n  e: {{ at: ssh far2, address: 10.0.0.5, jitterlab: /opt/j/jitterlab }}\n\
             mpi: {mpi}\nsuites:\n  application:\n    - {{ name: x, npb: {{ kernel: ep, class: S, ranks: 2 }} }}\n"
        );
        let experiment = Experiment::parse(&text, Path::new("e.yaml")).unwrap();
        let program = words(&["jitterlab-mpi"]);
        let mpi = experiment.mpi.as_ref().unwrap();
        let launch = launch(experiment.scene(), mpi, mpirun, 2, program);
        (launch.command.join(" "), launch.files)
    }

    #[test]
    fn one_machine_needs_no_files() {
        assert_eq!(
            launched(
                "{ on: d, arguments: [--mca, btl, 'self,tcp'] }",
                Mpirun::OpenMpi
            ),
            (
                "env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
                 OMPI_MCA_rmaps_base_oversubscribe=1 mpirun -n 2 --mca btl self,tcp jitterlab-mpi"
                    .into(),
                Vec::new()
            )
        );
    }

    #[test]
    fn an_allocation_of_slurm_says_where_ranks_run() {
        let mpi = "{ on: d, launcher: srun, arguments: [--mpi=pmix] }";
        let (command, files) = launched(mpi, Mpirun::OpenMpi);
        assert_eq!(
            command,
            "srun --kill-on-bad-exit=1 -n 2 --mpi=pmix jitterlab-mpi"
        );
        assert!(files.is_empty());
    }

    #[test]
    fn hosts_are_entered_as_the_experiment_says() {
        let (command, files) = launched(
            "{ on: b, hosts: { a: 1, b: 1, c: 2, e: 1 } }",
            Mpirun::OpenMpi,
        );
        for part in [
            "env -u SLURM_JOB_ID ",
            "binding_policy=none",
            "mpi_yield_when_idle=1 mpirun --hostfile hostfile ",
            "sh agent.sh",
            " -x JITTERLAB_LIVE",
        ] {
            assert!(command.contains(part), "{command}");
        }
        assert_eq!(
            files[0].1,
            "10.0.0.2 slots=1\n10.0.0.1 slots=1\n10.0.0.3 slots=2\n10.0.0.5 slots=1\n"
        );
        let agent = &files[1].1;
        for line in [
            "TMPDIR=$PWD/tmp-a exec ip netns exec na sh -c \"$*\" ;;",
            "-- me@far \"$@\" ;;",
            "-- far2 'PATH=/opt/j/:$PATH; export PATH;' \"$@\" ;;",
        ] {
            assert!(agent.contains(line), "{agent}");
        }
        assert!(!agent.contains("10.0.0.2)"), "{agent}");
        // Machines of their own bind their ranks.
        let (command, _) = launched("{ on: c, hosts: { c: 2, e: 1 } }", Mpirun::OpenMpi);
        assert!(!command.contains("binding"), "{command}");
    }

    #[test]
    fn hosts_are_known_by_the_keys_that_are_named() {
        let key =
            "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILM+rvN+ot98qgEN796jTiQfZfG1KaT0PtFDJ/XFSqti";
        let text = format!(
            "name: e\nseed: 1\nrepetitions: 1\ntrust: first-use\nhosts:\n  a: {{ at: local, address: 10.0.0.1 }}\n  \
             b: {{ at: ssh far, address: 10.0.0.2, host_keys: [{key} root@far] }}\n  \
             c: {{ at: ssh farther, address: 10.0.0.3 }}\nmpi: {{ on: a, hosts: {{ a: 1, b: 1, c: 1 }} }}\n\
             suites:\n  application:\n    - {{ name: x, npb: {{ kernel: ep, class: S, ranks: 2 }} }}\n"
        );
        let experiment = Experiment::parse(&text, Path::new("e.yaml")).unwrap();
        let mpi = experiment.mpi.as_ref().unwrap();
        let launch = launch(experiment.scene(), mpi, Mpirun::OpenMpi, 2, words(&["p"]));
        let (name, known) = launch.files.last().unwrap();
        assert_eq!(
            (*name, known.as_str()),
            ("known_hosts", format!("b {key}\n").as_str())
        );
        let agent = &launch.files[1].1;
        let line = |name: &str| agent.lines().find(|line| line.contains(name)).unwrap();
        for option in [
            "-o UserKnownHostsFile=known_hosts ",
            "-o HostKeyAlias=b ",
            "-o StrictHostKeyChecking=yes ",
        ] {
            assert!(line("-- far ").contains(option), "{agent}");
        }
        assert!(!line("-- far ").contains("accept-new"), "{agent}");
        assert!(
            line("-- farther ").contains("-o StrictHostKeyChecking=accept-new "),
            "{agent}"
        );
    }

    #[test]
    fn hosts_are_said_to_mpich_in_its_own_way() {
        let (command, files) = launched("{ on: b, hosts: { a: 1, b: 3 } }", Mpirun::Mpich);
        assert_eq!(
            command,
            "env -u SLURM_JOB_ID -u SLURM_JOBID OMPI_ALLOW_RUN_AS_ROOT=1 \
             OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 HYDRA_LAUNCHER_EXTRA_ARGS=agent.sh mpirun -f hostfile -launcher rsh \
             -launcher-exec /bin/sh -localhost 10.0.0.2 -n 2 jitterlab-mpi"
        );
        assert_eq!(files[0].1, "10.0.0.2:3\n10.0.0.1:1\n");
    }

    #[test]
    fn it_is_known_whose_mpirun_it_is() {
        let of = |stdout: &str| {
            let version = Ended {
                status: Some(0),
                signal: None,
                timed_out: false,
                seconds: 0.1,
                stdout: stdout.into(),
                stderr: String::new(),
            };
            Mpirun::of(&version, Nanos(1))
        };
        assert_eq!(of("mpirun (Open MPI) 4.1.4\n"), Ok(Mpirun::OpenMpi));
        assert_eq!(of("HYDRA build details:\n"), Ok(Mpirun::Mpich));
        let other = of("\nanother 1.0\n").unwrap_err();
        assert!(
            other.ends_with("`mpirun --version`: another 1.0"),
            "{other}"
        );
    }
}
