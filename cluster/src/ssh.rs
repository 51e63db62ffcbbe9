//! The ssh that leads to a host: its options, and the keys that hosts are known by.

use std::path::Path;

use crate::host::Host;
use crate::trust::Trust;

/// The name of the file of [`known_hosts`] in a worker's directory.
pub const KNOWN_HOSTS: &str = "known_hosts";

/// The options of an ssh to a host of this name. `known` is the file of [`known_hosts`]. No word of them is more than a word to a
/// shell, unless the path is.
pub fn options(name: &str, host: &Host, trust: Trust, known: &Path) -> Vec<String> {
    // Nobody is there to type a password; a link that has died is noticed in 15 s.
    let mut options = vec![
        "BatchMode=yes".to_string(),
        "ConnectTimeout=10".into(),
        "ServerAliveInterval=5".into(),
        "ServerAliveCountMax=3".into(),
    ];
    if !host.host_keys.is_empty() {
        options.extend([
            // These keys and no others, whatever is known of the host besides.
            format!("UserKnownHostsFile={}", quoted(known)),
            "GlobalKnownHostsFile=/dev/null".into(),
            format!("HostKeyAlias={name}"),
            "StrictHostKeyChecking=yes".into(),
            "CheckHostIP=no".into(),
            "UpdateHostKeys=no".into(),
            "VerifyHostKeyDNS=no".into(),
            // A connection that somebody has opened without them will not do either.
            "ControlPath=none".into(),
        ]);
    } else if trust == Trust::FirstUse {
        options.push("StrictHostKeyChecking=accept-new".into());
    }
    if let Some(file) = &host.key_file {
        options.push(format!("IdentityFile={file}"));
    }
    let options = options.into_iter().flat_map(|option| ["-o".into(), option]);
    std::iter::once("-T".into()).chain(options).collect()
}

/// The lines of a file of known hosts for these, each by its name in the experiment.
pub fn known_hosts<'a>(hosts: impl IntoIterator<Item = (&'a str, &'a Host)>) -> String {
    let lines = hosts.into_iter().flat_map(|(name, host)| {
        let keys = host.host_keys.iter();
        keys.map(move |key| format!("{name} {key}\n"))
    });
    lines.collect()
}

/// ssh takes words for files of their own, and a percent sign for more than itself.
fn quoted(path: &Path) -> String {
    let path = path.to_string_lossy().replace('%', "%%");
    match path.contains(char::is_whitespace) {
        true => format!("\"{path}\""),
        false => path,
    }
}
