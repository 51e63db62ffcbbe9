//! MPI programs in C and Fortran, unmodified, on Open MPI and on MPICH: one library serves both.
//!
//! Each program knows what it has sent; the hooks have to have seen exactly that.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::{Ended, Lab, compile_by, fixture_file};
use jitterlab_injector::control::{Hook, HookFamily};
use jitterlab_injector::environment;
use jitterlab_injector::record::{Record, Sent};
use jitterlab_skip::skip;
use serde_json::Value;

/// An MPI as Debian installs it.
struct Mpi {
    name: &'static str,
    c: &'static str,
    fortran: &'static str,
    run: &'static str,
    library: &'static str,
    /// Tells Fortran programs which it is.
    define: &'static str,
}

const MPIS: [Mpi; 2] = [
    Mpi {
        name: "Open MPI",
        c: "mpicc.openmpi",
        fortran: "mpif90.openmpi",
        run: "mpirun.openmpi",
        library: "libmpi.so.40",
        define: "-DOPEN_MPI",
    },
    Mpi {
        name: "MPICH",
        c: "mpicc.mpich",
        fortran: "mpif90.mpich",
        run: "mpirun.mpich",
        library: "libmpich.so.12",
        define: "-DMPICH",
    },
];

/// The MPIs of this machine: jitterlab itself needs none.
fn installed() -> impl Iterator<Item = &'static Mpi> {
    MPIS.iter().filter(|mpi| mpi.is_installed())
}

/// One of them by its name, if it is there.
fn named(name: &str) -> Option<&'static Mpi> {
    let mpi = MPIS.iter().find(|mpi| mpi.name == name).unwrap();
    mpi.is_installed().then_some(mpi)
}

/// Each of them with a delay and without: a call that has none goes a way of its own.
fn with_and_without(delay_ns: u64) -> impl Iterator<Item = (&'static Mpi, u64)> {
    installed().flat_map(move |mpi| [(mpi, delay_ns), (mpi, 0)])
}

const RANKS: u64 = 3;

impl Mpi {
    /// Whether it is there; the test is skipped if not.
    fn is_installed(&self) -> bool {
        let there = |program: &str| Path::new("/usr/bin").join(program).exists();
        let is_installed = there(self.c) && there(self.fortran);
        if !is_installed {
            skip(format_args!("{} is not installed", self.name));
        }
        is_installed
    }

    fn build(&self, lab: &Lab, source: &str, target: &str, options: &[&str]) -> PathBuf {
        let program = lab.path(target);
        let compiler = if source.ends_with(".c") {
            self.c
        } else {
            self.fortran
        };
        let options = [options, &[self.define]].concat();
        compile_by(compiler, &fixture_file(source), &program, &options);
        program
    }

    /// A command that starts so many ranks under the library.
    fn start(&self, lab: &Lab, ranks: u64) -> Command {
        let mut command = lab.command(self.run);
        command
            .envs([
                ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
                ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
                ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
                ("OMPI_MCA_mpi_yield_when_idle", "1"),
            ])
            .args(["-n", &ranks.to_string()]);
        command
    }

    fn run(&self, lab: &Lab, program: &Path, arguments: &[&str]) -> Ended {
        let mut command = self.start(lab, RANKS);
        command.arg(program).args(arguments);
        let ended = lab.end(command);
        assert!(
            ended.output.status.success() && !ended.stderr().contains("jitterlab"),
            "{}: {}\n{}{}",
            self.name,
            ended.output.status,
            ended.stdout(),
            ended.stderr()
        );
        ended
    }
}

/// What each rank says it has sent, by rank.
fn accounts(ended: &Ended) -> Vec<Value> {
    let mut accounts: Vec<Value> = ended
        .stdout()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    accounts.sort_by_key(|account| account["rank"].as_u64());
    let ranks: Vec<_> = accounts
        .iter()
        .map(|account| account["rank"].as_u64().unwrap())
        .collect();
    assert_eq!(ranks, (0..RANKS).collect::<Vec<_>>());
    accounts
}

fn number(value: &Value, name: &str) -> u64 {
    value[name]
        .as_u64()
        .unwrap_or_else(|| panic!("{name} in {value}"))
}

/// The report of a rank: launchers report too, and have sent nothing.
fn report_of<'a>(ended: &'a Ended, rank: &Value) -> &'a Value {
    let calls = |report: &Value| {
        Hook::ALL
            .iter()
            .map(|hook| number(&report["calls"], hook.name()))
            .sum::<u64>()
    };
    let mut reports = ended
        .reports
        .iter()
        .filter(|report| report["rank"] == rank["rank"] && calls(report) > 0);
    let report = reports
        .next()
        .unwrap_or_else(|| panic!("{rank}: {:?}", ended.reports));
    assert_eq!(reports.next(), None);
    report
}

fn with_hooks(lab: Lab, families: &[HookFamily]) -> Lab {
    let names: Vec<_> = families.iter().map(|family| family.name()).collect();
    lab.set(environment::HOOKS, &names.join(","))
}

/// The programs: source, what it is called, options.
const PROGRAMS: [(&str, &str, &[&str]); 4] = [
    ("mpi.c", "c", &["-Wall", "-Werror"]),
    ("mpi_groups.c", "c-groups", &["-Wall", "-Werror"]),
    ("mpi_fortran.F90", "fortran", &["-w"]),
    ("mpi_fortran.F90", "fortran-2008", &["-DF08", "-w"]),
];

#[test]
fn every_send_of_a_program_in_c_or_fortran_is_delayed_once_and_nothing_else() {
    for (mpi, delay_ns) in with_and_without(30_000) {
        let lab = with_hooks(Lab::constant(delay_ns as u32), &[HookFamily::Mpi]);
        for (source, name, options) in PROGRAMS {
            let program = mpi.build(&lab, source, name, options);
            let ended = mpi.run(&lab, &program, &[]);
            for account in accounts(&ended) {
                let what = format!("{}, {name}: {account}", mpi.name);
                let report = report_of(&ended, &account);
                let (sends, one_sided) = (number(&account, "sends"), number(&account, "one_sided"));
                assert_eq!(report["calls"][Hook::MpiSend.name()], sends, "{what}");
                assert_eq!(report["calls"][Hook::MpiRma.name()], one_sided, "{what}");
                assert_eq!(report["calls"][Hook::MpiCollective.name()], 0, "{what}");
                let delays = sends + one_sided;
                assert_eq!(report["delays"], delays, "{what}");
                assert_eq!(report["asked_ns"], delays * delay_ns, "{what}");
                let short = delays as f64 * report["compensation_ns"].as_f64().unwrap();
                let least = (delays * delay_ns) as f64 - short;
                assert!(number(report, "achieved_ns") as f64 >= least, "{what}");
                // From outside: the program's own clock, around the sends alone.
                if let Some(sending_ns) = account["sending_ns"].as_f64() {
                    assert!(sending_ns >= (sends * delay_ns) as f64 - short, "{what}");
                }
            }
        }
    }
}

#[test]
fn collectives_are_delayed_where_they_are_asked_for() {
    for mpi in installed() {
        let lab = with_hooks(Lab::constant(1_000), &[HookFamily::MpiCollectives]);
        for (source, name, options) in PROGRAMS {
            let program = mpi.build(&lab, source, name, options);
            let ended = mpi.run(&lab, &program, &[]);
            for account in accounts(&ended) {
                let report = report_of(&ended, &account);
                let collectives = &account["collectives"];
                let what = format!("{}, {name}: {account}", mpi.name);
                assert_eq!(
                    &report["calls"][Hook::MpiCollective.name()],
                    collectives,
                    "{what}"
                );
                assert_eq!(&report["delays"], collectives, "{what}");
            }
        }
    }
}

/// A lab in which ranks leave what they have sent in a folder.
fn tracing() -> (Lab, PathBuf) {
    let hooks = [HookFamily::Mpi, HookFamily::MpiCollectives];
    let lab = with_hooks(Lab::constant(0), &hooks);
    let folder = lab.path("trace");
    std::fs::create_dir(&folder).unwrap();
    let lab = lab.set(environment::RECORDS, folder.to_str().unwrap());
    (lab, folder)
}

/// The records that were left in a folder, by rank.
fn records(folder: &Path) -> Vec<Record> {
    let mut records: Vec<Record> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            serde_json::from_slice(&std::fs::read(entry.unwrap().path()).unwrap()).unwrap()
        })
        .collect();
    records.sort_by_key(|record| record.rank);
    records
}

#[test]
fn a_trace_holds_every_message_and_no_other() {
    for mpi in installed() {
        for (source, name, options) in PROGRAMS {
            let (lab, folder) = tracing();
            let program = mpi.build(&lab, source, name, options);
            let ended = mpi.run(&lab, &program, &[]);
            let records = records(&folder);
            assert_eq!(records.len() as u64, RANKS, "{}, {name}", mpi.name);
            for (record, account) in records.iter().zip(accounts(&ended)) {
                let what = format!("{}, {name}: {account}\n{record:#?}", mpi.name);
                assert_eq!(
                    (record.rank as u64, record.ranks as u64),
                    (number(&account, "rank"), RANKS)
                );
                let sent: Vec<Sent> = serde_json::from_value(account["peers"].clone()).unwrap();
                assert_eq!(record.peers, sent, "{what}");
                assert_eq!(record.others.messages, 0, "{what}");
                let (alone, together): (Vec<_>, Vec<_>) =
                    record.calls.iter().partition(|calls| calls.messages > 0);
                let calls = number(&account, "sends") + number(&account, "one_sided");
                assert_eq!(
                    alone.iter().map(|call| call.calls).sum::<u64>(),
                    calls,
                    "{what}"
                );
                let together = together.iter().fold((0, 0), |(n, bytes), call| {
                    (n + call.calls, bytes + call.bytes)
                });
                let expected = (number(&account, "collectives"), number(&account, "given"));
                assert_eq!(together, expected, "{what}");
            }
        }
    }
}

#[test]
fn a_rank_that_ends_twice_leaves_one_record() {
    for mpi in installed() {
        let (lab, folder) = tracing();
        let program = mpi.build(&lab, "mpi_twice.c", "twice", &["-Wall", "-Werror"]);
        mpi.run(&lab, &program, &[]);
        assert_eq!(records(&folder).len() as u64, RANKS, "{}", mpi.name);
    }
}

/// A program may do without the world that others have: in a session, which Open MPI 4 has not.
#[test]
fn a_trace_does_not_ask_for_a_world_where_there_is_none() {
    let Some(mpi) = named("MPICH") else {
        return;
    };
    let (lab, folder) = tracing();
    let program = mpi.build(&lab, "mpi_session.c", "session", &["-Wall", "-Werror"]);
    mpi.run(&lab, &program, &[]);
    let records = records(&folder);
    let ranks: Vec<usize> = records.iter().map(|record| record.rank).collect();
    assert_eq!(ranks, [0, 1, 2], "as the launcher says");
    for record in records {
        assert_eq!((record.ranks, &record.peers[..]), (0, &[][..]));
        assert_eq!((record.others.messages, record.others.bytes), (7, 28));
        let calls: Vec<_> = record
            .calls
            .iter()
            .map(|of| (&of.call[..], of.calls))
            .collect();
        assert_eq!(calls, [("MPI_Send", 7), ("MPI_Barrier", 1)]);
    }
}

/// Who is spawned has a world of its own. Debian's MPICH, over UCX, spawns nobody.
#[test]
fn what_is_spawned_is_no_rank_of_those_that_spawn_it() {
    let Some(mpi) = named("Open MPI") else {
        return;
    };
    let (lab, folder) = tracing();
    let program = mpi.build(&lab, "mpi_spawn.c", "spawn", &["-Wall", "-Werror"]);
    mpi.run(&lab, &program, &[]);
    let mut sent: Vec<_> = records(&folder)
        .iter()
        .map(|record| {
            let others = (record.others.messages, record.others.bytes);
            (record.spawned, record.rank, record.ranks, others)
        })
        .collect();
    sent.sort_unstable();
    let expected = [
        (false, 0, 3, (1, 4)),
        (false, 1, 3, (0, 0)),
        (false, 2, 3, (0, 0)),
        (true, 0, 1, (2, 8)),
    ];
    assert_eq!(sent, expected);
}

#[test]
fn paced_sends_are_apart() {
    const GAP_NS: u64 = 200_000;
    for mpi in installed() {
        let lab = with_hooks(Lab::constant(GAP_NS as u32), &[HookFamily::Mpi])
            .set(environment::MODE, "pace");
        let program = mpi.build(&lab, "mpi_plugin.c", "plugin.so", &["-shared", "-fPIC"]);
        let host = lab.build("mpi_host", &["-ldl"]);
        let ended = mpi.run(&lab, &host, &[program.to_str().unwrap()]);
        assert_eq!(ended.sum("delays"), RANKS * 11, "{}", mpi.name);
        assert_eq!(ended.sum("asked_ns"), RANKS * 11 * GAP_NS, "{}", mpi.name);
        assert!(
            ended.sum("achieved_ns") >= RANKS * 11 * (GAP_NS - 1),
            "{}",
            mpi.name
        );
    }
}

#[test]
fn an_mpi_that_is_loaded_for_a_part_of_the_program_alone_is_found() {
    for mpi in installed() {
        let lab = with_hooks(Lab::constant(1_000), &[HookFamily::Mpi]);
        let plugin = mpi.build(&lab, "mpi_plugin.c", "plugin.so", &["-shared", "-fPIC"]);
        let host = lab.build("mpi_host", &["-ldl"]);
        let plugin = plugin.to_str().unwrap();
        for arguments in [&[plugin][..], &[plugin, mpi.library]] {
            // Looked up by name, they are found on x86-64 alone.
            if arguments.len() == 1 || cfg!(target_arch = "x86_64") {
                let ended = mpi.run(&lab, &host, arguments);
                assert_eq!(
                    ended.calls(Hook::MpiSend),
                    RANKS * 11,
                    "{} {arguments:?}",
                    mpi.name
                );
                assert_eq!(ended.sum("delays"), RANKS * 11);
            }
        }
    }
}

#[test]
fn another_tool_that_stands_before_mpi_still_does() {
    for mpi in installed() {
        let lab = with_hooks(Lab::constant(1_000), &[HookFamily::Mpi]);
        let tool = mpi.build(&lab, "mpi_tool.c", "libtool.so", &["-shared", "-fPIC"]);
        let plugin = mpi.build(&lab, "mpi_plugin.c", "plugin.so", &["-shared", "-fPIC"]);
        let host = lab.build("mpi_host", &["-ldl"]);
        let mut command = mpi.start(&lab, RANKS);
        let both = format!("{}:{}", common::library().display(), tool.display());
        command.args([&host, &plugin]).env("LD_PRELOAD", both);
        let ended = lab.end(command);
        assert!(ended.output.status.success(), "{}", ended.stderr());
        assert_eq!(
            ended.stdout(),
            "the tool has seen 11\n".repeat(RANKS as usize)
        );
        assert_eq!(ended.sum("delays"), RANKS * 11, "{}", mpi.name);
    }
}

#[test]
fn the_same_seed_gives_each_rank_its_delays_again() {
    for mpi in installed() {
        let lab = with_hooks(Lab::with_table(|index| index + 1), &[HookFamily::Mpi])
            .set(environment::LINEAGE, environment::NO_LINEAGE);
        let program = mpi.build(&lab, "mpi.c", "c", &[]);
        let asked = || {
            let ended = mpi.run(&lab, &program, &["two-sided"]);
            let of = |account: &Value| number(report_of(&ended, account), "asked_ns");
            accounts(&ended).iter().map(of).collect::<Vec<u64>>()
        };
        let once = asked();
        assert_eq!(asked(), once, "{}", mpi.name);
        assert!(
            once[0] != once[1] && once[1] != once[2],
            "{}: {once:?}",
            mpi.name
        );
    }
}

#[test]
fn what_belongs_to_the_program_is_not_deferred() {
    let lab = Lab::constant(1_000).set(environment::MODE, "defer");
    let lab = with_hooks(lab, &[HookFamily::Socket, HookFamily::Mpi]);
    let program = lab.build("who", &[]);
    let ended = lab.end(lab.command(program));
    assert!(ended.output.status.success() && ended.reports.is_empty());
    assert_eq!(
        ended.stderr(),
        "jitterlab: latency injection is off: MPI and UCT cannot be deferred, because the data stay in the hands of the program: use --hook socket or verbs, or --mode spin or pace\n"
    );
}
