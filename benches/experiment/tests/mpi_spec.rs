//! What is started over MPI in the experiment file: what is wrong is told with its place.

use std::path::Path;

use jitterlab_base::yaml::FileError;
use jitterlab_experiment::level::LevelKind;
use jitterlab_experiment::schedule::schedule;
use jitterlab_experiment::spec::{Experiment, Hook, Launcher};
use jitterlab_experiment::suites::{Case, Measures, Work, library};

const GOOD: &str = "\
name: suites
seed: 1
repetitions: 2
hosts:
  n1: { at: netns one, address: 10.0.0.1 }
  n2: { at: netns two, address: 10.0.0.2 }
  here: { at: local }
mpi:
  on: n1
  hosts: { n1: 2, n2: 2 }
  arguments: [--mca, btl, 'self,tcp']
  hook: socket
suites:
  library:
    - { case: barrier, ranks: 4, duration: 100ms }
    - { case: ping-pong, name: large, ranks: 2, size: 64KiB, iterations: 0.1k, non_blocking: true }
    - { case: halo-exchange, ranks: 4, dimensions: 2, duration: 1s, warmup: 0s }
  application:
    - { name: lu, npb: { kernel: lu, class: S, ranks: 4 }, expected: 5s }
    - { name: other, client: { on: here, command: [mpirun, true] }, hook: mpi }
";

fn parse(text: &str) -> Result<Experiment, FileError> {
    Experiment::parse(text, Path::new("e.yaml"))
}

#[test]
fn a_good_file_is_read_and_its_runs_are_scheduled() {
    let experiment = parse(GOOD).unwrap();
    let mpi = experiment.mpi.as_ref().unwrap();
    assert_eq!((mpi.launcher, mpi.hook), (Launcher::Mpirun, Hook::Socket));
    let least = parse(&GOOD.replace("  hook: socket\n", "")).unwrap();
    assert_eq!(least.mpi.unwrap().hook, Hook::Mpi);
    let runs = schedule(&experiment, experiment.repetitions.first());
    let mut ids: Vec<String> = runs.iter().map(|run| run.id()).collect();
    ids.sort();
    assert_eq!(
        ids,
        [
            "application-lu.none.r1",
            "application-lu.none.r2",
            "application-other.none.r1",
            "application-other.none.r2",
            "library-barrier.none.r1",
            "library-barrier.none.r2",
            "library-halo-exchange.none.r1",
            "library-halo-exchange.none.r2",
            "library-large.none.r1",
            "library-large.none.r2",
        ]
    );
    for run in runs {
        assert!(run.work.levels().contains(&LevelKind::None));
        let (on, hook, least) = match run.work {
            Work::Application(work) if work.mpi().is_none() => ("here", Hook::Mpi, 1.0),
            Work::Application(_) => ("n1", Hook::Socket, 5.0),
            Work::Library(library::Work { case, .. }) => {
                let least = match case.name() {
                    "barrier" => 0.2,
                    "large" => 0.1,
                    _ => 1.0,
                };
                ("n1", Hook::Socket, least)
            }
            Work::Packet(..) | Work::Amvia(..) => panic!("there is no such case"),
        };
        assert_eq!(run.work.measures_on(), on);
        assert_eq!(run.work.hook(), Some(hook));
        assert!((run.work.least_seconds() - least).abs() < 1e-9);
    }
}

/// What is changed in the good file, where the error is then, and a part of what it says.
const WRONG: &[(&str, &str, (usize, usize), &str)] = &[
    ("on: n1", "on: n3", (9, 7), "there is no host `n3`"),
    ("  on: n1\n", "", (9, 3), "missing key `on`"),
    (
        "hook: socket",
        "hook: sockets",
        (12, 9),
        "did you mean `socket`?",
    ),
    (
        "hook: socket",
        "launcher: mpiexec",
        (12, 13),
        "expected `mpirun` or `srun`",
    ),
    (
        "hook: socket",
        "launcher: srun",
        (10, 10),
        "under srun the allocation places the ranks",
    ),
    (
        "{ n1: 2, n2: 2 }",
        "{ n2: 4 }",
        (10, 10),
        "`hosts` must contain `n1`",
    ),
    (
        "{ n1: 2, n2: 2 }",
        "{ n1: 2, n3: 2 }",
        (10, 23),
        "the hosts are `here`, `n1`, `n2`",
    ),
    (
        "{ n1: 2, n2: 2 }",
        "{ n1: 4, n2: 0 }",
        (10, 23),
        "at least one rank",
    ),
    (
        "{ n1: 2, n2: 2 }",
        "{ n1: 4, here: 1 }",
        (7, 9),
        "needs an `address`",
    ),
    ("  n2: {", "  n2;reboot: {", (6, 14), "no name of a host"),
    (", address: 10.0.0.2", "", (6, 7), "needs an `address`"),
    ("10.0.0.2", "10.0.0.1", (10, 23), "have one address"),
    (
        "case: barrier",
        "case: barier",
        (15, 15),
        "did you mean `barrier`?",
    ),
    (
        "barrier, ranks: 4",
        "barrier, ranks: 5",
        (15, 31),
        "slots for 4 ranks, and these are 5",
    ),
    (
        "barrier, ranks: 4",
        "barrier, ranks: 1",
        (15, 31),
        "at least two ranks",
    ),
    (
        "barrier, ranks: 4",
        "barrier, size: 8B, ranks: 4",
        (15, 30),
        "carries nothing",
    ),
    (
        "barrier, ranks: 4",
        "barrier, non_blocking: true, ranks: 4",
        (15, 38),
        "only ping-pong",
    ),
    (
        "barrier, ranks: 4",
        "barrier, dimensions: 2, ranks: 4",
        (15, 36),
        "only a halo exchange",
    ),
    (", duration: 100ms", "", (15, 7), "needs a `duration`"),
    (
        "duration: 100ms",
        "duration: 100ms, iterations: 5",
        (15, 63),
        "exclude each other",
    ),
    (
        "duration: 100ms",
        "duration: 100us",
        (15, 44),
        "at least 1ms",
    ),
    (
        "iterations: 0.1k",
        "iterations: 0",
        (16, 74),
        "at least one",
    ),
    (
        "large, ranks: 2",
        "large, ranks: 3",
        (16, 46),
        "an even number",
    ),
    (
        "name: large",
        "name: barrier",
        (16, 7),
        "two cases of the name",
    ),
    (
        "dimensions: 2",
        "dimensions: 4",
        (17, 52),
        "2 or 3 dimensions",
    ),
    (
        "kernel: lu",
        "kernel: ly",
        (19, 34),
        "expected one of `bt`, `cg`",
    ),
    ("class: S", "class: D", (19, 45), "unknown value `D`"),
    (
        "S, ranks: 4",
        "S, ranks: 8",
        (19, 55),
        "slots for 4 ranks, and these are 8",
    ),
    ("S, ranks: 4", "S, ranks: 0", (19, 55), "at least one rank"),
    (
        "npb: { kernel: lu, class: S, ranks: 4 }, ",
        "",
        (19, 7),
        "`client` or an `npb`",
    ),
    (
        "ranks: 4 }, expected",
        "ranks: 4 }, client: { on: here, command: [a] }, expected",
        (19, 24),
        "`client` and `npb` exclude each other",
    ),
    (
        "expected: 5s",
        "hook: mpi",
        (19, 66),
        "for programs with a `client`",
    ),
    ("expected: 5s", "expected: 5", (19, 70), "is not a"),
];

#[test]
fn whatever_is_wrong_is_told_with_its_place() {
    let mut others = Vec::new();
    for &(before, after, (line, column), part) in WRONG {
        let text = GOOD.replacen(before, after, 1);
        assert_ne!(text, GOOD, "{before}");
        let error = parse(&text).expect_err(after).to_string();
        if !error.contains(part) || !error.starts_with(&format!("e.yaml:{line}:{column}: ")) {
            others.push(format!("{after}: {error}"));
        }
    }
    assert!(others.is_empty(), "{}", others.join("\n"));
    let none = GOOD.replace("mpi:\n  on: n1\n  hosts: { n1: 2, n2: 2 }\n  arguments: [--mca, btl, 'self,tcp']\n  hook: socket\n", "");
    let error = parse(&none).unwrap_err().to_string();
    assert!(error.contains("need a section `mpi`"), "{error}");
}

#[test]
fn slots_may_be_as_many_as_there_are_numbers() {
    let most = u32::MAX;
    parse(&GOOD.replace("{ n1: 2, n2: 2 }", &format!("{{ n1: {most}, n2: {most} }}"))).unwrap();
}

#[test]
fn mpirun_enters_what_it_can_reach() {
    let unreachable = |mpi: &str| {
        let text = GOOD
            .replace(
                "here: { at: local }",
                "here: { at: local, address: 10.0.0.3 }\n  far: { at: ssh far, address: 10.0.0.4 }",
            )
            .replace("on: n1", &format!("on: {mpi}"))
            .replace(
                "{ n1: 2, n2: 2 }",
                &format!("{{ {mpi}: 2, n2: 2, here: 1 }}"),
            );
        parse(&text).unwrap_err().to_string()
    };
    let error = unreachable("n1");
    assert!(
        error.contains("mpirun on `n1` (netns one) cannot enter `here` (local)"),
        "{error}"
    );
    let error = unreachable("far");
    assert!(
        error.contains("mpirun on `far` (ssh far) cannot enter"),
        "{error}"
    );
}

#[test]
fn what_goes_through_mpi_cannot_be_deferred() {
    let levels = "load: { transport: udp, from: here, to: here, message: 1400B }\nlevels:\n  load: [20]\n  injected: \
                  { percent: [20], transport: udp, shapes: [uniform], mode: defer }\nsuites:\n  packet:\n    - { case: rtt, \
                  transports: [udp], from: here, to: here, size: 64B, warmup: 0s, duration: 1s, wait: block }\n";
    let text = GOOD.replace("suites:\n", levels);
    parse(&text).unwrap();
    let error = parse(&text.replace("hook: socket", "hook: mpi"))
        .unwrap_err()
        .to_string();
    assert!(error.starts_with("e.yaml:16:"), "{error}");
    assert!(error.contains("cannot be deferred"), "{error}");
}
