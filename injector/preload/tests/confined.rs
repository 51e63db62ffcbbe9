//! Programs that give rights up are left alone: no system call of the library's own ends them.

mod common;

use std::path::Path;
use std::process::Command;

use common::Lab;
use jitterlab_injector::control::{self, Hook};
use jitterlab_injector::environment;
use jitterlab_skip::skip;

/// The names of the system calls of a run from the first send on; `None` where the program says that the kernel has no
/// such rights to give up.
fn system_calls(
    lab: &Lab,
    program: &Path,
    kind: &str,
    under: Option<&Path>,
) -> Option<Vec<String>> {
    let log = lab.path("calls");
    // strace itself stays as it is: the library is for the program.
    let mut command = lab.command_without(Path::new("strace"));
    command
        .args(["-f", "-qq", "-e", "signal=none", "-o"])
        .arg(&log);
    if let Some(library) = under {
        command.args(["-E", &format!("LD_PRELOAD={}", library.display())]);
    }
    command.arg(program).arg(kind);
    let ended = lab.end(command);
    if ended.output.status.code() == Some(77) {
        return None;
    }
    ended.expect_done(kind);
    let log = std::fs::read_to_string(&log).unwrap();
    let name_of = |line: &str| {
        let call = line.trim_start_matches(|c: char| c.is_ascii_digit()).trim();
        // A call that another process interrupts has two lines.
        match call.starts_with("<... ") {
            true => String::new(),
            false => call.split('(').next().unwrap_or("").to_string(),
        }
    };
    let from = log.lines().skip_while(|line| !line.contains("\"begin\""));
    let mut calls: Vec<String> = from.map(name_of).filter(|name| !name.is_empty()).collect();
    // Parent and child take turns as they like.
    calls.sort();
    Some(calls)
}

#[test]
fn a_program_makes_the_same_system_calls_with_and_without_the_library() {
    if Command::new("strace").arg("-V").output().is_err() {
        return skip("there is no strace");
    }
    let lab = Lab::constant(5_000);
    let program = lab.build("confined", &[]);
    // Of a child, too.
    for (kind, sends, writes) in [("filter", 6, 6), ("strict", 1, 3), ("landlock", 6, 6)] {
        let Some(alone) = system_calls(&lab, &program, kind, None) else {
            skip(format_args!("this kernel has no {kind}"));
            continue;
        };
        let under = system_calls(&lab, &program, kind, Some(common::library()));
        assert_eq!(Some(alone), under, "{kind}");
        // The page is left, for whoever started the program, and has the counts.
        let pages = lab.pages_left();
        let [page] = &pages[..] else {
            panic!("{kind}: {pages:?}")
        };
        let totals = control::attach(page).unwrap().totals();
        let calls = [Hook::Send, Hook::Write].map(|hook| totals.calls[hook as usize]);
        assert_eq!(calls, [sends, writes], "{kind}");
        assert_eq!(totals.asked_ns, (sends + writes) * 5_000, "{kind}");
        std::fs::remove_file(page).unwrap();
    }
}

#[test]
fn sends_are_not_deferred_where_they_may_not_be() {
    for mode in ["spin", "defer", "pace"] {
        let lab = Lab::constant(5_000).set(environment::MODE, mode);
        let program = lab.build("confined", &[]);
        for kind in ["filter", "strict", "landlock"] {
            let mut command = lab.command(&program);
            command.arg(kind);
            let ended = lab.end(command);
            if ended.output.status.code() == Some(77) {
                skip(format_args!("this kernel has no {kind}"));
                continue;
            }
            ended.expect_done(&format!("{kind}, {mode}"));
        }
    }
}
