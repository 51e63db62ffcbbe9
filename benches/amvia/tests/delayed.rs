//! Deferral inside the layer.

use std::net::UdpSocket;

use jitterlab_amvia::transport::{Address, Transport, Udp};
use jitterlab_amvia_suite::delayed::{Delayed, Switch};
use jitterlab_base::clock::Clock;
use jitterlab_base::units::Nanos;
use jitterlab_injector::control::Mode;

/// Longer than a machine holds a thread up between two calls.
const DELAY: Nanos = Nanos(100_000_000);

/// Frames that come one after the other are deferred one after the other: what comes while another is due is not left until none is,
/// since the time of a frame is counted from when it is taken.
#[test]
fn what_comes_while_a_frame_is_due_is_taken_before_the_next_is_handed_on() {
    let clock = Clock::global();
    let pass = || clock.wait_until(clock.now() + clock.ns_to_ticks(DELAY.0));
    let switch = Switch::default();
    let udp = Udp::bind("127.0.0.1:0".parse().unwrap(), Udp::MTU).unwrap();
    let mut delayed = Delayed::new(Box::new(udp), &[(Mode::Defer, DELAY)], &switch).unwrap();
    switch.set(Some(0));
    let Address::Udp(address) = delayed.address() else {
        panic!("{}", delayed.address());
    };
    let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
    let send = |byte: u8| assert_eq!(sender.send_to(&[byte], address).unwrap(), 1);
    let mut next = || {
        let arrived = delayed.receive().unwrap();
        arrived.map(|arrived| arrived.frame[0])
    };
    send(1);
    send(2);
    assert_eq!([next(), next()], [None, None]);
    send(3);
    pass();
    assert_eq!([next(), next()], [Some(1), Some(2)]);
    // It was taken between these two.
    pass();
    assert_eq!([next(), next()], [Some(3), None]);
}
