//! The open loop over a network and in a time that exist only here: a look at the network takes 1 us, a message and its
//! answer 20 us, and what happens to the server is written down beforehand.

#[path = "common/time.rs"]
mod time;

use std::collections::VecDeque;
use std::io;

use jitterlab_base::units::{Bytes, Nanos, Rate};
use jitterlab_packet::Error;
use jitterlab_packet::cases::open_loop::{Loop, Open, OpenLoop, Spacing, Timetable};
use jitterlab_packet::cases::rtt::{Length, Outcome, Rtt};
use jitterlab_packet::transport::{Link, Unwaited, Wait};
use proptest::prelude::*;

use time::Time;

const MS: u64 = 1_000_000;
const LOOK: u64 = 1_000;
const ROUND_TRIP: u64 = 20_000;

/// A server that stands still for the first `stop` of each second after the first, takes `service` for a message, and loses
/// what `is_lost` says.
struct Network {
    time: Time,
    stop: u64,
    service: u64,
    /// Messages that it takes while it stands still: no more are sent then.
    room: usize,
    is_lost: fn(u64) -> bool,
    answers: VecDeque<(u64, u64)>,
}

impl Network {
    fn new(time: &Time, stop: u64) -> Self {
        Network {
            time: time.clone(),
            stop,
            service: 0,
            room: usize::MAX,
            is_lost: |_| false,
            answers: VecDeque::new(),
        }
    }
}

impl Unwaited for Network {
    fn send(&mut self, number: u64) -> io::Result<bool> {
        let now = self.time.pass(LOOK);
        if self.answers.len() >= self.room {
            return Ok(false);
        }
        let (second, since) = (now / (1_000 * MS), now % (1_000 * MS));
        let stands = if second > 0 {
            self.stop.saturating_sub(since)
        } else {
            0
        };
        if !(self.is_lost)(number) {
            let behind = self.answers.back().map_or(0, |&(_, at)| at);
            let answer = (now + stands + ROUND_TRIP).max(behind + self.service);
            self.answers.push_back((number, answer));
        }
        Ok(true)
    }

    fn receive(&mut self) -> io::Result<Option<u64>> {
        let now = self.time.pass(LOOK);
        let is_there = self.answers.front().is_some_and(|&(_, at)| at <= now);
        Ok(is_there
            .then(|| self.answers.pop_front())
            .flatten()
            .map(|(number, _)| number))
    }
}

fn options(link: Link, rate: u64, length: Length) -> OpenLoop {
    OpenLoop {
        rtt: Rtt {
            link,
            size: Bytes(64),
            wait: Wait::Poll,
            warmup: Length::Messages(0),
            length,
            timeout: Nanos(100 * MS),
        },
        timetable: Timetable {
            rate: Rate(rate),
            gaps: Spacing::Fixed,
            seed: 1,
            window: 1024,
        },
    }
}

fn run(options: &OpenLoop, network: Network) -> Result<Outcome, Error> {
    let time = network.time.clone();
    options.run_on(Box::new(network), move || time.ticks())
}

fn open(outcome: &Outcome) -> &Open {
    match &outcome.pacing {
        Loop::Open(open) => open,
        Loop::Closed => panic!("{outcome:?}"),
    }
}

/// Of 10,000 messages a second, a server that stands still for 40 ms in each delays 400, and 300 of them by more than 10 ms.
#[test]
fn a_server_that_stands_still_delays_every_message_that_was_due_meanwhile() {
    for window in [1024, 50, 1] {
        // Half a gap behind the last message, so that rounding makes it neither one more nor one less.
        let length = Length::Time(Nanos(4_500 * MS + MS / 20));
        let mut options = options(Link::Tcp, 10_000, length);
        options.timetable.window = window;
        let outcome = run(&options, Network::new(&Time::default(), 40 * MS)).unwrap();
        let late = |than: u64| outcome.samples.iter().filter(|&&ns| ns > than).count();
        assert_eq!(outcome.samples.len(), 45_000);
        // In seconds 1 to 4, and a few while this end takes what has heaped up; one after the other takes longer.
        let more = if window == 1 { 400 } else { 60 };
        for (than, least) in [(10 * MS, 1_196), (30 * MS, 396)] {
            let late = late(than);
            assert!((least..=least + more).contains(&late), "{window}: {late}");
        }
        let longest = outcome.samples.iter().max().unwrap();
        assert!((39 * MS..=41 * MS).contains(longest), "{longest}");
        let open = open(&outcome);
        assert_eq!((open.unsent, outcome.lost, outcome.duplicates), (0, 0, 0));
        assert!(open.most_under_way <= window);
        assert!((open.rate_achieved - 10_000.0).abs() < 1.0, "{open:?}");
        // Where there was room for all, all were sent in time.
        assert_eq!(open.latest_ns < 100_000, window == 1024, "{open:?}");
    }
}

/// After the stop messages keep coming while those that have heaped up are served. Of λ messages a second and a server that can
/// do μ, a message due a time t after the beginning of a stop S waits S − t (1 − λ/μ), so that more than T is waited by
/// λ (S − T) / (1 − λ/μ) messages.
#[test]
fn a_slow_server_delays_as_many_messages_more_as_come_while_it_catches_up() {
    let (rate, stop, limit, stops) = (10_000.0, 0.040, 0.010, 4.0);
    for service in [5_000, 20_000, 50_000, 80_000] {
        let length = Length::Time(Nanos(4_900 * MS + MS / 20));
        let mut network = Network::new(&Time::default(), 40 * MS);
        network.service = service;
        let outcome = run(&options(Link::Tcp, 10_000, length), network).unwrap();
        let late = outcome.samples.iter().filter(|&&ns| ns > 10 * MS).count() as f64;
        let use_of_server = rate * service as f64 / 1e9;
        let expected = stops * rate * (stop - limit) / (1.0 - use_of_server);
        let off = late / expected - 1.0;
        assert!(
            off.abs() < 0.02,
            "{service} ns: {late}, {expected} expected"
        );
    }
}

#[test]
fn a_message_that_finds_no_room_waits_and_its_wait_counts() {
    let mut network = Network::new(&Time::default(), 40 * MS);
    network.room = 10;
    let options = options(Link::Tcp, 10_000, Length::Time(Nanos(1_500 * MS)));
    let outcome = run(&options, network).unwrap();
    let late = outcome.samples.iter().filter(|&&ns| ns > 10 * MS).count();
    assert!((299..=320).contains(&late), "{late}");
    assert!(open(&outcome).latest_ns > 39 * MS);
}

#[test]
fn what_is_lost_is_counted_and_does_not_hold_up_the_others() {
    let mut network = Network::new(&Time::default(), 0);
    network.is_lost = |number| number % 10 == 3;
    let mut options = options(Link::Udp, 10_000, Length::Messages(20_000));
    options.rtt.warmup = Length::Messages(1_000);
    let outcome = run(&options, network).unwrap();
    assert_eq!((outcome.samples.len(), outcome.lost), (18_000, 2_000));
    assert_eq!((outcome.discarded, outcome.reordered), (1_000, 0));
    assert!(outcome.samples.iter().all(|&ns| ns < MS));
}

/// A network that carries a tenth of what is asked for: the run does not take ten times as long.
#[test]
fn what_cannot_be_sent_is_counted() {
    let mut options = options(Link::Tcp, 500_000, Length::Time(Nanos(1_000 * MS)));
    options.timetable.window = 1;
    let time = Time::default();
    let outcome = run(&options, Network::new(&time, 0)).unwrap();
    let open = open(&outcome);
    assert_eq!(outcome.samples.len() as u64 + open.unsent, 500_000);
    assert!(open.unsent > 400_000, "{open:?}");
    assert!(open.rate_achieved < 50_000.0, "{open:?}");
    // Its time, and a timeout.
    assert!((1_099 * MS..1_102 * MS).contains(&time.pass(0)));
}

#[test]
fn a_server_that_never_answers_ends_the_run() {
    for link in [Link::Udp, Link::Tcp] {
        let mut network = Network::new(&Time::default(), 0);
        network.is_lost = |number| number > 5;
        let error = run(&options(link, 10_000, Length::Messages(100_000)), network).unwrap_err();
        assert!(
            matches!(
                error,
                Error::Silence {
                    answered: 5,
                    time: Nanos(2_000_000_000),
                    ..
                }
            ),
            "{error:?}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Gaps that are drawn have the rate as their mean, and a seed gives the same run again.
    #[test]
    fn drawn_gaps_have_the_rate(seed: u64, rate in 1_000u64..20_000) {
        let mut options = options(Link::Udp, rate, Length::Messages(20_000));
        options.timetable.gaps = Spacing::Exponential;
        options.timetable.seed = seed;
        options.rtt.warmup = Length::Time(Nanos(50 * MS));
        let run = || run(&options, Network::new(&Time::default(), 0)).unwrap();
        let outcome = run();
        prop_assert_eq!(outcome.samples.len(), 20_000);
        // Six standard deviations of the sum of as many gaps.
        let off = open(&outcome).rate_achieved / rate as f64 - 1.0;
        prop_assert!(off.abs() < 6.0 / 20_000f64.sqrt(), "{off}");
        prop_assert_eq!(run().samples, outcome.samples);
    }
}
