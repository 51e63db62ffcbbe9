//! What nobody with the key has sent leaves nothing behind in a name server. Alone in its process, whose memory is measured.

use std::net::SocketAddr;
use std::time::Duration;

use jitterlab_amvia::names::{
    Exchange, Heard, Key, MOST_NAMES, Outcome, Registration, Request, Server,
};
use jitterlab_amvia::transaction::Incarnation;

/// The most memory that this process has had, in bytes.
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kib = line.unwrap().split_whitespace().nth(1).unwrap();
    kib.parse::<usize>().unwrap() * 1024
}

fn registration(number: usize) -> Request {
    Request::Register(Registration {
        name: format!("{number:063}").parse().unwrap(),
        address: format!("shm://{number:064}").parse().unwrap(),
        incarnation: Incarnation(1),
        lease: Duration::from_secs(3600),
    })
}

#[test]
fn a_million_forged_messages_take_no_memory_and_keep_nobody_from_being_served() {
    const FORGED: usize = 1_000_000;
    let key = Key::new(&[7; 32]);
    let mut server = Server::new(key.clone(), &[1; 32], MOST_NAMES);
    let client: SocketAddr = "10.0.0.9:4000".parse().unwrap();
    let mut asked = 0_u64;
    let mut ask = |server: &mut Server, now, request: &Request| {
        let mut nonce = [0; 16];
        nonce[..8].copy_from_slice(&asked.to_be_bytes());
        asked += 1;
        let mut exchange = Exchange::new(&key, request, nonce);
        let challenge = server.answer(now, client, &exchange.message()).unwrap();
        assert_eq!(exchange.receive(&challenge), Heard::Challenge);
        let answer = server.answer(now, client, &exchange.message()).unwrap();
        exchange.receive(&answer)
    };
    // As many names as there can be.
    for number in 0..MOST_NAMES {
        let now = Duration::from_millis(number as u64);
        let answer = ask(&mut server, now, &registration(number));
        assert_eq!(answer, Heard::Answer(Outcome::Done));
    }
    let full = peak();

    let now = Duration::from_secs(70);
    // Right in all but the key, and each another one, from another address.
    let other = Key::new(&[0; 32]);
    let mut forged = Exchange::new(&other, &registration(0), [0; 16]).message();
    for number in 0..FORGED {
        forged[8..16].copy_from_slice(&number.to_be_bytes());
        let from = SocketAddr::from(((number as u32).to_be_bytes(), 1));
        assert_eq!(server.answer(now, from, &forged), None);
        if number % 1000 == 0 {
            let answer = ask(&mut server, now, &registration(number / 1000));
            assert_eq!(answer, Heard::Answer(Outcome::Done));
        }
    }
    assert_eq!(server.counts().dropped, FORGED as u64);
    println!(
        "{MOST_NAMES} names: peak {:.1} MiB; and {FORGED} forged messages: {:.1} MiB",
        full as f64 / 1048576.0,
        peak() as f64 / 1048576.0
    );
    assert!(peak() < 64 << 20);
}
