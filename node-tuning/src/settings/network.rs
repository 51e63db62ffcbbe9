//! Network interfaces of the chosen device.

use super::{Node, Obstacle, Reach, Setting, Want, unsupported};
use crate::cpus::CpuSet;
use crate::system::{Parameters, Place};
use crate::topology::DeviceKind;

/// The MTU of RDMA that the paper found best, in bytes (section 4.2).
const BEST_MTU: u32 = 2048;
/// The bytes of a frame that RoCE and Ethernet may need beside the payload: Soft-RoCE takes 80 off the
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
                    Some(
                        cpus.without(&node.isolated())
                            .and(&node.topology.online)
                            .to_string(),
                    ),
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
            // The first queue is for all housekeeping CPUs; each measuring CPU has one of the next;
            // what is left over serves nobody.
            let mut owners = vec![node.plan.housekeeping.and(&node.topology.online)];
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

/// Wants parameters of every interface whose driver has them.
fn ethtool(
    node: &Node,
    parameters: Parameters,
    wanted: &[(&str, &str)],
) -> Result<Vec<Want>, Obstacle> {
    let mut wants = Vec::new();
    for interface in interfaces(node)? {
        let place = Place::Ethtool {
            interface,
            parameters,
        };
        let Some(current) = node.system.read(&place)? else {
            continue;
        };
        let words: Vec<&str> = current.split_whitespace().collect();
        let value = |name: &str, current: &str| {
            let wanted = wanted.iter().find(|(wanted, _)| *wanted == name);
            format!(
                "{name} {}",
                wanted.map_or(current.to_string(), |(_, value)| value.to_string())
            )
        };
        let words: Vec<String> = words
            .chunks_exact(2)
            .map(|pair| value(pair[0], pair[1]))
            .collect();
        wants.push(Want::At(place, Some(words.join(" "))));
    }
    match wants.is_empty() {
        true => unsupported(format!(
            "the driver of {} has no {} that could be set",
            interfaces(node)?.join(" and of "),
            match parameters {
                Parameters::Coalescing => "coalescing",
                Parameters::Pause => "pause frames",
            }
        )),
        false => Ok(wants),
    }
}

pub const COALESCING: Setting = Setting {
    name: "nic-coalescing",
    why: "An adapter that waits for more packets before it interrupts adds that wait to every round trip.",
    reach: Reach::Measure,
    wants: |node| {
        let wanted = [
            ("adaptive-rx", "off"),
            ("adaptive-tx", "off"),
            ("rx-usecs", "0"),
            ("tx-usecs", "0"),
        ];
        ethtool(node, Parameters::Coalescing, &wanted)
    },
};

pub const PAUSE: Setting = Setting {
    name: "nic-pause",
    why: "A pause frame stops all that a port sends, because of traffic that is not ours.",
    reach: Reach::Measure,
    wants: |node| {
        let device = node
            .plan
            .device
            .as_deref()
            .and_then(|name| node.topology.device(name));
        if device.is_some_and(|device| device.kind == DeviceKind::Rdma) {
            return unsupported("pause frames are what keeps RoCE from losing packets");
        }
        ethtool(
            node,
            Parameters::Pause,
            &[("autoneg", "off"), ("rx", "off"), ("tx", "off")],
        )
    },
};

pub const RDMA_MTU: Setting = Setting {
    name: "rdma-mtu",
    why: "Messages of up to 2,048 bytes go in one packet: the paper found this the most efficient MTU. The network has to carry it.",
    reach: Reach::Asked {
        paper: true,
        report: report_mtu,
    },
    wants: |node| {
        let mut wants = Vec::new();
        for (place, mtu) in roce_interfaces(node)? {
            let suits = roce_mtus().contains(&mtu);
            let wanted = if suits { mtu } else { roce_mtus().start };
            wants.push(Want::At(place, Some(wanted.to_string())));
        }
        Ok(wants)
    },
};

/// The MTUs of an interface that give RoCE its best one: it takes the largest of its own that fits.
fn roce_mtus() -> std::ops::Range<u32> {
    BEST_MTU + ROCE_HEADERS..2 * BEST_MTU + ROCE_HEADERS
}

/// The interfaces of a RoCE device, and their MTUs.
fn roce_interfaces(node: &Node) -> Result<Vec<(Place, u32)>, Obstacle> {
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
    let mut found = Vec::new();
    for interface in interfaces(node)? {
        let place = Place::word(format!("/sys/class/net/{interface}/mtu"));
        let mtu = node.system.read(&place)?.and_then(|mtu| mtu.parse().ok());
        found.extend(mtu.map(|mtu| (place, mtu)));
    }
    Ok(found)
}

fn report_mtu(node: &Node) -> Vec<String> {
    match roce_interfaces(node) {
        Err(obstacle) => vec![obstacle.to_string()],
        Ok(found) => found
            .iter()
            .filter(|(_, mtu)| !roce_mtus().contains(mtu))
            .map(|(place, mtu)| {
                format!(
                    "{place} is {mtu}; with {} RDMA has {BEST_MTU} bytes",
                    roce_mtus().start
                )
            })
            .collect(),
    }
}
