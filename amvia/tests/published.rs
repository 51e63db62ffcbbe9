//! What endpoints publish of themselves, as others see it.

use std::time::{Duration, Instant};

use jitterlab_amvia::endpoint::{Bundle, Credit, Options, Published, published};
use jitterlab_amvia::protocol::Config;
use jitterlab_amvia::transaction::{InitiatorState, TargetState};
use jitterlab_amvia::transport::Udp;

const ECHO: u16 = 1;
const SERVER: &str = "published-server";
const CLIENT: &str = "published-client";
const WAIT: Duration = Duration::from_secs(60);

fn loopback() -> Udp {
    Udp::bind("127.0.0.1:0".parse().unwrap(), Udp::MTU).unwrap()
}

/// The page of an endpoint of this test.
fn page(name: &str) -> Option<Published> {
    let mut all = published().unwrap().into_iter();
    all.find(|it| it.name == name && it.process == Some(std::process::id()))
}

#[test]
fn an_endpoint_is_seen_as_long_as_it_is_there() {
    let bundle = Bundle::new().unwrap();
    let server = bundle
        .endpoint(SERVER, loopback(), &Options::default())
        .unwrap();
    server.on(ECHO, |call| call.reply(&[]).unwrap()).unwrap();
    let client = bundle
        .endpoint(CLIENT, loopback(), &Options::default())
        .unwrap();
    assert!(page(SERVER).unwrap().peers.is_empty());
    let peer_id = client
        .connect(SERVER, &server.address().unwrap(), WAIT)
        .unwrap();
    let mut made = 0;
    // It is published ten times a second while it is polled.
    let seen = loop {
        let transaction = client.request(peer_id, ECHO, &[], Credit::Refuse).unwrap();
        client.finish(transaction, WAIT).unwrap();
        made += 1;
        let seen = page(CLIENT).unwrap();
        client.release(transaction).unwrap();
        if seen.peers.first().is_some_and(|peer| peer.requests >= 10) {
            break seen;
        }
    };
    let [peer] = &seen.peers[..] else {
        panic!("{seen:?}");
    };
    assert_eq!(seen.incarnation, client.incarnation().unwrap());
    assert_eq!(peer.connected, Some(true));
    assert_eq!(peer.incarnation, Some(server.incarnation().unwrap()));
    let at = server.address().unwrap().to_string();
    assert_eq!((&*peer.name, &*peer.address), (SERVER, &*at));
    assert!(peer.targets.iter().all(|n| *n == 0), "{peer:?}");
    assert!(peer.requests <= made, "{peer:?}");
    assert!(peer.credits <= seen.window && seen.window == u64::from(Config::default().window));
    assert!(
        peer.states[InitiatorState::NotRun as usize] == 0,
        "{peer:?}"
    );
    let server_page = page(SERVER).unwrap();
    let by_itself = &server_page.peers[0];
    assert!(by_itself.started >= 1, "{server_page:?}");
    assert_eq!((&*by_itself.name, &*by_itself.address), ("", ""));
    // One that is not released is kept by its target, too.
    let kept = client.request(peer_id, ECHO, &[], Credit::Refuse).unwrap();
    client.finish(kept, WAIT).unwrap();
    let begun = Instant::now();
    let mut replied = [0; TargetState::ALL.len()];
    replied[TargetState::ReplySent as usize] = 1;
    while page(SERVER).unwrap().peers[0].targets != replied {
        assert!(begun.elapsed() < WAIT, "{:?}", page(SERVER));
        bundle.wait(Duration::from_millis(1)).unwrap();
    }
    client.close().unwrap();
    assert_eq!(page(CLIENT), None);
}
