//! A producer that is stopped after each instruction, and one that is killed at each of its stores: its consumer sees frames
//! whole or not at all, and the next life goes on.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use jitterlab_base::page::{Attached, Namespaces, Standing, attach};
use jitterlab_base::ring::{Consumer, Producer, Put, Ring};
use jitterlab_skip::skip;
use nix::sys::ptrace;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, gettid};

const LINES: usize = 8;
/// Short ones, one of several lines, and one that does not fit before the end of the circle.
const LENGTHS: [usize; 5] = [24, 200, 100, 200, 8];
/// Set for a process that puts frames into a ring: where that is.
const PUTS: &str = "TEST_PUTS";

fn content(number: usize) -> Vec<u8> {
    let length = LENGTHS[number];
    (0..length).map(|at| (number * 50 + at) as u8 | 1).collect()
}

/// This test is also the program that others start and kill. It says the number of its thread, waits for a line, puts all
/// frames, and aborts.
#[test]
#[ignore = "the other tests start it"]
fn a_program_that_puts() {
    let path = std::env::var(PUTS).unwrap();
    let mut producer = Producer::<LINES>::make(Path::new(&path), 1, 1).unwrap();
    let frames: Vec<Vec<u8>> = (0..LENGTHS.len()).map(content).collect();
    println!("\nthread {}", gettid());
    std::io::stdin()
        .lock()
        .read_line(&mut String::new())
        .unwrap();
    for frame in &frames {
        let (head, payload) = frame.split_at(frame.len() / 3);
        assert_eq!(producer.put(head, payload), Put::Done);
    }
    std::process::abort();
}

/// A process under our hands, of which one thread goes on as we say.
struct Puppet {
    child: Child,
    thread: Pid,
    consumer: Consumer<LINES>,
    /// The ring's memory at the last look.
    memory: Vec<u8>,
    /// Frames that have come.
    came: usize,
}

impl Puppet {
    /// Starts it, and stops it before its first frame; none where that is not allowed.
    fn start(path: &Path) -> Option<Self> {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "a_program_that_puts", "--ignored", "--nocapture"])
            .env(PUTS, path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let thread = lines
            .map_while(Result::ok)
            .find_map(|line| line.strip_prefix("thread ")?.parse().ok())
            .expect("the program says its thread");
        let thread = Pid::from_raw(thread);
        if let Err(errno) = ptrace::attach(thread) {
            skip(format!("no process may trace its child here: {errno}"));
            let _ = child.kill();
            let _ = child.wait();
            return None;
        }
        let stopped = wait(thread);
        assert!(matches!(stopped, WaitStatus::Stopped(..)), "{stopped:?}");
        child.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
        let mut puppet = Puppet {
            child,
            thread,
            consumer: Consumer::attach(path).unwrap(),
            memory: Vec::new(),
            came: 0,
        };
        puppet.has_stored();
        Some(puppet)
    }

    /// One instruction; whether the program goes on.
    fn step(&mut self) -> bool {
        ptrace::step(self.thread, None).unwrap();
        match wait(self.thread) {
            WaitStatus::Stopped(_, Signal::SIGTRAP) => true,
            WaitStatus::Stopped(_, Signal::SIGABRT) => false,
            other => panic!("{other:?}"),
        }
    }

    /// Whether the producer has stored something in the ring's lines since the last look.
    fn has_stored(&mut self) -> bool {
        let memory = std::fs::read(self.consumer.ring().path()).unwrap();
        let memory = memory[memory.len() - LINES * 64..].to_vec();
        std::mem::replace(&mut self.memory, memory) != self.memory
    }

    /// Takes all frames that can be seen: the next ones, whole.
    fn take(&mut self) {
        while let Some(frame) = self.consumer.front().unwrap() {
            assert!(frame == content(self.came), "frame {} is torn", self.came);
            self.consumer.pop().unwrap();
            self.came += 1;
        }
    }
}

impl Puppet {
    /// Kills it, as `kill -9` does, and waits until it has gone.
    fn kill(&mut self) {
        self.child.kill().unwrap();
        // The thread is its tracer's to be waited for, before its process can be.
        let _ = waitpid(self.thread, Some(WaitPidFlag::__WALL));
        let _ = self.child.wait();
    }
}

impl Drop for Puppet {
    fn drop(&mut self) {
        self.kill();
    }
}

/// What has become of a thread that is traced.
fn wait(thread: Pid) -> WaitStatus {
    waitpid(thread, Some(WaitPidFlag::__WALL)).unwrap()
}

#[test]
fn a_frame_is_seen_whole_whenever_its_producer_is_killed() {
    let directory = tempfile::tempdir().unwrap();
    let Some(mut puppet) = Puppet::start(&directory.path().join("whole")) else {
        return;
    };
    // Stopped after every instruction: what is there now is what a kill would leave.
    let mut stores = 0;
    while puppet.step() {
        stores += usize::from(puppet.has_stored());
        puppet.take();
    }
    assert_eq!(puppet.came, LENGTHS.len());
    drop(puppet);
    // A zero after each frame and a head before it, and bytes between them.
    assert!(stores >= 3 * LENGTHS.len(), "{stores} stores");

    for last in 1..=stores {
        let path = directory.path().join(format!("killed-{last}"));
        let mut puppet = Puppet::start(&path).unwrap();
        let mut seen = 0;
        while seen < last {
            assert!(puppet.step(), "ended before store {last}");
            seen += usize::from(puppet.has_stored());
            if seen < last {
                puppet.take();
            }
        }
        puppet.kill();
        puppet.take();
        assert!(puppet.came <= LENGTHS.len());
        // The next life knows that the ring is nobody's, closes it, and goes on with another one.
        let left: Attached<Ring<LINES>> = attach(&path).unwrap();
        assert_eq!(left.standing(Namespaces::own()), Standing::Ended);
        assert!(Producer::<LINES>::make(&path, 2, 1).is_err());
        left.close();
        left.remove();
        assert!(puppet.consumer.ring().is_closed());
        let mut next = Producer::<LINES>::make(&path, 2, 1).unwrap();
        let mut consumer = Consumer::<LINES>::attach(&path).unwrap();
        assert_eq!(next.put(b"the next life", b""), Put::Done);
        assert_eq!(consumer.front().unwrap(), Some(&b"the next life"[..]));
    }
}
