//! Libraries that a program opens itself: in a private scope, more than one of a kind, or not at all.

mod common;

use std::path::{Path, PathBuf};

use common::{Lab, compile, fixture};
use jitterlab_injector::control::Hook;
use jitterlab_injector::environment;
use jitterlab_skip::skip;

/// A program with two MPIs, and its arguments.
fn private_mpis(lab: &Lab) -> (PathBuf, [PathBuf; 3]) {
    let source = fixture("mpi_private");
    let build = |name: &str, options: &[&str]| {
        let target = lab.path(name);
        compile(&source, &target, options);
        target
    };
    let folder = lab.path("");
    let (here, run_path) = (
        format!("-L{}", folder.display()),
        format!("-Wl,-rpath,{}", folder.display()),
    );
    let shared = ["-shared", "-fPIC"];
    let one = build("libone.so", &[&shared[..], &["-DMPI"]].concat());
    build("libtwo.so", &[&shared[..], &["-DMPI", "-DLARGE"]].concat());
    let plugin = |name: &str, mpi: &str, bind: &str| {
        let options = ["-DPLUGIN", &here, &run_path, mpi, bind];
        build(name, &[&shared[..], &options].concat())
    };
    let first = plugin("first.so", "-lone", "-Wl,-z,lazy");
    let second = plugin("second.so", "-ltwo", "-Wl,-z,relro,-z,now");
    (build("program", &["-ldl"]), [first, second, one])
}

#[test]
fn each_part_of_a_program_keeps_the_mpi_that_it_has() {
    let lab = Lab::constant(300).set(environment::HOOKS, "mpi,mpi-collectives");
    let (program, arguments) = private_mpis(&lab);
    let mut command = lab.command(&program);
    command.args(&arguments);
    let ended = lab.end(command);
    ended.expect_done("private MPIs");
    // Four, and then four and one with a large count, and the one that is looked up; not those to nobody.
    assert_eq!(ended.calls(Hook::MpiSend), 4 + 5 + 1);
    assert_eq!(ended.calls(Hook::MpiCollective), 2);
    assert_eq!(ended.sum("delays"), 12);
}

#[test]
fn hooks_that_were_not_asked_for_are_nowhere() {
    for hooks in ["socket", "verbs", "uct"] {
        let lab = Lab::constant(300).set(environment::HOOKS, hooks);
        let (program, arguments) = private_mpis(&lab);
        let mut command = lab.command(&program);
        command.args(&arguments);
        let ended = lab.end(command);
        ended.expect_done(hooks);
        assert_eq!(ended.sum("delays"), 0, "{hooks}");
    }
}

/// A Python that has mpi4py for this MPI, as PyPI has it: its wheels look what an MPI has. `bootstrap/test` makes one.
fn python_with_mpi4py(lab: &Lab, mpi: &str) -> Option<String> {
    // target/PROFILE/deps/this-test
    let test = std::env::current_exe().unwrap();
    let made = test.ancestors().nth(3).unwrap().join("python/bin/python");
    let has = |python: &String| {
        let asks = "from mpi4py import MPI, __version__; assert int(__version__[0]) >= 4";
        let mut command = lab.command_without(Path::new(python));
        command.args(["-c", asks]).env("MPI4PY_MPIABI", mpi);
        command.output().is_ok_and(|output| output.status.success())
    };
    [made.display().to_string(), "python3".into()]
        .into_iter()
        .find(has)
}

/// In the environment of what is run: the name by which wheels know MPICH, of which Debian's has another.
fn with_mpich_by_its_name(lab: Lab) -> Lab {
    let known = Path::new("/usr/lib/x86_64-linux-gnu/libmpich.so.12");
    let folder = lab.path("names");
    std::fs::create_dir(&folder).unwrap();
    std::os::unix::fs::symlink(known, folder.join("libmpi.so.12")).unwrap();
    lab.set("LD_LIBRARY_PATH", folder.to_str().unwrap())
}

#[test]
fn mpi4py_sends_as_ever_and_every_send_is_delayed() {
    const PROGRAM: &str = "from mpi4py import MPI\n\
        c = MPI.COMM_WORLD; b = bytearray(8); r = c.Get_rank()\n\
        c.Barrier(); c.Bcast(b)\n\
        for i in range(20):\n    c.Sendrecv(b, 1 - r, recvbuf=bytearray(8))\n\
        q = c.Isend(b, 1 - r); c.Recv(b, 1 - r); q.Wait(); c.Allreduce(MPI.IN_PLACE, b)\n\
        c.send({'a': r}, 1 - r); assert c.recv(source=1 - r) == {'a': 1 - r}\n";
    for (mpi, launcher) in [("openmpi", "mpirun.openmpi"), ("mpich", "mpirun.mpich")] {
        for (hooks, sends, collectives) in [
            ("mpi", 44, 0),
            ("mpi-collectives", 0, 6),
            ("mpi,mpi-collectives", 44, 6),
            ("socket", 0, 0),
            ("verbs", 0, 0),
            ("uct", 0, 0),
        ] {
            let lab = Lab::constant(1_000).set(environment::HOOKS, hooks);
            let lab = with_mpich_by_its_name(lab);
            let Some(python) = python_with_mpi4py(&lab, mpi) else {
                skip(format_args!(
                    "no mpi4py of PyPI, or not {mpi}; pip install mpi4py"
                ));
                break;
            };
            let script = lab.path("program.py");
            std::fs::write(&script, PROGRAM).unwrap();
            let mut command = lab.command(Path::new(launcher));
            command.args(["-n", "2"]).env("MPI4PY_MPIABI", mpi);
            if mpi == "openmpi" {
                command.args(["--oversubscribe", "--allow-run-as-root"]);
            }
            command.arg(python).arg(&script);
            let ended = lab.end(command);
            let name = format!("{mpi}, {hooks}");
            assert!(ended.output.status.success(), "{name}: {}", ended.stderr());
            assert_eq!(ended.calls(Hook::MpiSend), sends, "{name}");
            assert_eq!(ended.calls(Hook::MpiCollective), collectives, "{name}");
        }
    }
}
