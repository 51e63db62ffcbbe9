//! A stream over a network and in a time that exist only here: the line takes a message in 200 ns and carries it in 5 us, a look
//! whether something has come takes 50 ns, and what becomes of each message is written down beforehand.

#[path = "common/time.rs"]
mod time;

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use jitterlab_base::units::{Bytes, Nanos};
use jitterlab_packet::Error;
use jitterlab_packet::cases::bandwidth::{Bandwidth, Outcome};
use jitterlab_packet::cases::rtt::Length;
use jitterlab_packet::transport::{Buffers, Link, Progress, Stream, Wait};
use proptest::prelude::*;

use time::Time;

/// From one message to the next, on the line.
const APART: u64 = 200;
const CARRIED: u64 = 5_000;
const LOOK: u64 = 50;
const TIMEOUT: Nanos = Nanos(1_000_000);
const WINDOW: u32 = 64;

/// The other end takes what comes, and says so at once. What is lost it does not miss before a later message has come, or before it
/// is asked.
struct Network {
    time: Time,
    is_lost: fn(u64) -> bool,
    /// Nothing comes of messages after this one, nor of questions.
    dies_after: u64,
    /// Nor is the connection there any more after this one.
    breaks_after: u64,
    sent: u64,
    /// When the line is free.
    free: u64,
    /// Messages that are under way, and when they come; a question is one, too.
    under_way: VecDeque<(u64, u64)>,
    progress: Progress,
}

impl Network {
    fn new() -> Self {
        Network {
            time: Time::default(),
            is_lost: |_| false,
            dies_after: u64::MAX,
            breaks_after: u64::MAX,
            sent: 0,
            free: 0,
            under_way: VecDeque::new(),
            progress: Progress::default(),
        }
    }

    /// When what is sent now comes.
    fn carry(&mut self) -> u64 {
        self.free = self.free.max(self.time.pass(LOOK)) + APART;
        self.free + CARRIED
    }
}

impl Stream for Network {
    fn send(&mut self) -> io::Result<bool> {
        if self.sent >= self.breaks_after {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let comes = self.carry();
        self.sent += 1;
        if !(self.is_lost)(self.sent) && self.sent <= self.dies_after {
            self.under_way.push_back((self.sent, comes));
        }
        Ok(true)
    }

    fn progress(&mut self) -> io::Result<Progress> {
        let now = self.time.pass(LOOK);
        while let Some(&(number, _)) = self.under_way.front().filter(|(_, comes)| *comes <= now) {
            self.under_way.pop_front();
            let lost = (self.progress.finished + 1..=number).filter(|&n| (self.is_lost)(n));
            self.progress.missing += lost.count() as u64;
            self.progress.finished = number;
        }
        Ok(self.progress)
    }

    fn idle(&mut self, at_most: Duration) -> io::Result<()> {
        let now = self.time.pass(0);
        let left = (self.under_way.front()).map(|(_, comes)| comes.saturating_sub(now));
        let at_most = at_most.as_nanos() as u64;
        self.time
            .pass(left.map_or(at_most, |left| left.min(at_most)));
        Ok(())
    }

    fn ask(&mut self) -> io::Result<()> {
        let comes = self.carry();
        if self.sent <= self.dies_after {
            self.under_way.push_back((self.sent, comes));
        }
        Ok(())
    }
}

fn case(length: Length) -> Bandwidth {
    Bandwidth {
        link: Link::Udp,
        size: Bytes(1024),
        wait: Wait::Block,
        window: WINDOW,
        buffers: Buffers::Fifo(1),
        both: false,
        computing: Nanos(0),
        warmup: Length::Messages(0),
        length,
        timeout: TIMEOUT,
    }
}

fn run(case: &Bandwidth, network: Network) -> Result<Outcome, Error> {
    let time = network.time.clone();
    case.run_on(Box::new(network), move || time.ticks())
}

#[test]
fn a_full_line_is_measured_as_full() {
    let outcome = run(&case(Length::Messages(100_000)), Network::new()).unwrap();
    assert!(outcome.messages >= 100_000);
    assert_eq!(outcome.missing, 0);
    // The line is the bottleneck: a message of a long stream takes as long as it does there.
    let apart = outcome.time_ns as f64 / outcome.messages as f64;
    assert!((apart / APART as f64 - 1.0).abs() < 0.02, "{apart} ns");
    let halves = outcome.halves.iter().sum::<u64>();
    assert!(outcome.time_ns.abs_diff(halves) <= outcome.halves.len() as u64);
}

#[test]
fn a_small_window_waits_for_the_line() {
    let mut case = case(Length::Messages(10_000));
    case.window = 2;
    let outcome = run(&case, Network::new()).unwrap();
    // Of two, one is waited for: a way there for each message, half of it hidden.
    let apart = outcome.time_ns as f64 / outcome.messages as f64;
    assert!(
        (CARRIED / 2) as f64 <= apart && apart < 1.2 * CARRIED as f64,
        "{apart} ns"
    );
}

#[test]
fn a_stream_for_a_time_ends_with_the_half_window_in_which_it_is_over() {
    let time = 2_000_000;
    let outcome = run(&case(Length::Time(Nanos(time))), Network::new()).unwrap();
    let longest = outcome.halves.iter().max().unwrap();
    assert!(outcome.time_ns + 2 >= time && outcome.time_ns < time + longest + 2);
    assert!(!outcome.memory_full);
}

#[test]
fn who_computes_after_each_half_window_has_the_less_bandwidth() {
    let mut case = case(Length::Messages(10_000));
    case.computing = Nanos(20_000);
    let outcome = run(&case, Network::new()).unwrap();
    // Both halves of a window are finished meanwhile, and sent together.
    let window = outcome.time_ns as f64 / (outcome.messages / u64::from(WINDOW)) as f64;
    assert!((20_000.0..25_000.0).contains(&window), "{window} ns");
}

#[test]
fn a_peer_that_falls_silent_ends_the_run_when_its_time_is_over() {
    let network = Network {
        dies_after: 1_000,
        ..Network::new()
    };
    let time = network.time.clone();
    let error = run(&case(Length::Messages(5_000)), network).unwrap_err();
    let Error::Silence {
        time: said,
        answered,
        ..
    } = error
    else {
        panic!("{error:?}");
    };
    assert_eq!((said, answered), (Nanos(20 * TIMEOUT.0), 1_000));
    // What was streamed before takes less than a millisecond.
    let took = time.pass(0);
    assert!(
        (20 * TIMEOUT.0..23 * TIMEOUT.0).contains(&took),
        "{took} ns"
    );
}

#[test]
fn a_connection_that_breaks_ends_the_run() {
    let network = Network {
        breaks_after: 500,
        ..Network::new()
    };
    let error = run(&case(Length::Messages(5_000)), network).unwrap_err();
    assert!(matches!(error, Error::PeerGone { .. }), "{error:?}");
}

/// A whole window is lost: only a question finds it out.
#[test]
fn a_window_that_is_lost_is_asked_about() {
    let network = Network {
        is_lost: |number| (1_000..2_000).contains(&number),
        ..Network::new()
    };
    let outcome = run(&case(Length::Messages(5_000)), network).unwrap();
    assert_eq!(outcome.missing, 1_000);
    let asked = outcome.halves.iter().filter(|&&ns| ns >= TIMEOUT.0).count();
    assert!(asked >= 1_000 / WINDOW as usize, "{asked}");
}

/// Which messages are lost: some, most, and more than a window at once.
const LOSSES: [fn(u64) -> bool; 3] = [
    |number| number.is_multiple_of(3),
    |number| number % 50 < 40,
    |number| number > 30 && number % 128 < 65,
];

proptest! {
    /// What is missing is what was lost of the messages that were finished; those before the first half window are not counted.
    #[test]
    fn every_message_is_accounted_for(is_lost in proptest::sample::select(&LOSSES[..]), length in 1u64..3_000) {
        let network = Network { is_lost, ..Network::new() };
        let outcome = run(&case(Length::Messages(length)), network).unwrap();
        let window = u64::from(WINDOW);
        prop_assert!(outcome.messages >= length && outcome.messages < length + 2 * window);
        let lost = |begin: u64| (begin + 1..=begin + outcome.messages).filter(|&n| is_lost(n)).count() as u64;
        let is_so = (window / 2..=2 * window).any(|begin| lost(begin) == outcome.missing);
        prop_assert!(is_so, "{} of {} are missing", outcome.missing, outcome.messages);
    }
}
