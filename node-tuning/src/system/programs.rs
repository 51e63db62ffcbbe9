//! The things that the kernel offers to programs of the system only, or that those keep track of.

use std::fs::File;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use super::{Error, Loader, System, Value, files};

/// The path of programs of the system, whatever the caller's search path says.
const SEARCH_PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

/// Runs a program that changes something and gives what it printed. It dies with this process: what
/// is put back after a kill must not be changed by it later.
fn run(program: &str, arguments: &[&str]) -> Result<String, Error> {
    /// A process that was killed before `setpriv` had begun sends no signal any more.
    const IF_IT_LIVES: &str = r#"[ "$PPID" = "$0" ] && exec "$@""#;
    let own = std::process::id().to_string();
    let bound = ["--pdeathsig", "KILL", "--", "sh", "-c", IF_IT_LIVES, &own];
    let whole = [&bound[..], &[program], arguments].concat();
    let (output, success) = ask("setpriv", &whole)?;
    match success {
        true => Ok(output),
        false => Err(failed(
            program,
            arguments,
            format!("failed: {}", last_line(&output)),
        )),
    }
}

/// Runs a program and gives what it printed, on both streams, and whether it succeeded.
fn ask(program: &str, arguments: &[&str]) -> Result<(String, bool), Error> {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .stdin(Stdio::null())
        .env("LC_ALL", "C")
        .env("PATH", SEARCH_PATH);
    match command.output() {
        Ok(output) => {
            let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
            text.push_str(&String::from_utf8_lossy(&output.stderr));
            Ok((text, output.status.success()))
        }
        Err(error) => Err(failed(
            program,
            arguments,
            format!("cannot be started: {error}"),
        )),
    }
}

fn failed(program: &str, arguments: &[&str], outcome: String) -> Error {
    let program = std::iter::once(&program)
        .chain(arguments)
        .copied()
        .collect::<Vec<_>>()
        .join(" ");
    Error::Program { program, outcome }
}

fn last_line(text: &str) -> &str {
    text.lines()
        .rev()
        .find(|line| !line.trim().is_empty())
        .unwrap_or("it printed nothing")
        .trim()
}

pub(super) fn read_service(unit: &str) -> Result<Value, Error> {
    let arguments = ["is-active", "--", unit];
    let (state, _) = ask("systemctl", &arguments)?;
    let value = match state.trim() {
        "active" | "activating" | "reloading" => "active",
        "inactive" | "deactivating" | "failed" => "inactive",
        other => return Err(failed("systemctl", &arguments, format!("says {other}"))),
    };
    Ok(Some(value.into()))
}

pub(super) fn write_service(unit: &str, value: &Value) -> Result<(), Error> {
    let verb = if value.as_deref() == Some("active") {
        "start"
    } else {
        "stop"
    };
    run("systemctl", &[verb, "--", unit]).map(drop)
}

/// A priority that the kernel gave by itself, and gives again.
const OWN_PRIORITY: &str = "default";

pub(super) fn read_swap(system: &System, path: &Path) -> Value {
    let swaps = system.swaps();
    let swap = swaps.iter().find(|swap| swap.path == path)?;
    Some(match swap.priority {
        ..0 => OWN_PRIORITY.into(),
        priority => priority.to_string(),
    })
}

pub(super) fn write_swap(system: &System, path: &Path, value: &Value) -> Result<(), Error> {
    if system.is_deleted(path) {
        let reason = "the file was deleted while it is swapped to, and has no name any more by which it could be swapped off: the next boot is without it";
        let place = format!("swap on {}", path.display());
        return Err(Error::write(place, io::Error::other(reason)));
    }
    let device = path.to_string_lossy();
    match value.as_deref() {
        None => run("swapoff", &["--", &device]),
        Some(OWN_PRIORITY) => run("swapon", &["--", &device]),
        Some(priority) => run("swapon", &["-p", priority, "--", &device]),
    }
    .map(drop)
}

/// Makes the boot loader's configuration of the file at `path`, which says `value` now; on the disk. A
/// copied tree has no boot loader.
pub(super) fn make_boot_configuration(
    system: &System,
    loader: Loader,
    path: &Path,
    value: &Value,
    instead: &Value,
) -> Result<(), Error> {
    match loader {
        _ if !system.is_live() => return Ok(()),
        Loader::Grub => {
            // Debian's and Fedora's names of the same thing.
            let [debian, fedora] = ["/boot/grub/grub.cfg", "/boot/grub2/grub.cfg"];
            match (system.exists(debian), system.exists(fedora)) {
                (false, true) => run("grub2-mkconfig", &["-o", fedora]),
                _ => run("grub-mkconfig", &["-o", debian]),
            }?;
        }
        // Without the file kernel-install would take what the running kernel was started with, which
        // may be what is being taken back.
        Loader::KernelInstall if value.is_none() => {
            files::write(system, path, instead)?;
            install_kernels(system)?;
            files::write(system, path, &None)?;
        }
        Loader::KernelInstall => install_kernels(system)?,
    }
    for directory in ["/boot", "/boot/efi", "/efi"] {
        if let Ok(directory) = File::open(directory) {
            nix::unistd::syncfs(&directory).map_err(|errno| Error::write("/boot", errno.into()))?;
        }
    }
    Ok(())
}

/// Makes the entries of all kernels that are installed.
fn install_kernels(system: &System) -> Result<(), Error> {
    for release in system.names("/usr/lib/modules") {
        let images = [
            format!("/usr/lib/modules/{release}/vmlinuz"),
            format!("/boot/vmlinuz-{release}"),
        ];
        if let Some(image) = images.iter().find(|image| system.exists(image)) {
            run("kernel-install", &["add", &release, image])?;
        }
    }
    Ok(())
}
