//! The case over a network that exists only here: what becomes of each message is written down
//! beforehand, and a timeout is over when `receive` says so. It is too long to pass by itself, but where a
//! test waits for it.

use std::collections::VecDeque;
use std::io;

use jitterlab_base::clock::Clock;
use jitterlab_base::units::{Bytes, Nanos};
use jitterlab_packet::Error;
use jitterlab_packet::cases::rtt::{Length, Outcome, Report, Rtt};
use jitterlab_packet::transport::{Connection, Link, Transport, Wait};
use proptest::prelude::*;

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
    /// The answer comes after `SHORT`, and nothing says before that the time is over.
    Overdue,
    /// Instead of the answer others come, as long as it is waited for.
    Babble,
    /// The connection breaks.
    Broken,
}

const LONG: Nanos = Nanos(1_000_000_000_000);
const SHORT: Nanos = Nanos(1_000_000);
/// More answers than can be looked at in `SHORT`.
const BABBLE: u64 = 10_000_000;

/// Answers by fate; answers everything when it has no fates left.
struct Network {
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
        if self.timeouts > 0 {
            self.timeouts -= 1;
            return Ok(None);
        }
        if std::mem::take(&mut self.overdue) {
            let clock = Clock::global();
            clock.wait_until(clock.now() + clock.ns_to_ticks(SHORT.0));
        }
        if self.babble > 0 {
            self.babble -= 1;
            self.broken = self.babble == 0;
            return Ok(Some(0));
        }
        let carried = u64::MAX >> (64 - 8 * self.size.min(8));
        Ok(self.under_way.pop_front().map(|number| number & carried))
    }
}

fn case(transport: Transport, messages: usize) -> Rtt {
    Rtt {
        link: Link::of(transport),
        size: Bytes(64),
        wait: Wait::Block,
        warmup: Length::Messages(0),
        length: Length::Messages(messages as u64),
        timeout: LONG,
    }
}

fn network(fates: &[Fate]) -> Box<Network> {
    network_of(64, fates)
}

fn network_of(size: u64, fates: &[Fate]) -> Box<Network> {
    Box::new(Network {
        fates: fates.iter().copied().collect(),
        size,
        under_way: VecDeque::new(),
        late: None,
        timeouts: 0,
        overdue: false,
        babble: 0,
        broken: false,
    })
}

fn run(transport: Transport, fates: &[Fate]) -> Result<Outcome, Error> {
    case(transport, fates.len()).run_on(network(fates))
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
        prop_assert_eq!(case.run_on(network_of(size, &fates)).unwrap().samples.len(), messages);
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
                    time: Nanos(20_000_000_000_000)
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
    case.timeout = SHORT;
    let outcome = case.run_on(network(&fates)).unwrap();
    // Where this machine stands still, others are late as well.
    assert!(outcome.samples.iter().all(|&ns| ns <= SHORT.0));
    assert!(outcome.reordered >= 1 && outcome.lost == 0, "{outcome:?}");
    assert_eq!(outcome.samples.len() as u64 + outcome.reordered, 60);
    // Over a reliable link it is one.
    case.link = Link::Tcp;
    let outcome = case.run_on(network(&fates)).unwrap();
    assert_eq!((outcome.samples.len(), outcome.reordered), (60, 0));
}

#[test]
fn other_answers_do_not_make_the_wait_longer() {
    let mut fates = [Fate::Answered; 60];
    fates[30] = Fate::Babble;
    let mut case = case(Transport::Udp, fates.len());
    case.timeout = SHORT;
    let outcome = case.run_on(network(&fates)).unwrap();
    assert_eq!(outcome.lost, 1, "{outcome:?}");
    assert_eq!(outcome.samples.len() as u64 + outcome.reordered, 59);

    fates[30..].fill(Fate::Babble);
    let error = case.run_on(network(&fates)).unwrap_err();
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
    let outcome = case.run_on(network(&fates)).unwrap();
    assert_eq!((outcome.discarded, outcome.samples.len()), (3, 2));
    assert_eq!((outcome.lost, outcome.duplicates), (0, 0));

    case.warmup = Length::Time(Nanos(0));
    assert_eq!(case.run_on(network(&[])).unwrap().discarded, 0);
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
