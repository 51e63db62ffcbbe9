//! `jitterlab ui` in a pseudo-terminal.

mod cluster;
mod common;
mod pty;
mod ssh;

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use cluster::Cluster;
use common::experiments::{assert_whole, ended, folder, lines, until};
use common::{Lab, text};
use jitterlab_skip::skip;
use nix::sys::signal::{Signal, kill};
use nix::sys::stat::Mode;
use nix::unistd::{Pid, mkfifo};
use pty::Session;

/// Some runs with samples, and an application.
const TINY: &str = "
name: tiny
seed: 3
repetitions: 2
hosts: { here: { at: local } }
suites:
  packet:
    - { case: rtt, transports: [udp], from: here, to: here, size: 64B, warmup: 5ms, duration: 20ms, wait: block }
  application:
    - { name: nothing, client: { on: here, command: ['true'] } }
";

/// Each of its runs waits for a line.
const WAITING: &str = "
name: waiting
seed: 3
repetitions: 3
hosts: { here: { at: local } }
suites:
  application:
    - { name: waits, client: { on: here, command: [sh, -c, 'read line <LINES'] } }
";

/// The experiment file, and the pipe that its runs wait at.
fn waiting(lab: &Lab) -> PathBuf {
    let lines = lab.path("lines");
    mkfifo(&lines, Mode::S_IRWXU).unwrap();
    let text = lines.display().to_string();
    lab.write("e.yaml", WAITING.replace("LINES", &text));
    lines
}

/// Lets all runs go on, as long as it is kept. There is a line, too, for one that was stopped and has not ended yet.
fn go(lines: &Path) -> File {
    let mut pipe = File::options().read(true).write(true).open(lines).unwrap();
    pipe.write_all(&[b'\n'; 9]).unwrap();
    pipe
}

#[test]
fn it_shows_its_screens_and_leaves_the_terminal_as_it_was() {
    let lab = Lab::new();
    for (columns, rows) in [(100, 30), (0, 0)] {
        // With or without its name.
        let arguments = if columns == 0 { "" } else { "ui" };
        let mut session = Session::start(&lab, arguments, columns, rows);
        session.until("processors");
        session.until("settings");
        session.press("2");
        session.until("Enter begins to measure");
        session.press("\t");
        session.until("none yet");
        session.press("1");
        session.until("r read again");
        session.press("q");
        assert_eq!(session.end().code(), Some(0));
    }
}

#[test]
fn however_it_ends_the_terminal_is_as_it_was() {
    let lab = Lab::new();
    let mut session = Session::start(&lab, "ui", 80, 24);
    session.until("q leave");
    session.press("\x03");
    assert_eq!(session.end().code(), Some(0));
    let mut session = Session::start(&lab, "ui", 80, 24);
    session.until("q leave");
    session.signal(Signal::SIGTERM);
    assert_eq!(session.end().code(), Some(128 + 15));
}

#[test]
fn a_line_that_is_closed_ends_it() {
    let lab = Lab::new();
    let mut session = Session::start(&lab, "ui", 80, 24);
    session.until("q leave");
    session.signal(Signal::SIGHUP);
    assert_eq!(session.end().code(), Some(128 + 1));
    let mut session = Session::start(&lab, "ui", 80, 24);
    session.until("q leave");
    assert_eq!(session.cut().code(), Some(128 + 1));
}

#[test]
fn a_storm_of_sizes_is_no_storm_of_frames() {
    const SIZES: u16 = 500;
    let lab = Lab::new();
    let mut session = Session::start(&lab, "ui", 80, 24);
    session.until("settings");
    let began = Instant::now();
    for n in 0..SIZES {
        session.resize(40 + n % 100, 8 + n % 40);
    }
    session.resize(90, 30);
    let is_whole = |shown: &str| {
        let last = shown.lines().nth(29);
        last.is_some_and(|line| line.contains("q leave"))
    };
    session.until_it("last line", is_whole);
    session.until_silent(500);
    // At most 20 a second, and the first one.
    let seconds = began.elapsed().as_secs_f64();
    println!("{SIZES} sizes in {seconds:.1} s: {} frames", session.anew);
    let most = 20.0 * seconds + 2.0;
    assert!((session.anew as f64) <= most, "{} frames", session.anew);
    session.press("q");
    assert_eq!(session.end().code(), Some(0));
}

#[test]
fn nothing_is_written_where_nothing_has_changed() {
    let lab = Lab::new();
    let mut session = Session::start(&lab, "ui", 80, 24);
    session.until("q leave");
    session.press("3");
    session.until("none yet");
    session.until_silent(1000);
    // It looks at its files every second, and at keys that mean nothing.
    session.press("zz");
    let before = session.bytes;
    let is_silent = session.is_silent(2500);
    println!("in 2.5 s: {} bytes", session.bytes - before);
    assert!(is_silent, "{}", session.shown());
    session.press("q");
    assert_eq!(session.end().code(), Some(0));
}

#[test]
fn a_frame_is_small_enough_for_a_serial_line() {
    const SECONDS: usize = 7;
    let lab = Lab::new();
    let colors = [("COLORTERM", "truecolor")];
    let mut session = Session::start_with(&lab, "ui", (80, 24), &colors);
    session.until("q leave");
    session.press("2\r");
    session.until("measuring: 1 s");
    let mut frames = Vec::new();
    for second in 2..2 + SECONDS {
        let before = session.bytes;
        session.until(&format!("measuring: {second} s"));
        frames.push(session.bytes - before);
    }
    frames.sort_unstable();
    println!("bytes of a second of Noise: {frames:?}");
    assert!(frames[SECONDS / 2] <= 1500, "{frames:?}");
    session.press("\rq");
    assert_eq!(session.end().code(), Some(0));
}

/// Whether there can be another machine behind ssh; says so if not.
fn has_sshd() -> bool {
    let lacks = match Path::new("/usr/sbin/sshd").exists() {
        _ if !nix::unistd::geteuid().is_root() => "only root may start an sshd of its own",
        false => "there is no sshd",
        true => return true,
    };
    skip(lacks);
    false
}

/// The PATH of a machine where this `jitterlab` is.
fn path_there() -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_jitterlab")).parent().unwrap();
    format!("PATH={}:/usr/bin:/bin", program.display())
}

#[test]
fn it_is_attached_to_an_experiment_elsewhere_detached_cut_and_attached_again() {
    if !has_sshd() {
        return;
    }
    let lab = Lab::new();
    let lines = waiting(&lab);
    let here = Lab::new();
    let path = ssh::path_to_machines(&here, "", &path_there());
    let address = format!("ui ssh://lab{}", lab.path("").display());
    let attach = || {
        let mut session = Session::start_with(&here, &address, (100, 30), &[("PATH", &path)]);
        session.until("q leave");
        session.press("3");
        session
    };
    let mut session = attach();
    session.until("application waits");
    session.press("\r");
    session.until("run e.yaml?");
    session.press("y");
    session.until("runs 0/3");
    session.press("q");
    assert_eq!(session.end().code(), Some(0));
    let mut session = attach();
    session.until("runs 0/3");
    // The line is cut: nobody says anything any more.
    assert_eq!(session.cut().code(), Some(128 + 1));
    let mut session = attach();
    session.until("running, 0 of 3");
    let _gone_on = go(&lines);
    session.until("waits.none.r3");
    session.until("done");
    session.press("q");
    assert_eq!(session.end().code(), Some(0));
    assert_whole(&lab);
    let records = crate::lines(&folder(&lab).join("runs.jsonl"));
    assert_eq!(records.len(), 3);
}

const WATCHED: &str = "
name: watched
seed: 7
repetitions: 8
retries: 0
hosts: { here: { at: local } }
suites:
  packet:
    - { case: rtt, transports: [udp], from: here, to: here, size: 64B, warmup: 5ms, duration: 2s, wait: block }
";

/// The client of ssh that a session has started.
fn ssh_of(session: &Session) -> Pid {
    let all = procfs::process::all_processes().unwrap().flatten();
    let is_it = |it: &procfs::process::Process| {
        let parent = it.stat().map(|stat| stat.ppid.cast_unsigned());
        let command = it.cmdline().unwrap_or_default();
        parent.is_ok_and(|parent| parent == session.process())
            && command
                .first()
                .is_some_and(|program| program.ends_with("ssh"))
    };
    Pid::from_raw(all.filter(is_it).map(|it| it.pid()).next().unwrap())
}

/// An experiment in another network namespace, headless, is watched by ssh, and the client of ssh is killed while a run is watched:
/// whatever was published of each run is stored.
#[test]
fn what_is_watched_elsewhere_is_whole_when_the_connection_is_killed() {
    if !has_sshd() {
        return;
    }
    let cluster = Cluster::new(1);
    let (lab, host) = (&cluster.lab, cluster.namespace(1));
    lab.write("e.yaml", WATCHED);
    let events = File::create(lab.path("events")).unwrap();
    let mut run = Command::new("ip");
    run.args(["netns", "exec", &host, env!("CARGO_BIN_EXE_jitterlab")]);
    run.args(["run", "e.yaml", "--headless"])
        .current_dir(lab.path(""));
    let run = run.stdout(events).stderr(Stdio::null());
    let mut run = run.spawn().unwrap();
    let here = Lab::new();
    let path = ssh::path_to_machines(&here, "ip netns exec %h ", &path_there());
    let address = format!("ui ssh://{host}{}", lab.path("").display());
    let attach = || {
        let mut session = Session::start_with(&here, &address, (100, 30), &[("PATH", &path)]);
        session.until("q leave");
        session
    };
    let mut session = attach();
    session.press("4");
    session.until("closed loop");
    // The next run begins when it is watched again.
    session.press("3");
    session.until("running, ");
    session.press("p");
    session.until("paused, ");
    session.press("q");
    assert_eq!(session.end().code(), Some(0));
    let mut session = attach();
    session.press("3");
    session.until("paused, ");
    session.press("p4");
    session.until("closed loop");
    kill(ssh_of(&session), Signal::SIGKILL).unwrap();
    session.until(&format!(
        "the connection to {host} has ended; what runs there goes on"
    ));
    assert_eq!(session.end().code(), Some(3));
    let mut session = attach();
    session.press("3");
    session.until("packet-rtt-udp.none.r8");
    session.until("done");
    session.press("q");
    assert_eq!(session.end().code(), Some(0));
    assert!(run.wait().unwrap().success());
    let events = common::experiments::events(lab.read("events").as_bytes());
    let counts: Vec<[u64; 2]> = ended(&events)
        .into_iter()
        .map(|(record, live)| [live, record.n.unwrap()])
        .collect();
    println!("samples that were followed, and that were stored: {counts:?}");
    assert_eq!(counts.len(), 8);
    assert!(
        counts
            .iter()
            .all(|[followed, stored]| *stored > 0 && followed == stored),
        "{counts:?}"
    );
}

#[test]
fn a_machine_that_is_not_there_is_said() {
    let lab = Lab::new();
    let mut session = Session::start(&lab, "ui ssh://nobody.invalid/x", 80, 24);
    session.until("the connection to nobody.invalid has ended");
    assert_eq!(session.end().code(), Some(3));
}

#[test]
fn it_is_as_large_as_the_terminal_and_coloured_where_that_is_wanted() {
    let lab = Lab::new();
    let mut session = Session::start(&lab, "ui", 80, 24);
    session.until("q leave");
    session.until("settings");
    assert!(session.is_colored());
    let is_below = |rows: usize| {
        move |shown: &str| {
            let mut lines = shown.lines();
            lines
                .nth(rows - 1)
                .is_some_and(|last| last.contains("q leave"))
        }
    };
    for (columns, rows) in [(132, 43), (60, 10)] {
        session.resize(columns, rows);
        session.until_it("last line", is_below(rows.into()));
    }
    session.press("q");
    assert_eq!(session.end().code(), Some(0));
    let plain = [("NO_COLOR", "1")];
    let mut session = Session::start_with(&lab, "ui", (80, 24), &plain);
    session.until("settings");
    session.press("q");
    assert!(!session.is_colored());
    assert_eq!(session.end().code(), Some(0));
}

/// Every kind of terminal gets what it can show, and is as it was in the end.
#[test]
fn each_terminal_is_written_to_in_its_own_way() {
    let lab = Lab::new();
    for term in [
        "vt100",
        "linux",
        "xterm-256color",
        "tmux-256color",
        "screen",
    ] {
        for locale in ["C", "C.UTF-8"] {
            let environment = [("TERM", term), ("LC_ALL", locale)];
            let mut session = Session::start_with(&lab, "ui", (80, 24), &environment);
            session.until("settings");
            // Arrows stand in the last line of both.
            session.press("3");
            session.until("none yet");
            session.press("?");
            session.until("any key closes this");
            session.press(" ");
            session.until("none yet");
            let told = (session.is_ascii(), session.is_colored());
            let expected = (term == "vt100" || locale == "C", term != "vt100");
            assert_eq!(told, expected, "ASCII and coloured: {term}, {locale}");
            session.press("q");
            assert_eq!(session.end().code(), Some(0));
        }
    }
}

#[test]
fn noise_is_measured() {
    let lab = Lab::new();
    let mut session = Session::start(&lab, "ui", 80, 24);
    session.until("q leave");
    session.press("2\r");
    session.until("gaps since the beginning");
    session.until_it("second second", |shown| {
        shown.contains("measuring: ") && !shown.contains("measuring: 1 s")
    });
    session.press("\r");
    session.until("ended: ");
    session.press("q");
    assert_eq!(session.end().code(), Some(0));
}

#[test]
fn the_results_of_an_experiment_are_shown() {
    let lab = Lab::new();
    lab.write("e.yaml", TINY);
    lab.write("wrong.yaml", "name: 1\n");
    assert!(lab.run("run e.yaml --headless").status.success());
    let name = folder(&lab)
        .file_name()
        .unwrap()
        .to_string_lossy()
        .into_owned();
    let base = lab.path("").display().to_string();
    let elsewhere = Lab::new();
    let mut session = Session::start(&elsewhere, &format!("ui {base}"), 160, 48);
    session.until("q leave");
    session.press("3");
    // The time that ends the name tells folders apart.
    session.until(&name);
    session.until("packet-rtt-udp.none.r2");
    session.until("1us▕");
    let records = lines(&folder(&lab).join("runs.jsonl"));
    let packet = records
        .iter()
        .rposition(|record| record["suite"] == "packet");
    let last = records.len() - 1;
    session.press("\x1b[C");
    session.press(&"\x1b[A".repeat(last - packet.unwrap()));
    session.until("99.9 %");
    let n = records[packet.unwrap()]["n"].as_u64().unwrap();
    session.until(&format!("n {n}"));
    session.press("\x1b[D\x1b[H\x1b[B\x1b[B");
    session.until("wrong.yaml:1:1: ");
    session.press("q");
    assert_eq!(session.end().code(), Some(0));
}

#[test]
fn an_experiment_is_started_stopped_and_resumed_and_outlives_the_ui() {
    let lab = Lab::new();
    let lines = waiting(&lab);
    let mut session = Session::start(&lab, "ui", 80, 24);
    session.until("q leave");
    session.press("3");
    session.until("application waits");
    session.press("\r");
    session.until("run e.yaml?");
    session.press("y");
    session.until("under way");
    session.until("runs 0/3");
    session.press("s");
    session.until("stop waiting-");
    session.press("y");
    session.until("at 0/3");
    // What it said last is in its log.
    session.until("to go on: jitterlab run --resume");
    session.press("\r");
    session.until("resume waiting-");
    session.press("y");
    session.until("runs 0/3");
    session.press("q");
    session.until("goes on; the same command shows it again");
    assert_eq!(session.end().code(), Some(0));
    // The UI is gone, and the experiment is not.
    let _gone_on = go(&lines);
    let runs = folder(&lab).join("runs.jsonl");
    until(|| fs::read_to_string(&runs).unwrap().lines().count() == 3);
    assert_whole(&lab);
    let log = folder(&lab).with_extension("log");
    assert!(lab.read("results/e.log").contains("to go on"));
    until(|| fs::read_to_string(&log).unwrap().contains("3 runs done"));
}

#[test]
fn an_experiment_is_made_saved_and_run_and_paused_between_two_runs() {
    let lab = Lab::new();
    let lines = waiting(&lab);
    let mut session = Session::start(&lab, "ui", 120, 40);
    session.until("q leave");
    session.press("3");
    session.until("application waits");
    session.press("\x1b[H");
    session.until("times each");
    session.press("\r");
    session.press("+\r");
    session.until("Enter runs it");
    session.until("experiment  packet");
    let made = lab.read("packet.yaml");
    assert!(made.contains("repetitions: 6"), "{made}");
    assert!(lab.run("run --dry-run packet.yaml").status.success());
    // The one that waits.
    session.press("\x1b[H\x1b[B\r");
    session.until("run e.yaml?");
    session.press("y");
    session.until("under way");
    session.press("p");
    session.until("paused, 0 of 3");
    let _gone_on = go(&lines);
    session.until("paused, 1 of 3");
    session.press("p");
    session.until("e.yaml: done");
    assert!(lab.read("results/e.log").contains("paused; to go on: rm "));
    assert_whole(&lab);
    session.press("q");
    assert_eq!(session.end().code(), Some(0));
}

#[test]
fn what_somebody_else_runs_is_followed() {
    let lab = Lab::new();
    let lines = waiting(&lab);
    let mut session = Session::start(&lab, "ui", 80, 24);
    session.until("q leave");
    session.press("3");
    session.until("none yet");
    let mut run = lab.command("run e.yaml");
    let mut run = run
        .stderr(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    session.until("runs 0/3");
    session.press("\x1b[F");
    session.until("running, 0 of 3");
    session.until("under way  application-waits.none.r1");
    let _gone_on = go(&lines);
    assert!(run.wait().unwrap().success());
    session.until("done");
    session.until("waits.none.r3");
    session.press("q");
    assert_eq!(session.end().code(), Some(0));
}

#[test]
fn pairs_are_validated_and_shown_as_they_are_measured() {
    let lab = Lab::new();
    lab.write(
        "hosts.yaml",
        "hosts: { a: { at: local }, b: { at: local }, c: { at: local } }\nrepetitions: 6\nminimum_effect: 100%\n",
    );
    lab.write("wrong.yaml", "hosts: { a: { at: nowhere } }\n");
    let mut session = Session::start(&lab, "ui", 100, 30);
    session.until("q leave");
    session.press("8");
    session.until("not validated yet");
    session.press("f");
    session.until("wrong.yaml:1:");
    session.press("f");
    session.until("not validated yet");
    session.press("\r");
    session.until("measure all pairs of the 3 hosts of hosts.yaml over udp?");
    session.press("y");
    session.until("hosts remain");
    session.until("a - b");
    session.until("measured 6 times");
    session.press("q");
    assert_eq!(session.end().code(), Some(0));
    let events = lab.read("results/validate-hosts.jsonl");
    assert_eq!(events.matches("\"event\":\"run\"").count(), 3 * 6);
}

#[test]
fn without_a_terminal_it_says_so() {
    let lab = Lab::new();
    lab.refuses(
        "ui",
        "the terminal UI needs a terminal as its stdin and stdout; without a terminal, use `jitterlab run`, `check`, `noise run` and \
         `ui --print SCREEN`",
    );
    let mut session = Session::start(&lab, "ui nowhere", 80, 24);
    session.until("nowhere is no folder");
    assert_eq!(session.end().code(), Some(2));
    let output = lab.run("ui --help");
    assert!(text(&output.stdout).contains("a node booted from the image, its disk"));
}
