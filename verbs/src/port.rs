use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

use jitterlab_base::units::UnitError;
use serde::{Serialize, Serializer};

/// A port of an RDMA device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Port {
    /// The device.
    pub device: String,
    /// Its number, from 1.
    #[serde(rename = "port")]
    pub number: u8,
    /// True if it can carry data.
    #[serde(rename = "active")]
    pub is_active: bool,
    /// True if its network is Ethernet, that is RoCE: GIDs address there, not LIDs.
    #[serde(rename = "ethernet")]
    pub is_ethernet: bool,
    /// Its LID.
    #[serde(skip)]
    pub lid: u16,
    /// The longest packet that it carries now.
    pub mtu: Mtu,
    /// The longest message, in bytes.
    #[serde(skip)]
    pub longest: u32,
    /// Its GIDs that are in use.
    pub gids: Vec<Gid>,
}

/// An entry of a port's GID table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Gid {
    /// Its place in the table.
    pub index: u8,
    /// The GID; serialized as an address.
    #[serde(rename = "gid", serialize_with = "as_address")]
    pub bytes: [u8; 16],
    /// True if it is one of RoCE version 2, the address of an IP packet; the others are of InfiniBand or of
    /// RoCE version 1.
    #[serde(rename = "roce_v2")]
    pub is_roce_v2: bool,
}

/// A path MTU: 256, 512, 1024, 2048 or 4096 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mtu(u8);

impl Gid {
    /// The address that it is made of, or looks like.
    pub fn address(&self) -> IpAddr {
        address(&self.bytes)
    }
}

impl Mtu {
    /// The greatest that there is.
    pub const MOST: Mtu = Mtu(5);

    /// The MTU by its number in the verbs, 1 to 5.
    pub fn of_code(code: u8) -> Option<Self> {
        (1..=5).contains(&code).then_some(Mtu(code))
    }

    /// Its number in the verbs.
    pub fn code(self) -> u8 {
        self.0
    }

    /// The MTU in bytes.
    pub fn bytes(self) -> u16 {
        128 << self.0
    }
}

impl FromStr for Mtu {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let mut all = (1..=5).map(Mtu);
        all.find(|mtu| mtu.bytes().to_string() == text)
            .ok_or_else(|| UnitError {
                text: text.into(),
                expected: "a path MTU: 256, 512, 1024, 2048 or 4096",
            })
    }
}

impl Serialize for Mtu {
    /// It is written in bytes.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u16(self.bytes())
    }
}

fn as_address<S: Serializer>(bytes: &[u8; 16], serializer: S) -> Result<S::Ok, S::Error> {
    address(bytes).serialize(serializer)
}

fn address(bytes: &[u8; 16]) -> IpAddr {
    let address = Ipv6Addr::from(*bytes);
    address
        .to_ipv4_mapped()
        .map_or(IpAddr::V6(address), IpAddr::V4)
}

/// An entry of a device's GID tables, as the verbs give it.
pub(crate) struct GidEntry {
    /// The number of its port.
    pub port: u32,
    /// Its place in the table of the port.
    pub index: u32,
    /// A GID of InfiniBand, of RoCE version 1, or of RoCE version 2.
    pub kind: u32,
    /// The GID.
    pub bytes: [u8; 16],
}

/// The GIDs of a port among those of its device, in the order of its table.
pub(crate) fn gids(port: u8, entries: &[GidEntry]) -> Vec<Gid> {
    /// `IBV_GID_TYPE_ROCE_V2`
    const ROCE_V2: u32 = 2;
    let of_port = entries.iter().filter(|entry| entry.port == port.into());
    let in_use = of_port.filter(|entry| entry.bytes != [0; 16]);
    let mut gids: Vec<Gid> = in_use
        .filter_map(|entry| {
            Some(Gid {
                // A route names it by a byte.
                index: u8::try_from(entry.index).ok()?,
                bytes: entry.bytes,
                is_roce_v2: entry.kind == ROCE_V2,
            })
        })
        .collect();
    gids.sort_by_key(|gid| gid.index);
    gids
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_has_its_own_gids_in_their_order() {
        let entry = |port, index, kind, address: &str| GidEntry {
            port,
            index,
            kind,
            bytes: address.parse::<Ipv6Addr>().unwrap().octets(),
        };
        let entries = [
            entry(1, 10, 2, "fd00::1"),
            entry(2, 0, 2, "fd00::2"),
            entry(1, 0, 1, "fe80::5054:ff:fe12:3456"),
            entry(1, 1, 2, "::ffff:10.0.0.1"),
            entry(1, 3, 2, "::"),
            entry(1, 300, 2, "fd00::3"),
        ];
        let found = gids(1, &entries);
        let found: Vec<_> = found
            .iter()
            .map(|gid| (gid.index, gid.address().to_string(), gid.is_roce_v2))
            .collect();
        assert_eq!(
            found,
            [
                (0, "fe80::5054:ff:fe12:3456".into(), false),
                (1, "10.0.0.1".into(), true),
                (10, "fd00::1".into(), true),
            ]
        );
        assert_eq!(gids(3, &entries), []);
    }

    #[test]
    fn an_mtu_is_read_back_from_its_bytes() {
        for code in 1..=5 {
            let mtu = Mtu::of_code(code).unwrap();
            assert_eq!(mtu.bytes().to_string().parse(), Ok(mtu));
        }
        assert_eq!(Mtu::MOST.bytes(), 4096);
        assert!("1500".parse::<Mtu>().is_err() && "".parse::<Mtu>().is_err());
        assert!(Mtu::of_code(0).is_none() && Mtu::of_code(6).is_none());
    }
}
