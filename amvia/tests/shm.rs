//! Shared memory through the lives and deaths of its endpoints.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Barrier;
use std::time::Duration;

use jitterlab_amvia::transport::{Address, Arrived, Peer, Sent, Shm, Transport, TransportError};
use jitterlab_skip::{is_root, skip};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Long enough for any machine, short enough for a test that has to fail.
const PATIENCE: Duration = Duration::from_secs(20);
/// Set for a process that answers: its name.
const ANSWERS: &str = "TEST_ANSWERS";
/// Set for a process that asks, and is killed then: the name of whom it asks.
const ASKS: &str = "TEST_ASKS";

/// A name that no other test has.
fn name(test: &str) -> String {
    format!("life.{}.{test}", std::process::id())
}

fn open(name: &str) -> Shm {
    Shm::open(name.parse().unwrap(), Shm::MTU).unwrap()
}

fn to(from: &mut Shm, name: &str) -> Peer {
    from.peer(&Address::Shm(name.parse().unwrap())).unwrap()
}

fn next(at: &mut Shm) -> Arrived {
    for _ in 0..200 {
        if let Some(arrived) = at.receive().unwrap() {
            return arrived;
        }
        at.wait(PATIENCE / 200).unwrap();
    }
    panic!("nothing came to {} in {PATIENCE:?}", at.address());
}

/// The files of endpoints whose names have this part.
fn files(part: &str) -> Vec<PathBuf> {
    let directory = format!("/dev/shm/jitterlab-{}", nix::unistd::geteuid());
    let entries = std::fs::read_dir(Path::new(&directory)).unwrap();
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    paths
        .filter(|path| path.to_string_lossy().contains(part))
        .collect()
}

/// This test is also the program that others start: it answers each frame with a copy.
#[test]
#[ignore = "the other tests start it"]
fn a_program_that_answers() {
    let name = std::env::var(ANSWERS).unwrap();
    let mut shm = open(&name);
    loop {
        let Arrived { from, frame } = next(&mut shm);
        while shm.send(from, &frame, b"").unwrap() == Sent::Full {
            std::thread::yield_now();
        }
        shm.recycle(frame);
    }
}

/// This test is also a client that others start: it asks, and is killed once it is answered.
#[test]
#[ignore = "the other tests start it"]
fn a_program_that_asks_and_dies() {
    let server = std::env::var(ASKS).unwrap();
    let mut shm = open(&format!("{server}.{}", std::process::id()));
    let to = to(&mut shm, &server);
    assert_eq!(shm.send(to, b"ask", b"").unwrap(), Sent::Sent);
    next(&mut shm);
    kill(Pid::this(), Signal::SIGKILL).unwrap();
}

/// Doors and rings that this process has in its memory.
fn pages() -> usize {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let of_it = |line: &&str| line.contains("/dev/shm/jitterlab-");
    maps.lines().filter(of_it).count()
}

/// Takes a frame, and answers it. Who gets the answer.
fn answer(at: &mut Shm) -> Peer {
    let Arrived { from, frame } = next(at);
    assert_eq!(at.send(from, &frame, b"").unwrap(), Sent::Sent);
    at.recycle(frame);
    from
}

/// In a process of its own, whose memory has no other test's pages.
#[test]
fn a_server_keeps_no_ring_of_clients_that_are_gone() {
    const TEST: &str = "a_server_keeps_no_ring_of_clients_that_are_gone";
    const ALONE: &str = "AMVIA_TEST_ALONE";
    if std::env::var_os(ALONE).is_some() {
        return serve_many();
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", TEST, "--nocapture"])
        .env(ALONE, "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
}

fn serve_many() {
    let name = name("served");
    let mut server = open(&name);
    let mut gone = Vec::new();
    for client in 0..100 {
        let mut client = open(&format!("{name}.{client}"));
        let to = to(&mut client, &name);
        assert_eq!(client.send(to, b"ask", b"").unwrap(), Sent::Sent);
        gone.push(answer(&mut server));
        next(&mut client);
        drop(client);
        assert!(server.receive().unwrap().is_none());
        assert_eq!(pages(), 1, "the door");
    }
    // Who has the place of another is not taken for it.
    let mut client = open(&format!("{name}.last"));
    let to = to(&mut client, &name);
    assert_eq!(client.send(to, b"ask", b"").unwrap(), Sent::Sent);
    answer(&mut server);
    for peer in gone {
        assert_eq!(server.send(peer, b"late", b"").unwrap(), Sent::Away);
    }
    drop(client);
    assert!(server.receive().unwrap().is_none());

    for _ in 0..10 {
        let mut client = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "a_program_that_asks_and_dies",
                "--ignored",
                "--nocapture",
            ])
            .env(ASKS, &name)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        answer(&mut server);
        assert_eq!(
            client.wait().unwrap().signal(),
            Some(Signal::SIGKILL as i32)
        );
        assert!(server.receive().unwrap().is_none());
        // The door, two rings of this one, and two of the one before if that was seen to live.
        assert!(pages() <= 5, "{}", pages());
    }
}

/// In a process of its own, in a namespace of its own, where /dev/shm has room for three rings.
#[test]
fn where_there_is_no_room_for_a_ring_other_peers_are_reached() {
    const TEST: &str = "where_there_is_no_room_for_a_ring_other_peers_are_reached";
    const SMALL: &str = "AMVIA_TEST_SMALL";
    if std::env::var_os(SMALL).is_some() {
        return on_a_small_disk();
    }
    if !is_root("mount a small disk") {
        return;
    }
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-c"])
        .arg(
            "mount -t tmpfs -o size=480k none /dev/shm || exit 77
            exec \"$0\" --exact \"$1\" --nocapture",
        )
        .arg(std::env::current_exe().unwrap())
        .arg(TEST)
        .env(SMALL, "1")
        .output()
        .unwrap();
    if output.status.code() == Some(77) {
        return skip("no disk can be mounted here");
    }
    assert!(output.status.success(), "{output:?}");
}

fn on_a_small_disk() {
    let mut one = open("one");
    let mut friend = open("friend");
    let strangers = ["a", "b", "c", "d"].map(open);
    let to_friend = to(&mut one, "friend");
    assert_eq!(one.send(to_friend, b"hello", b"").unwrap(), Sent::Sent);
    let back = answer(&mut friend);
    next(&mut one);
    let sent = ["a", "b", "c", "d"].map(|stranger| {
        let stranger = to(&mut one, stranger);
        one.send(stranger, b"hello", b"").unwrap()
    });
    assert_eq!(sent.last(), Some(&Sent::Full), "{sent:?}");
    assert_eq!(one.send(to_friend, b"again", b"").unwrap(), Sent::Sent);
    assert_eq!(*next(&mut friend).frame, *b"again");
    assert_eq!(friend.send(back, b"back", b"").unwrap(), Sent::Sent);
    assert_eq!(*next(&mut one).frame, *b"back");
    // Room that has come is used.
    drop(strangers);
    let mut late = open("late");
    let to_late = to(&mut one, "late");
    assert_eq!(one.send(to_late, b"hello", b"").unwrap(), Sent::Sent);
    assert_eq!(*next(&mut late).frame, *b"hello");
}

/// In a process of its own, whose descriptors run out.
#[test]
fn a_knock_that_cannot_be_answered_now_is_answered_later() {
    const TEST: &str = "a_knock_that_cannot_be_answered_now_is_answered_later";
    const FEW: &str = "AMVIA_TEST_FEW";
    if std::env::var_os(FEW).is_some() {
        return with_few_descriptors();
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", TEST, "--nocapture"])
        .env(FEW, "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
}

fn with_few_descriptors() {
    let names = ["knocks", "refused"].map(name);
    let [mut one, mut other] = names.each_ref().map(|name| open(name));
    let peer = to(&mut one, &names[1]);
    assert_eq!(one.send(peer, b"hello", b"").unwrap(), Sent::Sent);
    let (few, most) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, 0, most).unwrap();
    let refused = other.receive();
    setrlimit(Resource::RLIMIT_NOFILE, few, most).unwrap();
    assert!(refused.is_err());
    assert_eq!(*other.receive().unwrap().unwrap().frame, *b"hello");
}

/// A process that answers, killed at its end.
struct Answerer(Child);

impl Answerer {
    fn start(name: &str) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args([
                "--exact",
                "a_program_that_answers",
                "--ignored",
                "--nocapture",
            ])
            .env(ANSWERS, name)
            .stdout(Stdio::null());
        Answerer(command.spawn().unwrap())
    }
}

impl Drop for Answerer {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// Sends until a copy of the last frame comes back.
fn is_answered(shm: &mut Shm, to: Peer, text: &str) {
    let pause = Duration::from_millis(1);
    for _ in 0..PATIENCE.as_millis() {
        let _ = shm.send(to, text.as_bytes(), b"").unwrap();
        shm.wait(pause).unwrap();
        while let Some(arrived) = shm.receive().unwrap() {
            if *arrived.frame == *text.as_bytes() {
                return;
            }
        }
        std::thread::sleep(pause);
    }
    panic!("no answer to {text}");
}

#[test]
fn a_name_that_lives_is_not_taken_over() {
    let name = name("taken");
    let one = open(&name);
    let error = Shm::open(name.parse().unwrap(), Shm::MTU).err().unwrap();
    assert_eq!(
        error.to_string(),
        format!(
            "shm://{name} is taken by process {}; end that or take another name",
            std::process::id()
        )
    );
    drop(one);
    open(&name);
    assert_eq!(files(&name), Vec::<PathBuf>::new());
}

#[test]
fn nobody_is_reached_where_nobody_is() {
    let mut one = open(&name("alone"));
    let nobody = to(&mut one, &name("nobody"));
    assert_eq!(one.send(nobody, b"hello", b"").unwrap(), Sent::Away);
    let mut other = open(&name("nobody"));
    assert_eq!(one.send(nobody, b"hello", b"").unwrap(), Sent::Sent);
    assert_eq!(*next(&mut other).frame, *b"hello");
}

#[test]
fn either_end_may_live_again() {
    let names = ["from", "to"].map(name);
    let mut one = open(&names[0]);
    for life in 0..20_u8 {
        let mut other = open(&names[1]);
        let peer = to(&mut one, &names[1]);
        // A frame that its reader never sees is gone with it.
        for _ in 0..3 {
            assert_eq!(one.send(peer, b"unread", &[life]).unwrap(), Sent::Sent);
        }
        drop(other);
        assert_eq!(one.send(peer, b"to nobody", &[life]).unwrap(), Sent::Away);
        other = open(&names[1]);
        assert_eq!(one.send(peer, b"read", &[life]).unwrap(), Sent::Sent);
        let arrived = next(&mut other);
        assert_eq!(*arrived.frame, [b"read", &[life][..]].concat());
        assert_eq!(
            other.send(arrived.from, b"answer", b"").unwrap(),
            Sent::Sent
        );
        // What was kept of a life that is over can be read to its end.
        drop(one);
        assert_eq!(arrived.frame[4], life);
        one = open(&names[0]);
        assert!(
            one.receive().unwrap().is_none(),
            "an answer to another life"
        );
    }
    drop(one);
    assert_eq!(files(&name("from")), Vec::<PathBuf>::new());
}

#[test]
fn what_was_sent_before_a_peer_ended_is_read() {
    let names = ["ends", "stays"].map(name);
    let [mut ends, mut stays] = names.each_ref().map(|name| open(name));
    let peer = to(&mut ends, &names[1]);
    for number in 0..5 {
        assert_eq!(ends.send(peer, &[number], b"").unwrap(), Sent::Sent);
    }
    // The ring is known before its end; the file goes with the sender.
    assert_eq!(*next(&mut stays).frame, [0]);
    drop(ends);
    for number in 1..5 {
        assert_eq!(*next(&mut stays).frame, [number]);
    }
    assert!(stays.receive().unwrap().is_none());
}

#[test]
fn who_was_killed_is_cleared_away_and_the_living_go_on() {
    let names = ["living", "killed", "friend"].map(name);
    let mut living = open(&names[0]);
    let killed = to(&mut living, &names[1]);
    let friend = to(&mut living, &names[2]);
    let _friend = Answerer::start(&names[2]);
    is_answered(&mut living, friend, "are you there?");
    let friends = files(&names[2]);
    assert_eq!(friends.len(), 3, "a door and a ring each way: {friends:?}");
    for life in 0..10 {
        let answerer = Answerer::start(&names[1]);
        is_answered(&mut living, killed, &format!("life {life}"));
        drop(answerer);
        assert!(!files(&names[1]).is_empty(), "who is killed clears nothing");
    }
    // The next life clears what is left, and nothing else.
    drop(open(&names[1]));
    assert_eq!(files(&names[1]), Vec::<PathBuf>::new());
    assert_eq!(files(&names[2]), friends);
    is_answered(&mut living, friend, "are you still there?");
}

#[test]
fn strangers_clear_what_all_the_dead_have_left() {
    let names = ["stranger", "first", "second"].map(name);
    {
        let _first = Answerer::start(&names[1]);
        let mut second = open(&names[2]);
        let first = to(&mut second, &names[1]);
        is_answered(&mut second, first, "hello");
    }
    drop(open(&names[0]));
    assert_eq!(files(&names[1]), Vec::<PathBuf>::new());
}

/// Many want the name of one that was killed: one gets it, the others are told who has it.
#[test]
fn of_many_heirs_one_inherits() {
    let name = name("heirs");
    for _ in 0..20 {
        let answerer = Answerer::start(&name);
        let mut asker = open(&format!("{name}.asker"));
        let peer = to(&mut asker, &name);
        is_answered(&mut asker, peer, "hello");
        drop(answerer);
        let barrier = Barrier::new(8);
        std::thread::scope(|scope| {
            let heirs: Vec<_> = (0..8)
                .map(|_| {
                    scope.spawn(|| {
                        barrier.wait();
                        let heir = Shm::open(name.parse().unwrap(), Shm::MTU);
                        barrier.wait();
                        match heir {
                            Ok(_) => 1,
                            Err(TransportError::Taken { .. }) => 0,
                            Err(error) => panic!("{error}"),
                        }
                    })
                })
                .collect();
            let count: u32 = heirs.into_iter().map(|heir| heir.join().unwrap()).sum();
            assert_eq!(count, 1);
        });
    }
}

#[test]
fn a_full_ring_says_so_and_goes_on() {
    let names = ["fills", "full"].map(name);
    let [mut fills, mut full] = names.each_ref().map(|name| open(name));
    let peer = to(&mut fills, &names[1]);
    let mut sent = 0_u32;
    while fills.send(peer, &sent.to_le_bytes(), &[0; 1000]).unwrap() == Sent::Sent {
        sent += 1;
    }
    assert!(sent > 64, "{sent} frames of 1 KiB");
    for number in 0..sent {
        let arrived = next(&mut full);
        assert_eq!(arrived.frame[..4], number.to_le_bytes());
        full.recycle(arrived.frame);
    }
    assert!(full.receive().unwrap().is_none());
    assert_eq!(fills.send(peer, b"again", b"").unwrap(), Sent::Sent);
    assert_eq!(*next(&mut full).frame, *b"again");
}

#[test]
fn a_file_of_somebody_else_is_left_alone() {
    let name = name("strange");
    drop(open(&name));
    let directory = format!("/dev/shm/jitterlab-{}", nix::unistd::geteuid());
    let path = Path::new(&directory).join(format!("door:{name}"));
    std::fs::write(&path, b"something else").unwrap();
    let error = Shm::open(name.parse().unwrap(), Shm::MTU).err().unwrap();
    assert!(
        error.to_string().contains("is not a door of this version"),
        "{error}"
    );
    assert_eq!(std::fs::read(&path).unwrap(), b"something else");
    std::fs::remove_file(&path).unwrap();
}
