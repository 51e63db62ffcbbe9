use std::fs;
use std::net::{IpAddr, Ipv6Addr};
use std::path::Path;

/// An entry of a port's GID table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gid {
    /// Its place in the table.
    pub index: u8,
    /// The GID.
    pub bytes: [u8; 16],
    /// What it is used for.
    pub kind: GidKind,
}

/// What a GID is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GidKind {
    /// InfiniBand, or RoCE version 1.
    IbOrRoceV1,
    /// RoCE version 2: it is the address of an IP packet.
    RoceV2,
}

impl Gid {
    /// The address that it is made of, or looks like.
    pub fn address(&self) -> IpAddr {
        let address = Ipv6Addr::from(self.bytes);
        address
            .to_ipv4_mapped()
            .map_or(IpAddr::V6(address), IpAddr::V4)
    }
}

/// The GIDs of a port, as /sys has them (`root` is `/` but in tests): entries that are in use.
pub fn gids(root: &Path, device: &str, port: u8) -> Vec<Gid> {
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
        kind: match kind.trim() {
            "RoCE v2" => GidKind::RoceV2,
            _ => GidKind::IbOrRoceV1,
        },
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
            .map(|gid| (gid.index, gid.address().to_string(), gid.kind))
            .collect();
        assert_eq!(
            found,
            [
                (0, "fe80::5054:ff:fe12:3456".into(), GidKind::IbOrRoceV1),
                (1, "10.0.0.1".into(), GidKind::RoceV2),
                (10, "fd00::1".into(), GidKind::RoceV2),
            ]
        );
        assert_eq!(gids(root.path(), "rxe0", 2), []);
        assert_eq!(gids(root.path(), "rxe1", 1), []);
    }
}
