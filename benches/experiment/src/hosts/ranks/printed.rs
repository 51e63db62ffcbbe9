//! The output of `jitterlab-mpi` and its launcher.

use jitterlab_base::units::Nanos;
use jitterlab_cluster::{Ended, failure};
use jitterlab_mpi_results::{library, load, npb};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::command::Failed;
use crate::mpi::PROGRAM;
use crate::scene::Launcher;

/// The output of rank 0.
pub trait Printed: DeserializeOwned {
    /// The number of ranks that it speaks of.
    fn ranks(&self) -> usize;

    /// The fault of what was computed, for people.
    fn wrong(&self) -> Option<String>;
}

impl Printed for library::Report {
    fn ranks(&self) -> usize {
        self.ranks
    }

    fn wrong(&self) -> Option<String> {
        None
    }
}

impl Printed for load::Report {
    fn ranks(&self) -> usize {
        self.ranks
    }

    fn wrong(&self) -> Option<String> {
        None
    }
}

impl Printed for npb::Report {
    fn ranks(&self) -> usize {
        self.ranks
    }

    /// The numbers that are not those that are published.
    fn wrong(&self) -> Option<String> {
        let wrong = self.checks.iter().filter(|check| !check.passed);
        let wrong: Vec<String> = wrong
            .map(|check| {
                let npb::Check {
                    what,
                    value,
                    expected,
                    ..
                } = check;
                format!("{what} is {value} and should be {expected}")
            })
            .collect();
        (!self.verified).then(|| format!("the result is wrong: {}", wrong.join("; ")))
    }
}

/// The output of rank 0 of so many, or the reason why there is none.
pub fn printed<R: Printed>(
    launcher: Launcher,
    ranks: u32,
    ended: &Ended,
    timeout: Nanos,
) -> Result<R, Failed> {
    let objects = ended.stdout.lines().filter_map(object);
    let printed: Vec<R> = objects
        .map(serde_json::from_value)
        .collect::<Result<_, _>>()
        .map_err(|error| {
            Failed::Always(format!(
                "the result of {PROGRAM} cannot be read: {error}; it has to be of the same build as jitterlab"
            ))
        })?;
    if let Some(wrong) = printed.iter().find_map(R::wrong) {
        return Err(Failed::Once(wrong));
    }
    if printed.len() > 1
        || printed
            .iter()
            .any(|printed| printed.ranks() != ranks as usize)
    {
        return Err(strangers(launcher));
    }
    // A launcher that is asked to end says so, and that is no reason.
    let why = || cause(&ended.stderr).filter(|_| !ended.timed_out);
    let said = || why().map(|why| format!(": {why}")).unwrap_or_default();
    match (
        failure(launcher.name(), ended, timeout),
        printed.into_iter().next(),
    ) {
        (None, Some(printed)) => Ok(printed),
        (None, None) => Err(format!("rank 0 printed no result{}", said()).into()),
        (Some(_), _) if refusals(&ended.stderr) > 1 => Err(strangers(launcher)),
        // The request was wrong, and stays wrong.
        (Some(failure), _) if ended.status == Some(2) => {
            Err(Failed::Always(why().unwrap_or(failure)))
        }
        (Some(failure), _) => Err(format!("{failure}{}", said()).into()),
    }
}

/// A result, if a line is one. Between them stands what others print: a prologue of Slurm, a warning of the MPI.
fn object(line: &str) -> Option<Value> {
    serde_json::from_str(line).ok().filter(Value::is_object)
}

/// The number of refusals. Rank 0 says it, and no other.
fn refusals(stderr: &str) -> usize {
    let begin = format!("{PROGRAM}: ");
    stderr
        .lines()
        .filter(|line| line.starts_with(&begin))
        .count()
}

/// Each rank took itself for the only one.
fn strangers(launcher: Launcher) -> Failed {
    let launcher = launcher.name();
    Failed::Always(format!(
        "the ranks that {launcher} started know nothing of each other: it is not of the MPI that {PROGRAM} was built \
         with, or they speak no common PMI (`srun --mpi=list` names those of Slurm; `arguments: [--mpi=pmix]` chooses)"
    ))
}

/// The text that says why: a line of ours where there is one, else a paragraph of the launcher's. That is the one with
/// the signal that a rank died of, or with the missing PMI, or the first.
fn cause(stderr: &str) -> Option<String> {
    let mut lines = stderr.lines().map(str::trim);
    if let Some(ours) = lines.find(|line| line.starts_with("jitterlab")) {
        return Some(ours.into());
    }
    let mut paragraphs = vec![Vec::new()];
    for line in stderr.lines() {
        match paragraphs.last_mut() {
            Some(words) if line.contains(char::is_alphabetic) => {
                words.extend(line.split_whitespace())
            }
            _ => paragraphs.push(Vec::new()),
        }
    }
    paragraphs.retain(|words| !words.is_empty());
    let telling = |words: &&Vec<&str>| words.contains(&"signal") || words.contains(&"PMI");
    let paragraph = paragraphs.iter().find(telling).or(paragraphs.first())?;
    let paragraph = paragraph.join(" ");
    Some(paragraph.chars().take(LONGEST_CAUSE).collect())
}

/// Characters. Launchers say what they have to say at the beginning.
const LONGEST_CAUSE: usize = 400;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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

    fn read(ended: Ended) -> Result<npb::Report, Failed> {
        printed(Launcher::Mpirun, 2, &ended, Nanos(1))
    }

    /// The line of a benchmark on so many ranks.
    fn line(ranks: usize, checks: Value) -> String {
        let verified = checks.as_array().unwrap().is_empty();
        let report = json!({
            "kernel": "cg", "class": "S", "ranks": ranks, "time_s": 1.0, "mops": 1.0, "verified": verified,
            "checks": checks, "messages": 0, "bytes": 0, "collectives": 0, "collective_bytes": 0, "mpi_share": null,
            "memory_bytes": [null], "phases": [[]]
        });
        format!("{report}\n")
    }

    fn good() -> String {
        line(2, json!([]))
    }

    #[test]
    fn the_result_is_found_among_what_others_print() {
        let noisy = format!("prologue: 3 GPUs\n{}[1,2]\n", good());
        assert_eq!(read(ended(0, &noisy, "")).unwrap().ranks, 2);
        let Err(Failed::Once(reason)) = read(ended(0, "Segmentation fault\n", "")) else {
            panic!("it was taken")
        };
        assert_eq!(reason, "rank 0 printed no result");
    }

    #[test]
    fn what_ranks_say_decides_what_becomes_of_a_run() {
        let banner = "-------\nmpirun detected that one\n  Exit code: 2\n-------\n";
        let zeta = json!({
            "what": "zeta", "value": 1.5, "expected": 8.6, "error": 0.8, "tolerance": 1e-10, "passed": false
        });
        let wrong = line(2, json!([zeta]));
        let Err(Failed::Once(reason)) = read(ended(1, &wrong, banner)) else {
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
            "mpirun ended with exit status 1: mpirun detected that one Exit code: 2"
        );
        let late = Ended {
            timed_out: true,
            ..ended(1, "", banner)
        };
        assert_eq!(
            read(late),
            Err(Failed::Once("mpirun did not end within 1ns".into()))
        );
        let signal = format!(
            "{banner}-----\nmpirun noticed that rank 1\nexited on signal 9 (Killed).\n----\n"
        );
        let Err(Failed::Once(reason)) = read(ended(137, &good(), &signal)) else {
            panic!("it was taken")
        };
        assert_eq!(
            reason,
            "mpirun ended with exit status 137, as after signal 9: mpirun noticed that rank 1 exited on signal 9 (Killed)."
        );
    }

    #[test]
    fn ranks_that_are_each_alone_have_the_wrong_launcher() {
        let alone = line(1, json!([]));
        let refused = "jitterlab-mpi: barrier is between 2 ranks at least\n";
        for ended in [
            ended(0, &alone, ""),
            ended(0, &alone.repeat(2), ""),
            ended(2, "", &refused.repeat(2)),
        ] {
            let Err(Failed::Always(reason)) = read(ended) else {
                panic!("it was taken")
            };
            assert!(reason.contains("know nothing of each other"), "{reason}");
        }
    }

    #[test]
    fn a_result_of_another_build_is_no_result() {
        let renamed = good().replace("time_s", "seconds");
        let Err(Failed::Always(reason)) = read(ended(0, &renamed, "")) else {
            panic!("it was taken")
        };
        assert!(reason.contains("missing field `time_s`"), "{reason}");
    }
}
