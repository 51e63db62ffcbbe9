//! Live data through the public door: what is told while a run is under way, and what is stored of it in the end.

mod common;

use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Stdio};

use common::experiments::{ended, events, folder, kill as kill_child, lab, lines, until};
use common::{Lab, text};
use jitterlab_experiment::live;
use jitterlab_experiment::record::Outcome;
use jitterlab_live::{Count, PLACE, Reader, Total};
use jitterlab_stats::histogram::Histogram;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, geteuid};

const EXPERIMENT: &str = r#"
name: live
seed: 7
repetitions: 4
retries: 0
hosts:
  client: { at: local }
  server: { at: local }
load: { transport: udp, from: client, to: server, message: 1400B, bandwidth: 100MiB }
levels: { load: [20] }
suites:
  packet:
    - { case: rtt, transports: [udp, tcp], from: client, to: server, size: 64B, warmup: 5ms, duration: 30ms, wait: block }
"#;

/// One run, which lasts longer than the test.
fn long() -> String {
    EXPERIMENT
        .replace("repetitions: 4", "repetitions: 1")
        .replace("[udp, tcp]", "[udp]")
        .replace("levels: { load: [20] }\n", "")
        .replace("duration: 30ms", "duration: 300s")
}

#[test]
fn what_was_followed_is_what_is_stored() {
    let lab = lab(EXPERIMENT);
    let output = lab.run("run e.yaml --headless");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let events = events(&output.stdout);
    let runs = ended(&events);
    assert_eq!(runs.len(), 16);
    for (record, live) in runs {
        assert!(live > 0 && record.n == Some(live), "{live}: {record:?}");
    }
    assert!(!folder(&lab).join(live::FILE).exists());
}

/// The processes that any thread of `process` has started, with their command lines.
fn children(process: u32) -> Vec<(u32, String)> {
    let threads = fs::read_dir(format!("/proc/{process}/task"));
    let threads = threads.into_iter().flatten().flatten();
    let lists = threads.filter_map(|it| fs::read_to_string(it.path().join("children")).ok());
    let pids: String = lists.collect();
    let command = |pid: &str| {
        let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&command).replace('\0', " ")
    };
    pids.split_ascii_whitespace()
        .map(|pid| (pid.parse().unwrap(), command(pid)))
        .collect()
}

/// The worker that measures, and its program.
fn measuring(controller: &Child) -> Option<(u32, u32)> {
    children(controller.id())
        .into_iter()
        .find_map(|(worker, _)| {
            let is_it = |(_, command): &(u32, String)| command.contains("packet run");
            let (program, _) = children(worker).into_iter().find(is_it)?;
            Some((worker, program))
        })
}

/// Where a program publishes.
fn place_of(program: u32) -> Option<PathBuf> {
    let environment = fs::read(format!("/proc/{program}/environ")).ok()?;
    let environment = String::from_utf8_lossy(&environment).into_owned();
    let prefix = format!("{PLACE}=");
    let name = environment
        .split('\0')
        .find_map(|word| word.strip_prefix(&prefix))?;
    Some(PathBuf::from(format!(
        "/dev/shm/jitterlab-{}/{name}",
        geteuid()
    )))
}

fn start(lab: &Lab) -> Child {
    lab.command("run e.yaml --headless")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn samples_so_far(lab: &Lab) -> u64 {
    let results = lab.path("results");
    let has_folder = fs::read_dir(&results).is_ok_and(|mut entries| entries.next().is_some());
    if !has_folder {
        return 0;
    }
    let now = live::read(&folder(lab)).unwrap();
    now.map_or(0, |now| now.samples)
}

#[test]
fn what_was_followed_ends_where_the_worker_did() {
    let lab = lab(&long());
    let mut controller = start(&lab);
    until(|| samples_so_far(&lab) > 1_000);
    let (worker, program) = measuring(&controller).unwrap();
    let place = place_of(program).unwrap();
    let mut reader = Reader::of_place(place);
    let mut measured = Total::default();
    measured.take(reader.update().unwrap());
    let before = samples_so_far(&lab);
    kill(Pid::from_raw(worker.cast_signed()), Signal::SIGKILL).unwrap();
    let mut printed = Vec::new();
    let mut out = controller.stdout.take().unwrap();
    out.read_to_end(&mut printed).unwrap();
    let events = events(&printed);
    assert_eq!(controller.wait().unwrap().code(), Some(1));
    // The program has ended with its worker; its pages are still in the memory of this process.
    // There is nothing new where it had no time to measure more.
    if let Some(update) = reader.update() {
        measured.take(update);
    }
    let [(record, live)] = ended(&events)[..] else {
        panic!("{events:?}");
    };
    assert_eq!(record.outcome, Outcome::Failed);
    // All that was published is told, up to the last sample before the end.
    assert!(measured.samples() >= before);
    assert_eq!(live, measured.samples());
    let stored = lines(&folder(&lab).join("runs.jsonl"));
    assert!(stored.len() == 1 && stored[0]["outcome"] == "failed");
}

#[test]
fn whoever_looks_into_the_folder_sees_the_run_that_is_under_way() {
    let lab = lab(&long());
    let controller = start(&lab);
    until(|| samples_so_far(&lab) > 100);
    let now = live::read(&folder(&lab)).unwrap().unwrap();
    assert_eq!(now.run, "packet-rtt-udp.none.r1");
    assert_eq!((now.finished, now.runs, now.attempt), (0, 1, 1));
    assert_eq!(now.measured.label, "64B");
    assert_eq!(now.measured.histogram.count(), now.samples);
    let [median, p99, max] = now.quantiles_ns().unwrap();
    assert!(0 < median && median <= p99 && p99 <= max);
    assert_ne!(now.measured.histogram, Histogram::new());
    // It goes on.
    until(|| samples_so_far(&lab) > now.samples);
    kill_child(controller);
}

/// It takes no samples, and counts while it runs.
#[test]
fn a_bandwidth_of_active_messages_is_followed_by_its_messages() {
    let lab = Lab::new();
    lab.write(
        "e.yaml",
        "name: counts\nseed: 1\nrepetitions: 1\nhosts: { here: { at: local } }\nsuites:\n  amvia:\n    - { case: bandwidth, \
         transports: [udp], from: here, to: here, sizes: [32B], warmup: 1ms, duration: 300s }\n",
    );
    let controller = start(&lab);
    let counted = || {
        let has_folder = fs::read_dir(lab.path("results")).is_ok_and(|mut it| it.next().is_some());
        let now = has_folder
            .then(|| live::read(&folder(&lab)).unwrap())
            .flatten();
        now.map_or([0; 2], |now| {
            [Count::Messages, Count::Bytes].map(|count| now.measured.counted(count))
        })
    };
    until(|| counted()[0] > 0);
    let [messages, bytes] = counted();
    assert!(bytes > 0 && bytes % 32 == 0, "{bytes}");
    until(|| counted()[0] > messages);
    kill_child(controller);
}

#[test]
fn an_application_is_followed_by_what_it_prints() {
    let lab = Lab::new();
    lab.write(
        "e.yaml",
        "name: said\nseed: 1\nrepetitions: 1\nhosts: { here: { at: local } }\nsuites:\n  application:\n    - name: a\n      \
         client: { on: here, command: [sh, -c, \"printf 'step 1\\\\rstep 2'; sleep 300\"] }\n",
    );
    let controller = start(&lab);
    let said = || {
        let has_folder = fs::read_dir(lab.path("results")).is_ok_and(|mut it| it.next().is_some());
        let now = has_folder
            .then(|| live::read(&folder(&lab)).unwrap())
            .flatten();
        now.map(|now| now.said).unwrap_or_default()
    };
    until(|| said() == "step 2");
    kill_child(controller);
}
