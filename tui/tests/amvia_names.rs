//! The name server as a program: who is served, who is not, and what it takes.

mod common;

use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Stdio};
use std::time::Duration;

use common::{Lab, text};
use jitterlab_amvia::names::{Client, Exchange, Key, Name, NamesError, Registration, Request};
use jitterlab_amvia::transaction::Incarnation;
use serde_json::Value;

/// A running server; it is killed with this value.
struct Server {
    child: Child,
    address: SocketAddr,
}

impl Server {
    fn start(lab: &Lab, listen: &str, options: &str) -> Server {
        let arguments = format!("amvia names serve --listen {listen} --key k {options}");
        let mut child = lab
            .command(&arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut line).unwrap();
        let line: Value = serde_json::from_str(&line).unwrap();
        let address = line["listening"].as_str().unwrap().parse().unwrap();
        Server { child, address }
    }

    /// The most memory that it has had, in bytes.
    fn peak(&self) -> u64 {
        let status = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(status).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM:"));
        let kib = line.unwrap().split_whitespace().nth(1).unwrap();
        kib.parse::<u64>().unwrap() * 1024
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // SIGKILL.
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

fn lab() -> Lab {
    let lab = Lab::new();
    lab.done("amvia names key k");
    lab
}

fn client(lab: &Lab, server: &Server) -> Client {
    let key = Key::read(&lab.path("k")).unwrap();
    Client::new(server.address, key, Duration::from_secs(30))
}

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

fn registration(text: &str) -> Registration {
    Registration {
        name: name(text),
        address: "udp://10.0.0.1:7000".parse().unwrap(),
        incarnation: Incarnation(4),
        lease: Duration::from_secs(3600),
    }
}

#[test]
fn a_server_tells_what_is_registered_and_starts_empty_after_a_crash() {
    let lab = lab();
    let server = Server::start(&lab, "127.0.0.1:0", "");
    let asked = |verb: &str, server: &Server| {
        format!("amvia names {verb} --server {} --key k", server.address)
    };
    assert_eq!(
        lab.done(&asked("list", &server)),
        "no endpoint is registered\n"
    );
    client(&lab, &server)
        .register(&registration("counter"))
        .unwrap();
    let listed = lab.done(&asked("list", &server));
    let head = "name     address              incarnation  lease left\n";
    let row = "counter  udp://10.0.0.1:7000  4            ";
    assert!(listed.starts_with(&format!("{head}{row}")), "{listed}");
    let found = lab.json(&asked("lookup counter --format json", &server));
    assert_eq!(found["address"], "udp://10.0.0.1:7000");
    assert_eq!(found["incarnation"], 4);
    let left = found["lease_left_ms"].as_u64().unwrap();
    assert!((1..=3_600_000).contains(&left), "{found}");

    let listen = server.address.to_string();
    drop(server);
    let server = Server::start(&lab, &listen, "");
    let output = lab.run(&asked("lookup counter", &server));
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stdout), "counter is not registered\n");
    client(&lab, &server)
        .register(&registration("counter"))
        .unwrap();
    let found = lab.json(&asked("list --format json", &server));
    assert_eq!(found.as_array().unwrap().len(), 1);
}

#[test]
fn nobody_is_served_without_the_key() {
    let lab = lab();
    let server = Server::start(&lab, "127.0.0.1:0", "");
    lab.done("amvia names key other");
    let output = lab.run(&format!(
        "amvia names lookup counter --server {} --key other",
        server.address
    ));
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(text(&output.stdout), "");
    let message = format!(
        "jitterlab: name server {} does not answer within 5s: is it running there, and has it the same key?\n",
        server.address
    );
    assert_eq!(text(&output.stderr), message);
}

#[test]
fn a_key_is_made_once_and_read_if_it_is_one_that_nobody_else_can_read() {
    let lab = lab();
    let mode = |name: &str| {
        let found = std::fs::metadata(lab.path(name)).unwrap();
        found.permissions().mode() & 0o777
    };
    assert_eq!(mode("k"), 0o600);
    assert_eq!(lab.read("k").trim_end().len(), 64);
    lab.refuses(
        "amvia names key k",
        "cannot make key k: File exists (os error 17)",
    );
    lab.refuses(
        "amvia names key nowhere/k",
        "cannot make key nowhere/k: No such file or directory (os error 2)",
    );
    let serve = "amvia names serve --listen 127.0.0.1:0 --key";
    let set_mode = |name: &str, mode| {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(lab.path(name), permissions).unwrap();
    };
    set_mode("k", 0o644);
    lab.refuses(
        &format!("{serve} k"),
        "key k has mode 644: others can use it; chmod 600 k",
    );
    for content in ["", "1234\n", &"g".repeat(64), &"a".repeat(66)] {
        lab.write("wrong", content);
        set_mode("wrong", 0o600);
        lab.refuses(
            &format!("{serve} wrong"),
            "wrong is not a key: it has to be a line of 64 hexadecimal digits; `jitterlab amvia names key FILE` makes one",
        );
    }
    lab.refuses(
        &format!("{serve} nothing"),
        "cannot read key nothing: No such file or directory (os error 2)",
    );
}

#[test]
fn wrong_names_and_servers_are_told_of() {
    let lab = lab();
    lab.refuses(
        "amvia names lookup Counter --server 127.0.0.1:1 --key k",
        "error: invalid value 'Counter' for '<NAME>': `Counter` is not the name of an endpoint: a name has 1 to 63 characters of a-z, 0-9, `.`, `_` and `-`",
    );
    lab.refuses(
        "amvia names list --server here --key k",
        "`here` is not the HOST:PORT of a name server: invalid socket address",
    );
    lab.refuses(
        "amvia names serve --key k",
        "error: the following required arguments were not provided:",
    );
    let taken = Server::start(&lab, "127.0.0.1:0", "");
    let output = lab.run(&format!(
        "amvia names serve --listen {} --key k",
        taken.address
    ));
    assert_eq!(output.status.code(), Some(3));
    let message = format!("jitterlab: cannot listen on {}: ", taken.address);
    assert!(text(&output.stderr).starts_with(&message), "{output:?}");
}

/// Datagrams that the kernel has dropped because the server did not read them in time.
fn unread(address: SocketAddr) -> u64 {
    let port = format!(":{:04X}", address.port());
    let sockets = std::fs::read_to_string("/proc/net/udp").unwrap();
    let line = sockets.lines().find(|line| {
        let local = line.split_whitespace().nth(1);
        local.is_some_and(|local| local.ends_with(&port))
    });
    line.unwrap()
        .split_whitespace()
        .last()
        .unwrap()
        .parse()
        .unwrap()
}

#[test]
fn who_has_the_key_is_served_among_forged_messages() {
    const FORGED: usize = 10_000;
    const BURST: usize = 100;
    let lab = lab();
    let server = Server::start(&lab, "127.0.0.1:0", "--max 10");
    let client = client(&lab, &server);
    for number in 0..10 {
        client
            .register(&registration(&format!("n{number}")))
            .unwrap();
    }
    let error = client.register(&registration("one-more")).unwrap_err();
    assert!(matches!(error, NamesError::Full { .. }), "{error}");

    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(server.address).unwrap();
    // Right in all but the key, and each another one.
    let request = Request::Register(registration("forged"));
    let mut forged = Exchange::new(&Key::new(&[0; 32]), &request, [0; 16]).message();
    for number in 0..FORGED {
        forged[8..16].copy_from_slice(&number.to_be_bytes());
        socket.send(&forged).unwrap();
        if number % BURST == BURST - 1 {
            // Behind these, an honest question, to be answered before there are more.
            let asked = name(&format!("n{}", number / BURST % 10));
            assert!(client.look_up(&asked).unwrap().is_some());
        }
    }
    // The server has read them.
    let unread = unread(server.address);
    assert!(unread < FORGED as u64 / 100, "{unread}");
    let peak = server.peak();
    println!(
        "{FORGED} forged messages, {unread} of them not read, {} honest requests served, peak {:.1} MiB",
        FORGED / BURST,
        peak as f64 / 1048576.0
    );
    assert!(peak < 64 << 20, "{peak}");
    assert_eq!(client.look_up(&name("forged")).unwrap(), None);
    let listed = format!(
        "amvia names list --server {} --key k --format json",
        server.address
    );
    assert_eq!(lab.json(&listed).as_array().unwrap().len(), 10);
}
