use std::fs;
use std::net::{IpAddr, Ipv6Addr};
use std::path::Path;
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
    /// Whether it can carry data.
    #[serde(rename = "active")]
    pub is_active: bool,
    /// Whether its network is Ethernet, that is RoCE: GIDs address there, not LIDs.
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
    /// Whether it is one of RoCE version 2, the address of an IP packet; the others are of InfiniBand or of
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

    /// By its number in the verbs, 1 to 5.
    pub fn of_code(code: u8) -> Option<Self> {
        (1..=5).contains(&code).then_some(Mtu(code))
    }

    /// Its number in the verbs.
    pub fn code(self) -> u8 {
        self.0
    }

    /// In bytes.
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
    /// In bytes.
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

/// The GIDs of a port, as /sys has them (`root` is `/` but in tests): entries that are in use.
pub(crate) fn gids(root: &Path, device: &str, port: u8) -> Vec<Gid> {
    let folder = root.join(format!("sys/class/infiniband/{device}/ports/{port}"));
    let Ok(entries) = fs::read_dir(folder.join("gids")) else {
        return Vec::new();
    };
    let mut gids: Vec<Gid> = entries
        .filter_map(|entry| {
            let index = entry.ok()?.file_name().to_str()?.parse().ok()?;
            gid(&folder, index)
        })
        .collect();
    gids.sort_by_key(|gid| gid.index);
    gids
}

fn gid(folder: &Path, index: u8) -> Option<Gid> {
    let address = fs::read_to_string(folder.join(format!("gids/{index}"))).ok()?;
    let address: Ipv6Addr = address.trim().parse().ok()?;
    // It cannot be read of an entry that is not in use.
    let kind = fs::read_to_string(folder.join(format!("gid_attrs/types/{index}"))).ok()?;
    (!address.is_unspecified()).then(|| Gid {
        index,
        bytes: address.octets(),
        is_roce_v2: kind.trim() == "RoCE v2",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_read_as_the_kernel_shows_it() {
        let root = tempfile::tempdir().unwrap();
        let port = root.path().join("sys/class/infiniband/rxe0/ports/1");
        fs::create_dir_all(port.join("gids")).unwrap();
        fs::create_dir_all(port.join("gid_attrs/types")).unwrap();
        let entries = [
            (
                "0",
                "fe80:0000:0000:0000:5054:00ff:fe12:3456\n",
                Some("IB/RoCE v1\n"),
            ),
            (
                "1",
                "0000:0000:0000:0000:0000:ffff:0a00:0001\n",
                Some("RoCE v2\n"),
            ),
            (
                "10",
                "fd00:0000:0000:0000:0000:0000:0000:0001\n",
                Some("RoCE v2\n"),
            ),
            // Not in use: the kernel gives an error in place of a type.
            ("2", "0000:0000:0000:0000:0000:0000:0000:0000\n", None),
            (
                "3",
                "0000:0000:0000:0000:0000:0000:0000:0000\n",
                Some("RoCE v2\n"),
            ),
            ("4", "nonsense", Some("RoCE v2\n")),
            ("readme", "", None),
        ];
        for (index, gid, kind) in entries {
            fs::write(port.join("gids").join(index), gid).unwrap();
            if let Some(kind) = kind {
                fs::write(port.join("gid_attrs/types").join(index), kind).unwrap();
            }
        }
        let found: Vec<_> = gids(root.path(), "rxe0", 1)
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
        assert_eq!(gids(root.path(), "rxe0", 2), []);
        assert_eq!(gids(root.path(), "rxe1", 1), []);
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
