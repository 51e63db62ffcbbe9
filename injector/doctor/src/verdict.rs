//! Makes out what the observations mean.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use jitterlab_injector::control::{Hook, HookFamily};

use super::calls::Call;
use super::elf::{Executable, Linkage};
use super::finding::{Finding, Kind, Row, Verdict};
use super::program::{MPI, Program};
use super::watcher::Seen;
use super::{conclusion, notes};

/// Libraries that can send past the hooks, by the beginning of their names.
const LIBRARIES: [(&str, Kind, &str); 8] = [
    (
        "libuct_ib",
        Kind::Doorbells,
        "UCX writes the doorbells of Mellanox cards itself (rc_mlx5, dc_mlx5, its default there); \
         UCX_TLS=rc_v,ud_v,self,sm makes it post through verbs, and --hook uct stands above it",
    ),
    (
        "libpsm2",
        Kind::Doorbells,
        "PSM2 drives Omni-Path cards without verbs",
    ),
    (
        "libpsm3",
        Kind::Doorbells,
        "PSM3 may drive cards without verbs",
    ),
    (
        "librte_",
        Kind::Doorbells,
        "DPDK drives network cards without the kernel and without verbs",
    ),
    (
        "libefa",
        Kind::Doorbells,
        "the EFA provider of libfabric writes doorbells itself",
    ),
    (
        "libonload",
        Kind::Doorbells,
        "Onload serves sockets without the kernel",
    ),
    (
        "libvma",
        Kind::Doorbells,
        "VMA serves sockets without the kernel",
    ),
    (
        "liburing",
        Kind::IoUring,
        "io_uring submits sends past the functions that are hooked",
    ),
];

/// Judges a run. `look` gives what the file of a program says.
pub fn judge(seen: Vec<Seen>, look: impl Fn(&Path) -> Executable) -> Verdict {
    let mut programs: BTreeMap<PathBuf, Program> = BTreeMap::new();
    let root = seen.last().map(|seen| seen.program.clone());
    for seen in seen {
        let loaded = Program {
            loaded: true,
            ..Program::default()
        };
        let program = programs.entry(seen.program.clone()).or_insert(loaded);
        program.add(seen);
    }
    let mut bypasses = Vec::new();
    let mut may_bypass = Vec::new();
    let mut notes = Vec::new();
    for (path, program) in &programs {
        let file = look(path);
        let found = found(program, &file);
        let possible = possible(program, &file);
        let known: BTreeSet<Kind> = found.iter().map(|(kind, _)| *kind).collect();
        let sends = program.kernel_total() + program.verbs() + program.mpi() > 0;
        let named = |(kind, text)| Finding {
            program: path.clone(),
            kind,
            text,
        };
        // A helper that sent nothing is of no interest for what it could do.
        if sends || !found.is_empty() || root.as_ref() == Some(path) {
            let unknown = possible
                .into_iter()
                .filter(|(kind, _)| !known.contains(kind));
            may_bypass.extend(unknown.map(named));
        }
        bypasses.extend(found.into_iter().map(named));
        notes.extend(notes::of(program, &file).into_iter().map(named));
    }
    let rows = rows(programs.values().collect());
    let all = |families: &[HookFamily]| {
        programs
            .values()
            .map(|p| p.hooked_in(families))
            .sum::<u64>()
    };
    let (hooked, mpi) = (all(&HookFamily::DEFAULT), all(&MPI));
    let bypassed: u64 = rows.iter().map(|row| row.bypassed).sum();
    let conclusion = match mpi {
        0 => conclusion::of_network(hooked, bypassed, bypasses.is_empty()),
        _ => conclusion::of_mpi(mpi, hooked, bypassed, bypasses.is_empty()),
    };
    Verdict {
        sound: bypasses.is_empty() && hooked + mpi > 0,
        rows,
        bypasses,
        may_bypass,
        notes,
        conclusion,
    }
}

fn rows(programs: Vec<&Program>) -> Vec<Row> {
    let sum = |figure: &dyn Fn(&Program) -> u64| programs.iter().map(|p| figure(p)).sum::<u64>();
    let sockets = Call::ALL.into_iter().map(|call| Row {
        call: call.name(),
        hooked: sum(&|program| program.hooked_by(call.hooks())),
        kernel: Some(sum(&|program| program.kernel(call))),
        bypassed: sum(&|program| program.bypassed(call)),
    });
    let others = Hook::ALL
        .into_iter()
        .filter(|hook| hook.family() != HookFamily::Socket)
        .map(|hook| Row {
            call: hook.name(),
            hooked: sum(&|program| program.hooked_by(&[hook])),
            kernel: None,
            bypassed: 0,
        });
    sockets
        .chain(others)
        .filter(|row| row.hooked > 0 || row.kernel.is_some_and(|calls| calls > 0))
        .collect()
}

/// The findings on what bypassed the hooks.
fn found(program: &Program, file: &Executable) -> Vec<(Kind, String)> {
    let mut found = Vec::new();
    let all = program.kernel_total();
    let bypassed: u64 = Call::ALL
        .into_iter()
        .map(|call| program.bypassed(call))
        .sum();
    if file.linkage == Linkage::OtherLibc {
        let (kind, why) = unloaded(program, file);
        found.push((kind, why.into()));
    } else if !program.loaded && bypassed > 0 {
        let (kind, why) = unloaded(program, file);
        found.push((
            kind,
            format!("{why}; {bypassed} of its {all} sends bypass the hooks"),
        ));
    } else {
        for call in Call::ALL {
            past(program, call, &mut found);
        }
    }
    if file.own_mpi && program.mpi() == 0 {
        let text = "MPI is linked into it, where --hook mpi cannot stand before it: link it to the shared \
                    library, or inject below, at sockets or verbs";
        found.push((Kind::StaticMpi, text.into()));
    }
    if program.other_network > 0 {
        let text = format!(
            "{} sends on raw, packet or other sockets, which the hooks leave alone",
            program.other_network
        );
        found.push((Kind::OtherSockets, text));
    }
    if program.hidden > 0 {
        let text = format!(
            "{} sends or writes on descriptors that it keeps to itself (it is not dumpable): only \
             root can tell where they go",
            program.hidden
        );
        found.push((Kind::Hidden, text));
    }
    if !program.devices.is_empty() && program.verbs() == 0 {
        let devices: Vec<&str> = program.devices.iter().map(String::as_str).collect();
        let text = format!(
            "it opened {} and posted nothing through the verbs hooks: it writes to the device \
             itself, or did not send{}",
            devices.join(", "),
            if program.loaded {
                ""
            } else {
                "; the library is not in it"
            },
        );
        found.push((Kind::Doorbells, text));
    }
    found
}

/// Why the library is not in a program.
fn unloaded(program: &Program, file: &Executable) -> (Kind, &'static str) {
    match file.linkage {
        Linkage::Static => (
            Kind::Static,
            "statically linked: there is no dynamic linker to preload the library",
        ),
        Linkage::Foreign => (
            Kind::Foreign,
            "not a 64-bit program of this machine: the library cannot be loaded into it",
        ),
        Linkage::OtherLibc => (
            Kind::OtherLibc,
            "linked against another C library than glibc, whose dynamic linker cannot load the library: under inject \
             run it does not start; link it against glibc, or inject with netem (dist export)",
        ),
        _ if program.secure => (
            Kind::Privileged,
            "it has more rights than its user (set-user-ID, set-group-ID or capabilities): the \
             library stays off",
        ),
        _ => (
            Kind::NotPreloaded,
            "the library is not in it: it was started without LD_PRELOAD",
        ),
    }
}

/// The sends by one system call that did not pass its hooks.
fn past(program: &Program, call: Call, found: &mut Vec<(Kind, String)>) {
    let bypassed = program.bypassed(call);
    if bypassed == 0 {
        return;
    }
    let (name, all) = (call.name(), program.kernel(call));
    if call == Call::IoUringEnter {
        let text = format!(
            "{all} calls of io_uring_enter while network sockets were open: sends that are \
             submitted so pass no hook"
        );
        found.push((Kind::IoUring, text));
        return;
    }
    if call.hooks().is_empty() {
        let text = format!("{all} sends by {name}, for which there is no hook");
        found.push((Kind::NoHook, text));
        return;
    }
    let mut left = bypassed;
    let empty = BTreeMap::new();
    for (place, &calls) in program.sent.get(&call).unwrap_or(&empty) {
        if is_c_library(place) || left == 0 {
            continue;
        }
        let calls = calls.min(left);
        left -= calls;
        let text = format!("{calls} of {all} {name} are system calls made by {place} itself");
        found.push((Kind::OwnSystemCalls, text));
    }
    if left > 0 {
        let text = format!(
            "{left} of {all} {name} come from within the C library, or through its syscall \
             function: the resolver, stdio on a socket and the like pass no hook"
        );
        found.push((Kind::CLibrary, text));
    }
}

fn is_c_library(place: &str) -> bool {
    let name = place.rsplit('/').next().unwrap_or_default();
    ["libc.so", "libc-2", "libpthread", "ld-musl", "libc.musl"]
        .iter()
        .any(|prefix| name.starts_with(prefix))
}

/// The things that could bypass the hooks in another run.
fn possible(program: &Program, file: &Executable) -> Vec<(Kind, String)> {
    let mut possible = Vec::new();
    if !program.loaded
        || matches!(
            file.linkage,
            Linkage::Static | Linkage::Foreign | Linkage::OtherLibc
        )
    {
        let (kind, why) = unloaded(program, file);
        possible.push((kind, why.into()));
        return possible;
    }
    if program.secure {
        let (kind, why) = unloaded(program, file);
        possible.push((kind, why.into()));
    }
    if program.rings > 0 {
        let text = "it made an io_uring: what the kernel takes from one by itself (SQPOLL) shows \
                    in no system call";
        possible.push((Kind::IoUring, text.into()));
    }
    for library in &program.libraries {
        let name = library.rsplit('/').next().unwrap_or_default();
        for (_, kind, why) in LIBRARIES
            .iter()
            .filter(|(prefix, ..)| name.starts_with(prefix))
        {
            possible.push((*kind, format!("it loaded {name}: {why}")));
        }
    }
    if !file.imports.is_empty() {
        let kind = match file.imports[0].starts_with("io_uring") {
            true => Kind::IoUring,
            false => Kind::OwnSystemCalls,
        };
        possible.push((kind, format!("it imports {}", file.imports.join(", "))));
    }
    if file.go {
        let text = "it is written in Go, whose programs make their system calls themselves";
        possible.push((Kind::OwnSystemCalls, text.into()));
    } else if file.system_calls > 0 {
        let text = format!(
            "its own code makes sending system calls, in places: {}",
            file.system_calls
        );
        possible.push((Kind::OwnSystemCalls, text));
    }
    possible
}

#[cfg(test)]
mod tests {
    use super::*;

    fn executable(linkage: Linkage) -> impl Fn(&Path) -> Executable {
        move |path| Executable {
            path: path.into(),
            linkage,
            imports: Vec::new(),
            system_calls: 0,
            go: false,
            own_mpi: false,
            sandbox: Vec::new(),
            sanitizers: Vec::new(),
        }
    }

    /// A program with the library in it that opened an RDMA device.
    fn with_device(posts: u64, library: &str) -> Seen {
        let mut seen = Seen {
            program: "/usr/bin/mpi".into(),
            loaded: true,
            ..Seen::default()
        };
        seen.devices.insert("/dev/infiniband/uverbs0".into());
        seen.libraries.insert(library.into());
        seen.hooked[Hook::PostSend as usize] = posts;
        seen
    }

    fn kinds(findings: &[Finding]) -> Vec<Kind> {
        findings.iter().map(|finding| finding.kind).collect()
    }

    #[test]
    fn a_device_without_posts_is_a_doorbell() {
        let ucx = "/usr/lib/libuct_ib.so.0";
        let silent = judge(vec![with_device(0, ucx)], executable(Linkage::Dynamic));
        assert_eq!(kinds(&silent.bypasses), [Kind::Doorbells]);
        assert!(!silent.sound && silent.may_bypass.is_empty());
        let posting = judge(vec![with_device(9, ucx)], executable(Linkage::Dynamic));
        assert!(posting.sound && posting.bypasses.is_empty());
        assert_eq!(kinds(&posting.may_bypass), [Kind::Doorbells]);
        assert_eq!(posting.rows[0].hooked, 9);
    }

    #[test]
    fn other_and_hidden_sockets_are_named_beside_what_passed() {
        let mut seen = with_device(9, "/usr/lib/libc.so.6");
        seen.other_network = 4;
        seen.hidden = 1;
        let verdict = judge(vec![seen], executable(Linkage::Dynamic));
        assert_eq!(kinds(&verdict.bypasses), [Kind::OtherSockets, Kind::Hidden]);
        assert!(!verdict.sound);
        assert!(verdict.conclusion.contains("only a part"));
    }

    #[test]
    fn mpi_is_a_layer_of_its_own() {
        let mut seen = Seen {
            program: "/usr/bin/ring".into(),
            loaded: true,
            ..Seen::default()
        };
        seen.hooked[Hook::MpiSend as usize] = 40;
        seen.hooked[Hook::MpiCollective as usize] = 2;
        let verdict = judge(vec![seen], executable(Linkage::Dynamic));
        assert!(verdict.sound);
        let rows: Vec<_> = verdict
            .rows
            .iter()
            .map(|row| (row.call, row.hooked))
            .collect();
        assert_eq!(rows, [("mpi_send", 40), ("mpi_collective", 2)]);
        assert!(verdict.conclusion.starts_with("42 calls of MPI passed"));
        let own = |path: &Path| Executable {
            own_mpi: true,
            ..executable(Linkage::Dynamic)(path)
        };
        let inside = Seen {
            program: "/usr/bin/ring".into(),
            loaded: true,
            ..Seen::default()
        };
        let verdict = judge(vec![inside], own);
        assert!(!verdict.sound);
        assert_eq!(kinds(&verdict.bypasses), [Kind::StaticMpi]);
    }

    #[test]
    fn why_the_library_is_not_there() {
        for (linkage, secure, kind) in [
            (Linkage::Static, false, Kind::Static),
            (Linkage::Foreign, false, Kind::Foreign),
            (Linkage::OtherLibc, false, Kind::OtherLibc),
            (Linkage::Dynamic, true, Kind::Privileged),
            (Linkage::Dynamic, false, Kind::NotPreloaded),
        ] {
            let sent = BTreeMap::from([("/bin/x".to_string(), 2)]);
            let seen = Seen {
                program: "/bin/x".into(),
                secure,
                sent: BTreeMap::from([(Call::SendMsg, sent)]),
                ..Seen::default()
            };
            let verdict = judge(vec![seen], executable(linkage));
            assert_eq!(kinds(&verdict.bypasses), [kind]);
            assert_eq!(verdict.rows[0].bypassed, 2);
        }
    }

    #[test]
    fn helpers_that_send_nothing_are_left_out() {
        let helper = Seen {
            program: "/bin/helper".into(),
            ..Seen::default()
        };
        let verdict = judge(
            vec![helper, with_device(1, "libc.so.6")],
            executable(Linkage::Dynamic),
        );
        assert!(verdict.sound && verdict.may_bypass.is_empty());
    }
}
