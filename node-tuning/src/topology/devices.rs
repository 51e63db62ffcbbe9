//! Network interfaces and RDMA devices, and how far they are from each package.

use std::collections::{BTreeMap, BTreeSet};

use super::tree::Tree;
use super::{Device, DeviceKind, Error, NumaNode, Package, PackageDistance};
use crate::cpus::CpuSet;

const NET: &str = "sys/class/net";
const RDMA: &str = "sys/class/infiniband";

/// The place at which a device is attached.
#[derive(Debug, Clone, Default, PartialEq)]
struct Place {
    driver: Option<String>,
    pci: Option<String>,
    bridges: Vec<String>,
    numa_node: Option<u32>,
    /// The CPUs that the firmware says are near.
    local: Option<CpuSet>,
}

/// The devices, RDMA first.
pub(super) fn devices(
    tree: &Tree,
    packages: &[Package],
    numa_nodes: &[NumaNode],
) -> Result<Vec<Device>, Error> {
    let places = hardware(tree)?;
    let mut found = Vec::new();
    for name in tree.names(RDMA)? {
        found.push(rdma(tree, name, &places)?);
    }
    for name in tree.names(NET)? {
        found.extend(network(tree, name, &places)?);
    }
    for (device, place) in &mut found {
        device.distances = distances(place, packages, numa_nodes);
    }
    Ok(found.into_iter().map(|(device, _)| device).collect())
}

/// The network interfaces that are hardware, or what a hypervisor passes for it.
fn hardware(tree: &Tree) -> Result<BTreeMap<String, Place>, Error> {
    let mut places = BTreeMap::new();
    for name in tree.names(NET)? {
        if let Some(place) = place(tree, &format!("{NET}/{name}/device"))? {
            places.insert(name, place);
        }
    }
    Ok(places)
}

fn place(tree: &Tree, link: &str) -> Result<Option<Place>, Error> {
    let Some(path) = tree.resolved(link)? else {
        return Ok(None);
    };
    let mut bridges: Vec<String> = path
        .split('/')
        .filter(|part| is_pci_address(part))
        .map(Into::into)
        .collect();
    let mut place = Place {
        driver: tree.link_name(&format!("{path}/driver")),
        pci: bridges.pop(),
        bridges,
        ..Place::default()
    };
    // A virtio device says nothing itself; the PCI device that it sits on does.
    let mut folder = path.as_str();
    while folder != "sys/devices" && (place.numa_node.is_none() || place.local.is_none()) {
        if place.numa_node.is_none() {
            place.numa_node = tree.id(&format!("{folder}/numa_node"))?;
        }
        if place.local.is_none() {
            place.local = tree.cpus(&format!("{folder}/local_cpulist"))?;
        }
        let Some((parent, _)) = folder.rsplit_once('/') else {
            break;
        };
        folder = parent;
    }
    Ok(Some(place))
}

/// Domain, bus, device and function: `0000:81:00.0`.
fn is_pci_address(text: &str) -> bool {
    let parts: Vec<&str> = text.split([':', '.']).collect();
    let hex = |part: &&str| part.bytes().all(|byte| byte.is_ascii_hexdigit());
    matches!(parts.as_slice(), [domain, bus, device, function]
        if domain.len() >= 4 && bus.len() == 2 && device.len() == 2 && function.len() == 1)
        && parts.iter().all(hex)
}

/// The place of something that stands on these interfaces: the place of all the hardware below.
/// `None` if there is no hardware below.
fn place_upon(
    tree: &Tree,
    names: &[String],
    places: &BTreeMap<String, Place>,
) -> Result<Option<Place>, Error> {
    let below = foundation(tree, names)?;
    let places = below.iter().filter_map(|name| places.get(name));
    let attached = places.map(|place| Place {
        numa_node: place.numa_node,
        local: place.local.clone(),
        ..Place::default()
    });
    Ok(attached.reduce(|all, place| Place {
        numa_node: all.numa_node.filter(|_| all.numa_node == place.numa_node),
        local: all
            .local
            .filter(|local| Some(local) == place.local.as_ref()),
        ..all
    }))
}

/// A network interface, if it is hardware or made of some.
fn network(
    tree: &Tree,
    name: String,
    places: &BTreeMap<String, Place>,
) -> Result<Option<(Device, Place)>, Error> {
    let lower = lower(tree, &name)?;
    let place = match places.get(&name) {
        Some(place) => place.clone(),
        None => match place_upon(tree, &lower, places)? {
            Some(place) => place,
            None => return Ok(None),
        },
    };
    let folder = format!("{NET}/{name}");
    let up = match tree.text(&format!("{folder}/operstate"))?.as_deref() {
        Some("up") => true,
        // Drivers that do not tell: is there a carrier?
        Some("unknown") => tree.number(&format!("{folder}/carrier"))? == Some(1),
        _ => false,
    };
    let speed = tree.id(&format!("{folder}/speed"))?;
    let device = Device {
        kind: DeviceKind::Network,
        network: lower,
        up,
        // Older kernels print an unknown speed without its sign.
        speed_mbps: speed
            .filter(|&speed| speed > 0 && speed < u32::MAX)
            .map(u64::from),
        mtu: tree.id(&format!("{folder}/mtu"))?,
        ..described(name, &place)
    };
    Ok(Some((device, place)))
}

fn described(name: String, place: &Place) -> Device {
    Device {
        name,
        kind: DeviceKind::Network,
        network: Vec::new(),
        driver: place.driver.clone(),
        pci: place.pci.clone(),
        bridges: place.bridges.clone(),
        numa_node: place.numa_node,
        up: false,
        speed_mbps: None,
        mtu: None,
        link_layer: None,
        distances: Vec::new(),
    }
}

/// The interfaces that this one is made of.
fn lower(tree: &Tree, name: &str) -> Result<Vec<String>, Error> {
    let names = tree.names(&format!("{NET}/{name}"))?;
    let lower = names.iter().filter_map(|name| name.strip_prefix("lower_"));
    Ok(lower.map(Into::into).collect())
}

/// These interfaces and all below them, down to the last: a VLAN stands on a bond, which stands on
/// two ports.
fn foundation(tree: &Tree, names: &[String]) -> Result<BTreeSet<String>, Error> {
    let mut found = BTreeSet::new();
    let mut open = names.to_vec();
    while let Some(name) = open.pop() {
        if found.insert(name.clone()) {
            open.extend(lower(tree, &name)?);
        }
    }
    Ok(found)
}

fn rdma(
    tree: &Tree,
    name: String,
    places: &BTreeMap<String, Place>,
) -> Result<(Device, Place), Error> {
    let folder = format!("{RDMA}/{name}");
    let ports: Vec<Port> = tree
        .names(&format!("{folder}/ports"))?
        .iter()
        .map(|port| Port::read(tree, &format!("{folder}/ports/{port}")))
        .collect::<Result<_, _>>()?;
    let mut network: BTreeSet<String> = tree
        .names(&format!("{folder}/device/net"))?
        .into_iter()
        .collect();
    // Soft-RoCE stands on an interface and on nothing else.
    network.extend(tree.text(&format!("{folder}/parent"))?);
    network.extend(ports.iter().flat_map(|port| port.network.iter().cloned()));
    let network: Vec<String> = network.into_iter().collect();
    let place = match place(tree, &format!("{folder}/device"))? {
        Some(place) => place,
        None => place_upon(tree, &network, places)?.unwrap_or_default(),
    };
    let port = ports.iter().find(|port| port.active).or(ports.first());
    let device = Device {
        kind: DeviceKind::Rdma,
        network,
        up: port.is_some_and(|port| port.active),
        speed_mbps: port.and_then(|port| port.speed_mbps),
        link_layer: port.and_then(|port| port.link_layer.clone()),
        ..described(name, &place)
    };
    Ok((device, place))
}

/// A port of an RDMA device.
struct Port {
    active: bool,
    speed_mbps: Option<u64>,
    link_layer: Option<String>,
    network: Vec<String>,
}

impl Port {
    fn read(tree: &Tree, folder: &str) -> Result<Self, Error> {
        let state = tree.text(&format!("{folder}/state"))?;
        let mut network = Vec::new();
        let interfaces = format!("{folder}/gid_attrs/ndevs");
        for index in tree.names(&interfaces)? {
            network.extend(tree.text(&format!("{interfaces}/{index}"))?);
        }
        Ok(Port {
            active: state.is_some_and(|state| state == "4: ACTIVE"),
            speed_mbps: tree.value(
                &format!("{folder}/rate"),
                "a rate like `100 Gb/sec (4X EDR)`",
                mbps,
            )?,
            link_layer: tree.text(&format!("{folder}/link_layer"))?,
            network,
        })
    }
}

/// `2.5 Gb/sec (1X SDR)` in Mbit/s.
fn mbps(rate: &str) -> Option<u64> {
    let (number, unit) = rate.split_once(' ')?;
    let gbps: f64 = number.parse().ok()?;
    (unit.starts_with("Gb/sec") && (0.0..1e6).contains(&gbps)).then(|| (gbps * 1e3).round() as u64)
}

/// The distance of a place from each package: by the firmware's table of distances, else by the CPUs
/// that it calls near.
fn distances(place: &Place, packages: &[Package], numa_nodes: &[NumaNode]) -> Vec<PackageDistance> {
    let own = numa_nodes
        .iter()
        .find(|node| Some(node.id) == place.numa_node);
    let distance = |package: &Package| {
        let row = &own?.distances;
        package
            .numa_nodes
            .iter()
            .filter_map(|node| row.get(node))
            .min()
            .copied()
    };
    let least = packages.iter().filter_map(distance).min();
    let is_local = |package: &Package| match (least, place.numa_node, &place.local) {
        _ if packages.len() == 1 => true,
        (Some(least), ..) => distance(package) == Some(least),
        (None, Some(node), _) => package.numa_nodes.contains(&node),
        (None, None, Some(cpus)) => {
            package.cpus.is_within(cpus) && {
                // Near to all is what firmware says that does not know.
                !packages.iter().all(|package| package.cpus.is_within(cpus))
            }
        }
        (None, None, None) => false,
    };
    packages
        .iter()
        .map(|package| PackageDistance {
            package: package.id,
            distance: distance(package),
            local: is_local(package),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_on_the_pci_bus() {
        for address in ["0000:81:00.0", "10000:e1:00.1", "0000:00:1f.6"] {
            assert!(is_pci_address(address), "{address}");
        }
        for other in [
            "pci0000:80",
            "virtio2",
            "0000:00",
            "0000:81:00",
            "1-1:1.0",
            "0000:81:00:0.",
            "",
        ] {
            assert!(!is_pci_address(other), "{other}");
        }
    }

    #[test]
    fn rates_of_rdma_ports() {
        assert_eq!(mbps("100 Gb/sec (4X EDR)"), Some(100_000));
        assert_eq!(mbps("2.5 Gb/sec (1X SDR)"), Some(2_500));
        for wrong in [
            "",
            "100",
            "fast Gb/sec",
            "100 MB/s",
            "-1 Gb/sec",
            "NaN Gb/sec",
        ] {
            assert_eq!(mbps(wrong), None, "{wrong}");
        }
    }
}
