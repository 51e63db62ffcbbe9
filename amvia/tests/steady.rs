//! A transport allocates nothing for a frame, once it has been in use.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use jitterlab_amvia::transport::{Address, Sent, Shm, Transport, Udp};

/// The system's allocator, which counts what each thread asks of it.
struct Counted;

thread_local! {
    static ASKED: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call is handed on as it is; counting allocates nothing.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ASKED.set(ASKED.get() + 1);
        // SAFETY: as the caller vouches.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as the caller vouches; it was allocated there.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTED: Counted = Counted;

/// Frames go to and fro, and each fifth is kept for a while.
fn frames(one: &mut dyn Transport, other: &mut dyn Transport, rounds: u32) {
    let to = one.peer(&other.address()).unwrap();
    let mut kept = None;
    for round in 0..rounds {
        while one.send(to, &[1; 24], &[2; 100]).unwrap() != Sent::Sent {}
        let arrived = loop {
            if let Some(arrived) = other.receive().unwrap() {
                break arrived;
            }
        };
        while other.send(arrived.from, &arrived.frame, b"").unwrap() != Sent::Sent {}
        // The frame that was kept goes back when the next one is.
        let frame = match round % 5 {
            0 => kept.replace(arrived.frame),
            _ => Some(arrived.frame),
        };
        frame.into_iter().for_each(|frame| other.recycle(frame));
        let answer = loop {
            if let Some(answer) = one.receive().unwrap() {
                break answer;
            }
        };
        one.recycle(answer.frame);
    }
    kept.into_iter().for_each(|frame| other.recycle(frame));
}

fn allocates_nothing(one: &mut dyn Transport, other: &mut dyn Transport) {
    frames(one, other, 1_000);
    // What `peer` and `address` take is no frame's.
    let before = ASKED.get();
    frames(one, other, 0);
    let once = ASKED.get() - before;
    let before = ASKED.get();
    frames(one, other, 5_000);
    assert_eq!(ASKED.get() - before, once, "for 5,000 frames each way");
}

#[test]
fn udp_allocates_nothing_for_a_frame() {
    let udp = || Udp::bind("127.0.0.1:0".parse().unwrap(), Udp::MTU).unwrap();
    allocates_nothing(&mut udp(), &mut udp());
}

#[test]
fn shm_allocates_nothing_for_a_frame() {
    let [mut one, mut other] = ["one", "other"].map(|end| {
        let Ok(Address::Shm(name)) = format!("shm://steady.{}.{end}", std::process::id()).parse()
        else {
            panic!("a name");
        };
        Shm::open(name, Shm::MTU).unwrap()
    });
    allocates_nothing(&mut one, &mut other);
}

/// The count is one: what does allocate is seen.
#[test]
fn what_allocates_is_counted() {
    let before = ASKED.get();
    drop(std::hint::black_box(Box::new(7)));
    assert_eq!(ASKED.get() - before, 1);
}
