//! The name server serves who has the key, and nobody twice.

use std::fs::{self, Permissions};
use std::net::{SocketAddr, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use jitterlab_amvia::names::{
    Client, Exchange, Heard, Keeper, Key, MESSAGE, MOST_REQUESTS, Name, NamesError, Outcome,
    Registration, Request, Server,
};
use jitterlab_amvia::transaction::Incarnation;
use jitterlab_skip::is_root;
use proptest::prelude::*;

const START: Duration = Duration::ZERO;

fn key() -> Key {
    Key::new(&[7; 32])
}

fn server(most: usize) -> Server {
    Server::new(key(), &[1; 32], most)
}

fn client() -> SocketAddr {
    "10.0.0.9:4000".parse().unwrap()
}

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

fn registration(text: &str, port: u16, incarnation: u32) -> Registration {
    Registration {
        name: name(text),
        address: format!("udp://10.0.0.1:{port}").parse().unwrap(),
        incarnation: Incarnation(incarnation),
        lease: Duration::from_secs(30),
    }
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A nonce that was not used before.
fn nonce() -> [u8; 16] {
    static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    let mut nonce = [0; 16];
    nonce[..8].copy_from_slice(&NEXT.fetch_add(1, Ordering::Relaxed).to_be_bytes());
    nonce
}

/// The four messages of a request that is answered.
fn messages(server: &mut Server, now: Duration, request: &Request) -> ([Vec<u8>; 4], Outcome) {
    let key = key();
    let mut exchange = Exchange::new(&key, request, nonce());
    let hello = exchange.message();
    let challenge = server.answer(now, client(), &hello).unwrap();
    assert_eq!(exchange.receive(&challenge), Heard::Challenge);
    let asked = exchange.message();
    let answer = server.answer(now, client(), &asked).unwrap();
    let Heard::Answer(outcome) = exchange.receive(&answer) else {
        panic!("no answer");
    };
    let messages = [hello, challenge, asked, answer].map(|message| message.to_vec());
    (messages, outcome)
}

fn ask(server: &mut Server, now: Duration, request: Request) -> Outcome {
    messages(server, now, &request).1
}

fn register(server: &mut Server, now: Duration, registration: Registration) -> Outcome {
    ask(server, now, Request::Register(registration))
}

/// The port, incarnation and seconds left of a name, if it is registered.
fn found(server: &mut Server, now: Duration, text: &str) -> Option<(String, u32, u64)> {
    match ask(server, now, Request::LookUp(name(text))) {
        Outcome::Found(entry) => {
            assert_eq!(entry.name, name(text));
            let address = entry.address.to_string();
            Some((address, entry.incarnation.0, entry.left.as_secs()))
        }
        Outcome::NotFound => None,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_name_is_found_until_its_lease_ends_or_it_is_unregistered() {
    let mut server = server(10);
    assert_eq!(found(&mut server, START, "a"), None);
    assert_eq!(
        register(&mut server, START, registration("a", 1, 1)),
        Outcome::Done
    );
    let at = |address: &str, incarnation, left| Some((address.to_string(), incarnation, left));
    let first = "udp://10.0.0.1:1";
    assert_eq!(found(&mut server, seconds(29), "a"), at(first, 1, 1));
    assert_eq!(
        register(&mut server, seconds(29), registration("a", 1, 1)),
        Outcome::Done
    );
    assert_eq!(found(&mut server, seconds(58), "a"), at(first, 1, 1));
    assert_eq!(found(&mut server, seconds(59), "a"), None);

    assert_eq!(
        register(&mut server, seconds(60), registration("a", 1, 1)),
        Outcome::Done
    );
    let gone = Request::Unregister(name("a"), Incarnation(1));
    assert_eq!(ask(&mut server, seconds(61), gone.clone()), Outcome::Done);
    assert_eq!(found(&mut server, seconds(61), "a"), None);
    assert_eq!(ask(&mut server, seconds(62), gone), Outcome::NotFound);
}

#[test]
fn a_later_life_takes_the_place_of_an_earlier_one_and_never_the_other_way_round() {
    let mut server = server(10);
    for (port, incarnation, outcome) in [
        (1, 4, Outcome::Done),
        (2, 5, Outcome::Done),
        (1, 4, Outcome::Outlived(Incarnation(5))),
        (3, 5, Outcome::InUse("udp://10.0.0.1:2".parse().unwrap())),
        (2, 5, Outcome::Done),
    ] {
        let asked = registration("a", port, incarnation);
        assert_eq!(register(&mut server, START, asked), outcome);
    }
    let gone = Request::Unregister(name("a"), Incarnation(4));
    let outcome = ask(&mut server, START, gone);
    assert_eq!(outcome, Outcome::Outlived(Incarnation(5)));
    let there = Some(("udp://10.0.0.1:2".to_string(), 5, 30));
    assert_eq!(found(&mut server, START, "a"), there);
}

#[test]
fn it_keeps_as_many_names_as_it_was_told() {
    let mut server = server(2);
    let mut lease = registration("a", 1, 1);
    lease.lease = seconds(5);
    assert_eq!(register(&mut server, START, lease.clone()), Outcome::Done);
    assert_eq!(
        register(&mut server, START, registration("b", 1, 1)),
        Outcome::Done
    );
    assert_eq!(
        register(&mut server, START, registration("c", 1, 1)),
        Outcome::Full
    );
    assert_eq!(
        register(&mut server, START, registration("b", 2, 2)),
        Outcome::Done
    );
    assert_eq!(
        register(&mut server, seconds(5), registration("c", 1, 1)),
        Outcome::Done
    );
    lease.lease = seconds(3601);
    assert_eq!(register(&mut server, seconds(40), lease), Outcome::BadLease);
}

#[test]
fn names_are_listed_in_their_order() {
    let mut server = server(10);
    for text in ["b", "c", "a"] {
        register(&mut server, START, registration(text, 1, 1));
    }
    let mut listed = Vec::new();
    let mut last = None;
    while let Outcome::Found(entry) = ask(&mut server, START, Request::Next(last)) {
        listed.push(entry.name.to_string());
        last = Some(entry.name);
    }
    assert_eq!(listed, ["a", "b", "c"]);
    assert_eq!(
        ask(&mut server, seconds(30), Request::Next(None)),
        Outcome::NotFound
    );
}

#[test]
fn a_request_that_is_sent_again_is_refused_by_this_server_and_the_next() {
    let mut server = server(10);
    let asked = Request::Register(registration("a", 1, 1));
    let ([_, _, request, _], outcome) = messages(&mut server, START, &asked);
    assert_eq!(outcome, Outcome::Done);
    let gone = Request::Unregister(name("a"), Incarnation(1));
    assert_eq!(ask(&mut server, START, gone), Outcome::Done);

    let served = server.counts().served;
    let mut next = Server::new(key(), &[2; 32], 10);
    let elsewhere = "10.0.0.66:4000".parse().unwrap();
    for (from, seconds_later) in [
        (client(), 0),
        (client(), 12),
        (client(), 1_000),
        (elsewhere, 0),
    ] {
        server
            .answer(seconds(seconds_later), from, &request)
            .unwrap();
        next.answer(seconds(seconds_later), from, &request).unwrap();
    }
    assert_eq!(server.counts().served, served);
    assert_eq!(server.counts().replayed, 4);
    assert_eq!(next.counts().served, 0);
    assert_eq!(found(&mut server, START, "a"), None);
    assert_eq!(found(&mut next, START, "a"), None);
}

#[test]
fn a_challenge_is_good_for_its_client_for_a_while_and_for_its_nonce() {
    let key = key();
    let request = Request::LookUp(name("a"));
    for (later, from, outcome) in [
        (9, client(), Outcome::NotFound),
        (19, client(), Outcome::NotFound),
        (20, client(), Outcome::BadChallenge),
        (0, "10.0.0.66:4000".parse().unwrap(), Outcome::BadChallenge),
    ] {
        let mut server = server(10);
        let mut exchange = Exchange::new(&key, &request, nonce());
        let challenge = server.answer(START, client(), &exchange.message());
        assert_eq!(exchange.receive(&challenge.unwrap()), Heard::Challenge);
        let answer = server.answer(seconds(later), from, &exchange.message());
        assert_eq!(exchange.receive(&answer.unwrap()), Heard::Answer(outcome));
    }
}

#[test]
fn a_client_takes_the_answer_to_its_own_request_alone() {
    let key = key();
    let mut server = server(10);
    let request = Request::LookUp(name("a"));
    let ([_, old_challenge, _, old_answer], _) = messages(&mut server, START, &request);
    let mut exchange = Exchange::new(&key, &request, nonce());
    assert_eq!(exchange.receive(&old_challenge), Heard::Nothing);
    let challenge = server.answer(START, client(), &exchange.message()).unwrap();
    // Not before there was a request.
    assert_eq!(exchange.receive(&old_answer), Heard::Nothing);
    assert_eq!(exchange.receive(&challenge), Heard::Challenge);
    assert_eq!(exchange.receive(&challenge), Heard::Nothing);
    assert_eq!(exchange.receive(&old_answer), Heard::Nothing);
    // What it has sent itself is no answer.
    let sent = exchange.message();
    assert_eq!(exchange.receive(&sent), Heard::Nothing);
}

#[test]
fn whoever_has_another_key_gets_no_answer() {
    let mut server = server(10);
    let other = Key::new(&[8; 32]);
    let request = Request::LookUp(name("a"));
    let exchange = Exchange::new(&other, &request, nonce());
    assert_eq!(server.answer(START, client(), &exchange.message()), None);
    assert_eq!(server.counts().dropped, 1);
}

#[test]
fn a_message_with_a_flipped_bit_or_of_another_length_is_dropped() {
    let mut server = server(10);
    let asked = Request::Register(registration("a", 1, 1));
    let (messages, _) = messages(&mut server, START, &asked);
    let mut dropped = 0;
    for message in &messages {
        for bit in 0..MESSAGE * 8 {
            let mut flipped = message.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(server.answer(START, client(), &flipped), None, "bit {bit}");
            dropped += 1;
        }
        for length in 0..MESSAGE {
            assert_eq!(server.answer(START, client(), &message[..length]), None);
            dropped += 1;
        }
        let longer = [message.as_slice(), &[0]].concat();
        assert_eq!(server.answer(START, client(), &longer), None);
        dropped += 1;
    }
    // The server's own messages.
    for message in [&messages[1], &messages[3]] {
        assert_eq!(server.answer(START, client(), message), None);
        dropped += 1;
    }
    assert_eq!(server.counts().dropped, dropped);
}

#[test]
fn requests_of_ten_seconds_are_bounded_and_served_again_afterwards() {
    let mut server = server(10);
    for _ in 0..MOST_REQUESTS {
        assert_eq!(found(&mut server, START, "a"), None);
    }
    let request = Request::LookUp(name("a"));
    assert_eq!(ask(&mut server, START, request.clone()), Outcome::Busy);
    assert_eq!(ask(&mut server, seconds(10), request), Outcome::NotFound);
}

proptest! {
    #[test]
    fn what_is_registered_is_found_as_it_was(
        text in "[a-z0-9._-]{1,63}",
        address in prop_oneof![
            any::<SocketAddr>().prop_map(|socket| format!("udp://{socket}")),
            any::<SocketAddr>().prop_map(|socket| format!("verbs://{socket}")),
            "shm://[a-zA-Z0-9][a-zA-Z0-9._-]{0,63}",
        ],
        incarnation in any::<u32>(),
        lease in 1_000..3_600_000_u64,
    ) {
        let mut server = server(1);
        let asked = Registration {
            name: name(&text),
            address: address.parse().unwrap(),
            incarnation: Incarnation(incarnation),
            lease: Duration::from_millis(lease),
        };
        prop_assert_eq!(register(&mut server, START, asked.clone()), Outcome::Done);
        let Outcome::Found(entry) = ask(&mut server, START, Request::LookUp(asked.name.clone())) else {
            panic!("not found");
        };
        prop_assert_eq!(entry.name, asked.name);
        prop_assert_eq!(entry.address, asked.address);
        prop_assert_eq!(entry.incarnation, asked.incarnation);
        prop_assert_eq!(entry.left, asked.lease);
    }

    #[test]
    fn a_name_is_of_few_characters(text in any::<String>()) {
        let plain = text.bytes().all(|byte| b"abcdefghijklmnopqrstuvwxyz0123456789._-".contains(&byte));
        let is_name = plain && (1..=63).contains(&text.len());
        prop_assert_eq!(text.parse::<Name>().is_ok(), is_name);
    }
}

/// A server on a socket of this process, which can crash and be started again.
struct Service {
    address: SocketAddr,
    crash: Arc<AtomicBool>,
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Service {
    fn start() -> Service {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        socket
            .set_read_timeout(Some(Duration::from_millis(20)))
            .unwrap();
        let (crash, stop) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(AtomicBool::new(false)),
        );
        let (crashed, stopped) = (Arc::clone(&crash), Arc::clone(&stop));
        let thread = std::thread::spawn(move || {
            let mut server = Server::new(key(), &[0; 32], 100);
            let (start, mut life) = (Instant::now(), 0);
            while !stopped.load(Ordering::Relaxed) {
                if crashed.swap(false, Ordering::Relaxed) {
                    life += 1;
                    server = Server::new(key(), &[life; 32], 100);
                }
                let mut datagram = [0; 512];
                let Ok((length, from)) = socket.recv_from(&mut datagram) else {
                    continue;
                };
                if let Some(answer) = server.answer(start.elapsed(), from, &datagram[..length]) {
                    socket.send_to(&answer, from).unwrap();
                }
            }
        });
        Service {
            address,
            crash,
            stop,
            thread: Some(thread),
        }
    }

    fn client(&self) -> Client {
        Client::new(self.address, key(), seconds(30))
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap();
    }
}

/// As systemd hands a key to a service: on Debian 12 with mode 400 as the service's own, on Debian 13 with mode 440 as root's. In
/// a process of its own, whose folder of credentials is said by the environment.
#[test]
fn a_key_that_systemd_has_handed_over_is_read_and_none_that_others_can_read() {
    const FOLDER: &str = "CREDENTIALS_DIRECTORY";
    const KEYS: &str = "AMVIA_TEST_KEYS";
    if let Some(keys) = std::env::var_os(KEYS) {
        let keys = Path::new(&keys);
        let is_given = std::env::var_os(FOLDER).is_some_and(|folder| folder == keys);
        let is_read = |mode: u32, owner: u32| {
            let path = keys.join(format!("{mode:o}-{owner}"));
            Key::make(&path).unwrap();
            std::os::unix::fs::chown(&path, Some(owner), None).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            Key::read(&path).is_ok()
        };
        assert!(is_read(0o400, 0) && is_read(0o600, 0));
        assert_eq!(is_read(0o440, 0), is_given);
        for (mode, owner) in [(0o444, 0), (0o460, 0), (0o441, 0), (0o440, 65_534)] {
            assert!(!is_read(mode, owner), "{mode:o} of {owner}");
        }
        return;
    }
    if !is_root("give a file away") {
        return;
    }
    for is_given in [true, false] {
        let keys = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        let given = if is_given { &keys } else { &elsewhere };
        let name = "a_key_that_systemd_has_handed_over_is_read_and_none_that_others_can_read";
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name])
            .env(KEYS, keys.path())
            .env(FOLDER, given.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
    }
}

#[test]
fn an_address_that_names_no_host_is_not_registered() {
    let nobody: SocketAddr = "127.0.0.1:9".parse().unwrap();
    let client = Client::new(nobody, key(), Duration::from_secs(60));
    for address in [
        "udp://0.0.0.0:7421",
        "udp://[::]:7421",
        "verbs://0.0.0.0:7421",
    ] {
        let registration = Registration {
            address: address.parse().unwrap(),
            ..registration("a", 1, 1)
        };
        let refused = client.register(&registration).unwrap_err();
        assert!(
            matches!(refused, NamesError::Unreachable { .. }),
            "{refused}"
        );
    }
}

#[test]
fn a_client_registers_looks_up_and_lists() {
    let service = Service::start();
    let client = service.client();
    assert_eq!(client.look_up(&name("a")).unwrap(), None);
    for text in ["b", "a"] {
        client.register(&registration(text, 1, 3)).unwrap();
    }
    let entry = client.look_up(&name("a")).unwrap().unwrap();
    assert_eq!(entry.address.to_string(), "udp://10.0.0.1:1");
    let listed = client.list().unwrap();
    let names: Vec<&str> = listed.iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);

    let earlier = client.register(&registration("a", 1, 2)).unwrap_err();
    assert_eq!(
        earlier.to_string(),
        "a later incarnation of `a` is registered: 3; this one is 2"
    );
    let twice = client.register(&registration("a", 2, 3)).unwrap_err();
    assert_eq!(
        twice.to_string(),
        "`a` is in use: the same run of this endpoint is registered at udp://10.0.0.1:1"
    );
    client.unregister(&name("a"), Incarnation(3)).unwrap();
    client.unregister(&name("a"), Incarnation(3)).unwrap();
    assert_eq!(client.look_up(&name("a")).unwrap(), None);
}

#[test]
fn a_server_that_is_not_there_or_has_another_key_is_told_of() {
    let nobody = UdpSocket::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let service = Service::start();
    let short = Duration::from_millis(200);
    for client in [
        Client::new(nobody, key(), short),
        Client::new(service.address, Key::new(&[9; 32]), short),
    ] {
        let error = client.look_up(&name("a")).unwrap_err();
        assert!(matches!(error, NamesError::Silent { .. }), "{error}");
    }
}

#[test]
fn an_endpoint_is_registered_again_after_a_crash_of_the_server() {
    let service = Service::start();
    let client = service.client();
    let kept = Registration {
        lease: seconds(1),
        ..registration("a", 1, 1)
    };
    let keeper = Keeper::start(service.client(), kept).unwrap();
    for _ in 0..2 {
        service.crash.store(true, Ordering::Relaxed);
        // Until the new life of the server answers, which knows nobody, or knows it again.
        while service.crash.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
        while client.look_up(&name("a")).unwrap().is_none() {}
    }
    // A crash of the client: nobody renews, and the next life registers.
    let next = Keeper::start(service.client(), registration("a", 2, 2)).unwrap();
    let entry = client.look_up(&name("a")).unwrap().unwrap();
    assert_eq!(entry.incarnation, Incarnation(2));
    // The earlier one cannot take it away.
    drop(keeper);
    assert!(client.look_up(&name("a")).unwrap().is_some());
    drop(next);
    assert_eq!(client.look_up(&name("a")).unwrap(), None);
}
