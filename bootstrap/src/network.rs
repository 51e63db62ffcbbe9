//! Names and addresses.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use nix::ifaddrs::getifaddrs;

use crate::command::{self, Error, of_file};
use crate::node_file::Address;
use crate::time::wait_until;

/// The directory in which systemd-networkd looks for what was said since boot.
const FILES: &str = "/run/systemd/network";
/// The time that addresses are waited for.
const PATIENCE: Duration = Duration::from_secs(15);
/// The time that a link may take to come up: adapters negotiate for two to four seconds.
const LINK: Duration = Duration::from_secs(5);
/// And after an address, who answers for names: it comes with the address.
const NAMES: Duration = Duration::from_secs(2);

/// The Ethernet interfaces, by name.
///
/// # Errors
/// There is none: with what to do.
pub fn interfaces() -> Result<Vec<String>, Error> {
    /// `ARPHRD_ETHER` of the kernel.
    const ETHERNET: &str = "1";
    let entries = fs::read_dir("/sys/class/net").map_err(of_file("/sys/class/net"))?;
    let mut names: Vec<String> = entries
        .flatten()
        .filter(|entry| {
            let kind = fs::read_to_string(entry.path().join("type"));
            kind.is_ok_and(|kind| kind.trim() == ETHERNET)
        })
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    if names.is_empty() {
        return Err(Error::Said(
            "there is no network interface: see that the adapter is seated (lspci) and that this kernel has its driver \
             (dmesg); what needs no network can be measured"
                .into(),
        ));
    }
    Ok(names)
}

/// Names the node.
///
/// # Errors
/// The kernel refuses.
pub fn name_node(name: Option<&str>) -> Result<String, Error> {
    let name = match name {
        Some(name) => name.to_owned(),
        None => default_name(),
    };
    nix::unistd::sethostname(&name).map_err(|errno| of_file("hostname")(errno.into()))?;
    fs::write("/etc/hostname", format!("{name}\n")).map_err(of_file("/etc/hostname"))?;
    let hosts = format!("127.0.0.1 localhost\n127.0.1.1 {name}\n::1 localhost\n");
    fs::write("/etc/hosts", hosts).map_err(of_file("/etc/hosts"))?;
    Ok(name)
}

/// Nodes of a cluster that nobody has named are told apart by their hardware addresses.
fn default_name() -> String {
    let first = interfaces().ok().and_then(|names| names.into_iter().next());
    let hardware =
        first.and_then(|name| fs::read_to_string(format!("/sys/class/net/{name}/address")).ok());
    let digits: String = hardware
        .unwrap_or_default()
        .chars()
        .filter(char::is_ascii_hexdigit)
        .collect();
    match digits.get(6..) {
        Some(end) => format!("jitterlab-{end}"),
        None => "jitterlab".into(),
    }
}

/// Brings the links of all adapters up, and waits for them: what is measured with is chosen of those that are up. One without
/// a cable takes the whole time.
///
/// # Errors
/// The kernel refuses.
pub fn bring_links_up() -> Result<(), Error> {
    let has_adapter = |name: &String| {
        Path::new("/sys/class/net")
            .join(name)
            .join("device")
            .exists()
    };
    // The step that gets addresses says if there are none.
    let present = interfaces().unwrap_or_default().into_iter();
    let adapters: Vec<String> = present.filter(has_adapter).collect();
    let outcome = each(&adapters, |name| link_up(name));
    wait_until(LINK, || adapters.iter().all(|name| has_link(name)));
    outcome
}

/// Does something with each of several; what fails with one does not keep it from the others.
///
/// # Errors
/// The first that there was.
pub fn each<T>(
    all: impl IntoIterator<Item = T>,
    what: impl FnMut(T) -> Result<(), Error>,
) -> Result<(), Error> {
    let outcomes = all.into_iter().map(what);
    outcomes.fold(Ok(()), Result::and)
}

/// Brings a link up.
///
/// # Errors
/// The kernel refuses.
pub fn link_up(name: &str) -> Result<(), Error> {
    command::run("ip", ["link", "set", "dev", name, "up"]).map(drop)
}

/// Every interface asks for an address, and one of them has to get one in time: before anything else is known.
///
/// # Errors
/// None gets one: with what to do.
pub fn ask_everywhere(patience: Duration) -> Result<(), Error> {
    let all = interfaces()?;
    configure(&BTreeMap::new())?;
    if wait_until(patience, || !addresses_of(&all).is_empty()) {
        // A unit of the appliance writes it, if the network names any.
        wait_until(NAMES, || Path::new("/etc/resolv.conf").exists());
        return Ok(());
    }
    Err(Error::Said(format!(
        "no address came by DHCP on {} within {} s: see that a cable is in and a DHCP server answers, or put node.yaml on a \
         volume labelled JITTERLAB",
        all.join(", "),
        patience.as_secs()
    )))
}

/// Gives the interfaces their addresses; those that are not named ask by DHCP, unless some are named.
///
/// # Errors
/// An interface is not there, or does not get its address: with what to do.
pub fn give_addresses(addresses: &BTreeMap<String, Address>) -> Result<(), Error> {
    let present = interfaces()?;
    configure(addresses)?;
    let missing: Vec<&str> = addresses
        .keys()
        .filter(|name| !present.contains(name))
        .map(String::as_str)
        .collect();
    if !missing.is_empty() {
        return Err(Error::Said(format!(
            "node.yaml gives an address to {}, which is not there; there are {}",
            missing.join(", "),
            present.join(", ")
        )));
    }
    let late = |(name, address): &(&String, &Address)| match address {
        Address::Static(wanted, _) => !addresses_of(std::slice::from_ref(*name)).contains(wanted),
        Address::Dhcp => addresses_of(std::slice::from_ref(*name)).is_empty(),
    };
    if wait_until(PATIENCE, || !addresses.iter().any(|entry| late(&entry))) {
        return Ok(());
    }
    let late: Vec<&str> = addresses
        .iter()
        .filter(late)
        .map(|(name, _)| name.as_str())
        .collect();
    Err(Error::Said(format!(
        "{} has no address after {} s: see that a cable is in, and that a DHCP server answers where node.yaml says dhcp",
        late.join(", "),
        PATIENCE.as_secs()
    )))
}

/// True if there is somebody at the other end of the cable.
pub fn has_link(name: &str) -> bool {
    let carrier = fs::read_to_string(format!("/sys/class/net/{name}/carrier"));
    carrier.is_ok_and(|carrier| carrier.trim() == "1")
}

fn configure(addresses: &BTreeMap<String, Address>) -> Result<(), Error> {
    let folder = Path::new(FILES);
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder).map_err(of_file(folder))?;
    for (name, content) in files(addresses) {
        let path = folder.join(name);
        fs::write(&path, content).map_err(of_file(&path))?;
    }
    command::run("systemctl", ["restart", "systemd-networkd.service"]).map(drop)
}

/// The files that say it to systemd-networkd.
fn files(addresses: &BTreeMap<String, Address>) -> Vec<(String, String)> {
    // An address is not given up when the link is lost for a moment: an experiment goes on.
    const KEPT: &str = "KeepConfiguration=yes\nIPv6AcceptRA=no\nLinkLocalAddressing=ipv6\nConfigureWithoutCarrier=yes\n";
    // Each kernel here is a new machine to who gives addresses, but for its hardware's.
    const DHCP: &str = "DHCP=yes\nKeepConfiguration=dhcp\nLinkLocalAddressing=ipv6\n\n[DHCPv4]\nClientIdentifier=mac\n";
    if addresses.is_empty() {
        return vec![(
            "50-jitterlab.network".into(),
            // Those with hardware behind them: the others have a kind.
            format!("[Match]\nType=ether\nKind=!*\n\n[Network]\n{DHCP}"),
        )];
    }
    let file = |(name, address): (&String, &Address)| {
        let mut content = format!("[Match]\nName={name}\n\n[Network]\n");
        match address {
            Address::Dhcp => content.push_str(DHCP),
            Address::Static(address, prefix) => {
                let _ = write!(content, "Address={address}/{prefix}\n{KEPT}");
            }
        }
        (format!("10-jitterlab-{name}.network"), content)
    };
    addresses.iter().map(file).collect()
}

/// The addresses of interfaces, without those that every interface gives itself.
fn addresses_of(names: &[String]) -> Vec<IpAddr> {
    let all = getifaddrs().into_iter().flatten();
    let named = all.filter(|entry| names.contains(&entry.interface_name));
    named
        .filter_map(|entry| {
            let address = entry.address?;
            let v4 = address.as_sockaddr_in().map(|a| IpAddr::from(a.ip()));
            v4.or_else(|| address.as_sockaddr_in6().map(|a| IpAddr::from(a.ip())))
        })
        .filter(|address| match address {
            IpAddr::V4(_) => true,
            IpAddr::V6(address) => !address.is_unicast_link_local(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_adapter_that_fails_does_not_stop_the_others() {
        let mut tried = Vec::new();
        let outcome = each(["a", "b", "c"], |name| {
            tried.push(name);
            match name {
                "a" => Ok(()),
                _ => Err(Error::Said(name.into())),
            }
        });
        assert_eq!(outcome.unwrap_err().to_string(), "b");
        assert_eq!(tried, ["a", "b", "c"]);
    }

    #[test]
    fn who_is_not_named_asks_unless_others_are() {
        let all = files(&BTreeMap::new());
        assert_eq!(all.len(), 1);
        assert!(all[0].1.contains("Type=ether") && all[0].1.contains("DHCP=yes"));
        let named = BTreeMap::from([
            ("eth0".to_owned(), Address::Static([10, 0, 0, 1].into(), 24)),
            ("eth1".to_owned(), Address::Dhcp),
        ]);
        let two = files(&named);
        assert_eq!(two[0].0, "10-jitterlab-eth0.network");
        assert!(
            two[0]
                .1
                .contains("Name=eth0\n\n[Network]\nAddress=10.0.0.1/24\n")
        );
        assert!(two[1].1.contains("Name=eth1\n\n[Network]\nDHCP=yes\n"));
    }
}
