//! RDMA devices.

use std::fs;

use serde::{Deserialize, Serialize};

use crate::command::{self, Error};
use crate::network;

const DEVICES: &str = "/sys/class/infiniband";

/// An RDMA device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// Its name.
    pub name: String,
    /// What makes it: `rdma_rxe` is Soft-RoCE.
    pub driver: String,
    /// The state of its first port: `ACTIVE`, `DOWN`.
    pub state: String,
}

/// Makes the RDMA devices usable; where there is none, one on the network interface `device` in software (Soft-RoCE).
///
/// # Errors
/// There is none and none can be made: with what to do.
pub fn set_up(device: Option<&str>) -> Result<Vec<Device>, Error> {
    let modules = ["--all", "ib_uverbs", "rdma_ucm"];
    command::run("modprobe", modules).map_err(|error| {
        Error::Said(format!(
            "this kernel has no RDMA: {error}; UDP and TCP can be measured"
        ))
    })?;
    if devices().is_empty() {
        soft_roce(device)?;
    }
    Ok(devices())
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
    let interface = match device {
        Some(device) => device,
        None => interfaces.first().map_or("", String::as_str),
    };
    let make = || {
        command::run("modprobe", ["rdma_rxe"])?;
        command::run("ip", ["link", "set", "dev", interface, "up"])?;
        command::run(
            "rdma",
            ["link", "add", "rxe0", "type", "rxe", "netdev", interface],
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
    fn a_port_has_a_number_and_a_word() {
        assert_eq!(word("4: ACTIVE\n"), "ACTIVE");
        assert_eq!(word("1: DOWN"), "DOWN");
    }
}
