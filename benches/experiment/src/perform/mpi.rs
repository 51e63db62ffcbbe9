//! Runs over MPI: the command that starts the ranks, the files that it needs where they run, and
//! what `jitterlab-mpi` says of them.

use jitterlab_injector::units::Nanos;
use serde_json::Value;

use super::{Bench, Failed, Measured, REPORT, SEED, TABLE, words};
use crate::agent::protocol::{Ended, Program};
use crate::mpi::{ENVIRONMENT, PROGRAM};
use crate::record::Application;
use crate::samples;
use crate::spec::{Experiment, Launcher, LibraryCase, Mpi, Npb, Place};
use crate::worker::failure;

/// Names of files in a worker's directory.
const HOSTFILE: &str = "hostfile";
const AGENT: &str = "agent.sh";
const SAMPLES: &str = "samples.txt";

/// What starts ranks: a command, and the files that it reads.
#[derive(Debug, PartialEq)]
struct Launch {
    command: Vec<String>,
    files: Vec<(&'static str, String)>,
}

impl<'a> Bench<'a> {
    /// A run of the NAS Parallel Benchmarks; its run time is the one that it reports.
    pub(super) fn npb(
        &mut self,
        npb: &'a Npb,
        mpi: &'a Mpi,
        timeout: Nanos,
        prefix: Vec<String>,
    ) -> Result<Measured, Failed> {
        let program = words(&[PROGRAM, "npb", npb.kernel.name()]).chain(words(&[
            "--class",
            npb.class.name(),
            "--format",
            "json",
        ]));
        let printed = self.ranks(mpi, npb.ranks, prefix.into_iter().chain(program), timeout)?;
        let runtime_s = printed["time_s"].as_f64().ok_or("no time was reported")?;
        Ok(Measured {
            application: Some(Application { runtime_s }),
            mpi: Some(printed),
            ..Measured::default()
        })
    }

    /// A case of the library suite, with the samples of every rank.
    pub(super) fn library(
        &mut self,
        case: &'a LibraryCase,
        mpi: &'a Mpi,
        prefix: Vec<String>,
    ) -> Result<Measured, Failed> {
        let optional = |option: &str, value: Option<String>| {
            value
                .map(|value| [option.to_string(), value])
                .into_iter()
                .flatten()
        };
        let program = words(&[PROGRAM, "library", case.case.name(), "--format", "json"])
            .chain(words(&["--samples", SAMPLES]))
            .chain(words(&["--warmup", &case.warmup.to_string()]))
            .chain(optional("--size", case.size.map(|size| size.0.to_string())))
            .chain(optional(
                "--duration",
                case.duration.map(|time| time.to_string()),
            ))
            .chain(optional(
                "--iterations",
                case.iterations.map(|n| n.to_string()),
            ))
            .chain(optional(
                "--dimensions",
                case.dimensions.map(|n| n.to_string()),
            ))
            .chain(case.non_blocking.then(|| "--non-blocking".into()));
        let program = prefix.into_iter().chain(program);
        let mut printed = self.ranks(mpi, case.ranks, program, case.timeout)?;
        // What it is made of is kept: every sample of every rank.
        for point in printed["points"].as_array_mut().into_iter().flatten() {
            if let Some(point) = point.as_object_mut() {
                point.remove("heat_map");
            }
        }
        let text = self.hosts.worker(&mpi.on)?.take(SAMPLES)?;
        let ranks = samples::ranks_of_text(&String::from_utf8_lossy(&text))?;
        let parquet = samples::ranks_to_parquet(&ranks)
            .map_err(|error| format!("the samples cannot be kept: {error}"))?;
        Ok(Measured {
            samples: Some(parquet),
            mpi: Some(printed),
            ..Measured::default()
        })
    }

    /// Starts ranks of a command, waits for their end, and gives what rank 0 printed.
    fn ranks(
        &mut self,
        mpi: &'a Mpi,
        ranks: u32,
        rank: impl Iterator<Item = String>,
        timeout: Nanos,
    ) -> Result<Value, Failed> {
        let launch = launch(self.experiment, mpi, ranks, rank);
        let worker = self.hosts.worker(&mpi.on)?;
        for (name, content) in &launch.files {
            worker.put(name, content.as_bytes())?;
        }
        let program = Program {
            command: launch.command,
            // Ranks are bound by what starts them.
            cpu: None,
        };
        let ended = worker.run_to_end(program, timeout)?;
        printed(mpi.launcher, &ended, timeout)
    }

    /// Puts the files of an injection where ranks on other machines find them: in a directory of
    /// the name that the launcher's has.
    pub(super) fn spread(&mut self, mpi: &'a Mpi, files: &[(&str, &[u8])]) -> Result<(), String> {
        let elsewhere = elsewhere(self.experiment, mpi);
        if elsewhere.is_empty() {
            return Ok(());
        }
        let directory = self.directory(mpi)?;
        for host in elsewhere {
            let worker = self.hosts.worker(host)?;
            worker.run(command(&["mkdir", "-p", "-m", "700", &directory]), PROMPT)?;
            for (name, content) in files {
                worker.put(name, content)?;
                worker.run(command(&["mv", "-f", name, &directory]), PROMPT)?;
            }
        }
        Ok(())
    }

    /// What the library has reported of ranks, on whichever machine; and nothing stays there.
    pub(super) fn gather(&mut self, mpi: &'a Mpi) -> Result<Vec<u8>, String> {
        let own = self.hosts.worker(&mpi.on)?.take(REPORT);
        let elsewhere = elsewhere(self.experiment, mpi);
        if elsewhere.is_empty() {
            return own;
        }
        let directory = self.directory(mpi)?;
        let mut all = own.unwrap_or_default();
        for host in elsewhere {
            let worker = self.hosts.worker(host)?;
            let report = format!("{directory}/{REPORT}");
            // On a file system that machines share, the first has it all.
            if worker
                .run(command(&["mv", "-f", &report, "."]), PROMPT)
                .is_ok()
            {
                all.extend(worker.take(REPORT)?);
            }
            let files = [TABLE, SEED].map(|name| format!("{directory}/{name}"));
            worker.run(command(&["rm", "-f", &files[0], &files[1]]), PROMPT)?;
            let empty = ["rmdir", "--ignore-fail-on-non-empty", &directory];
            worker.run(command(&empty), PROMPT)?;
        }
        if all.is_empty() {
            return Err("no rank has reported".into());
        }
        Ok(all)
    }

    /// The directory that the launcher is started in, and ranks after it.
    fn directory(&mut self, mpi: &'a Mpi) -> Result<String, String> {
        let said = self.hosts.worker(&mpi.on)?.run(command(&["pwd"]), PROMPT)?;
        Ok(said.stdout.trim_end().to_string())
    }
}

/// Small commands end at once.
const PROMPT: Nanos = Nanos(10_000_000_000);

fn command(words: &[&str]) -> Program {
    Program {
        command: words.iter().map(|word| (*word).to_string()).collect(),
        cpu: None,
    }
}

/// The hosts of ranks that are other machines than the launcher's.
fn elsewhere<'a>(experiment: &'a Experiment, mpi: &'a Mpi) -> Vec<&'a str> {
    let names = mpi.hosts.keys().map(String::as_str);
    names
        .filter(|&name| name != mpi.on)
        .filter(|&name| matches!(experiment.hosts[name].at, Place::Ssh(_)))
        .collect()
}

/// The command that starts so many ranks of a program.
fn launch(
    experiment: &Experiment,
    mpi: &Mpi,
    ranks: u32,
    rank: impl Iterator<Item = String>,
) -> Launch {
    let mut files = Vec::new();
    let mut command: Vec<String> = Vec::new();
    if mpi.launcher == Launcher::Mpirun {
        command.push("env".into());
        command.extend(ENVIRONMENT.map(|(name, value)| format!("{name}={value}")));
        let on_one_machine = mpi.hosts.keys().filter(|name| {
            let at = &experiment.hosts[*name].at;
            **name == mpi.on || !matches!(at, Place::Ssh(_))
        });
        if on_one_machine.count() > 1 {
            // Each would take the first core for its own, and keep it while it waits.
            command.extend(words(&[
                "OMPI_MCA_hwloc_base_binding_policy=none",
                "OMPI_MCA_mpi_yield_when_idle=1",
            ]));
        }
    }
    command.push(mpi.launcher.name().into());
    if !mpi.hosts.is_empty() {
        files.push((HOSTFILE, hostfile(experiment, mpi)));
        files.push((AGENT, agent(experiment, mpi)));
        let agent = format!("sh {AGENT}");
        command.extend(words(&[
            "--hostfile",
            HOSTFILE,
            "--mca",
            "plm_rsh_agent",
            &agent,
        ]));
        // Only the first machine has the agent.
        command.extend(words(&["--mca", "plm_rsh_no_tree_spawn", "1"]));
    }
    command.extend(words(&["-n", &ranks.to_string()]));
    command.extend(mpi.arguments.iter().cloned());
    command.extend(rank);
    Launch { command, files }
}

/// The hosts as mpirun reads them: the one with rank 0 first.
fn hostfile(experiment: &Experiment, mpi: &Mpi) -> String {
    let others = mpi.hosts.iter().filter(|(name, _)| **name != mpi.on);
    let first = mpi.hosts.get_key_value(&mpi.on);
    first
        .into_iter()
        .chain(others)
        .filter_map(|(name, slots)| {
            Some(format!(
                "{} slots={slots}\n",
                experiment.hosts[name].address()?
            ))
        })
        .collect()
}

/// A script that mpirun starts where it would start `ssh HOST COMMAND`: it enters the host.
fn agent(experiment: &Experiment, mpi: &Mpi) -> String {
    let mut script = String::from("host=$1\nshift\ncase $host in\n");
    for name in mpi.hosts.keys().filter(|name| **name != mpi.on) {
        let host = &experiment.hosts[name];
        let enter = match &host.at {
            Place::Netns(namespace) => format!("ip netns exec {namespace} sh -c \"$*\""),
            Place::Ssh(destination) => {
                format!("ssh -T -o BatchMode=yes -o ConnectTimeout=10 -- {destination} \"$@\"")
            }
            Place::Local => continue,
        };
        if let Some(address) = host.address() {
            script.push_str(&format!("{address}) exec {enter} ;;\n"));
        }
    }
    script.push_str(
        "esac\necho \"jitterlab: no host of the experiment has the address $host\" >&2\nexit 1\n",
    );
    script
}

/// What rank 0 printed, or why there is nothing.
fn printed(launcher: Launcher, ended: &Ended, timeout: Nanos) -> Result<Value, Failed> {
    let printed: Option<Value> = serde_json::from_str(&ended.stdout).ok();
    if let Some(wrong) = printed
        .as_ref()
        .filter(|printed| printed["verified"] == false)
    {
        return Err(Failed::Once(unverified(wrong)));
    }
    let said = || {
        cause(&ended.stderr)
            .map(|line| format!(": {line}"))
            .unwrap_or_default()
    };
    match (failure(launcher.name(), ended, timeout), printed) {
        (None, Some(printed)) => Ok(printed),
        (None, None) => Err(format!("rank 0 printed no result{}", said()).into()),
        // What was asked for is wrong, and stays wrong.
        (Some(failure), _) if ended.status == Some(2) => Err(Failed::Always(
            cause(&ended.stderr).map_or(failure, str::to_string),
        )),
        (Some(failure), _) => Err(format!("{failure}{}", said()).into()),
    }
}

/// Which numbers of a benchmark's result are not those that are published.
fn unverified(printed: &Value) -> String {
    let checks = printed["checks"].as_array().into_iter().flatten();
    let wrong: Vec<String> = checks
        .filter(|check| check["passed"] == false)
        .map(|check| {
            let what = check["what"].as_str().unwrap_or("a number");
            format!(
                "{what} is {} and should be {}",
                check["value"], check["expected"]
            )
        })
        .collect();
    format!("the result is wrong: {}", wrong.join("; "))
}

/// The line that says why: ours where there is one, else the first of the launcher's that is one.
fn cause(stderr: &str) -> Option<&str> {
    let lines = || stderr.lines().map(str::trim);
    let ours = lines().find(|line| line.starts_with("jitterlab"));
    ours.or_else(|| lines().find(|line| line.contains(|c: char| c.is_alphabetic())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn experiment(mpi: &str) -> Experiment {
        let text = format!(
            "name: e\nseed: 1\nrepetitions: 1\nhosts:\n  a: {{ at: netns na, address: 10.0.0.1 }}\n  \
             b: {{ at: netns nb, address: 10.0.0.2 }}\n  c: {{ at: ssh me@far, address: 10.0.0.3 }}\n  \
             d: {{ at: local }}\nmpi: {mpi}\nsuites:\n  application:\n    - {{ name: x, npb: {{ kernel: ep, \
             class: S, ranks: 2 }} }}\n"
        );
        Experiment::parse(&text, Path::new("e.yaml")).unwrap()
    }

    fn launched(mpi: &str) -> (String, Vec<(&'static str, String)>) {
        let experiment = experiment(mpi);
        let program = words(&["jitterlab-mpi"]);
        let launch = launch(&experiment, experiment.mpi.as_ref().unwrap(), 2, program);
        (launch.command.join(" "), launch.files)
    }

    #[test]
    fn one_machine_needs_no_files() {
        assert_eq!(
            launched("{ on: d, arguments: [--mca, btl, 'self,tcp'] }"),
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
        let (command, files) = launched("{ on: d, launcher: srun, arguments: [--mpi=pmix] }");
        assert_eq!(command, "srun -n 2 --mpi=pmix jitterlab-mpi");
        assert!(files.is_empty());
    }

    #[test]
    fn hosts_are_entered_as_the_experiment_says() {
        let (command, files) = launched("{ on: b, hosts: { a: 1, b: 1, c: 2 } }");
        for part in [
            "binding_policy=none",
            "mpi_yield_when_idle=1",
            "--hostfile hostfile",
            "sh agent.sh",
        ] {
            assert!(command.contains(part), "{command}");
        }
        assert_eq!(
            files[0].1,
            "10.0.0.2 slots=1\n10.0.0.1 slots=1\n10.0.0.3 slots=2\n"
        );
        let agent = &files[1].1;
        assert!(
            agent.contains("10.0.0.1) exec ip netns exec na sh -c \"$*\" ;;"),
            "{agent}"
        );
        assert!(agent.contains("10.0.0.3) exec ssh -T "), "{agent}");
        assert!(!agent.contains("10.0.0.2)"), "{agent}");
        // Machines of their own bind their ranks.
        let (command, _) = launched("{ on: c, hosts: { c: 2 } }");
        assert!(!command.contains("binding"), "{command}");
    }

    fn ended(status: i32, stdout: &str, stderr: &str) -> Ended {
        Ended {
            status: Some(status),
            signal: None,
            timed_out: false,
            seconds: 1.0,
            stdout: stdout.into(),
            stderr: stderr.into(),
        }
    }

    #[test]
    fn what_ranks_say_decides_what_becomes_of_a_run() {
        let read = |ended: Ended| printed(Launcher::Mpirun, &ended, Nanos(1));
        assert!(read(ended(0, "{\"verified\":true}", "")).is_ok());
        let banner = "-------\nmpirun detected that one\n  Exit code: 2\n-------\n";
        let wrong = "{\"verified\":false,\"checks\":[{\"what\":\"zeta\",\"value\":1.5,\"expected\":8.6,\"passed\":false}]}";
        let Err(Failed::Once(reason)) = read(ended(1, wrong, banner)) else {
            panic!("it was taken")
        };
        assert_eq!(reason, "the result is wrong: zeta is 1.5 and should be 8.6");
        let said = format!("jitterlab-mpi: lu class S runs on a power of two\n{banner}");
        let Err(Failed::Always(reason)) = read(ended(2, "", &said)) else {
            panic!("it would be tried again")
        };
        assert!(reason.starts_with("jitterlab-mpi: lu class S"), "{reason}");
        let Err(Failed::Once(reason)) = read(ended(1, "", banner)) else {
            panic!("it was taken")
        };
        assert_eq!(
            reason,
            "mpirun ended with exit status 1: mpirun detected that one"
        );
    }
}
