//! Network interfaces of the chosen device.

use super::{Node, Obstacle, Reach, Setting, Want, unsupported};
use crate::cpus::CpuSet;
use crate::system::{Parameter, Place};
use crate::topology::DeviceKind;

/// The MTU of RDMA that the paper found best, in bytes (section 4.2).
const BEST_MTU: u32 = 2048;
/// What RoCE and Ethernet may need of a frame beside the payload, in bytes: Soft-RoCE takes 80 off the
/// interface's MTU, adapters less.
const ROCE_HEADERS: u32 = 80;

/// The interfaces that the measured traffic goes through.
fn interfaces(node: &Node) -> Result<Vec<String>, Obstacle> {
    let Some(name) = &node.plan.device else {
        return unsupported("no device was chosen, and the node has none with hardware behind it");
    };
    match node.topology.device(name) {
        Some(device) if device.kind == DeviceKind::Rdma && device.network.is_empty() => {
            unsupported(format!("{name} has no network interface"))
        }
        Some(device) if device.kind == DeviceKind::Rdma => Ok(device.network.clone()),
        Some(_) => Ok(vec![name.clone()]),
        None => unsupported(format!("{name} is gone")),
    }
}

/// The queues of the interfaces, whose names begin with `prefix`, interface by interface.
fn queues(node: &Node, prefix: &str, file: &str) -> Result<Vec<Vec<Place>>, Obstacle> {
    Ok(interfaces(node)?
        .iter()
        .map(|interface| {
            let directory = format!("/sys/class/net/{interface}/queues");
            let names = node.system.names(&directory);
            let queues = names.iter().filter(|name| name.starts_with(prefix));
            queues
                .map(|queue| Place::cpu_mask(format!("{directory}/{queue}/{file}")))
                .collect()
        })
        .collect())
}

pub const RPS: Setting = Setting {
    name: "rps",
    why: "Packets that arrive must not be handed to a measuring CPU for processing.",
    reach: Reach::Measure,
    wants: |node| {
        let places: Vec<Place> = queues(node, "rx-", "rps_cpus")?.concat();
        let mut wants = Vec::new();
        for place in places {
            if let Some(list) = node.system.read(&place)? {
                let cpus: CpuSet = list.parse().unwrap_or_default();
                // No CPU at all is what says that the interrupt's own CPU does it.
                wants.push(Want::At(
                    place,
                    Some(cpus.without(&node.isolated()).to_string()),
                ));
            }
        }
        match wants.is_empty() {
            true => {
                unsupported("the interfaces have no receive queues that packets are steered from")
            }
            false => Ok(wants),
        }
    },
};

pub const XPS: Setting = Setting {
    name: "xps",
    why: "A measuring CPU has a send queue of its own and waits for no lock that another CPU holds.",
    reach: Reach::Measure,
    wants: |node| {
        let mut wants = Vec::new();
        for places in queues(node, "tx-", "xps_cpus")? {
            let mut there = Vec::new();
            for place in places {
                // Interfaces with one queue have the file, and an error for who reads it.
                if let Ok(Some(_)) = node.system.read(&place) {
                    there.push(place);
                }
            }
            if there.len() <= node.plan.measuring.len() {
                continue;
            }
            // The first queue is for all that keep house; each measuring CPU has one of the next;
            // what is left over serves nobody.
            let mut owners = vec![node.plan.housekeeping.clone()];
            owners.extend(
                node.plan
                    .measuring
                    .iter()
                    .map(|cpu| CpuSet::from_iter([cpu])),
            );
            owners.resize(there.len(), CpuSet::new());
            let owned = there.into_iter().zip(owners);
            wants.extend(owned.map(|(place, cpus)| Want::At(place, Some(cpus.to_string()))));
        }
        match wants.is_empty() {
            true => unsupported(
                "the interfaces have fewer send queues than it takes to give each measuring CPU its own",
            ),
            false => Ok(wants),
        }
    },
};

/// Wants parameters of every interface that knows them.
fn ethtool(node: &Node, wanted: &[(Parameter, &str)], what: &str) -> Result<Vec<Want>, Obstacle> {
    let mut wants = Vec::new();
    for interface in interfaces(node)? {
        for (parameter, value) in wanted {
            let place = Place::Ethtool {
                interface: interface.clone(),
                parameter: *parameter,
            };
            if node.system.read(&place)?.is_some() {
                wants.push(Want::At(place, Some(value.to_string())));
            }
        }
    }
    match wants.is_empty() {
        true => unsupported(format!("the interfaces offer no {what}")),
        false => Ok(wants),
    }
}

pub const COALESCING: Setting = Setting {
    name: "nic-coalescing",
    why: "An adapter that waits for more packets before it interrupts adds that wait to every round trip.",
    reach: Reach::Measure,
    wants: |node| {
        // The adaptive modes first: they overrule the times.
        let wanted = [
            (Parameter::AdaptiveRx, "off"),
            (Parameter::AdaptiveTx, "off"),
            (Parameter::RxUsecs, "0"),
            (Parameter::TxUsecs, "0"),
        ];
        ethtool(node, &wanted, "coalescing of interrupts that could be set")
    },
};

pub const PAUSE: Setting = Setting {
    name: "nic-pause",
    why: "A pause frame stops all that a port sends, because of traffic that is not ours.",
    reach: Reach::Measure,
    wants: |node| {
        ethtool(
            node,
            &[(Parameter::RxPause, "off"), (Parameter::TxPause, "off")],
            "pause frames that could be set",
        )
    },
};

pub const RDMA_MTU: Setting = Setting {
    name: "rdma-mtu",
    why: "Messages of up to 2,048 bytes go in one packet: the paper found this the most efficient MTU.",
    reach: Reach::Paper,
    wants: |node| {
        let name = node.plan.device.as_deref().unwrap_or_default();
        let device = match node.topology.device(name) {
            Some(device) if device.kind == DeviceKind::Rdma => device,
            _ => return unsupported("the chosen device is no RDMA device"),
        };
        if device.link_layer.as_deref() != Some("Ethernet") {
            return unsupported(format!(
                "on InfiniBand the subnet manager gives {name} its MTU; programs choose the path's (perftest: -m {BEST_MTU})"
            ));
        }
        // RoCE takes the largest MTU of its own that fits into the interface's.
        let fits = BEST_MTU + ROCE_HEADERS..2 * BEST_MTU + ROCE_HEADERS;
        let mut wants = Vec::new();
        for interface in interfaces(node)? {
            let place = Place::word(format!("/sys/class/net/{interface}/mtu"));
            let Some(mtu) = node.system.read(&place)? else {
                continue;
            };
            let suits = mtu.parse().is_ok_and(|mtu: u32| fits.contains(&mtu));
            wants.push(Want::At(
                place,
                Some(if suits { mtu } else { fits.start.to_string() }),
            ));
        }
        Ok(wants)
    },
};
