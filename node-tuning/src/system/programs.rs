//! What the kernel offers to programs of the system only, or what those keep track of.

use std::path::Path;
use std::process::{Command, Stdio};

use super::{Error, Loader, Parameter, System, Value};

/// Runs a program and gives what it printed.
fn run(program: &str, arguments: &[&str]) -> Result<String, Error> {
    let (output, success) = ask(program, arguments)?;
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
        .env("LC_ALL", "C");
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
    let (state, _) = ask("systemctl", &["is-active", "--", unit])?;
    let active = matches!(state.trim(), "active" | "activating" | "reloading");
    Ok(Some(if active { "active" } else { "inactive" }.into()))
}

pub(super) fn write_service(unit: &str, value: &Value) -> Result<(), Error> {
    let verb = if value.as_deref() == Some("active") {
        "start"
    } else {
        "stop"
    };
    run("systemctl", &[verb, "--", unit]).map(drop)
}

/// The flag of `ethtool` that shows a parameter, and the one that sets it.
fn flags(parameter: Parameter) -> (&'static str, &'static str) {
    match parameter {
        Parameter::RxPause | Parameter::TxPause => ("-a", "-A"),
        _ => ("-c", "-C"),
    }
}

pub(super) fn read_ethtool(interface: &str, parameter: Parameter) -> Result<Value, Error> {
    let arguments = [flags(parameter).0, interface];
    let (output, success) = ask("ethtool", &arguments)?;
    // A device that does not have it is no failure, but a fact.
    Ok(if success {
        parameter_in(&output, parameter)
    } else {
        None
    })
}

/// A parameter in what `ethtool -c` or `-a` printed; `None` where the device does not have it.
fn parameter_in(output: &str, parameter: Parameter) -> Value {
    let value = output.lines().find_map(|line| match parameter {
        Parameter::AdaptiveRx | Parameter::AdaptiveTx => {
            let (rx, tx) = line.strip_prefix("Adaptive RX:")?.split_once("TX:")?;
            Some(if parameter == Parameter::AdaptiveRx {
                rx
            } else {
                tx
            })
        }
        Parameter::RxPause => line.strip_prefix("RX:"),
        Parameter::TxPause => line.strip_prefix("TX:"),
        Parameter::RxUsecs | Parameter::TxUsecs => {
            line.strip_prefix(parameter.argument())?.strip_prefix(':')
        }
    })?;
    let value = value.trim();
    (value != "n/a" && !value.is_empty()).then(|| value.into())
}

pub(super) fn write_ethtool(
    interface: &str,
    parameter: Parameter,
    value: &Value,
) -> Result<(), Error> {
    let value = value.as_deref().unwrap_or_default();
    run(
        "ethtool",
        &[flags(parameter).1, interface, parameter.argument(), value],
    )
    .map(drop)
}

/// A priority that the kernel gave by itself, and gives again.
const OWN_PRIORITY: &str = "default";

pub(super) fn read_swap(system: &System, path: &Path) -> Result<Value, Error> {
    let swaps = system.text("/proc/swaps").unwrap_or_default();
    Ok(swaps.lines().skip(1).find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let priority = fields.last()?;
        let used = Path::new(fields.first()?) == path;
        used.then(|| {
            if priority.starts_with('-') {
                OWN_PRIORITY.into()
            } else {
                priority.to_string()
            }
        })
    }))
}

pub(super) fn write_swap(path: &Path, value: &Value) -> Result<(), Error> {
    let device = path.to_string_lossy();
    match value.as_deref() {
        None => run("swapoff", &["--", &device]),
        Some(OWN_PRIORITY) => run("swapon", &["--", &device]),
        Some(priority) => run("swapon", &["-p", priority, "--", &device]),
    }
    .map(drop)
}

/// Makes the boot loader's configuration anew. A copied tree has no boot loader.
pub(super) fn make_boot_configuration(system: &System, loader: Loader) -> Result<(), Error> {
    match loader {
        _ if !system.is_live() => Ok(()),
        Loader::Appliance => Ok(()),
        Loader::Grub => {
            // Debian's and Fedora's names of the same thing.
            let [debian, fedora] = ["/boot/grub/grub.cfg", "/boot/grub2/grub.cfg"];
            match (system.exists(debian), system.exists(fedora)) {
                (false, true) => run("grub2-mkconfig", &["-o", fedora]),
                _ => run("grub-mkconfig", &["-o", debian]),
            }
            .map(drop)
        }
        Loader::KernelInstall => {
            let release = system
                .text("/proc/sys/kernel/osrelease")
                .unwrap_or_default();
            let images = [
                format!("/usr/lib/modules/{release}/vmlinuz"),
                format!("/boot/vmlinuz-{release}"),
            ];
            let image = images
                .iter()
                .find(|image| system.exists(image))
                .unwrap_or(&images[1]);
            run("kernel-install", &["add", &release, image]).map(drop)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_found_in_what_ethtool_prints() {
        let coalescing = "Coalesce parameters for eth0:\nAdaptive RX: on  TX: n/a\nstats-block-usecs:\tn/a\n\nrx-usecs:\t3\nrx-frames:\tn/a\nrx-usecs-irq:\t7\n\ntx-usecs:\tn/a\n";
        let pause = "Pause parameters for eth0:\nAutonegotiate:\ton\nRX:\t\ton\nTX:\t\toff\n\n";
        for (output, parameter, value) in [
            (coalescing, Parameter::RxUsecs, Some("3")),
            (coalescing, Parameter::TxUsecs, None),
            (coalescing, Parameter::AdaptiveRx, Some("on")),
            (coalescing, Parameter::AdaptiveTx, None),
            (pause, Parameter::RxPause, Some("on")),
            (pause, Parameter::TxPause, Some("off")),
        ] {
            assert_eq!(
                parameter_in(output, parameter).as_deref(),
                value,
                "{parameter:?}"
            );
        }
    }
}
