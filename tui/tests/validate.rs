//! `jitterlab validate`, on network namespaces of which something has been slowed, and on hosts that go.

mod cluster;
mod common;
mod ssh;

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use cluster::{Cluster, Slow, is_root, slow_nodes, slow_pairs};
use common::experiments::until;
use common::{Lab, text};
use jitterlab_node_tuning::validation::tournament::schedule;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

/// Whatever else the machine does meanwhile must not look like an outlier here: how small a slowdown is
/// found, and how often falsely, is what `benches/validate.rs` counts.
const COARSE: &str = "minimum_effect: 25%\nwarmup: 5ms\nduration: 20ms\n";

/// At the usual level one verdict in 20 may have a false alarm, and this test has four verdicts. With so many repetitions a slowdown by half is sure
/// at this level, too.
const SURE: &str = "repetitions: 8\nalpha: 0.001\n";

fn names(value: &Value) -> Vec<&str> {
    let names = value.as_array().unwrap().iter();
    names.map(|name| name.as_str().unwrap()).collect()
}

#[test]
fn of_eight_namespaces_the_slowed_node_and_then_the_slowed_pair_is_found() {
    if !is_root() {
        return;
    }
    let cluster = Cluster::new(9);
    cluster.write(8, &format!("slots: 4\n{SURE}{COARSE}"));
    cluster.slow(Slow::Nothing, "0us");
    let (output, quiet) = cluster.validated("udp --hostfile all.hosts");
    assert_eq!(output.status.code(), Some(0), "{quiet:#}");
    assert_eq!(quiet["attempts"].as_array().unwrap().len(), 1);
    assert_eq!(quiet["spares_left"], json!(["n9"]));
    assert_eq!(cluster.lab.read("all.hosts").lines().count(), 8);
    let attempt = &quiet["attempts"][0];
    assert_eq!(attempt["pairs"].as_array().unwrap().len(), 28);
    assert_eq!(attempt["runs"].as_array().unwrap().len(), 28 * 8);
    assert_eq!(attempt["unit"], "pair");
    let half = attempt["typical_ns"].as_f64().unwrap() / 2.0;
    let half = format!("{half:.0}ns");

    cluster.slow(Slow::Node(3), &half);
    let (output, found) = cluster.validated("udp --hostfile o.hosts --nodelist o.nodes");
    assert_eq!(output.status.code(), Some(1), "{found:#}");
    let attempts = found["attempts"].as_array().unwrap();
    assert_eq!(attempts.len(), 2);
    assert_eq!(slow_nodes(&attempts[0]), ["n3"]);
    assert!(slow_pairs(&attempts[0]).is_empty(), "{:#}", attempts[0]);
    assert_eq!(
        attempts[0]["left_out"],
        json!([{"host": "n3", "reason": "outlier"}])
    );
    assert!(slow_nodes(&attempts[1]).is_empty(), "{:#}", attempts[1]);
    let expected = ["n1", "n2", "n4", "n5", "n6", "n7", "n8", "n9"];
    assert_eq!(names(&found["remaining"]), expected);
    let hostfile: String = expected.map(|name| format!("{name} slots=4\n")).concat();
    assert_eq!(cluster.lab.read("o.hosts"), hostfile);
    assert_eq!(cluster.lab.read("o.nodes"), "n[1-2,4-9]\n");

    cluster.write(8, &format!("{SURE}{COARSE}"));
    let h = cluster.lab.read("h.yaml");
    let without_spares = h.replace("spares:\n", "").replace(&cluster.host(9), "");
    cluster.lab.write("h.yaml", without_spares);
    cluster.slow(Slow::Pair(2, 5), &half);
    let (output, found) = cluster.validated("udp");
    assert_eq!(output.status.code(), Some(1), "{found:#}");
    let attempt = &found["attempts"][0];
    assert!(slow_nodes(attempt).is_empty(), "{attempt:#}");
    assert_eq!(slow_pairs(attempt), [["n2", "n5"]]);
    assert_eq!(found["remaining"].as_array().unwrap().len(), 7);
    let out = &attempt["left_out"][0];
    assert!(
        (out["host"] == "n2" && out["with"] == "n5")
            || (out["host"] == "n5" && out["with"] == "n2"),
        "{out}"
    );
}

#[test]
fn hosts_that_are_not_reached_stall_or_lose_their_cable_do_not_stop_the_rest() {
    if !is_root() {
        return;
    }
    let cluster = Cluster::new(6);
    let nowhere = "  n7: { at: netns jlv-nowhere, address: 10.72.0.7 }\n";
    cluster.write(6, &format!("{COARSE}repetitions: 3\n"));
    let h = cluster.lab.read("h.yaml");
    cluster.lab.write(
        "h.yaml",
        h.replacen("hosts:\n", &format!("hosts:\n{nowhere}"), 1),
    );
    // At the third measurement that it asks for, the worker of n5 stops, and n6 loses its cable.
    let count = cluster.lab.path("count");
    let counted = |host: usize, then: &str| {
        format!(
            "\"{} \"*\" run \"*) echo >> {count}{host}; \
             test $(wc -l < {count}{host}) -lt 3 || {then};;\n",
            cluster.namespace(host),
            count = count.display(),
        )
    };
    cluster.wrap(&format!(
        "case \"$host $*\" in\n{}{}esac\n",
        counted(5, "kill -STOP $PPID"),
        counted(6, "ip link set veth0 down"),
    ));
    let (output, found) = cluster.validated("udp --nodelist o.nodes");
    assert_eq!(output.status.code(), Some(1), "{found:#}");
    let lost: Vec<(&str, &str)> = found["attempts"][0]["lost"]
        .as_array()
        .unwrap()
        .iter()
        .map(|lost| {
            (
                lost["host"].as_str().unwrap(),
                lost["reason"].as_str().unwrap(),
            )
        })
        .collect();
    let [(first, a), (second, b), (third, c)] = lost[..] else {
        panic!("{lost:?}");
    };
    assert_eq!([first, second, third], ["n5", "n6", "n7"]);
    assert!(
        a.contains("the worker of host n5 stalled or is gone"),
        "{a}"
    );
    assert!(b.contains("hosts one after the other"), "{b}");
    assert!(c.contains("the worker of host n7 is gone"), "{c}");
    assert_eq!(names(&found["remaining"]), ["n1", "n2", "n3", "n4"]);
    assert_eq!(cluster.lab.read("o.nodes"), "n[1-4]\n");
    // The rest was measured to the end.
    let runs = found["attempts"][0]["runs"].as_array().unwrap().iter();
    let rest = ["n1", "n2", "n3", "n4"];
    let of_rest = |run: &&Value| {
        [&run["client"], &run["server"]]
            .iter()
            .all(|name| rest.contains(&name.as_str().unwrap()))
    };
    assert_eq!(runs.filter(of_rest).count(), 6 * 3);
}

#[test]
fn a_measurement_that_fails_once_costs_no_host() {
    if !is_root() {
        return;
    }
    let cluster = Cluster::new(4);
    cluster.write(4, &format!("{COARSE}repetitions: 4\n"));
    let count = cluster.lab.path("count");
    cluster.wrap(&format!(
        "case \"$host $*\" in\n\"{} \"*\" run \"*) echo >> {count}; \
         test $(wc -l < {count}) -ne 2 || exit 9;;\nesac\n",
        cluster.namespace(1),
        count = count.display(),
    ));
    let (output, found) = cluster.validated("udp");
    let attempt = &found["attempts"][0];
    assert_eq!(
        attempt["failures"].as_array().unwrap().len(),
        1,
        "{found:#}"
    );
    assert_eq!(attempt["runs"].as_array().unwrap().len(), 6 * 4 - 1);
    assert_eq!(names(&found["remaining"]), ["n1", "n2", "n3", "n4"]);
    assert_eq!(output.status.code(), Some(0), "{found:#}");
}

/// Whether, of five hosts of which the last three answer nobody, the first two are left alone before they have met: each
/// because it was the turn of those three.
fn leaves_the_good_alone(seed: u64) -> bool {
    let mut failures = [0; 5];
    let rounds = schedule(5, 1, seed);
    for m in rounds.iter().flat_map(|round| &round.matches) {
        if failures[m.client] < 3 && failures[m.server] < 3 {
            if m.client < 2 && m.server < 2 {
                return false;
            }
            failures[m.client] += 1;
            failures[m.server] += 1;
        }
    }
    true
}

fn cut_cable(cluster: &Cluster, host: usize) {
    let name = cluster.namespace(host);
    let cut = ["-n", &name, "link", "set", "veth0", "down"];
    assert!(Command::new("ip").args(cut).status().unwrap().success());
}

#[test]
fn hosts_are_not_blamed_for_those_that_they_had_to_be_measured_with() {
    if !is_root() {
        return;
    }
    let cluster = Cluster::new(5);
    let seed = (0..).find(|&seed| leaves_the_good_alone(seed)).unwrap();
    cluster.write(5, &format!("{COARSE}repetitions: 1\nseed: {seed}\n"));
    // Their workers are there, their cables are not.
    for host in 3..=5 {
        cut_cable(&cluster, host);
    }
    let (output, found) = cluster.validated("udp");
    assert_eq!(output.status.code(), Some(1), "{found:#}");
    assert_eq!(names(&found["remaining"]), ["n1", "n2"], "{found:#}");
    let runs = found["attempts"][0]["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 1);

    // Nor does anybody remain whom nobody could measure.
    for host in 1..=2 {
        cut_cable(&cluster, host);
    }
    let (output, found) = cluster.validated("udp --hostfile o.hosts");
    assert_eq!(output.status.code(), Some(3), "{found:#}");
    assert!(text(&output.stderr).ends_with("jitterlab: no host could be measured\n"));
    assert!(!cluster.lab.path("o.hosts").exists());
}

const LOCAL: &str = "hosts:\n  a: { at: local, cpu: 0 }\n  b: { at: local, cpu: 0 }\n  c: { at: local, cpu: 0 }\n\
                     minimum_effect: 100%\nwarmup: 2ms\nduration: 10ms\nrepetitions: 2\n";

#[test]
fn what_fits_is_told_in_words_and_written_for_both_launchers() {
    let lab = Lab::new();
    lab.write("h.yaml", LOCAL);
    let output = lab.run("validate h.yaml --transport tcp --hostfile o.hosts --nodelist o.nodes");
    let (said, progress) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{said}{progress}");
    assert_eq!(progress, "3 hosts, 6 measurements\n");
    for part in [
        "3 hosts over tcp, 64 B: RTT of a typical pair",
        "a   1    -",
        "no pair of 3 hosts can be an outlier with 2 repetitions",
        "3 hosts remain: a b c\n",
    ] {
        assert!(said.contains(part), "{said}");
    }
    assert!(
        !said.contains('\x1b') && !said.contains("OUTLIER"),
        "{said}"
    );
    assert_eq!(lab.read("o.hosts"), "a slots=1\nb slots=1\nc slots=1\n");
    assert_eq!(lab.read("o.nodes"), "a,b,c\n");
}

#[test]
fn hosts_at_the_end_of_ssh_are_measured_like_others() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let path = ssh::path_to_sshd(&lab);
    let host = |name: &str| {
        let program = env!("CARGO_BIN_EXE_jitterlab");
        format!(
            "  {name}: {{ at: ssh {name}, address: 127.0.0.1, cpu: 0, jitterlab: {program} }}\n"
        )
    };
    let hosts = ["a", "b", "c"].map(host).concat();
    let keys = "minimum_effect: 100%\nwarmup: 2ms\nduration: 10ms\nrepetitions: 2\nat_once: 1\n";
    lab.write("h.yaml", format!("hosts:\n{hosts}{keys}"));
    let mut command = lab.command("validate h.yaml --transport udp --hostfile o.hosts");
    let output = command.env("PATH", path).output().unwrap();
    let said = text(&output.stdout) + &text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("3 hosts remain: a b c\n"), "{said}");
    assert_eq!(lab.read("o.hosts"), "a slots=1\nb slots=1\nc slots=1\n");
}

#[test]
fn two_hosts_are_measured_and_nobody_is_blamed() {
    let lab = Lab::new();
    lab.write(
        "h.yaml",
        LOCAL.replacen("  c: { at: local, cpu: 0 }\n", "", 1),
    );
    let validation: Value = {
        let output = lab.run("validate h.yaml --transport udp --format json");
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let attempt = &validation["attempts"][0];
    assert_eq!(attempt["unit"], "none");
    assert_eq!(attempt["nodes"][0]["slowdown"], Value::Null);
    assert_eq!(attempt["pairs"][0]["hosts"], json!(["a", "b"]));
    assert!(attempt["pairs"][0]["rtt_ns"].as_f64().unwrap() > 0.0);
    // Every round trip of every measurement is in the histogram.
    let sum = |of: &Value, count: &dyn Fn(&Value) -> u64| -> u64 {
        of.as_array().unwrap().iter().map(count).sum()
    };
    let counted = sum(&attempt["pairs"][0]["histogram_ns"], &|bucket| {
        bucket[1].as_u64().unwrap()
    });
    let measured = sum(&attempt["runs"], &|run| {
        run["rtt_ns"]["n"].as_u64().unwrap()
    });
    assert_eq!(counted, measured);
}

/// Two hosts, measured often enough for a test.
fn two_hosts(lab: &Lab) {
    let two = LOCAL.replacen("  c: { at: local, cpu: 0 }\n", "", 1);
    lab.write(
        "h.yaml",
        two.replacen("repetitions: 2", "repetitions: 8", 1),
    );
}

/// The kept validation, as if everything had taken so many times as long then.
fn then(lab: &Lab, name: &str, times: f64) {
    let mut kept: Value = serde_json::from_str(&lab.read("kept.json")).unwrap();
    for run in kept["attempts"][0]["runs"].as_array_mut().unwrap() {
        let median = &mut run["rtt_ns"]["median"];
        *median = json!(median.as_f64().unwrap() * times);
    }
    lab.write(name, kept.to_string());
}

#[test]
fn what_has_become_slower_than_a_kept_validation_is_named() {
    let lab = Lab::new();
    two_hosts(&lab);
    let output = lab.run("validate h.yaml --transport udp --keep kept.json");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    // No machine is a hundred times as slow from one moment to the next.
    for (name, times) in [("slow.json", 100.0), ("fast.json", 0.01)] {
        then(&lab, name, times);
    }
    let against = |kept: &str| {
        let output = lab.run(&format!(
            "validate h.yaml --transport udp --baseline {kept}"
        ));
        (output.status.code(), text(&output.stdout))
    };
    let (status, said) = against("slow.json");
    assert_eq!(status, Some(0), "{said}");
    let none = "against the baseline: none of 1 has become slower by more than +100 %\n";
    assert!(said.contains(none), "{said}");
    let (status, said) = against("fast.json");
    assert_eq!(status, Some(1), "{said}");
    let line = said.lines().find(|line| line.ends_with("SLOWER"));
    assert!(
        line.is_some_and(|line| line.starts_with("  a - b")),
        "{said}"
    );
    // Two repetitions beside two decide nothing.
    let few = lab
        .read("h.yaml")
        .replacen("repetitions: 8", "repetitions: 2", 1);
    lab.write("h.yaml", few);
    let output = lab.run("validate h.yaml --transport udp --keep kept.json");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    then(&lab, "fast.json", 0.01);
    let output = lab.run("validate h.yaml --transport udp --baseline fast.json --format json");
    assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let pair = &found["baseline"]["pairs"][0];
    assert_eq!(
        (&pair["hosts"], &pair["slower"]),
        (&json!(["a", "b"]), &json!("undecided"))
    );
    assert_eq!(pair["ratio"], Value::Null);
}

#[test]
fn hosts_and_pairs_that_were_not_measured_then_are_named() {
    let lab = Lab::new();
    lab.write("h.yaml", LOCAL);
    let output = lab.run("validate h.yaml --transport udp --keep kept.json");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    // The kept validation without some runs: those of a pair, or of a host.
    for (of, unknown, compared) in [(&["a", "c"][..], "a - c", 2), (&["c"], "c", 1)] {
        let mut kept: Value = serde_json::from_str(&lab.read("kept.json")).unwrap();
        let runs = kept["attempts"][0]["runs"].as_array_mut().unwrap();
        runs.retain(|run| {
            let has = |host: &&str| run["client"] == **host || run["server"] == **host;
            !of.iter().all(has)
        });
        lab.write("less.json", kept.to_string());
        let less = "validate h.yaml --transport udp --baseline less.json";
        let output = lab.run(&format!("{less} --format json"));
        let found: Value = serde_json::from_slice(&output.stdout).unwrap();
        let baseline = &found["baseline"];
        assert_eq!(baseline["not_compared"], json!([unknown]), "{baseline:#}");
        let pairs = baseline["pairs"].as_array().unwrap();
        assert_eq!(pairs.len(), compared, "{baseline:#}");
        let said = text(&lab.run(less).stdout);
        let line = format!("not compared, since then or now has none of it: {unknown}\n");
        assert!(said.contains(&line), "{said}");
    }
}

#[test]
fn a_baseline_that_was_measured_in_another_way_is_refused() {
    let lab = Lab::new();
    two_hosts(&lab);
    let kept = lab.run("validate h.yaml --transport udp --keep kept.json");
    assert_eq!(kept.status.code(), Some(0));
    lab.write(
        "others.yaml",
        lab.read("h.yaml")
            .replace(" a:", " c:")
            .replace(" b:", " d:"),
    );
    lab.write("zero.yaml", lab.read("h.yaml").replace("100%", "0%"));
    lab.write("torn.json", &lab.read("kept.json")[..100]);
    let older = lab.read("kept.json").replace("\"version\": 3,", "");
    lab.write("older.json", &older);
    for (arguments, message) in [
        (
            "validate h.yaml --transport tcp --baseline kept.json",
            "kept.json was measured with transport udp, but this validation uses tcp",
        ),
        (
            "validate others.yaml --transport udp --baseline kept.json",
            "the baseline kept.json knows fewer than two of these hosts, so there is no pair to compare",
        ),
        (
            "validate zero.yaml --transport udp --baseline kept.json",
            "a baseline takes a `minimum_effect` above 0: no measurement shows a slowdown of 0 %",
        ),
        (
            "validate h.yaml --transport udp --baseline missing.json",
            "cannot read the baseline missing.json: No such file or directory (os error 2)",
        ),
        (
            "validate h.yaml --transport udp --baseline older.json",
            "older.json holds a validation of format 1, and this jitterlab reads format 3: keep a new one",
        ),
        (
            "validate h.yaml --transport udp --keep none/kept.json",
            "cannot write the validation none/kept.json: it has to be a file in a folder that is there",
        ),
    ] {
        lab.refuses(arguments, message);
    }
    let torn = lab.run("validate h.yaml --transport udp --baseline torn.json");
    assert_eq!(torn.status.code(), Some(2));
    let said = text(&torn.stderr);
    assert!(
        said.starts_with("jitterlab: torn.json is no validation that this jitterlab has kept: "),
        "{said}"
    );
}

#[test]
fn of_four_namespaces_the_one_that_has_become_slower_is_named_and_not_its_pairs() {
    if !is_root() {
        return;
    }
    let cluster = Cluster::new(4);
    cluster.write(4, &format!("repetitions: 12\n{COARSE}"));
    cluster.slow(Slow::Nothing, "0us");
    let (output, quiet) = cluster.validated("udp --keep kept.json");
    assert_eq!(output.status.code(), Some(0), "{quiet:#}");
    // So slow that it shows on a machine with other work, too.
    let slow = 4.0 * quiet["attempts"][0]["typical_ns"].as_f64().unwrap();
    cluster.slow(Slow::Node(3), &format!("{slow:.0}ns"));
    let (output, found) = cluster.validated("udp --baseline kept.json");
    assert_eq!(output.status.code(), Some(1), "{found:#}");
    let slower = |of: &str, key: &str| -> Vec<Value> {
        let rows = found["baseline"][of].as_array().unwrap().iter();
        let slower = rows.filter(|row| row["slower"] == "yes");
        slower.map(|row| row[key].clone()).collect()
    };
    assert_eq!(slower("hosts", "host"), [json!("n3")], "{found:#}");
    assert!(slower("pairs", "hosts").is_empty(), "{found:#}");
    assert_eq!(found["baseline"]["not_compared"], json!([]));
}

#[test]
fn where_nobody_is_there_nothing_is_written() {
    let lab = Lab::new();
    let hosts: String = (1..3)
        .map(|i| format!("  n{i}: {{ at: netns jlv-nowhere{i}, address: 10.0.0.{i} }}\n"))
        .collect();
    lab.write("h.yaml", format!("hosts:\n{hosts}"));
    let output = lab.run("validate h.yaml --transport udp --hostfile o.hosts");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(
        said.contains("jitterlab: no host can be measured. The first, n1, failed: "),
        "{said}"
    );
    assert!(!lab.path("o.hosts").exists());
}

#[test]
fn ctrl_c_ends_every_worker() {
    let lab = Lab::new();
    lab.write(
        "h.yaml",
        LOCAL.replacen("duration: 10ms", "duration: 30s", 1),
    );
    let mut command = lab.mortal("validate h.yaml --transport udp --hostfile o.hosts");
    let marker = lab.path("").display().to_string();
    let mut child = command
        .env("JITTERLAB_TEST", &marker)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "3 hosts, 6 measurements");
    until(|| running(&marker) > 4);
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    until(|| running(&marker) == 0);
    assert!(!lab.path("o.hosts").exists());
}

/// Programs that were started with this in their environment.
fn running(marker: &str) -> usize {
    let marked = |entry: &fs::DirEntry| {
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        String::from_utf8_lossy(&environment).contains(marker)
    };
    fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter(marked)
        .count()
}

#[test]
fn wrong_input_ends_with_one_message_before_anything_starts() {
    let lab = Lab::new();
    lab.write("h.yaml", LOCAL);
    lab.write(
        "wrong.yaml",
        "hosts:\n  a: { at: local }\n  b: { at: local, adress: 1 }\n",
    );
    for (arguments, message) in [
        (
            "validate wrong.yaml --transport udp",
            "wrong.yaml:3:19: hosts.b: unknown key `adress`, expected one of `at`, `address`, `cpu`, `device`, \
             `jitterlab`, `key_file`, `host_keys`, `slots`; did you mean `address`?",
        ),
        (
            "validate missing.yaml --transport udp",
            "cannot read hosts file missing.yaml: No such file or directory (os error 2)",
        ),
        (
            "validate h.yaml --transport udp --hostfile none/o.hosts",
            "cannot write the remaining hosts none/o.hosts: it has to be a file in a folder that is there",
        ),
        (
            "validate h.yaml",
            "error: the following required arguments were not provided:",
        ),
        (
            "validate h.yaml --transport ipx",
            "error: invalid value 'ipx' for '--transport <TRANSPORT>': `ipx` is not a transport; write udp, tcp, verbs or shm",
        ),
    ] {
        lab.refuses(arguments, message);
    }
}
