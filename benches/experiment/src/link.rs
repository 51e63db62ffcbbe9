//! The options of `jitterlab packet` that say what is measured over.

use jitterlab_packet::transport::{Transport, Verbs};

use crate::spec::Host;

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
