//! The program that this is a part of: its version, and which build of it.

use std::fs::File;
use std::sync::LazyLock;

use object::Object;
use object::read::ReadCache;

/// The version with the build after a `+`, as in `0.1.0+8c1f03d2a95b7e46`: two builds of one version are different programs. A program
/// that was linked without a build id
/// has its version alone.
pub static OWN_VERSION: LazyLock<String> = LazyLock::new(|| {
    let version = env!("CARGO_PKG_VERSION");
    match build_id("/proc/self/exe") {
        Some(id) => format!("{version}+{id}"),
        None => version.into(),
    }
});

/// The first bytes of the build id that the linker has left in a program, in hexadecimal digits.
fn build_id(program: &str) -> Option<String> {
    /// They tell builds apart; all twenty are long to read.
    const BYTES: usize = 8;
    let cache = ReadCache::new(File::open(program).ok()?);
    let file = object::File::parse(&cache).ok()?;
    let id = file.build_id().ok()??;
    Some(
        id.iter()
            .take(BYTES)
            .map(|byte| format!("{byte:02x}"))
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_skip::skip;
    use std::process::Command;

    /// Two programs of one version that differ in a constant.
    #[test]
    fn two_builds_are_told_apart_and_one_is_itself() {
        let folder = tempfile::tempdir().unwrap();
        let build = |name: &str, text: &str| {
            let source = folder.path().join(format!("{name}.c"));
            std::fs::write(&source, text).unwrap();
            let program = folder.path().join(name);
            let mut compile = Command::new("cc");
            compile.arg("-Wl,--build-id").arg("-o").arg(&program);
            let made = compile.arg(&source).output();
            made.is_ok_and(|made| made.status.success())
                .then(|| build_id(program.to_str().unwrap()).unwrap())
        };
        let one = "int main(void) { return 1; }\n";
        let Some(first) = build("first", one) else {
            return skip("there is no C compiler");
        };
        assert_eq!(first.len(), 16);
        assert_ne!(
            build("second", "int main(void) { return 2; }\n"),
            Some(first)
        );
        assert_eq!(build_id("/dev/null"), None);
        assert!(OWN_VERSION.starts_with(env!("CARGO_PKG_VERSION")));
    }
}
