//! The time of a datagram in the kernel, step by step. It comes from tracepoints in the thread that sends it, and from time stamps
//! around the calls of both programs, all of one counter.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use jitterlab_amvia::endpoint::Call;
use jitterlab_amvia::protocol::{Config, Protocol};
use jitterlab_base::clock::{Clock, Source};
use jitterlab_base::named;
use jitterlab_node_tuning::tracing::{Event, Recording, events};
use jitterlab_packet::transport::Transport;
use nix::unistd::gettid;
use serde::{Deserialize, Serialize};

use super::error::PerformabilityError;
use super::pair::{CLIENT, End, Exchange, Over, SERVER, ends, exchanges, served};
use super::path::Component;
use super::stages::median;
use super::timed::{Calls, Span, Timed};
use crate::handlers::echo;

/// A step of a datagram over loopback, which the thread that sends it carries to the socket of its receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The step from the call of the sender to the device.
    Call,
    /// The queue of the device.
    Queue,
    /// The driver.
    Driver,
    /// The step from the driver that sends to the network stack that receives.
    Wire,
    /// The step from there to the socket.
    Stack,
    /// Until the receiver's call begins.
    Wait,
    /// The receiver's call.
    Read,
    /// Until the sender's call is over, which is beside the way of the datagram.
    Return,
}

named!(
    Step,
    serde,
    "a step",
    Call => "call to device",
    Queue => "device queue",
    Driver => "driver",
    Wire => "loopback",
    Stack => "stack to socket",
    Wait => "wait for the reader's call",
    Read => "reader's call",
    Return => "return of the sender's call",
);

impl Step {
    /// The component that takes the time.
    pub fn component(self) -> Component {
        match self {
            Step::Call | Step::Queue | Step::Stack | Step::Read | Step::Return => Component::Kernel,
            Step::Driver => Component::Nic,
            Step::Wire => Component::Wire,
            Step::Wait => Component::Library,
        }
    }
}

/// A step and what it takes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Passed {
    /// The step.
    pub step: Step,
    /// The median, in nanoseconds.
    pub median_ns: f64,
}

/// The way of a frame, as tracepoints tell it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Traced {
    /// The time that each step takes.
    pub steps: Vec<Passed>,
    /// Frames that were seen at all points.
    pub frames: u64,
    /// Frames that were not, which count nowhere.
    pub left_out: u64,
    /// The median round trip without tracepoints, in nanoseconds.
    pub round_trip_ns: f64,
    /// The round trip with them.
    pub traced_round_trip_ns: f64,
}

/// Whether there is something to be seen in the kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kernel {
    /// The steps were seen.
    Traced(Traced),
    /// The steps could not be seen, for this reason.
    NotTraced(String),
}

/// The events of the kernel that a datagram over loopback meets, in their order, behind the names of their systems.
const POINTS: [&str; 5] = [
    "net:net_dev_queue",
    "net:net_dev_start_xmit",
    "net:netif_rx",
    "net:netif_receive_skb",
    "sock:sk_data_ready",
];

/// Transactions that are traced: what the kernel's buffer holds.
const TRANSACTIONS: usize = 1_000;

/// Measures round trips without tracepoints and with them, and tells the steps of a frame apart.
///
/// # Errors
/// A transport cannot be had, or transactions do not end. What only the tracepoints lack is no error.
pub fn kernel(over: &Over, payload: usize) -> Result<Kernel, PerformabilityError> {
    let none = |reason: &str| Ok(Kernel::NotTraced(reason.into()));
    if over.transport != Transport::Udp {
        return none("no frame passes a socket");
    }
    if Clock::global().source() != Source::Tsc {
        return none("this machine's clock is not its time-stamp counter");
    }
    let [own, theirs] = ends(over)?;
    let ((own, sent), (theirs, answered)) = (Timed::new(own), Timed::new(theirs));
    let config = Config {
        protocol: Protocol::TwoWay,
        ..Config::default()
    };
    let client = End::new(CLIENT, &config, own)?;
    let server = End::new(SERVER, &config, theirs)?;
    let answers = Arc::new(AtomicI32::new(0));
    let thread = Arc::clone(&answers);
    let handler = move |call: &mut Call<'_>| {
        thread.store(gettid().as_raw(), Ordering::Relaxed);
        echo(call);
    };
    served(over, &client, &server, handler, |peer| {
        let run = || exchanges(&client, peer, payload, TRANSACTIONS);
        // The first ones warm up.
        run()?;
        let plain = round_trip(&run()?)?;
        let threads = [gettid().as_raw(), answers.load(Ordering::Relaxed)];
        let recording = match Recording::begin(Path::new("/"), &POINTS, &threads) {
            Ok(recording) => recording,
            Err(reason) => return Ok(Kernel::NotTraced(reason)),
        };
        // A datagram that was sent before is in no trace.
        drop([sent.take(), answered.take()]);
        let traced = run();
        let text = recording.end();
        let traced = round_trip(&traced?)?;
        let text = match text {
            Ok(text) => text,
            Err(reason) => return Ok(Kernel::NotTraced(reason)),
        };
        let events: Vec<Event> = events(&text).collect();
        let [client, server] = [sent.take(), answered.take()];
        let mut frames = way(threads[0], &client, &server, &events);
        frames.extend(way(threads[1], &server, &client, &events));
        if frames.is_empty() {
            return Ok(Kernel::NotTraced(
                "no frame was carried to its socket by the thread that sent it".into(),
            ));
        }
        let all = client.sends.len() + server.sends.len();
        let passed = Step::ALL.iter().map(|&step| {
            let times = frames
                .iter()
                .map(|frame| Clock::global().ticks_to_ns_f64(frame[step as usize]));
            Ok(Passed {
                step,
                median_ns: median(&times.collect::<Vec<f64>>())?,
            })
        });
        Ok(Kernel::Traced(Traced {
            steps: passed.collect::<Result<_, PerformabilityError>>()?,
            frames: frames.len() as u64,
            left_out: (all - frames.len()) as u64,
            round_trip_ns: plain,
            traced_round_trip_ns: traced,
        }))
    })
}

fn round_trip(exchanges: &[Exchange]) -> Result<f64, PerformabilityError> {
    let times = exchanges.iter().map(|it| it.round_trip().ns());
    median(&times.collect::<Vec<f64>>())
}

/// The time of each [`Step`], in ticks.
type Ticks = [u64; Step::ALL.len()];

/// The steps of each frame from a thread, whose calls are `from`, to who made the calls `to`. A frame that was not seen at each point,
/// in the order of [`POINTS`], is left out.
fn way(thread: i32, from: &Calls, to: &Calls, events: &[Event]) -> Vec<Ticks> {
    let mut events = events
        .iter()
        .filter(|event| event.thread == thread)
        .peekable();
    let mut receipts = to.receipts.iter().peekable();
    let mut frames = Vec::with_capacity(from.sends.len());
    for call in &from.sends {
        while events.next_if(|event| event.at < call.begun).is_some() {}
        let mut seen = Vec::with_capacity(POINTS.len());
        while let Some(event) = events.next_if(|event| event.at <= call.ended) {
            seen.push(event);
        }
        let names = seen.iter().map(|event| event.name);
        let points = POINTS.iter().filter_map(|point| point.rsplit(':').next());
        if !names.eq(points) {
            continue;
        }
        let times: Vec<u64> = seen.iter().map(|event| event.at).collect();
        let ready = times[POINTS.len() - 1];
        while receipts.next_if(|receipt| receipt.ended < ready).is_some() {}
        let Some(&&read) = receipts.peek() else {
            break;
        };
        frames.push(steps(*call, &times, read));
    }
    frames
}

/// The steps of a frame that was sent by a call, met [`POINTS`] at `times`, and was read by another call.
fn steps(sent: Span, times: &[u64], read: Span) -> Ticks {
    let ready = times[POINTS.len() - 1];
    let found = read.begun.max(ready);
    let mut ticks = Ticks::default();
    let before = std::iter::once(&sent.begun).chain(times);
    let each = times
        .iter()
        .zip(before)
        .map(|(at, before)| at.saturating_sub(*before));
    let end = [
        found - ready,
        read.ended.saturating_sub(found),
        sent.ended.saturating_sub(ready),
    ];
    for (place, time) in ticks.iter_mut().zip(each.chain(end)) {
        *place = time;
    }
    ticks
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREAD: i32 = 7;

    fn calls(sends: &[(u64, u64)], receipts: &[(u64, u64)]) -> Calls {
        let spans = |all: &[(u64, u64)]| {
            let each = all.iter().map(|&(begun, ended)| Span { begun, ended });
            each.collect()
        };
        Calls {
            sends: spans(sends),
            receipts: spans(receipts),
        }
    }

    fn met(thread: i32, from: u64) -> Vec<Event<'static>> {
        let names = POINTS.iter().filter_map(|point| point.rsplit(':').next());
        let each = names.zip(1..).map(|(name, place)| Event {
            thread,
            at: from + 10 * place * place,
            name,
        });
        each.collect()
    }

    #[test]
    fn a_frame_is_told_by_its_steps() {
        let from = calls(&[(1_000, 1_400)], &[]);
        // The reader comes after the frame, or is there already.
        for (begun, wait, read) in [(1_300, 50, 200), (900, 0, 250)] {
            let to = calls(&[], &[(100, 200), (begun, 1_500)]);
            let found = way(THREAD, &from, &to, &met(THREAD, 1_000));
            assert_eq!(found, [[10, 30, 50, 70, 90, wait, read, 150]]);
            // Together they are the way of the frame.
            let [way @ .., _] = found[0];
            assert_eq!(way.iter().sum::<u64>(), 500);
        }
    }

    #[test]
    fn a_frame_that_was_not_seen_at_each_point_is_left_out() {
        let from = calls(&[(1_000, 1_400), (2_000, 2_400), (3_000, 3_400)], &[]);
        let to = calls(&[], &[(1_300, 1_500), (2_300, 2_500), (3_300, 3_500)]);
        let of = |events: &[Event]| way(THREAD, &from, &to, events);
        let each = [1_000, 2_000, 3_000].map(|from| met(THREAD, from));
        let all = each.concat();
        assert_eq!(of(&all).len(), 3);
        assert!(of(&[]).is_empty());
        for missing in 0..all.len() {
            let mut less = all.clone();
            less.remove(missing);
            let found = of(&less);
            assert_eq!(found.len(), 2);
            // Each is matched with its own reader's call.
            assert!(found.iter().all(|frame| *frame == of(&all)[0]));
        }
        // Others have events, too, and one frame more than was asked for is none.
        let mut others = all.clone();
        others.extend(met(8, 1_005));
        others.sort_by_key(|event| event.at);
        assert_eq!(of(&others).len(), 3);
        let mut twice = [met(THREAD, 1_000), met(THREAD, 1_001)].concat();
        twice.sort_by_key(|event| event.at);
        assert!(of(&twice).is_empty());
    }
}
