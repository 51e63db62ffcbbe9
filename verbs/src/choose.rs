//! Chooses the port of a device for an end, and one of its GIDs.

use std::net::IpAddr;

use crate::{EndPoint, Error, Gid, Mtu, Port, Route};

/// The place in the network that an end takes: what is not given is found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Adapter {
    /// The device.
    pub device: Option<String>,
    /// The entry of its port's GID table that it sends from.
    pub gid_index: Option<u8>,
    /// The longest packet, if not the port's own.
    pub mtu: Option<Mtu>,
}

/// The place that an end takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen {
    /// The port.
    pub port: Port,
    /// The GID that it sends from; none where LIDs address.
    pub gid: Option<Gid>,
    /// The longest packet.
    pub mtu: Mtu,
}

impl Chosen {
    /// The end point of a queue pair of this port, for the other end; `first_packet` is the number of its first packet, of 24 bits.
    pub fn end(&self, number: u32, first_packet: u32) -> EndPoint {
        EndPoint {
            number,
            first_packet,
            lid: self.port.lid,
            gid: self.gid.as_ref().map_or([0; 16], |gid| gid.bytes),
        }
    }

    /// The way from this port to the other end, with packets of up to `mtu`.
    pub fn route(&self, first_packet: u32, mtu: Mtu, to: EndPoint) -> Route {
        Route {
            port: self.port.number,
            gid_index: self.gid.as_ref().map(|gid| gid.index),
            mtu,
            first_packet,
            to,
        }
    }
}

/// The port for an end whose address is `address`, and the GID: the one that belongs to the address, or
/// else the first that will do.
///
/// # Errors
/// Nothing will do.
pub fn choose(ports: &[Port], adapter: &Adapter, address: IpAddr) -> Result<Chosen, Error> {
    let active = || ports.iter().filter(|port| port.is_active);
    let owner = active().find(|port| port.gids.iter().any(|gid| gid.address() == address));
    let Some(port) = owner.or_else(|| active().next()) else {
        let devices: Vec<&str> = ports.iter().map(|port| port.device.as_str()).collect();
        return Err(Error::NoActivePort {
            devices: devices.join(", "),
        });
    };
    let gid = gid_of(port, adapter.gid_index, address).map_err(|wanted| Error::NoGid {
        device: port.device.clone(),
        port: port.number,
        wanted,
    })?;
    let mtu = adapter.mtu.unwrap_or(port.mtu);
    if mtu > port.mtu {
        return Err(Error::Mtu {
            device: port.device.clone(),
            port: port.number,
            wanted: mtu.bytes(),
            most: port.mtu.bytes(),
        });
    }
    Ok(Chosen {
        port: port.clone(),
        gid,
        mtu,
    })
}

/// The GID to send from, or what is missing.
fn gid_of(port: &Port, index: Option<u8>, address: IpAddr) -> Result<Option<Gid>, String> {
    if let Some(index) = index {
        let found = port.gids.iter().find(|gid| gid.index == index);
        return match found {
            Some(gid) => Ok(Some(gid.clone())),
            None => Err(format!("GID with the index {index}")),
        };
    }
    if !port.is_ethernet {
        return Ok(None);
    }
    // The best of them: of the address itself, of its family, of any; what is valid on one link only last.
    let rank = |gid: &&Gid| match gid.address() {
        own if own == address => 0,
        own if is_local(own) => 3,
        own if own.is_ipv4() == address.is_ipv4() => 1,
        _ => 2,
    };
    let version_2 = port.gids.iter().filter(|gid| gid.is_roce_v2);
    match version_2.min_by_key(rank) {
        Some(gid) => Ok(Some(gid.clone())),
        None => Err("GID of RoCE version 2".into()),
    }
}

fn is_local(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(address) if address.is_unicast_link_local())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv6Addr;

    fn gid(index: u8, address: &str, is_roce_v2: bool) -> Gid {
        let bytes = match address.parse().unwrap() {
            IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
            IpAddr::V6(address) => Ipv6Addr::octets(&address),
        };
        Gid {
            index,
            bytes,
            is_roce_v2,
        }
    }

    fn port(device: &str, is_active: bool, is_ethernet: bool, gids: &[Gid]) -> Port {
        Port {
            device: device.into(),
            number: 1,
            is_active,
            is_ethernet,
            lid: 7,
            mtu: Mtu::of_code(3).unwrap(),
            longest: 1 << 30,
            gids: gids.to_vec(),
        }
    }

    /// Two ports of RoCE, as the kernel fills their tables.
    fn roce() -> [Port; 3] {
        [
            port("down", false, true, &[gid(1, "10.0.0.9", true)]),
            port(
                "rxe0",
                true,
                true,
                &[
                    gid(0, "fe80::1", true),
                    gid(1, "10.0.0.1", false),
                    gid(2, "10.0.0.1", true),
                    gid(3, "fd00::1", true),
                ],
            ),
            port(
                "rxe1",
                true,
                true,
                &[gid(0, "fe80::2", true), gid(1, "10.0.0.2", true)],
            ),
        ]
    }

    fn chosen(adapter: &Adapter, address: &str) -> Result<(String, Option<u8>), Error> {
        let chosen = choose(&roce(), adapter, address.parse().unwrap())?;
        Ok((chosen.port.device, chosen.gid.map(|gid| gid.index)))
    }

    #[test]
    fn the_port_of_the_address_is_chosen_with_its_gid_of_version_2() {
        let adapter = Adapter::default();
        for (address, device, index) in [
            ("10.0.0.1", "rxe0", 2),
            ("10.0.0.2", "rxe1", 1),
            ("fd00::1", "rxe0", 3),
            ("fe80::2", "rxe1", 0),
            // The address is nobody's, or its port is down: the first active port is taken, with a GID of the family.
            ("127.0.0.1", "rxe0", 2),
            ("10.0.0.9", "rxe0", 2),
            ("::1", "rxe0", 3),
        ] {
            let (found, gid) = chosen(&adapter, address).unwrap();
            assert_eq!((found.as_str(), gid), (device, Some(index)), "{address}");
        }
    }

    #[test]
    fn what_is_given_is_taken() {
        let adapter = Adapter {
            gid_index: Some(0),
            mtu: Mtu::of_code(1),
            ..Adapter::default()
        };
        let chosen = choose(&roce(), &adapter, "10.0.0.2".parse().unwrap()).unwrap();
        assert_eq!(
            (chosen.port.device.as_str(), chosen.mtu.bytes()),
            ("rxe1", 256)
        );
        assert_eq!(chosen.gid.unwrap().index, 0);
    }

    #[test]
    fn lids_address_where_there_is_no_ethernet() {
        let ports = [port("mlx5_0", true, false, &[gid(0, "fe80::3", false)])];
        let address = "10.0.0.1".parse().unwrap();
        let found = choose(&ports, &Adapter::default(), address).unwrap();
        assert_eq!((found.gid, found.port.lid), (None, 7));
        let adapter = Adapter {
            gid_index: Some(0),
            ..Adapter::default()
        };
        let found = choose(&ports, &adapter, address).unwrap();
        assert_eq!(found.gid.unwrap().index, 0);
    }

    #[test]
    fn what_is_missing_is_said() {
        let adapter = Adapter {
            gid_index: Some(9),
            ..Adapter::default()
        };
        let error = chosen(&adapter, "10.0.0.1").unwrap_err().to_string();
        assert!(
            error.contains("rxe0 has no GID with the index 9"),
            "{error}"
        );
        let adapter = Adapter {
            mtu: Some(Mtu::MOST),
            ..Adapter::default()
        };
        let error = chosen(&adapter, "10.0.0.1").unwrap_err().to_string();
        assert!(error.contains("up to 1024 bytes now, not 4096"), "{error}");
        let address = "10.0.0.1".parse().unwrap();
        let down = [port("down", false, true, &[])];
        let error = choose(&down, &Adapter::default(), address).unwrap_err();
        assert!(matches!(error, Error::NoActivePort { .. }), "{error:?}");
        let old = [port("old", true, true, &[gid(0, "10.0.0.1", false)])];
        let error = choose(&old, &Adapter::default(), address).unwrap_err();
        assert!(matches!(error, Error::NoGid { .. }), "{error:?}");
    }
}
