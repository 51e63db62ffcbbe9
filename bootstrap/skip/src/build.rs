//! The files that tests start or load, and that cargo builds for no test by itself: other packages' programs, shared libraries, examples.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The folder that cargo put this test's profile in (`target/debug`), with every program, shared library and example of the workspace. They
/// are built with the features that `cargo test --workspace` chooses, so after `bootstrap/test` has built them there is nothing to do.
///
/// # Panics
/// The workspace cannot be built.
pub fn built() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        // target/PROFILE/deps/this-test
        let test = std::env::current_exe().expect("a test knows its path");
        let folder = test
            .ancestors()
            .nth(2)
            .expect("cargo puts tests two folders deep");
        let mut build = Command::new(env!("CARGO"));
        build
            .args([
                "build",
                "--quiet",
                "--workspace",
                "--lib",
                "--bins",
                "--examples",
            ])
            .arg("--target-dir")
            .arg(folder.parent().expect("a profile is in a target directory"))
            .current_dir(env!("CARGO_MANIFEST_DIR"));
        if !has_mpi_compiler() {
            build.args(["--exclude", "jitterlab-mpi"]);
        }
        if folder.ends_with("release") {
            build.arg("--release");
        }
        let status = build.status().expect("cargo starts");
        assert!(
            status.success(),
            "cargo could not build the workspace: {status}"
        );
        folder.to_owned()
    })
}

/// True if this machine has the compiler that the bindings of MPI are made with.
fn has_mpi_compiler() -> bool {
    let compiler = std::env::var_os("MPICC").unwrap_or_else(|| "mpicc".into());
    Command::new(compiler).arg("--version").output().is_ok()
}
