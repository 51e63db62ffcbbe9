//! The case over a network and in a time that exist only here: what becomes of each message is written down beforehand, a look
//! whether something has come takes 1 us, and a wait that ends without a message a timeout.

#[path = "common/time.rs"]
mod time;

use std::collections::VecDeque;
use std::io;

use jitterlab_base::units::{Bytes, Nanos};
use jitterlab_packet::Error;
use jitterlab_packet::cases::open_loop::Loop;
use jitterlab_packet::cases::rtt::{Length, Outcome, Report, Rtt};
use jitterlab_packet::transport::{Connection, Link, Transport, Wait};
use proptest::prelude::*;

use time::{READING, Time};

/// What becomes of a message.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fate {
    Answered,
    Lost,
    /// The answer comes after the next message has been sent.
    Late,
    /// The answer comes, and comes again.
    Twice,
    /// The answer comes after two timeouts.
    Slow,
    /// The answer comes after the timeout, and nothing says before that the time is over.
    Overdue,
    /// Instead of the answer others come, as long as it is waited for.
    Babble,
    /// The connection breaks.
    Broken,
}

const TIMEOUT: Nanos = Nanos(1_000_000);
const LOOK: u64 = 1_000;
/// More answers than can be looked at in a timeout.
const BABBLE: u64 = 2 * TIMEOUT.0 / LOOK;

/// Answers by fate; answers everything when it has no fates left.
struct Network {
    time: Time,
    fates: VecDeque<Fate>,
    /// Of a message, in bytes.
    size: u64,
    under_way: VecDeque<u64>,
    late: Option<u64>,
    timeouts: usize,
    overdue: bool,
    /// So many answers to no message.
    babble: u64,
    broken: bool,
}

impl Connection for Network {
    fn send(&mut self, number: u64) -> io::Result<()> {
        self.under_way.extend(self.late.take());
        self.babble = 0;
        match self.fates.pop_front().unwrap_or(Fate::Answered) {
            Fate::Answered => self.under_way.push_back(number),
            Fate::Lost => {}
            Fate::Late => self.late = Some(number),
            Fate::Twice => self.under_way.extend([number, number]),
            Fate::Slow => {
                self.timeouts = 2;
                self.under_way.push_back(number);
            }
            Fate::Overdue => {
                self.overdue = true;
                self.under_way.push_back(number);
            }
            Fate::Babble => self.babble = BABBLE,
            Fate::Broken => self.broken = true,
        }
        Ok(())
    }

    fn receive(&mut self) -> io::Result<Option<u64>> {
        if self.broken {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.time.pass(LOOK);
        if self.timeouts > 0 {
            self.timeouts -= 1;
            self.time.pass(TIMEOUT.0);
            return Ok(None);
        }
        if std::mem::take(&mut self.overdue) {
            self.time.pass(TIMEOUT.0);
        }
        if self.babble > 0 {
            self.babble -= 1;
            self.broken = self.babble == 0;
            return Ok(Some(0));
        }
        let carried = u64::MAX >> (64 - 8 * self.size.min(8));
        let number = self.under_way.pop_front();
        if number.is_none() {
            self.time.pass(TIMEOUT.0);
        }
        Ok(number.map(|number| number & carried))
    }
}

fn case(transport: Transport, messages: usize) -> Rtt {
    Rtt {
        link: Link::of(transport),
        size: Bytes(64),
        wait: Wait::Block,
        warmup: Length::Messages(0),
        length: Length::Messages(messages as u64),
        timeout: TIMEOUT,
    }
}

fn run_case(case: &Rtt, fates: &[Fate]) -> Result<Outcome, Error> {
    let time = Time::default();
    let network = Network {
        time: time.clone(),
        fates: fates.iter().copied().collect(),
        size: case.size.0,
        under_way: VecDeque::new(),
        late: None,
        timeouts: 0,
        overdue: false,
        babble: 0,
        broken: false,
    };
    case.run_on(Box::new(network), || time.ticks())
}

fn run(transport: Transport, fates: &[Fate]) -> Result<Outcome, Error> {
    run_case(&case(transport, fates.len()), fates)
}

/// A sample is counted in ticks of the clock, which are not whole nanoseconds.
fn is_about(ns: u64, expected: u64) -> bool {
    ns.abs_diff(expected) <= 2
}

fn count(fates: &[Fate], fate: Fate) -> u64 {
    fates.iter().filter(|&&f| f == fate).count() as u64
}

proptest! {
    /// Every message is a sample, or lost, or late, and is counted as what it was. A last message
    /// that is answered lets everything that was still under way arrive.
    #[test]
    fn every_datagram_is_accounted_for(
        mut fates in proptest::collection::vec(
            prop_oneof![Just(Fate::Answered), Just(Fate::Lost), Just(Fate::Late), Just(Fate::Twice)],
            0..19,
        )
    ) {
        fates.push(Fate::Answered);
        let outcome = run(Transport::Udp, &fates).unwrap();
        prop_assert_eq!(outcome.lost, count(&fates, Fate::Lost));
        prop_assert_eq!(outcome.reordered, count(&fates, Fate::Late));
        prop_assert_eq!(outcome.duplicates, count(&fates, Fate::Twice));
        let answered = count(&fates, Fate::Answered) + count(&fates, Fate::Twice);
        prop_assert_eq!(outcome.samples.len() as u64, answered);
    }

    /// Over a reliable transport a slow answer is a long sample, never a lost one.
    #[test]
    fn slow_answers_of_a_stream_are_samples(
        fates in proptest::collection::vec(prop_oneof![Just(Fate::Answered), Just(Fate::Slow)], 1..60)
    ) {
        let outcome = run(Transport::Tcp, &fates).unwrap();
        prop_assert_eq!(outcome.samples.len(), fates.len());
        prop_assert_eq!((outcome.lost, outcome.reordered, outcome.duplicates), (0, 0, 0));
    }

    /// Messages too short for a whole number, which only a reliable link carries.
    #[test]
    fn short_messages_go_over_a_stream(size in 1u64..8, messages in 1usize..600) {
        let mut case = case(Transport::Tcp, messages);
        case.size = Bytes(size);
        let mut fates = vec![Fate::Answered; messages];
        fates[messages / 2] = Fate::Slow;
        prop_assert_eq!(run_case(&case, &fates).unwrap().samples.len(), messages);
    }
}

#[test]
fn a_peer_that_falls_silent_ends_the_run() {
    let mut fates = vec![Fate::Answered; 7];
    fates.extend([Fate::Lost; 20]);
    for transport in Transport::ALL {
        let error = run(transport, &fates).unwrap_err();
        assert!(
            matches!(
                error,
                Error::Silence {
                    answered: 7,
                    late: 0,
                    time: Nanos(20_000_000)
                }
            ),
            "{error:?}"
        );
    }
    // As many losses, but with an answer between: somebody is there.
    fates.insert(17, Fate::Answered);
    let outcome = run(Transport::Udp, &fates).unwrap();
    assert_eq!((outcome.samples.len(), outcome.lost), (8, 20));
}

#[test]
fn what_comes_after_the_timeout_is_no_sample() {
    let mut fates = [Fate::Answered; 60];
    fates[30] = Fate::Overdue;
    let mut case = case(Transport::Udp, fates.len());
    let outcome = run_case(&case, &fates).unwrap();
    assert_eq!((outcome.reordered, outcome.lost), (1, 0), "{outcome:?}");
    assert_eq!(outcome.samples.len(), 59);
    let is_usual = |&ns: &u64| is_about(ns, LOOK + READING);
    assert!(outcome.samples.iter().all(is_usual), "{outcome:?}");
    // Over a reliable link it is one.
    case.link = Link::Tcp;
    let outcome = run_case(&case, &fates).unwrap();
    assert_eq!((outcome.samples.len(), outcome.reordered), (60, 0));
    assert!(is_about(outcome.samples[30], TIMEOUT.0 + LOOK + READING));
}

#[test]
fn other_answers_do_not_make_the_wait_longer() {
    let mut fates = [Fate::Answered; 60];
    fates[30] = Fate::Babble;
    let case = case(Transport::Udp, fates.len());
    let outcome = run_case(&case, &fates).unwrap();
    assert_eq!((outcome.lost, outcome.reordered), (1, 0), "{outcome:?}");
    assert_eq!(outcome.samples.len(), 59);

    fates[30..].fill(Fate::Babble);
    let error = run_case(&case, &fates).unwrap_err();
    assert!(matches!(error, Error::Silence { .. }), "{error:?}");
}

#[test]
fn a_connection_that_breaks_ends_the_run() {
    let mut fates = vec![Fate::Answered; 5];
    fates.push(Fate::Broken);
    let error = run(Transport::Tcp, &fates).unwrap_err();
    assert!(
        matches!(error, Error::PeerGone { answered: 5, .. }),
        "{error:?}"
    );
}

#[test]
fn warm_up_is_discarded_with_what_went_wrong_in_it() {
    let fates = [
        Fate::Lost,
        Fate::Twice,
        Fate::Answered,
        Fate::Answered,
        Fate::Answered,
    ];
    let mut case = case(Transport::Udp, 2);
    case.warmup = Length::Messages(3);
    let outcome = run_case(&case, &fates).unwrap();
    assert_eq!((outcome.discarded, outcome.samples.len()), (3, 2));
    assert_eq!((outcome.lost, outcome.duplicates), (0, 0));

    case.warmup = Length::Time(Nanos(0));
    assert_eq!(run_case(&case, &[]).unwrap().discarded, 0);
}

#[test]
fn a_run_for_a_time_ends_when_it_is_over() {
    let mut case = case(Transport::Udp, 0);
    // A round trip takes a look and two readings of the clock; the last one begins before the time is over.
    let round_trip = LOOK + 2 * READING;
    case.warmup = Length::Time(Nanos(10 * round_trip - round_trip / 2));
    case.length = Length::Time(Nanos(100 * round_trip - round_trip / 2));
    let outcome = run_case(&case, &[]).unwrap();
    assert_eq!((outcome.discarded, outcome.samples.len()), (10, 100));
    // The time is over while nothing comes.
    let mut fates = vec![Fate::Answered; 50];
    fates.push(Fate::Lost);
    case.warmup = Length::Messages(0);
    let outcome = run_case(&case, &fates).unwrap();
    assert_eq!((outcome.samples.len(), outcome.lost), (50, 1));
}

#[test]
fn a_run_without_an_answer_has_no_result() {
    let error = run(Transport::Udp, &[Fate::Lost, Fate::Lost]).unwrap_err();
    assert!(matches!(error, Error::NoSamples), "{error:?}");
}

#[test]
fn a_report_says_what_was_measured() {
    let case = case(Transport::Udp, 3);
    let outcome = Outcome {
        samples: vec![30_000, 10_000, 20_000],
        lost: 4,
        reordered: 3,
        duplicates: 2,
        discarded: 1,
        memory_full: true,
        path: None,
        pacing: Loop::Closed,
    };
    let report = Report::of(&case, &outcome).unwrap();
    let point = &report.point;
    assert_eq!((point.rtt_ns.n, point.rtt_ns.median), (3, 20_000.0));
    assert_eq!(point.one_way_median_ns, 10_000.0);
    assert_eq!((point.lost, point.reordered), (4, 3));
    assert_eq!((point.duplicates, report.discarded), (2, 1));
    assert!(point.memory_full);
    assert!(!report.setting.cpus.is_empty());
}
