//! RDMA devices.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::command::{self, Error};
use crate::network;
use crate::time::wait_until;

const DEVICES: &str = "/sys/class/infiniband";
/// The device that is made in software where there is no other (Soft-RoCE).
pub const SOFTWARE: &str = "rxe0";
/// The time that ports may take to come up.
const PATIENCE: Duration = Duration::from_secs(5);
const ACTIVE: &str = "ACTIVE";

/// An RDMA device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// Its name.
    pub name: String,
    /// The driver that makes it: `rdma_rxe` is Soft-RoCE.
    pub driver: String,
    /// The state of its first port: `ACTIVE`, `DOWN`.
    pub state: String,
}

/// Loads what every device needs.
///
/// # Errors
/// The kernel has none of it.
pub fn load() -> Result<(), Error> {
    let modules = ["--all", "ib_uverbs", "rdma_ucm"];
    let loaded = command::run("modprobe", modules).map_err(|error| {
        Error::Said(format!(
            "this kernel has no RDMA: {error}; UDP and TCP can be measured"
        ))
    });
    loaded.map(drop)
}

/// Brings the ports of the RDMA devices up. Where there is no device, or that in software is the one that is `named`, makes
/// that (Soft-RoCE) on `device`, a network interface or what has one, or else on an interface that has a link.
///
/// # Errors
/// There is none and none can be made: with what to do; or an interface cannot be brought up.
pub fn set_up(device: Option<&str>, named: Option<&str>) -> Result<(), Error> {
    let made = match takes_software(&devices(), named) {
        true => soft_roce(device),
        false => Ok(()),
    };
    // An Ethernet port is up when its interface is.
    let interfaces = devices()
        .into_iter()
        .flat_map(|device| interfaces_of(&device.name));
    let up = network::each(interfaces, |interface| network::link_up(&interface));
    wait_until(PATIENCE, || devices().iter().all(is_active));
    made.and(up)
}

/// True if the device in software is to be made.
fn takes_software(devices: &[Device], named: Option<&str>) -> bool {
    devices.is_empty()
        || named == Some(SOFTWARE) && devices.iter().all(|device| device.name != SOFTWARE)
}

/// The network interfaces of an RDMA device over Ethernet.
fn interfaces_of(device: &str) -> Vec<String> {
    let entries = fs::read_dir(Path::new(DEVICES).join(device).join("device/net"));
    let entries = entries.into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect()
}

fn is_active(device: &Device) -> bool {
    device.state == ACTIVE
}

/// Whether a port is up: that of `device`, if it is one of them; else any. That in software has to be one of them.
///
/// # Errors
/// None is: with what to do.
pub fn check(devices: &[Device], device: Option<&str>) -> Result<(), Error> {
    let chosen = devices
        .iter()
        .find(|there| Some(there.name.as_str()) == device);
    if chosen.is_none() && device == Some(SOFTWARE) {
        return Err(Error::Said(format!(
            "{SOFTWARE}, which node.yaml names, is not there: it is made of an Ethernet interface (ip link)"
        )));
    }
    let idle = match chosen {
        Some(chosen) => !is_active(chosen),
        None => !devices.is_empty() && !devices.iter().any(is_active),
    };
    if !idle {
        return Ok(());
    }
    let names = chosen.map_or_else(
        || devices.iter().map(|device| device.name.clone()).collect(),
        |chosen| vec![chosen.name.clone()],
    );
    Err(Error::Said(format!(
        "no port is up of {}: see that a cable is in, and of InfiniBand that a subnet manager runs",
        names.join(", ")
    )))
}

/// The devices, by name.
pub fn devices() -> Vec<Device> {
    let entries = fs::read_dir(DEVICES).into_iter().flatten().flatten();
    let mut devices: Vec<Device> = entries
        .filter_map(|entry| {
            let driver = fs::read_link(entry.path().join("device/driver"));
            let driver = driver
                .ok()
                .and_then(|path| Some(path.file_name()?.to_str()?.to_owned()));
            let state = fs::read_to_string(entry.path().join("ports/1/state"));
            Some(Device {
                name: entry.file_name().into_string().ok()?,
                // A device in software has no driver of its bus.
                driver: driver.unwrap_or_else(|| "software".into()),
                state: state.map_or_else(|_| "unknown".into(), |text| word(&text)),
            })
        })
        .collect();
    devices.sort_by(|a, b| a.name.cmp(&b.name));
    devices
}

/// The word of `4: ACTIVE`.
fn word(state: &str) -> String {
    state.rsplit(' ').next().unwrap_or(state).trim().to_owned()
}

fn soft_roce(device: Option<&str>) -> Result<(), Error> {
    let interfaces = network::interfaces()?;
    let under = device.map(interfaces_of).unwrap_or_default();
    let is_chosen = |name: &&String| device == Some(name.as_str()) || under.contains(name);
    let chosen = interfaces.iter().find(is_chosen);
    let interface = chosen
        .or_else(|| interfaces.iter().find(|name| network::has_link(name)))
        .unwrap_or(&interfaces[0]);
    let make = || {
        command::run("modprobe", ["rdma_rxe"])?;
        network::link_up(interface)?;
        command::run(
            "rdma",
            ["link", "add", SOFTWARE, "type", "rxe", "netdev", interface],
        )
    };
    make().map(drop).map_err(|error: Error| {
        Error::Said(format!(
            "Soft-RoCE cannot be made on {interface}: {error}; there are {}",
            interfaces.join(", ")
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_that_is_down_is_a_problem_where_it_is_measured_with() {
        let device = |name: &str, state: &str| Device {
            name: name.into(),
            driver: "mlx5_core".into(),
            state: state.into(),
        };
        let one_cable = [device("mlx5_0", "ACTIVE"), device("mlx5_1", "DOWN")];
        assert!(check(&[], None).is_ok());
        assert!(check(&one_cable, None).is_ok());
        assert!(check(&one_cable, Some("eth0")).is_ok());
        let error = check(&one_cable, Some("mlx5_1")).unwrap_err().to_string();
        assert!(error.starts_with("no port is up of mlx5_1: "), "{error}");
        let error = check(&one_cable[1..], None).unwrap_err().to_string();
        assert!(error.starts_with("no port is up of mlx5_1: "), "{error}");
    }

    #[test]
    fn the_device_in_software_is_made_where_there_is_no_other_or_it_is_named() {
        let device = |name: &str| Device {
            name: name.into(),
            driver: "software".into(),
            state: ACTIVE.into(),
        };
        let (hardware, software) = (device("mlx5_0"), device(SOFTWARE));
        let both = [hardware.clone(), software];
        let hardware = [hardware];
        assert!(takes_software(&[], None));
        assert!(!takes_software(&hardware, None));
        assert!(!takes_software(&hardware, Some("mlx5_0")));
        assert!(takes_software(&hardware, Some(SOFTWARE)));
        assert!(!takes_software(&both, Some(SOFTWARE)));
        assert!(check(&both, Some(SOFTWARE)).is_ok());
        let error = check(&hardware, Some(SOFTWARE)).unwrap_err().to_string();
        assert!(
            error.starts_with("rxe0, which node.yaml names, is not there"),
            "{error}"
        );
    }

    #[test]
    fn a_port_has_a_number_and_a_word() {
        assert_eq!(word("4: ACTIVE\n"), "ACTIVE");
        assert_eq!(word("1: DOWN"), "DOWN");
    }
}
