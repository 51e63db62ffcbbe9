//! Which port of which device, and which of its GIDs.

use std::net::IpAddr;
use std::path::Path;

use crate::transport::{Adapter, Mtu};
use crate::verbs::{Device, Error, Gid, GidKind, Port, gids};

/// A port with its addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The device.
    pub device: String,
    /// The port.
    pub port: Port,
    /// Its GIDs that are in use.
    pub gids: Vec<Gid>,
}

/// The place that an end takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen {
    /// The device.
    pub device: String,
    /// Its port.
    pub port: Port,
    /// The GID that it sends from; none where LIDs address.
    pub gid: Option<Gid>,
    /// The longest packet.
    pub mtu: Mtu,
}

/// Every port of a device, or of all of them.
///
/// # Errors
/// There is no device, or not the one that is wanted, or one cannot be opened.
pub fn candidates(device: Option<&str>) -> Result<Vec<Candidate>, Error> {
    let names = match device {
        Some(name) => vec![name.to_string()],
        None => Device::names()?,
    };
    if names.is_empty() {
        return Err(Error::NoDevice);
    }
    let mut candidates = Vec::new();
    for name in names {
        for port in Device::open(&name)?.ports()? {
            let gids = gids(Path::new("/"), &name, port.number);
            let device = name.clone();
            candidates.push(Candidate { device, port, gids });
        }
    }
    Ok(candidates)
}

/// The port for an end whose address is `address`, and the GID: the one that belongs to the address, or
/// else the first that will do.
///
/// # Errors
/// Nothing will do.
pub fn choose(
    candidates: &[Candidate],
    adapter: &Adapter,
    address: IpAddr,
) -> Result<Chosen, Error> {
    let active = || candidates.iter().filter(|c| c.port.is_active);
    let owner = active().find(|c| c.gids.iter().any(|gid| gid.address() == address));
    let Some(candidate) = owner.or_else(|| active().next()) else {
        let devices: Vec<&str> = candidates.iter().map(|c| c.device.as_str()).collect();
        return Err(Error::NoActivePort {
            devices: devices.join(", "),
        });
    };
    let port = candidate.port;
    let gid = gid_of(candidate, adapter.gid_index, address).map_err(|wanted| Error::NoGid {
        device: candidate.device.clone(),
        port: port.number,
        wanted,
    })?;
    let mtu = adapter.mtu.unwrap_or(port.mtu);
    if mtu > port.mtu {
        return Err(Error::Mtu {
            device: candidate.device.clone(),
            port: port.number,
            wanted: mtu.bytes(),
            most: port.mtu.bytes(),
        });
    }
    Ok(Chosen {
        device: candidate.device.clone(),
        port,
        gid,
        mtu,
    })
}

/// The GID to send from, or what is missing.
fn gid_of(
    candidate: &Candidate,
    index: Option<u8>,
    address: IpAddr,
) -> Result<Option<Gid>, String> {
    if let Some(index) = index {
        let found = candidate.gids.iter().find(|gid| gid.index == index);
        return match found {
            Some(gid) => Ok(Some(gid.clone())),
            None => Err(format!("GID with the index {index}")),
        };
    }
    if !candidate.port.is_ethernet {
        return Ok(None);
    }
    // The best of them: of the address itself, of its family, of any; what is valid on one link only last.
    let rank = |gid: &&Gid| match gid.address() {
        own if own == address => 0,
        own if is_local(own) => 3,
        own if own.is_ipv4() == address.is_ipv4() => 1,
        _ => 2,
    };
    let version_2 = candidate
        .gids
        .iter()
        .filter(|gid| gid.kind == GidKind::RoceV2);
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

    fn gid(index: u8, address: &str, kind: GidKind) -> Gid {
        let bytes = match address.parse().unwrap() {
            IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
            IpAddr::V6(address) => Ipv6Addr::octets(&address),
        };
        Gid { index, bytes, kind }
    }

    fn candidate(device: &str, is_active: bool, is_ethernet: bool, gids: &[Gid]) -> Candidate {
        Candidate {
            device: device.into(),
            port: Port {
                number: 1,
                is_active,
                is_ethernet,
                lid: 7,
                mtu: Mtu::of_code(3).unwrap(),
                longest: 1 << 30,
            },
            gids: gids.to_vec(),
        }
    }

    /// Two ports of RoCE, as the kernel fills their tables.
    fn roce() -> [Candidate; 3] {
        use GidKind::{IbOrRoceV1, RoceV2};
        [
            candidate("down", false, true, &[gid(1, "10.0.0.9", RoceV2)]),
            candidate(
                "rxe0",
                true,
                true,
                &[
                    gid(0, "fe80::1", RoceV2),
                    gid(1, "10.0.0.1", IbOrRoceV1),
                    gid(2, "10.0.0.1", RoceV2),
                    gid(3, "fd00::1", RoceV2),
                ],
            ),
            candidate(
                "rxe1",
                true,
                true,
                &[gid(0, "fe80::2", RoceV2), gid(1, "10.0.0.2", RoceV2)],
            ),
        ]
    }

    fn chosen(adapter: &Adapter, address: &str) -> Result<(String, Option<u8>), Error> {
        let chosen = choose(&roce(), adapter, address.parse().unwrap())?;
        Ok((chosen.device, chosen.gid.map(|gid| gid.index)))
    }

    #[test]
    fn the_port_of_the_address_is_chosen_with_its_gid_of_version_2() {
        let adapter = Adapter::default();
        for (address, device, index) in [
            ("10.0.0.1", "rxe0", 2),
            ("10.0.0.2", "rxe1", 1),
            ("fd00::1", "rxe0", 3),
            ("fe80::2", "rxe1", 0),
            // Of nobody, or of a port that is down: the first that is active, in the family.
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
        assert_eq!((chosen.device.as_str(), chosen.mtu.bytes()), ("rxe1", 256));
        assert_eq!(chosen.gid.unwrap().index, 0);
    }

    #[test]
    fn lids_address_where_there_is_no_ethernet() {
        let candidates = [candidate(
            "mlx5_0",
            true,
            false,
            &[gid(0, "fe80::3", GidKind::IbOrRoceV1)],
        )];
        let address = "10.0.0.1".parse().unwrap();
        let found = choose(&candidates, &Adapter::default(), address).unwrap();
        assert_eq!((found.gid, found.port.lid), (None, 7));
        let adapter = Adapter {
            gid_index: Some(0),
            ..Adapter::default()
        };
        let found = choose(&candidates, &adapter, address).unwrap();
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
        let down = [candidate("down", false, true, &[])];
        let error = choose(&down, &Adapter::default(), address).unwrap_err();
        assert!(matches!(error, Error::NoActivePort { .. }), "{error:?}");
        let old = [candidate(
            "old",
            true,
            true,
            &[gid(0, "10.0.0.1", GidKind::IbOrRoceV1)],
        )];
        let error = choose(&old, &Adapter::default(), address).unwrap_err();
        assert!(matches!(error, Error::NoGid { .. }), "{error:?}");
    }
}
