//! The screen by its keys, and as it looks.

use std::time::{Duration, Instant};

use jitterlab_amvia::endpoint::{Published, PublishedPeer};
use jitterlab_amvia::transaction::{EndpointId, InitiatorState, TargetState};
use tempfile::NamedTempFile;

use super::Seen;
use crate::ui::app::App;
use crate::ui::keys::Key;
use crate::ui::recorded;
use crate::ui::testing::{
    app_at, fits_a_serial_line, fits_anywhere, picture, pictures, press, tell,
};

fn peer(endpoint: u64, connected: Option<bool>) -> PublishedPeer {
    let mut states = [0; InitiatorState::ALL.len()];
    states[InitiatorState::RequestSent as usize] = 3;
    states[InitiatorState::Processed as usize] = 1;
    states[InitiatorState::Released as usize] = 4;
    let mut targets = [0; TargetState::ALL.len()];
    targets[TargetState::Started as usize] = 1;
    targets[TargetState::ReplySent as usize] = 2;
    PublishedPeer {
        endpoint: EndpointId(endpoint),
        name: String::new(),
        address: String::new(),
        connected,
        incarnation: connected.map(|_| 1),
        credits: 4,
        states,
        targets,
        requests: 10_000,
        started: 0,
        retransmissions: 12,
        needless: 2,
        abandoned: 1,
        duplicates: 0,
        no_room: 0,
    }
}

/// The process is in the name of a page's file.
fn process(name: &str) -> Option<u32> {
    let name = name.strip_prefix("amvia-")?;
    name.split('.').next()?.parse().ok()
}

#[test]
fn recorded_endpoints_are_shown() {
    let mut app = app_at("Messages");
    let begun = Instant::now();
    for (second, pages) in (0..).zip(recorded::pages("messages.pages")) {
        let read = |(name, page): (&String, &NamedTempFile)| {
            Published::on_page(page.path(), process(name)).unwrap()
        };
        let seen = Seen {
            at: begun + Duration::from_secs(second),
            endpoints: Ok(pages.iter().map(read).collect()),
        };
        tell(&mut app, seen);
    }
    pictures("recorded_messages", &mut app);
}

#[test]
fn a_second_is_small_enough_for_a_serial_line() {
    let mut app = app_at("Messages");
    let begun = Instant::now();
    let mut client = Published {
        process: Some(4_711),
        name: "client".into(),
        incarnation: 1,
        window: 8,
        peers: (0..3).map(|n| peer(n, Some(true))).collect(),
    };
    let mut second = 0;
    let next = |app: &mut App| {
        second += 1;
        for peer in &mut client.peers {
            peer.requests += 4_000 + second % 7;
            peer.retransmissions += second % 5;
            peer.credits = second % 8;
        }
        let seen = Seen {
            at: begun + Duration::from_secs(second),
            endpoints: Ok(vec![client.clone()]),
        };
        tell(app, seen);
    };
    fits_a_serial_line(60, 1, next, &mut app);
}

#[test]
fn endpoints_and_what_became_of_their_transactions_are_shown() {
    let mut app = app_at("Messages");
    assert!(picture(&mut app, 80, 24).contains("looking"));
    let mut endpoints = vec![
        Published {
            process: Some(4_711),
            name: "client".into(),
            incarnation: 1,
            window: 8,
            peers: vec![peer(0xdead_beef, Some(true)), peer(7, None)],
        },
        Published {
            process: Some(4_712),
            name: "server".into(),
            incarnation: 1,
            window: 8,
            peers: Vec::new(),
        },
    ];
    endpoints[0].peers[1].name = "replica".into();
    let begun = Instant::now();
    let mut told = |endpoints: &[Published], seconds: u64| {
        let seen = Seen {
            at: begun + Duration::from_secs(seconds),
            endpoints: Ok(endpoints.to_vec()),
        };
        tell(&mut app, seen);
    };
    told(&endpoints, 0);
    for second in 1..=30 {
        let client = &mut endpoints[0].peers[0];
        client.retransmissions += second % 7;
        client.abandoned += second % 3;
        told(&endpoints, second);
    }
    let client = &mut endpoints[0].peers[0];
    client.requests += 5_000;
    client.retransmissions += 20;
    client.abandoned += 4;
    told(&endpoints, 32);
    let shown = picture(&mut app, 80, 24);
    for text in [
        "4711  client  2 peers, 8 credits each",
        "00000000deadbeef  connected  4 of 8 credits free",
        "3 RequestSent, 1 Processed",
        "1 Started, 2 ReplySent",
        "2,500 requests, 0 handlers, 10 retransmissions, 2 abandoned",
        "15,000 requests",
        "replica  unreachable",
    ] {
        assert!(shown.contains(text), "{text} in {shown}");
    }
    assert!(!shown.contains("Released"), "{shown}");
    pictures("messages", &mut app);
    let large = picture(&mut app, 200, 60);
    assert!(large.contains("retransmissions a second"), "{large}");
    assert!(large.contains("handlers a second"), "{large}");
    // Both together, above them.
    assert!(shown.contains("all, a second   2,500 requests"), "{shown}");
    // The second one is led to where there is no room for both.
    let unseen = |app: &mut App| !picture(app, 80, 14).contains("replica");
    assert!(unseen(&mut app));
    press(&mut app, &[Key::Right, Key::Down]);
    assert!(!unseen(&mut app), "{}", picture(&mut app, 80, 14));
    press(&mut app, &[Key::Escape]);
    assert!(unseen(&mut app));
    press(&mut app, &[Key::Down]);
    assert!(picture(&mut app, 80, 24).contains("none yet"));
    fits_anywhere(&mut app);
    let nothing = Seen {
        at: begun,
        endpoints: Ok(Vec::new()),
    };
    tell(&mut app, nothing);
    assert!(picture(&mut app, 80, 24).contains("No endpoint of active messages"));
}
