//! What tests of ranks need.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use jitterlab_skip::skip;

use super::{Lab, build_library};

/// Whether there is an MPI, with the program of ranks built beside this one; says so if not.
pub fn has_mpi() -> bool {
    let is_there = Command::new("mpirun").arg("--version").output().is_ok();
    if !is_there {
        skip("there is no mpirun; apt-get install libopenmpi-dev openmpi-bin");
        return false;
    }
    build_library();
    let program = Path::new(env!("CARGO_BIN_EXE_jitterlab"));
    let profile = program.parent().unwrap();
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "--quiet", "--package", "jitterlab-mpi"]);
    build.arg("--target-dir").arg(profile.parent().unwrap());
    if profile.ends_with("release") {
        build.arg("--release");
    }
    assert!(build.status().unwrap().success());
    true
}

/// Puts MPICH's mpirun into the folder `bin` of the lab, with programs of ours that belong to it, if there is one; says
/// so if not.
pub fn has_mpich(lab: &Lab) -> bool {
    let launcher = Path::new("/usr/bin/mpirun.mpich");
    if !launcher.exists() {
        skip("there is no mpirun.mpich; apt-get install libmpich-dev mpich");
        return false;
    }
    build_library();
    // Bindings are made for the MPI that MPICC names: each has its target directory.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("mpich");
    let mut build = Command::new(env!("CARGO"));
    build.env("MPICC", "mpicc.mpich");
    build.args(["build", "--quiet", "--package", "jitterlab-mpi"]);
    assert!(
        build
            .arg("--target-dir")
            .arg(&target)
            .status()
            .unwrap()
            .success()
    );
    let folder = Path::new(env!("CARGO_BIN_EXE_jitterlab")).parent().unwrap();
    for (file, name) in [
        (folder.join("jitterlab"), "jitterlab"),
        (
            folder.join("libjitterlab_preload.so"),
            "libjitterlab_preload.so",
        ),
        (target.join("debug/jitterlab-mpi"), "jitterlab-mpi"),
    ] {
        std::fs::copy(file, lab.path("bin").join(name)).unwrap();
    }
    // No link: it looks for its other programs where it was found.
    lab.write(
        "bin/mpirun",
        format!("#!/bin/sh\nexec {} \"$@\"\n", launcher.display()),
    );
    let executable = PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(lab.path("bin/mpirun"), executable).unwrap();
    true
}
