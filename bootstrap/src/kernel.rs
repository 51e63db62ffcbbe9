//! Starting the same kernel again, with other parameters.

use std::convert::Infallible;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use jitterlab_node_tuning::boot::{Parameter, Parameters};

use crate::command::{self, Error, of_file};

/// Says that this kernel was started by another one, so that it does not start a third; its value is how long it
/// took to come to it, in milliseconds.
pub const STARTED: &str = "jitterlab.restarted";
/// Where the initrd has left the root's image.
const IMAGE: &str = "/run/jitterlab/image";
const KERNEL: &str = "/vmlinuz";
/// What the root is mounted from; the image is joined to it.
const INITRD: &str = "/initrd.img";

/// How long the kernel that started this one ran, in nanoseconds; nothing where none did.
pub fn restarted_after(running: &Parameters) -> Option<u64> {
    let value = running.last(STARTED)?.value.as_deref()?;
    Some(value.parse::<u64>().ok()?.saturating_mul(1_000_000))
}

/// The parameters to start again with: those of the running kernel, and others in the place of their like.
pub fn parameters(running: &Parameters, wanted: &Parameters, after_ns: u64) -> Parameters {
    let mut parameters = running.clone();
    // What loaders add of their own.
    for own in ["BOOT_IMAGE", "initrd"] {
        parameters.remove(own);
    }
    for parameter in wanted.iter() {
        parameters.set(parameter.clone());
    }
    parameters.set(Parameter::new(STARTED, (after_ns / 1_000_000).to_string()));
    parameters
}

/// Loads the kernel, with the image that the running system came from.
///
/// # Errors
/// It is not possible here: with the reason.
pub fn load(parameters: &Parameters) -> Result<(), Error> {
    let image = Path::new(IMAGE);
    if !image.join("root.squashfs").exists() {
        return Err(Error::Said(format!(
            "{IMAGE} has no root.squashfs: only the appliance keeps what it was started from"
        )));
    }
    let whole = image.join("initrd");
    joined(&whole)?;
    let option = |name: &str, value: &str| format!("--{name}={value}");
    let loaded = command::run(
        "kexec",
        [
            "--load".into(),
            // Summing up the image before it is used takes longer than all the rest of it.
            "--kexec-syscall".into(),
            "--no-checks".into(),
            KERNEL.into(),
            option("initrd", &whole.to_string_lossy()),
            option("command-line", &parameters.to_string()),
        ] as [String; 6],
    );
    // It is in the kernel now, or of no use.
    fs::remove_file(&whole).map_err(of_file(&whole))?;
    loaded.map(drop)
}

/// The initrd with the root's image behind it, as a loader brings it: the kernel unpacks one archive after the other.
fn joined(whole: &Path) -> Result<(), Error> {
    let mut file = fs::File::create(whole).map_err(of_file(whole))?;
    let mut small = fs::File::open(INITRD).map_err(of_file(INITRD))?;
    let length = std::io::copy(&mut small, &mut file).map_err(of_file(whole))?;
    // The kernel takes an archive for one only where it begins at a multiple of four.
    let zeros = vec![0; (length.next_multiple_of(4) - length) as usize];
    file.write_all(&zeros).map_err(of_file(whole))?;
    let mut archive = Command::new("cpio")
        .args(["--create", "--format=newc", "--quiet", "--owner=0:0"])
        .current_dir(IMAGE)
        .stdin(Stdio::piped())
        .stdout(file)
        .spawn()
        .map_err(of_file("cpio"))?;
    if let Some(mut names) = archive.stdin.take() {
        writeln!(names, "root.squashfs").map_err(of_file("cpio"))?;
    }
    let status = archive.wait().map_err(of_file("cpio"))?;
    match status.success() {
        true => Ok(()),
        false => Err(Error::Said(format!("cpio failed: {status}"))),
    }
}

/// Starts what was loaded.
///
/// # Errors
/// The running kernel refuses.
pub fn start() -> Result<Infallible, Error> {
    nix::unistd::sync();
    command::run("kexec", ["--exec"])?;
    Err(Error::Said("kexec came back".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_kernel_has_what_this_one_has_and_what_is_wanted() {
        let running =
            Parameters::parse("BOOT_IMAGE=/vmlinuz initrd=initrd quiet isolcpus=1 console=ttyS0");
        assert_eq!(restarted_after(&running), None);
        let wanted = Parameters::parse("isolcpus=2-3 nosmt");
        let next = parameters(&running, &wanted, 4_321_000_000);
        assert_eq!(
            next.to_string(),
            "quiet console=ttyS0 isolcpus=2-3 nosmt jitterlab.restarted=4321"
        );
        assert_eq!(restarted_after(&next), Some(4_321_000_000));
    }
}
