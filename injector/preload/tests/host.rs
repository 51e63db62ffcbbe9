//! The library never gets in the way of the program that it is loaded into.

mod common;

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use common::Lab;
use jitterlab_base::page::Namespaces;
use jitterlab_injector::control::{Hook, HookFamily};
use jitterlab_injector::environment;
use jitterlab_skip::skip;

const SOCKET: [Hook; 6] = [
    Hook::Send,
    Hook::SendTo,
    Hook::SendMsg,
    Hook::SendMMsg,
    Hook::Write,
    Hook::WriteV,
];

#[test]
fn every_call_on_a_socket_of_the_internet_is_delayed_and_no_other() {
    let lab = Lab::constant(700);
    let ended = lab.run("every_call", &["25"]);
    for hook in Hook::ALL {
        let calls = if SOCKET.contains(&hook) { 50 } else { 0 };
        assert_eq!(ended.calls(hook), calls, "{}", hook.name());
    }
    assert_eq!(ended.sum("delays"), 300);
    assert_eq!(ended.sum("asked_ns"), 300 * 700);
    // A delay may be longer than asked; shorter only by what the hook itself takes.
    let compensation = ended.report()["compensation_ns"].as_f64().unwrap();
    assert!(ended.sum("achieved_ns") as f64 >= 300.0 * (700.0 - compensation));
    assert_eq!(lab.pages_left(), [] as [std::path::PathBuf; 0]);
}

#[test]
fn sends_without_a_delay_are_counted_like_the_others() {
    let lab = Lab::constant(0);
    let ended = lab.run("every_call", &["25"]);
    for hook in Hook::ALL {
        let calls = if SOCKET.contains(&hook) { 50 } else { 0 };
        assert_eq!(ended.calls(hook), calls, "{}", hook.name());
    }
    assert_eq!(ended.sum("delays"), 300);
    let ended = lab.run("threads", &["forwards"]);
    assert_eq!(ended.sum("delays"), 10 * (1 + 2 + 3 + 4 + 5 + 6) + 600 * 20);
    let ended = lab.run("fork", &[]);
    for report in &ended.reports[..12] {
        assert_eq!(
            (&report["calls"]["send"], &report["delays"]),
            (&5.into(), &5.into())
        );
    }
    let ended = lab.run("signals", &[]);
    let handled: u64 = ended.stdout().trim().parse().unwrap();
    // A signal may come in the middle of counting; what it counts may be lost then.
    assert!(ended.sum("delays") >= 2000 && handled >= 10);
    for report in &ended.reports {
        assert_eq!(
            (&report["asked_ns"], &report["achieved_ns"]),
            (&0.into(), &0.into())
        );
    }
}

#[test]
fn a_family_that_is_not_asked_for_is_left_alone() {
    let lab = Lab::constant(700).set(environment::HOOKS, HookFamily::Verbs.name());
    let ended = lab.run("every_call", &["3"]);
    assert_eq!(ended.sum("delays"), 0);
}

/// Delays of different lengths: their sum tells streams apart.
fn varied() -> Lab {
    Lab::with_table(|index| index % 97)
}

#[test]
fn a_threads_delays_depend_on_who_started_it_not_on_who_sends_first() {
    let lab = varied();
    let asked = |lab: &Lab, order| {
        let ended = lab.run("threads", &[order]);
        let first = 10 * (1 + 2 + 3 + 4 + 5 + 6);
        assert_eq!(ended.sum("delays"), first + 600 * 20);
        ended.sum("asked_ns")
    };
    let once = asked(&lab, "forwards");
    assert_eq!(asked(&lab, "backwards"), once);
    std::fs::write(lab.path("s.seed"), "2").unwrap();
    assert_ne!(asked(&lab, "forwards"), once);
    std::fs::write(lab.path("s.seed"), "1").unwrap();
    let other_rank = lab.set("OMPI_COMM_WORLD_RANK", "1");
    assert_ne!(asked(&other_rank, "forwards"), once);
}

#[test]
fn forked_children_count_for_themselves_and_have_streams_of_their_own() {
    let lab = varied();
    let children = |lab: &Lab| {
        let ended = lab.run("fork", &[]);
        assert_eq!(ended.reports.len(), 13);
        let mut sums: Vec<u64> = ended.reports[..12]
            .iter()
            .map(|report| {
                assert_eq!(report["calls"]["send"], 5);
                report["asked_ns"].as_u64().unwrap()
            })
            .collect();
        sums.sort_unstable();
        sums
    };
    let once = children(&lab);
    assert_eq!(children(&lab), once);
    let mut different = once.clone();
    different.dedup();
    assert!(different.len() > 8, "{once:?}");
    assert!(lab.pages_left().is_empty());
}

#[test]
fn a_program_may_become_another() {
    let lab = Lab::constant(100);
    let ended = lab.run("exec", &[]);
    // Two by the shell, one by vfork, and what the program itself became.
    let of = |how: &str| {
        let reports = ended.reports.iter();
        let calls = reports.filter(|report| report["ended"] == how);
        calls
            .map(|report| report["calls"]["send"].as_u64().unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!(of("exit"), [3; 4]);
    // What it was before did not end but go on.
    assert_eq!(of("unseen"), [9]);
    assert!(lab.pages_left().is_empty());
}

/// The programs of a tree of processes, each of which sends a few times.
fn programs_sums(lab: &Lab, mut command: Command) -> Vec<u64> {
    command.env(environment::LINEAGE, environment::NO_LINEAGE);
    let ended = lab.end(command);
    ended.expect_done("programs");
    let sum = |report: &serde_json::Value| report["asked_ns"].as_u64().unwrap();
    let mut sums: Vec<u64> = ended.reports.iter().map(sum).collect();
    sums.retain(|&sum| sum > 0);
    sums.sort_unstable();
    sums
}

#[cfg(target_arch = "x86_64")]
#[test]
fn programs_that_are_started_have_streams_of_their_own_and_the_same_ones_again() {
    let lab = Lab::with_table(|index| index + 1);
    let program = lab.build("exec", &[]);
    let shell = |shell: &str| {
        // Forked in the background, started by the shell's own way, and what it becomes.
        let line = "\"$0\" last & \"$0\" last & wait; \"$0\" last; (\"$0\" last); exec \"$0\" last";
        let mut command = lab.command(shell);
        command.args(["-c", line]).arg(&program);
        command
    };
    // Itself, by posix_spawn, vfork and exec.
    let itself = || lab.command(&program);
    let commands: [(&dyn Fn() -> Command, usize); 3] =
        [(&itself, 5), (&|| shell("bash"), 5), (&|| shell("dash"), 5)];
    for (command, programs) in commands {
        let once = programs_sums(&lab, command());
        assert_eq!(once.len(), programs, "{once:?}");
        assert_eq!(programs_sums(&lab, command()), once);
        let mut different = once.clone();
        different.dedup();
        assert_eq!(different, once);
    }
}

#[test]
fn everything_can_be_closed_and_rights_be_given_up() {
    let lab = Lab::constant(100);
    // The folder of the pages stays root's, and so out of reach for what the program becomes.
    let ended = lab.run("closing", &[]);
    ended.expect_done("closing");
    let lab = Lab::constant(100).set(environment::CONTROL_DIR, "/proc/nowhere");
    let program = lab.build("closing", &[]);
    let ended = lab.end(lab.command(program));
    assert!(ended.output.status.success(), "{}", ended.stderr());
    assert_eq!(
        ended.stderr(),
        "jitterlab: injecting, but the program cannot be observed or changed: cannot make the \
         directory of control page /proc/nowhere: No such file or directory (os error 2)\n"
    );
}

/// A program runs, and is injected into, where there is no room for its control page.
fn runs_without_room(lab: &Lab, mut command: Command, reason: &str) {
    let program = lab.build("who", &[]);
    command.env("PROGRAM", program);
    let ended = lab.end(command);
    assert!(
        ended.output.status.success(),
        "{}\n{}",
        ended.output.status,
        ended.stderr()
    );
    assert_eq!(ended.calls(Hook::Send), 1);
    let pid = ended.report()["pid"].as_u64().unwrap() as u32;
    let page = lab.path("control").join(Namespaces::own().file_name(pid));
    assert_eq!(
        ended.stderr(),
        format!(
            "jitterlab: injecting, but the program cannot be observed or changed: cannot reserve \
             room for control page {}: {reason}\n",
            page.display()
        )
    );
}

#[test]
fn a_full_dev_shm_does_not_end_the_program() {
    let lab = Lab::constant(100);
    std::fs::create_dir(lab.path("control")).unwrap();
    // A file system that is full after four memory pages; it goes with the namespace.
    let mut command = lab.command_without("unshare");
    command.arg("--mount").args(["sh", "-c"]).arg(
        "mount -t tmpfs -o size=16k,mode=700 none \"$JITTERLAB_CONTROL_DIR\" || exit 100
         LD_PRELOAD=\"$LIBRARY\" exec \"$PROGRAM\"",
    );
    command.env("LIBRARY", common::library());
    let mut probe = Command::new("unshare");
    let probe = probe.args(["--mount", "true"]).output().unwrap();
    if !probe.status.success() {
        return skip("no mount namespaces can be made here");
    }
    runs_without_room(&lab, command, "No space left on device (os error 28)");
}

#[test]
fn a_limit_on_the_size_of_files_does_not_end_the_program() {
    let lab = Lab::constant(100);
    let mut command = lab.command_without("sh");
    command
        .arg("-c")
        .arg("ulimit -f 16 && LD_PRELOAD=\"$LIBRARY\" exec \"$PROGRAM\"")
        .env("LIBRARY", common::library());
    runs_without_room(&lab, command, "File too large (os error 27)");
    assert!(lab.pages_left().is_empty());
}

#[test]
fn a_send_that_fails_says_what_it_always_said() {
    let lab = Lab::constant(100);
    lab.run("errors", &[]);
    let program = lab.path("errors");
    lab.end(lab.command_without(program))
        .expect_done("errors, alone");
}

#[test]
fn a_signal_handler_may_send_in_the_middle_of_a_send() {
    let ended = Lab::constant(20_000).run("signals", &[]);
    let handled: u64 = ended.stdout().trim().parse().unwrap();
    assert!(ended.sum("delays") >= 2000 && handled >= 10);
}

#[test]
fn threads_may_have_hardly_any_stack() {
    let ended = Lab::constant(100).run("stacks", &[]);
    assert_eq!(ended.sum("delays"), 40);
}

#[test]
fn sends_may_come_before_and_after_the_library_is_there() {
    let lab = Lab::constant(100);
    let library = lab.path("libearly.so");
    common::compile(&common::fixture("early"), &library, &["-shared", "-fPIC"]);
    let main = lab.path("main.c");
    std::fs::write(&main, "int early(void); int main(void) { return early(); }").unwrap();
    let program = lab.path("main");
    common::compile(&main, &program, &[library.to_str().unwrap()]);
    lab.end(lab.command(program)).expect_done("early");
}

#[test]
fn libibverbs_is_hooked_where_a_program_loads_it_for_itself_alone() {
    let ended = Lab::constant(100).run("hidden", &[]);
    let homes: Vec<String> = ended.stdout().lines().map(String::from).collect();
    let ours = common::library().file_name().unwrap().to_str().unwrap();
    assert_eq!(homes[..3], [ours, ours, ours]);
    assert!(homes[3].starts_with("libibverbs.so"), "{homes:?}");
    assert_eq!(homes[3], homes[4]);
}

#[test]
fn the_environment_reaches_children_that_are_shells() {
    let lab = Lab::constant(100);
    let who = lab.build("who", &[]);
    let mut command = lab.command("/bin/sh");
    command
        .args(["-c", "\"$0\" | cat; (\"$0\") && \"$0\""])
        .arg(who);
    let ended = lab.end(command);
    ended.expect_done("sh");
    assert_eq!(ended.calls(Hook::Send), 3);
    assert_eq!(ended.stdout().matches(" told").count(), 3);
}

#[test]
fn a_static_program_runs_as_ever() {
    let lab = Lab::constant(100);
    let program = lab.build("who", &["-static"]);
    let ended = lab.end(lab.command(program));
    ended.expect_done("static");
    assert!(ended.reports.is_empty());
}

/// Only root can make a program that runs with more rights than its user's.
#[test]
fn a_program_with_more_rights_than_its_user_is_left_alone() {
    let lab = Lab::constant(100);
    let program = lab.build("who", &[]);
    let owner = Command::new("id").arg("-u").output().unwrap();
    if owner.stdout != b"0\n" {
        return skip("only root can make a program with more rights than its user");
    }
    // Where everybody can get to and programs may have such rights.
    let place = tempfile::tempdir_in("/var/tmp").unwrap();
    let open = |mode| std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(place.path(), open(0o755)).unwrap();
    std::fs::set_permissions(lab.path(""), open(0o777)).unwrap();
    let library = place.path().join("libjitterlab_preload.so");
    std::fs::copy(common::library(), &library).unwrap();
    let run = |name: &str, mode| {
        let raised = place.path().join(name);
        std::fs::copy(&program, &raised).unwrap();
        std::fs::set_permissions(&raised, open(mode)).unwrap();
        let mut command = lab.command("/usr/sbin/chroot");
        command
            .args(["--userspec=65534:65534", "/"])
            .arg(&raised)
            .env("LD_PRELOAD", &library);
        let ended = lab.end(command);
        assert!(ended.output.status.success(), "{}", ended.stderr());
        ended
    };
    let same = run("same", 0o755);
    assert!(
        same.stdout().starts_with("65534 65534"),
        "{}",
        same.stdout()
    );
    assert_eq!(same.calls(Hook::Send), 1);
    let raised = run("raised", 0o4755);
    assert!(
        raised.stdout().starts_with("65534 0"),
        "{}",
        raised.stdout()
    );
    assert_eq!(raised.calls(Hook::Send), 0);
}

#[test]
fn without_a_table_or_a_seed_the_program_runs_alone_and_one_line_says_so() {
    let lab = Lab::constant(100);
    let program = lab.build("who", &[]);
    let run = |lab: &Lab| {
        let mut command = lab.command("/bin/sh");
        command.args(["-c", "\"$0\"; \"$0\""]).arg(&program);
        let ended = lab.end(command);
        assert!(ended.output.status.success() && ended.reports.is_empty());
        assert_eq!(ended.stdout().lines().count(), 2);
        ended.stderr()
    };
    let seed = lab.path("s.seed");
    std::fs::write(&seed, "one").unwrap();
    assert_eq!(
        run(&lab),
        format!(
            "jitterlab: latency injection is off: {}: a seed file holds one integer from 0 to \
             18446744073709551615 and nothing else\n",
            seed.display()
        )
    );
    std::fs::write(&seed, "1").unwrap();
    let table = lab.path("t.dist");
    std::fs::write(&table, "1 2 3\n").unwrap();
    assert!(run(&lab).starts_with(&format!(
        "jitterlab: latency injection is off: {}",
        table.display()
    )));
    std::fs::remove_file(&table).unwrap();
    let stderr = run(&lab);
    assert!(
        stderr.contains("t.dist") && stderr.contains("No such file"),
        "{stderr}"
    );
    assert_eq!(stderr.lines().count(), 1);
    for (variable, value) in [
        (environment::MODE, "never"),
        (environment::HOOKS, "socket,pigeon"),
        (environment::GENERATOR, "dice"),
        (environment::UNIT, "furlongs"),
        (environment::RANK, "abc"),
        (environment::TABLE, ""),
    ] {
        let stderr = run(&Lab::constant(100).set(variable, value));
        assert!(stderr.contains(variable), "{variable}: {stderr}");
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
    }
}

#[test]
fn one_delay_takes_the_place_of_a_table() {
    let one = |delay: &str| {
        Lab::constant(1)
            .set(environment::TABLE, "")
            .set(environment::SEED, "")
            .set(environment::DELAY, delay)
    };
    let ended = one("700ns").run("every_call", &["25"]);
    assert_eq!(ended.sum("asked_ns"), 300 * 700);
    let lab = one("soon");
    let mut command = lab.command("/bin/echo");
    command.arg("ran");
    let ended = lab.end(command);
    assert_eq!(ended.stdout(), "ran\n");
    assert_eq!(
        ended.stderr(),
        "jitterlab: latency injection is off: JITTERLAB_DELAY: `soon` is not a duration; write a number \
         and one of ns, us, ms, s, min, h, as in `250us`\n"
    );
}

#[test]
fn descriptors_are_known_however_they_come() {
    let lab = Lab::constant(700);
    let file = lab.path("file");
    let ended = lab.run("descriptors", &[file.to_str().unwrap()]);
    let sends: u64 = ended.stdout().trim().parse().unwrap();
    assert_eq!(ended.sum("delays"), sends);
    assert_eq!(sends, 8);
}
