//! The screens of `jitterlab ui` that watch, by their keys, in a pseudo-terminal.

mod common;
mod pty;

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use common::Lab;
use jitterlab_skip::{built, skip};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use pty::Session;

/// So long that it is always stopped.
const LONG: &str = "
name: long
seed: 3
repetitions: 30
hosts: { here: { at: local } }
suites:
  packet:
    - { case: rtt, transports: [udp], from: here, to: here, size: 64B, warmup: 5ms, duration: 20s, wait: block }
";

const SHORT: &str = "
name: short
seed: 3
repetitions: 3
hosts: { here: { at: local } }
suites:
  packet:
    - { case: rtt, transports: [udp, tcp], from: here, to: here, size: 64B, warmup: 5ms, duration: 20ms, wait: block }
";

/// One of its runs fails, and one at first.
const FAILING: &str = "
name: failing
seed: 3
repetitions: 1
retries: 1
hosts: { here: { at: local } }
suites:
  application:
    - { name: fails, client: { on: here, command: ['false'] } }
    - { name: wavers, client: { on: here, command: [sh, -c, 'test -e BEEN || { touch BEEN; exit 1; }'] } }
";

/// Leaves the UI.
fn leave(mut session: Session) {
    session.press("q");
    assert_eq!(session.end().code(), Some(0));
}

#[test]
fn a_run_is_watched_pinned_frozen_and_zoomed() {
    let lab = Lab::new();
    lab.write("e.yaml", LONG);
    let mut session = Session::start(&lab, "ui", 100, 30);
    session.until("q leave");
    session.press("4");
    let mut run = lab.command("run e.yaml --headless");
    let run = run.stdout(Stdio::null()).stderr(Stdio::null());
    let mut run = run.spawn().unwrap();
    session.until("packet-rtt-udp.none.r1, 64B  closed loop");
    session.until("median of a second");
    session.press("p");
    session.until("over packet-rtt-udp.none.r1, 64B");
    session.until("shift of the median: ");
    session.press("z");
    session.until("zoom 10 to 90 %");
    session.press("f");
    session.until("frozen");
    session.press("f");
    session.until_it("what is not frozen", |shown| !shown.contains("frozen"));
    kill(Pid::from_raw(run.id().cast_signed()), Signal::SIGTERM).unwrap();
    run.wait().unwrap();
    session.until("ended");
    leave(session);
}

#[test]
fn a_program_that_was_started_by_hand_is_watched() {
    if std::thread::available_parallelism().unwrap().get() < 2 {
        return skip("on one CPU nobody looks at a program that measures there");
    }
    let lab = Lab::new();
    let mut program = Session::start(&lab, "noise run --cpus 0 --duration 300s", 80, 24);
    program.until("samples");
    let mut session = Session::start(&lab, "ui", 200, 60);
    session.until("q leave");
    session.press("4");
    session.until("noise run --cpus 0 --duration 300s");
    leave(session);
    program.press("\x03");
    program.end();
}

/// Leads to a source on Live, from the first one on: there may be programs of other tests of this user.
fn watch(session: &mut Session, command: &str) {
    session.press("\x1b[H");
    for source in 1.. {
        session.until(&format!("  {source} of "));
        let shown = session.shown();
        if shown
            .lines()
            .nth(1)
            .is_some_and(|title| title.contains(command))
        {
            return;
        }
        session.press("\x1b[B");
    }
}

/// Both ends: one has samples, and the other counts what it is sent.
#[test]
fn active_messages_that_were_started_by_hand_are_watched() {
    let lab = Lab::new();
    let place = format!("shm://by-hand-{}", std::process::id());
    let serve = format!("amvia serve --listen {place}");
    let mut server = Session::start(&lab, &serve, 200, 24);
    server.until("listening");
    let call = format!("amvia call server@{place} --count 1000000000");
    let mut client = Session::start(&lab, &call, 200, 24);
    client.until("samples");
    server.until("messages, ");
    let mut session = Session::start(&lab, "ui", 200, 60);
    session.until("q leave");
    session.press("4");
    watch(&mut session, &call);
    session.until("32B  closed loop");
    watch(&mut session, &serve);
    session.until("messages a second");
    leave(session);
    client.press("\x03");
    client.end();
    server.press("\x03");
    server.until("handlers run");
    assert_eq!(server.end().code(), Some(0));
}

#[test]
fn delays_are_switched_and_scaled() {
    built();
    let lab = Lab::new();
    let mut program = lab.command("inject run --hook socket --delay 50us -- sleep 300");
    let mut program = program
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut session = Session::start(&lab, "ui", 100, 30);
    session.until("q leave");
    session.press("5");
    // There may be programs of other tests of this user.
    let pid = program.id().to_string();
    session.until(&pid);
    let line = |pid: &str, what: &str| {
        let (pid, what) = (pid.to_string(), what.to_string());
        move |shown: &str| {
            shown
                .lines()
                .any(|line| line.contains(&pid) && line.contains(&what))
        }
    };
    let status = |field: &str| {
        let status = lab.json(&format!("inject status --pid {pid} --format json"));
        status[0][field].clone()
    };
    session.until_it("on", line(&pid, "  on "));
    if session.shown().contains("a program under injection") {
        session.press("o");
        session.until_it("off", line(&pid, "  off "));
        assert_eq!(status("enabled"), false);
        session.press("+");
        session.until("mean 100 us");
        assert_eq!(status("table_mean"), 100_000.0);
        session.press("m");
        session.until("defer: sent later");
    }
    program.kill().unwrap();
    program.wait().unwrap();
    leave(session);
}

#[test]
fn two_results_are_compared() {
    let lab = Lab::new();
    lab.write("e.yaml", SHORT);
    assert!(lab.run("run e.yaml --headless").status.success());
    let mut session = Session::start(&lab, "ui", 80, 24);
    session.until("q leave");
    session.press("7");
    session.until("RTT over TCP");
    session.press("\ra\x1b[B");
    session.until("a  packet-rtt-tcp.none");
    session.until("b  packet-rtt-udp.none");
    session.until("Is b slower than a by more than 5 %?");
    session.press("-");
    session.until("by more than 2 %?");
    session.press("x");
    session.until("screen-1.txt");
    let folder = common::experiments::folder(&lab);
    let exported = std::fs::read_to_string(folder.join("report/screen-1.txt")).unwrap();
    assert!(exported.contains("b  packet-rtt-udp.none"), "{exported}");
    session.press("w");
    session.until("report/index.html");
    assert!(folder.join("report/index.html").is_file());
    leave(session);
}

/// By the same code as in a terminal: what screens show, and what keys do on them.
#[test]
fn screens_are_printed_where_there_is_no_terminal() {
    let lab = Lab::new();
    lab.write("e.yaml", SHORT);
    assert!(lab.run("run e.yaml --headless").status.success());
    let wide = lab.done("ui . --print Results --watch 5s --size 200x60");
    assert_eq!(wide.lines().count(), 60);
    assert!(wide.contains("RTT over TCP, median of a run"), "{wide}");
    assert!(!wide.contains("Is b slower than a"), "{wide}");
    let compared = lab.done("ui . --print results --watch 5s --keys Enter --keys a --keys Down");
    assert!(compared.contains("b  packet-rtt-udp.none"), "{compared}");
    assert!(
        compared.contains("Is b slower than a by more than 5 %?"),
        "{compared}"
    );
    let log = lab.done("ui --print log --watch 500ms --svg");
    assert!(log.starts_with("<svg ") && log.contains("all: "), "{log}");
    lab.refuses(
        "ui --print Nodes",
        "there is no screen Nodes; the screens are Node, Noise, Suites, Live, Injector, Messages, Results, Validate, Log",
    );
    lab.refuses(
        "ui --print Log --keys Entr",
        "error: invalid value 'Entr' for '--keys <KEYS>': that is no key: a key is a character, or Space, Up, Down, Left, Right, \
         PageUp, PageDown, Home, End, Enter, Esc, Backspace",
    );
    lab.refuses(
        "ui --print Log --size 80",
        "error: invalid value '80' for '--size <SIZE>': a size is COLUMNSxROWS, such as 80x24, each at most 1000",
    );
    lab.refuses(
        "ui --print Log ssh://there/x",
        "--print is of a folder of this machine: on another one, start it there, as with `ssh HOST jitterlab ui --print …`",
    );
}

/// Whoever watches for long enough is told how far what is measured has shifted.
#[test]
fn a_shift_is_told_where_there_is_no_terminal() {
    let lab = Lab::new();
    lab.write("e.yaml", LONG);
    let mut run = lab.mortal("run e.yaml --headless");
    let run = run.stdout(Stdio::null()).stderr(Stdio::null());
    let _run = Killed(run.spawn().unwrap());
    while !lab
        .done("ui --print Live --watch 1s")
        .contains("packet-rtt-udp.none.r1, 64B")
    {}
    let pinned = lab.done("ui --print Live --watch 4s --keys p --size 120x40");
    assert!(pinned.contains("over packet-rtt-udp.none.r1"), "{pinned}");
    assert!(pinned.contains("shift of the median: unknown"), "{pinned}");
}

/// A program that is killed where its test ends.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn endpoints_and_their_transactions_are_watched() {
    let lab = Lab::new();
    let server = format!("server-{}", std::process::id());
    let client = format!("client-{}", std::process::id());
    let mut serve =
        lab.command("amvia serve --until-stdin-closes --listen udp://127.0.0.1:0 --name");
    serve
        .arg(&server)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut serve = Killed(serve.spawn().unwrap());
    let mut line = String::new();
    let said = serve.0.stdout.as_mut().unwrap();
    BufReader::new(said).read_line(&mut line).unwrap();
    let said: serde_json::Value = serde_json::from_str(&line).unwrap();
    let to = format!("{server}@{}", said["listening"].as_str().unwrap());
    let mut call = lab.command("amvia call --count 1000000000 --name");
    call.args([&client, &to]).stdout(Stdio::null());
    let call = Killed(call.spawn().unwrap());
    let mut session = Session::start(&lab, "ui", 120, 48);
    session.until("q leave");
    session.press("6");
    session.until(&server);
    session.until(&client);
    let rates = |session: &mut Session, none: &'static str, what: &str| {
        session.until_it(what, |shown| {
            let rates = shown.lines().find(|line| line.contains("a second "));
            rates.is_some_and(|it| !it.contains(" 0 requests, 0 handlers") && it.contains(none))
        });
    };
    // There may be endpoints of other programs of this user.
    session.choose(&client);
    session.until("connected");
    rates(&mut session, ", 0 handlers,", "requests of the client");
    session.choose(&server);
    session.until("connected");
    rates(&mut session, " 0 requests,", "handlers of the server");
    drop(call);
    session.until_it("end of the client", |shown| !shown.contains(&client));
    leave(session);
}

#[test]
fn what_has_failed_is_in_the_log_and_found_there() {
    let lab = Lab::new();
    let been = lab.path("been").display().to_string();
    lab.write("e.yaml", FAILING.replace("BEEN", &been));
    assert_eq!(lab.run("run e.yaml --headless").status.code(), Some(1));
    let mut session = Session::start(&lab, "ui", 100, 30);
    session.until("q leave");
    session.press("9");
    session.until("application-fails.none.r1, attempt 2: ");
    session.until("application-wavers.none.r1, attempt 1: ");
    session.until("all: 3 lines");
    session.press("e");
    session.until("errors: 2 lines");
    session.press("ee/wavers");
    session.until("all, with: wavers_: 1 line");
    session.press("\x1b");
    session.until("all: 3 lines");
    leave(session);
}

/// From the program alone to the answer, by what the screens say.
#[test]
fn a_newcomer_finds_out_whether_one_is_slower_than_the_other() {
    let lab = Lab::new();
    let mut session = Session::start(&lab, "", 80, 24);
    session.until("to begin");
    session.until("3 Suites makes and runs an experiment");
    session.press("3");
    session.until("new experiment");
    session.press("\r");
    session.until("Enter save");
    session.press("\r");
    session.until("Enter runs it");
    session.until("experiment  packet");
    session.press("\r");
    session.until("run packet.yaml?");
    session.press("y");
    session.until("packet.yaml is started: 4 Live shows it");
    session.until("packet.yaml: done: 7 Results compares what it measured");
    session.press("7");
    session.until("RTT over TCP");
    session.press("\r");
    session.until("choose a level: it is b, and is compared with a");
    session.press("a");
    session.until("a is packet-rtt-tcp.none");
    session.press("\x1b[B");
    session.until("Is b slower than a by more than 5 %?");
    leave(session);
}

#[test]
fn a_saved_experiment_is_edited_and_one_that_cannot_be_stays_as_it_is() {
    let lab = Lab::new();
    lab.write("short.yaml", SHORT);
    let mut session = Session::start(&lab, "ui", 80, 24);
    session.until("q leave");
    session.press("3");
    session.until("new experiment");
    session.press("\x1b[H\r");
    session.until("on this machine");
    session.press("\r");
    session.until("Enter runs it");
    session.until("experiment  packet");
    let made = lab.read("packet.yaml");
    assert!(made.contains("repetitions: 5"), "{made}");
    session.press("e");
    session.until("edits packet.yaml");
    session.press("+");
    session.until("6 times each");
    session.press("\r");
    session.until("runs        12,");
    let saved = lab.read("packet.yaml");
    assert_eq!(saved, made.replace("repetitions: 5", "repetitions: 6"));
    // What the choices cannot make is told.
    session.press("\x1b[B");
    session.until("experiment  short");
    session.press("e");
    session.until("short.yaml: its `suites` is not among what can be chosen");
    assert_eq!(lab.read("short.yaml"), SHORT);
    leave(session);
}
