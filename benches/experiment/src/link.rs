//! The link that a host measures over, and the options of `jitterlab packet` that say so.

use jitterlab_cluster::Host;
use jitterlab_packet::transport::{Link, Transport, Verbs};
use jitterlab_verbs::Adapter;

/// The link of a host.
pub fn of_host(host: &Host, transport: Transport, verbs: Verbs) -> Link {
    let adapter = Adapter {
        device: host.device.clone(),
        ..Adapter::default()
    };
    match Link::of(transport) {
        Link::Verbs(..) => Link::Verbs(verbs, adapter),
        sockets => sockets,
    }
}

/// Those of a server on a host.
pub fn of_server(transport: Transport, host: &Host) -> Vec<String> {
    let mut words = vec!["--transport".into(), transport.name().into()];
    if let (Transport::Verbs, Some(device)) = (transport, &host.device) {
        words.extend(["--device".into(), device.clone()]);
    }
    words
}

/// Those of a client on a host.
pub fn of_client(transport: Transport, verbs: Verbs, host: &Host) -> Vec<String> {
    let mut words = of_server(transport, host);
    if transport == Transport::Verbs {
        let how = [
            ("--operation", verbs.operation.name()),
            ("--service", verbs.service.name()),
            ("--inline", verbs.inline.name()),
        ];
        words.extend(
            how.iter()
                .flat_map(|&(option, name)| [option.into(), name.into()]),
        );
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_packet::transport::Operation;

    #[test]
    fn only_verbs_have_more_to_say() {
        let host: Host = serde_yaml::from_str("{ at: local, device: rxe0 }").unwrap();
        let verbs = Verbs {
            operation: Operation::WriteImm,
            ..Verbs::default()
        };
        assert_eq!(
            of_client(Transport::Udp, verbs, &host),
            ["--transport", "udp"]
        );
        assert_eq!(
            of_client(Transport::Verbs, verbs, &host).join(" "),
            "--transport verbs --device rxe0 --operation write-imm --service rc --inline auto"
        );
        assert_eq!(
            of_server(Transport::Verbs, &host).join(" "),
            "--transport verbs --device rxe0"
        );
    }
}
