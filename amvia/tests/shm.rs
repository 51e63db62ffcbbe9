//! Shared memory through the lives and deaths of its endpoints.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Barrier;
use std::time::Duration;

use jitterlab_amvia::transport::{Address, Arrived, Peer, Sent, Shm, Transport, TransportError};

/// Long enough for any machine, short enough for a test that has to fail.
const PATIENCE: Duration = Duration::from_secs(20);
/// Set for a process that answers: its name.
const ANSWERS: &str = "TEST_ANSWERS";

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
