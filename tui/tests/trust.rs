//! Hosts at the end of ssh whose worker cannot be started: the cause is said; and whose key is named, known, or trusted at
//! first use.

mod common;
mod ssh;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Output;

use common::{Lab, text};
use jitterlab_skip::is_root;

const PROGRAM: &str = env!("CARGO_BIN_EXE_jitterlab");

/// A lab with a machine `lab` at the end of ssh, whose client takes known hosts from the lab alone. Nothing where a person may
/// not start one.
fn lab(trust: &str) -> Option<(Lab, String)> {
    if !is_root("start a server of ssh") {
        return None;
    }
    let lab = Lab::new();
    let known = lab.path("known");
    let trust = format!(
        "  UserKnownHostsFile {}\n  GlobalKnownHostsFile /dev/null\n{trust}",
        known.display()
    );
    let path = ssh::path_with(&lab, "", "LC_ALL=C", &trust);
    Some((lab, path))
}

/// Validates this machine and the one at the end of ssh, of which more may be said.
fn validated(lab: &Lab, path: &str, keys: &str, of_host: &str) -> Output {
    let program = match of_host.contains("jitterlab:") {
        true => String::new(),
        false => format!(", jitterlab: {PROGRAM}"),
    };
    lab.write(
        "h.yaml",
        format!(
            "hosts:\n  here: {{ at: local, address: 127.0.0.1 }}\n  \
             there: {{ at: ssh lab, address: 127.0.0.1{program}{of_host} }}\n\
             warmup: 1ms\nduration: 1ms\nrepetitions: 1\nat_once: 1\n{keys}"
        ),
    );
    let mut command = lab.command("validate h.yaml --transport udp");
    command.env("PATH", path).output().unwrap()
}

/// Expects the host not to come up, or its worker to be gone, for this cause, with what to do.
fn gone(output: &Output, cause: &str, advice: &str) {
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    let line = said.lines().find(|line| {
        line.contains("host there does not come up: ")
            || line.contains("the worker of host there is gone")
    });
    let line = line.unwrap_or_else(|| panic!("{said}"));
    assert!(line.contains(cause), "{line}, not {cause}");
    assert!(line.contains(advice), "{line}, not {advice}");
}

fn is_measured(output: &Output) {
    let said = text(&output.stdout) + &text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("2 hosts remain: here there\n"), "{said}");
}

#[test]
fn a_key_that_is_not_known_is_refused_and_said() {
    let Some((lab, path)) = lab("") else {
        return;
    };
    let output = validated(&lab, &path, "", "");
    gone(
        &output,
        "host there does not come up: Host key verification failed: this user does not know its key",
        "Name the key in `host_keys`",
    );
    assert!(!lab.path("known").exists());
    lab.write(
        "e.yaml",
        "name: e\nseed: 1\nrepetitions: 1\nhosts: { here: { at: local }, there: { at: ssh lab, address: 127.0.0.1 } }\n\
         suites: { packet: [{ case: rtt, transports: [udp], from: here, to: there, size: 8B, warmup: 1ms, duration: 1ms, wait: block }] }\n",
    );
    let output = lab.command("run e.yaml").env("PATH", &path).output();
    gone(
        &output.unwrap(),
        "host there does not come up: Host key verification failed: ",
        "trust: first-use",
    );
    assert!(!lab.path("results").exists());
}

#[test]
fn a_key_that_is_named_is_enough_and_no_other_one_will_do() {
    // Whatever the client would take without.
    let Some((lab, path)) = lab("  StrictHostKeyChecking no\n") else {
        return;
    };
    let (own, other) = (lab.read("host.pub"), ssh::key(&lab, "other"));
    // What is known besides, by any name, is of another machine.
    lab.write("known", format!("lab {other}\nthere {other}\n"));
    let named = |keys: &[&str]| {
        let keys: Vec<_> = keys
            .iter()
            .map(|key| format!("\"{}\"", key.trim()))
            .collect();
        format!(", host_keys: [{}]", keys.join(", "))
    };
    is_measured(&validated(&lab, &path, "", &named(&[&own])));
    is_measured(&validated(&lab, &path, "", &named(&[&other, &own])));
    let output = validated(&lab, &path, "", &named(&[&other]));
    gone(
        &output,
        "has changed",
        "another machine may be in its place",
    );
    // Nor where first use is trusted: a key is named.
    let output = validated(&lab, &path, "trust: first-use\n", &named(&[&other]));
    gone(
        &output,
        "has changed",
        "another machine may be in its place",
    );
    assert_eq!(lab.read("known"), format!("lab {other}\nthere {other}\n"));
}

#[test]
fn a_key_that_has_changed_is_refused_and_said() {
    let Some((lab, path)) = lab("") else {
        return;
    };
    let other = ssh::key(&lab, "other");
    lab.write("known", format!("lab {other}\n"));
    for trust in ["", "trust: known\n", "trust: first-use\n"] {
        let output = validated(&lab, &path, trust, "");
        gone(
            &output,
            "Host key for lab has changed and you have requested strict checking: ",
            "another machine may be in its place",
        );
    }
    assert_eq!(lab.read("known"), format!("lab {other}\n"));
}

#[test]
fn the_key_of_the_first_use_is_kept() {
    let Some((lab, path)) = lab("") else {
        return;
    };
    is_measured(&validated(&lab, &path, "trust: first-use\n", ""));
    let known = lab.read("known");
    let own = lab.read("host.pub");
    let blob = own.split(' ').nth(1).unwrap();
    assert!(known.starts_with("lab ") && known.contains(blob), "{known}");
    // It is known from now on, whoever asks.
    is_measured(&validated(&lab, &path, "", ""));
    for name in ["host", "host.pub"] {
        fs::remove_file(lab.path(name)).unwrap();
    }
    ssh::key(&lab, "host");
    let output = validated(&lab, &path, "trust: first-use\n", "");
    gone(
        &output,
        "has changed",
        "another machine may be in its place",
    );
    assert_eq!(lab.read("known"), known);
}

#[test]
fn what_ssh_and_the_far_shell_say_is_the_cause() {
    let Some((lab, path)) = lab("  StrictHostKeyChecking accept-new\n") else {
        return;
    };
    let output = validated(&lab, &path, "", ", jitterlab: /nowhere/jitterlab");
    gone(
        &output,
        "/nowhere/jitterlab: ",
        "as in `jitterlab: /opt/jitterlab/jitterlab`",
    );
    let output = validated(&lab, &path, "", ", jitterlab: jitterlab-of-nobody");
    gone(
        &output,
        "jitterlab-of-nobody: command not found",
        "not in the PATH",
    );
    lab.write("no-program", "");
    let no_program = format!(", jitterlab: {}", lab.path("no-program").display());
    let output = validated(&lab, &path, "", &no_program);
    gone(
        &output,
        "Permission denied",
        "see that jitterlab can be started there",
    );
    // A shell that greets, in a line and in less than the lengths of a frame take.
    for greeting in ["Welcome to lab, the fastest of clusters!", "ok"] {
        lab.write(
            "noisy",
            format!("#!/bin/sh\necho '{greeting}'\nexec {PROGRAM} \"$@\"\n"),
        );
        fs::set_permissions(lab.path("noisy"), fs::Permissions::from_mode(0o755)).unwrap();
        let noisy = format!(", jitterlab: {}", lab.path("noisy").display());
        let output = validated(&lab, &path, "", &noisy);
        let cause = format!("does not speak jitterlab's protocol: it printed \"{greeting}\"");
        gone(&output, &cause, "see ~/.bashrc there");
    }
    // The server lets nobody in.
    lab.write("user.pub", "");
    gone(
        &validated(&lab, &path, "", ""),
        "Permission denied (publickey",
        "lets none of this user's keys in",
    );
    // Without a server in between: nobody has port 1.
    let client = |lines: &str| {
        let config = format!("Host *\n  UserKnownHostsFile /dev/null\n  {lines}\n");
        lab.write("ssh_config", config);
    };
    client("HostName 127.0.0.1\n  Port 1");
    gone(
        &validated(&lab, &path, "", ""),
        "Connection refused",
        "no SSH server listens",
    );
    client("HostName nobody.invalid");
    gone(
        &validated(&lab, &path, "", ""),
        "Could not resolve hostname",
        "nobody knows that name",
    );
    // It goes away when it has been greeted; `false` may go before.
    client("ProxyCommand head -n 1 >/dev/null");
    gone(
        &validated(&lab, &path, "", ""),
        "Connection closed by",
        "its log says which",
    );
}

/// What no server of ssh can be made to say in a test is said by a program in its place.
#[test]
fn whatever_ends_instead_of_a_worker_is_said() {
    let lab = Lab::new();
    fs::create_dir(lab.path("bin")).unwrap();
    let path = lab.path_with_bin();
    let frame = |header: &str| {
        let length = header.len();
        assert!(length < 256);
        format!(
            "printf '\\{length:03o}\\000\\000\\000\\000\\000\\000\\000%s' '{header}'; cat >/dev/null"
        )
    };
    let older = frame(r#"{"here":{"version":2,"node":{}}}"#);
    let newer = frame(r#"{"here":{"version":999,"machine":[]}}"#);
    for (script, cause, advice) in [
        (
            "echo 'ssh: connect to host lab port 22: Connection timed out' >&2; exit 255",
            "Connection timed out",
            "see that it is on",
        ),
        (
            "echo 'kex_exchange_identification: Connection closed by remote host' >&2; exit 255",
            "kex_exchange_identification: ",
            "its log says which",
        ),
        (
            "echo 'banner exchange: Connection to UNKNOWN port 65535: Broken pipe' >&2; exit 255",
            "Broken pipe",
            "its log says which",
        ),
        // All of it is waited for: the end of its words and of itself may come late.
        (
            "exec >&-; sleep 2; echo 'lab: Permission denied (publickey).' >&2; exit 255",
            "Permission denied (publickey)",
            "lets none of this user's keys in",
        ),
        (
            "exec >&- 2>&-; sleep 2; exit 7",
            "it ended without a word (exit status: 7)",
            "",
        ),
        (
            "printf Welcome; sleep 2; echo ' to lab'; exit 1",
            "it printed \"Welcome to lab\"",
            "",
        ),
        (
            "for i in $(seq 100); do echo \"line $i\" >&2; done; exit 1",
            "line 98 | line 99 | line 100",
            "",
        ),
        ("printf 'a\\033[31mb\\rc' >&2; exit 255", "a?[31mb?c", ""),
        ("exit 255", "ssh ended without a word", "ssh -v"),
        ("exit 7", "it ended without a word (exit status: 7)", ""),
        ("kill -9 $$", "it ended without a word (signal: 9", ""),
        (
            "echo 'This account is not available.'; exit 1",
            "it printed \"This account is not available.\"",
            "",
        ),
        (
            "cat /dev/zero | tr '\\0' x",
            "does not speak jitterlab's protocol: it printed \"xxxx",
            "",
        ),
        (
            &older,
            "version 2 of the workers' protocol, and this one version",
            "install the same",
        ),
        (
            &newer,
            "version 999 of the workers' protocol",
            "install the same",
        ),
    ] {
        lab.write("bin/ssh", format!("#!/bin/bash\n{script}\n"));
        fs::set_permissions(lab.path("bin/ssh"), fs::Permissions::from_mode(0o755)).unwrap();
        gone(&validated(&lab, &path, "", ""), cause, advice);
    }
}

#[test]
fn keys_that_are_none_are_refused_before_anything_starts() {
    let lab = Lab::new();
    let key = ssh::key(&lab, "host");
    for (host, problem) in [
        (
            "at: ssh lab, host_keys: [secret]",
            "expected the public key of a host",
        ),
        (
            "at: ssh lab, host_keys: [\"lab ssh-ed25519 AAAA\"]",
            "expected the public key of a host",
        ),
        ("at: local, host_keys: [KEY]", "this one is on this machine"),
        ("at: ssh lab, host_keys: [\"* KEY\"]", "and nothing else"),
        (
            "at: ssh lab, host_keys: [\"KEY x\\n* KEY\"]",
            "and nothing else",
        ),
        ("at: ssh lab, host_keys: KEY", "expected a list"),
        ("at: ssh -oProxyCommand=x", "is not a place"),
        ("at: \"ssh lab\\n\", trust: no", "unknown key `trust`"),
    ] {
        let host = host.replace("KEY", &key);
        lab.write(
            "h.yaml",
            format!("hosts:\n  a: {{ at: local, address: 127.0.0.1 }}\n  b: {{ address: 127.0.0.1, {host} }}\n"),
        );
        let output = lab.run("validate h.yaml --transport udp");
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(
            said.starts_with("jitterlab: h.yaml:3:") && said.contains(problem),
            "{host}: {said}"
        );
        assert!(!said.contains("secret"), "{said}");
    }
    let file = "hosts: { a: { at: local }, b: { at: local } }\ntrust: always\n";
    lab.write("h.yaml", file);
    lab.refuses(
        "validate h.yaml --transport udp",
        "h.yaml:2:8: trust: unknown value `always`, expected `known` or `first-use`",
    );
}
