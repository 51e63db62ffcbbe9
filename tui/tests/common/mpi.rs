//! What tests of ranks need.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use jitterlab_skip::{built, skip};

use super::Lab;

/// Whether there is an MPI, with the program of ranks built beside this one; says so if not.
pub fn has_mpi() -> bool {
    let is_there = Command::new("mpirun").arg("--version").output().is_ok();
    if !is_there {
        skip("there is no mpirun; apt-get install libopenmpi-dev openmpi-bin");
        return false;
    }
    built();
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
    let of_mpich = built_for_mpich();
    let folder = built();
    for (file, name) in [
        (folder.join("jitterlab"), "jitterlab"),
        (
            folder.join("libjitterlab_preload.so"),
            "libjitterlab_preload.so",
        ),
        (of_mpich.to_owned(), "jitterlab-mpi"),
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

/// The program of ranks with MPICH's bindings, which have a target directory of their own.
fn built_for_mpich() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("mpich");
        let status = Command::new(env!("CARGO"))
            .env("MPICC", "mpicc.mpich")
            .args([
                "build",
                "--quiet",
                "--package",
                "jitterlab-mpi",
                "--target-dir",
            ])
            .arg(&target)
            .status()
            .unwrap();
        assert!(status.success());
        target.join("debug/jitterlab-mpi")
    })
}
