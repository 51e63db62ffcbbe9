//! The cases of the suite over the transports that every machine has, in every protocol.

mod common;
#[path = "../../packet/tests/common/mod.rs"]
mod kept;

use common::{Server, TRANSPORTS, options};
use jitterlab_amvia_suite::cases::bandwidth::Bandwidth;
use jitterlab_amvia_suite::cases::rtt::{Length, Report, Rtt};
use jitterlab_amvia_suite::{Client, Error, Protocol};
use jitterlab_base::input::OfInput;
use jitterlab_base::units::{Bytes, Nanos};
use jitterlab_packet::transport::Transport;
use kept::assert_kept;

#[test]
fn round_trips_are_measured_in_every_protocol() {
    for transport in TRANSPORTS {
        for protocol in Protocol::ALL {
            let options = options(transport, protocol);
            let server = Server::start(&options, "rtt");
            let client = Client::connect(&options, &server.address).unwrap();
            let case = Rtt {
                size: Bytes(32),
                warmup: Length::Messages(20),
                length: Length::Messages(200),
            };
            let outcome = case.run(&client).unwrap();
            assert_eq!((outcome.samples.len(), outcome.discarded), (200, 20));
            assert!(outcome.samples.iter().all(|&ns| ns > 0));
            let report = Report::of(&case, &client, &outcome).unwrap();
            assert_eq!(report.setting.protocol, protocol);
            assert_eq!(report.setting.over.transport, transport);
            assert_kept(&report);
            // Over a network that loses nothing each transaction has the frames of its protocol.
            let expected = match protocol {
                Protocol::Amvia => [220, 0],
                Protocol::AmviaRiding => [0, 220],
                Protocol::Amudp | Protocol::TwoWay => [0, 0],
            };
            assert_eq!(server.acknowledgements(), expected, "{protocol}");
        }
    }
}

#[test]
fn bandwidth_is_measured_by_size() {
    for transport in TRANSPORTS {
        for protocol in Protocol::ALL {
            let options = options(transport, protocol);
            let server = Server::start(&options, "bandwidth");
            let client = Client::connect(&options, &server.address).unwrap();
            let case = Bandwidth {
                sizes: vec![Bytes(32), Bytes(8 << 10)],
                warmup: Nanos(0),
                duration: Nanos(5_000_000),
            };
            let report = case.run(&client).unwrap();
            let sizes: Vec<u64> = report.points.iter().map(|point| point.size).collect();
            assert_eq!(sizes, [32, 8 << 10]);
            for point in &report.points {
                assert!(point.transactions > 0, "{point:?}");
                let bytes = point.transactions_per_second * point.size as f64;
                assert_eq!(point.bytes_per_second, bytes);
            }
            assert_kept(&report);
        }
    }
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let over_udp = options(Transport::Udp, Protocol::Amvia);
    let server = Server::start(&over_udp, "refused");
    let client = Client::connect(&over_udp, &server.address).unwrap();
    let long = Rtt {
        size: Bytes((8 << 10) + 1),
        warmup: Length::Messages(0),
        length: Length::Messages(1),
    };
    let refused = long.run(&client).unwrap_err();
    assert!(
        matches!(refused, Error::Size { most: 8192, .. }),
        "{refused}"
    );
    for transport in [Transport::Shm, Transport::Tcp] {
        let other = options(transport, Protocol::Amvia);
        let refused = Client::connect(&other, &server.address).unwrap_err();
        assert!(refused.is_of_input(), "{refused}");
    }
    let other = options(Transport::Udp, Protocol::TwoWay);
    let refused = Client::connect(&other, &server.address).unwrap_err();
    assert!(matches!(refused, Error::Endpoint(_)), "{refused}");
}
