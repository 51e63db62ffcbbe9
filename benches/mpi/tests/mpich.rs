//! The same program built against MPICH, beside the one against Open MPI, and run by MPICH's mpirun.
//!
//! Bindings are made for the MPI that `MPICC` names, so that each MPI has its target directory.

mod common;

use std::path::Path;
use std::process::Command;

use jitterlab_mpi::npb::{Class, KERNELS};
use jitterlab_skip::skip;

#[test]
fn every_kernel_verifies_on_mpich() {
    if !Path::new("/usr/bin/mpicc.mpich").exists() {
        return skip("there is no mpicc.mpich; apt-get install libmpich-dev mpich");
    }
    let program = built();
    for kernel in &KERNELS {
        let allowed = |ranks: &usize| (kernel.ranks.allows)(*ranks, Class::S);
        let ranks = [2, 4].into_iter().find(allowed).unwrap();
        let arguments = ["npb", kernel.name.name(), "--class=S", "--format=json"];
        let ran = common::mpirun(&["mpirun.mpich"], ranks, &program, &arguments);
        assert_eq!(ran.status, Some(0), "{}: {ran}", kernel.name);
        assert_eq!(ran.report()["verified"], true, "{}: {ran}", kernel.name);
    }
}

/// The program of MPICH: built in half a minute the first time.
fn built() -> String {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("mpich");
    let status = Command::new(env!("CARGO"))
        .env("MPICC", "mpicc.mpich")
        .args(["build", "--quiet", "--package=jitterlab-mpi"])
        .args(["--manifest-path", env!("CARGO_MANIFEST_PATH")])
        .arg("--target-dir")
        .arg(&target)
        .status()
        .unwrap();
    assert!(status.success());
    let program = target.join("debug/jitterlab-mpi");
    program.to_str().unwrap().to_owned()
}
