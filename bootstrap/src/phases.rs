//! The times of the parts of a boot, up to this program, as the kernel and systemd say.

use std::collections::BTreeMap;
use std::fs;

use crate::command;
use crate::report::Phase;

/// The property that `systemctl show` is asked for: when userspace began, in microseconds since the kernel's start.
const USERSPACE: &str = "UserspaceTimestampMonotonic";
const FIRMWARE: &str = "FirmwareTimestampMonotonic";
const LOADER: &str = "LoaderTimestampMonotonic";
/// The file in which the initrd leaves when it began, in seconds since the kernel's start.
const INITRD: &str = "/run/jitterlab/initrd-began";

/// The phases before `now_ns`, which is the kernel's CLOCK_MONOTONIC. Firmware and loader only where the
/// firmware tells: UEFI does.
pub fn until(now_ns: u64) -> Vec<Phase> {
    let properties = [FIRMWARE, LOADER, USERSPACE];
    let options = properties.map(|property| format!("--property={property}"));
    let shown = command::run("systemctl", ["show".to_owned()].into_iter().chain(options));
    let initrd = fs::read_to_string(INITRD).unwrap_or_default();
    of(&shown.unwrap_or_default(), &initrd, now_ns)
}

fn of(shown: &str, initrd: &str, now_ns: u64) -> Vec<Phase> {
    let times: BTreeMap<&str, u64> = shown
        .lines()
        .filter_map(|line| line.split_once('='))
        .filter_map(|(name, us)| Some((name, us.parse::<u64>().ok()?.saturating_mul(1_000))))
        .filter(|&(_, ns)| ns > 0)
        .collect();
    let mut phases = Vec::new();
    let mut phase = |name: &str, ns| {
        phases.push(Phase {
            name: name.into(),
            ns,
        });
    };
    // These two are told as times before the kernel's start, counted backwards.
    let loader = times.get(LOADER).copied();
    if let Some(&firmware) = times.get(FIRMWARE) {
        phase("firmware", firmware.saturating_sub(loader.unwrap_or(0)));
    }
    if let Some(loader) = loader {
        phase("loader", loader);
    }
    let userspace = times.get(USERSPACE).map_or(now_ns, |&ns| ns.min(now_ns));
    match initrd.trim().parse::<f64>() {
        Ok(seconds) => {
            let began = ((seconds * 1e9) as u64).min(userspace);
            phase("kernel", began);
            phase("initrd", userspace - began);
        }
        Err(_) => phase("kernel and initrd", userspace),
    }
    phase("services", now_ns - userspace);
    phases
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_follow_each_other() {
        let shown = "FirmwareTimestampMonotonic=5000000\nLoaderTimestampMonotonic=2000000\n\
                     InitRDTimestampMonotonic=0\nUserspaceTimestampMonotonic=4000000\n";
        let found = of(shown, "1.25\n", 6_500_000_000);
        let phases: Vec<_> = found
            .iter()
            .map(|p| (p.name.as_str(), p.ns / 1_000_000))
            .collect();
        assert_eq!(
            phases,
            [
                ("firmware", 3_000),
                ("loader", 2_000),
                ("kernel", 1_250),
                ("initrd", 2_750),
                ("services", 2_500)
            ]
        );
    }

    #[test]
    fn without_systemd_there_is_one_phase() {
        let found = of("", "", 7);
        let phases: Vec<_> = found.iter().map(|p| (p.name.as_str(), p.ns)).collect();
        assert_eq!(phases, [("kernel and initrd", 7), ("services", 0)]);
    }
}
