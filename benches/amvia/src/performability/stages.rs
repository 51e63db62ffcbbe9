//! The cost of each stage of a transaction on this machine (Kaur, table 4.1, figures 4.8 and 4.9), and how it was found.

use std::io::{IoSlice, IoSliceMut};
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::sync::{Arc, Mutex, PoisonError};

use jitterlab_amvia::endpoint::Call;
use jitterlab_amvia::protocol::{Config, Protocol};
use jitterlab_amvia::wire::SEALED_HEAD;
use jitterlab_base::clock::Clock;
use jitterlab_base::named;
use jitterlab_packet::transport::Transport;
use nix::errno::Errno;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, sendmsg, setsockopt, sockopt};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use super::error::PerformabilityError;
use super::pair::{CLIENT, End, Exchange, Over, SERVER, ends, exchanges, served};
use super::path::{Component, Costs, Stages};
use super::timed::{Span, Timed};
use crate::handlers::echo;

/// The origin of the cost of a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// Time stamps around the call.
    Stamps,
    /// The kernel's time stamp of the frame, and time stamps around the calls.
    Kernel,
    /// The rest of the round trip.
    Arithmetic,
    /// It is in what is left for the wire.
    WithWire,
    /// There is no such stage on this path.
    Absent,
}

named!(
    Source,
    serde,
    "a source",
    Stamps => "time stamps around the call",
    Kernel => "SO_TIMESTAMPNS",
    Arithmetic => "what is left of the round trip",
    WithWire => "counted with the wire",
    Absent => "not on this path",
);

/// The cost of a component.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    /// The component.
    pub component: Component,
    /// The cost of a frame that is sent, in nanoseconds.
    pub send_ns: f64,
    /// The cost of a frame that is received, in nanoseconds; 0 for wire and switch, which are counted once.
    pub receive_ns: f64,
    /// The origin of the cost.
    pub source: Source,
}

/// Transactions that are measured.
const TRANSACTIONS: usize = 5_000;
/// Datagrams that are measured.
const DATAGRAMS: usize = 10_000;

/// Measures what a transaction costs without failures, and lists it by stage.
///
/// # Errors
/// A transport cannot be had, or the system gives no time stamps.
pub fn stages(over: &Over, payload: usize) -> Result<(Stages, Vec<Stage>), PerformabilityError> {
    let spans = spans_over(over, payload)?;
    let kernel = match over.transport {
        Transport::Udp => Some(datagrams(SEALED_HEAD + payload)?),
        _ => None,
    };
    let Spans {
        send,
        receive,
        request,
        reply,
        handler,
        round_trip,
    } = spans;
    // Without a kernel the ring, or the queue of the device, is a part of the library.
    let (send_kernel, receive_kernel) = kernel.unwrap_or((0.0, 0.0));
    let carried = |time: f64| if kernel.is_some() { time } else { 0.0 };
    let library = [
        (request - carried(send)).max(0.0),
        (reply - carried(receive)).max(0.0),
    ];
    let ends = library[0] + library[1] + send_kernel + receive_kernel;
    let left = ((round_trip - handler) / 2.0 - ends).max(0.0);
    let found = Stages {
        send: Costs {
            library: library[0],
            kernel: send_kernel,
            nic: 0.0,
        },
        receive: Costs {
            library: library[1],
            kernel: receive_kernel,
            nic: 0.0,
        },
        wire: left,
        switch: 0.0,
        handler,
        think: 0.0,
    };
    let by_kernel = match kernel {
        Some(_) => Source::Kernel,
        None => Source::Absent,
    };
    let nic = match over.transport {
        Transport::Verbs => Source::WithWire,
        _ => Source::Absent,
    };
    let stage = |component, send_ns, receive_ns, source| Stage {
        component,
        send_ns,
        receive_ns,
        source,
    };
    let list = vec![
        stage(Component::Application, 0.0, handler, Source::Stamps),
        stage(Component::Library, library[0], library[1], Source::Stamps),
        stage(Component::Kernel, send_kernel, receive_kernel, by_kernel),
        stage(Component::Nic, 0.0, 0.0, nic),
        stage(Component::Wire, left, 0.0, Source::Arithmetic),
        stage(Component::Switch, 0.0, 0.0, Source::Absent),
    ];
    Ok((found, list))
}

/// Medians of what the kernel takes for a datagram of so many bytes over loopback: from the call that sends it to its time stamp, and
/// from there until it is read, without the time in which it waits for its reader.
fn datagrams(bytes: usize) -> Result<(f64, f64), PerformabilityError> {
    let failed = |action| move |source| PerformabilityError::System { action, source };
    let bind = || UdpSocket::bind(("127.0.0.1", 0)).map_err(failed("bind a socket"));
    let (from, to) = (bind()?, bind()?);
    let address = to.local_addr().map_err(failed("bind a socket"))?;
    from.connect(address).map_err(failed("connect a socket"))?;
    let refused = |action| {
        move |errno: Errno| PerformabilityError::System {
            action,
            source: errno.into(),
        }
    };
    setsockopt(&to, sockopt::ReceiveTimestampns, &true)
        .map_err(refused("ask for time stamps of the kernel"))?;
    let now = || -> Result<f64, PerformabilityError> {
        let time = clock_gettime(ClockId::CLOCK_REALTIME).map_err(refused("read the clock"))?;
        Ok(nanoseconds(time))
    };
    let frame = vec![0_u8; bytes];
    let mut place = vec![0_u8; bytes];
    let mut space = nix::cmsg_space!(TimeSpec);
    let (mut sends, mut receives) = (Vec::new(), Vec::new());
    for _ in 0..DATAGRAMS {
        let begun = now()?;
        let flags = MsgFlags::empty();
        sendmsg::<()>(from.as_raw_fd(), &[IoSlice::new(&frame)], &[], flags, None)
            .map_err(refused("send a datagram"))?;
        let sent = now()?;
        let mut parts = [IoSliceMut::new(&mut place)];
        let got = recvmsg::<()>(to.as_raw_fd(), &mut parts, Some(&mut space), flags)
            .map_err(refused("receive a datagram"))?;
        let read = now()?;
        let messages = got.cmsgs().map_err(refused("read the time stamp"))?;
        for message in messages {
            if let ControlMessageOwned::ScmTimestampns(stamp) = message {
                let stamp = nanoseconds(stamp);
                sends.push(stamp - begun);
                receives.push(sent - stamp + read - sent);
            }
        }
    }
    Ok((median(&sends)?, median(&receives)?))
}

pub(super) fn median(times: &[f64]) -> Result<f64, PerformabilityError> {
    let sorted = jitterlab_stats::sorted(times)?;
    match sorted.is_empty() {
        true => Err(PerformabilityError::NoStamps),
        false => Ok(jitterlab_stats::summary::quantile(&sorted, 0.5)),
    }
}

/// Medians of the parts of a two-way transaction, in nanoseconds; what the stamps themselves cost is taken away.
struct Spans {
    /// The transport sends the request.
    send: f64,
    /// The transport takes the reply.
    receive: f64,
    /// The call that makes the request, with the transport's part.
    request: f64,
    /// The poll that takes the reply, with the transport's part.
    reply: f64,
    /// The handler.
    handler: f64,
    round_trip: f64,
}

fn spans_over(over: &Over, payload: usize) -> Result<Spans, PerformabilityError> {
    let [own, theirs] = ends(over)?;
    let config = Config {
        protocol: Protocol::TwoWay,
        ..Config::default()
    };
    let (own, log) = Timed::new(own);
    let client = End::new(CLIENT, &config, own)?;
    let server = End::new(SERVER, &config, theirs)?;
    let clock = Clock::global();
    let handled = Arc::new(Mutex::new(Vec::with_capacity(2 * TRANSACTIONS)));
    let stamped = Arc::clone(&handled);
    let handler = move |call: &mut Call<'_>| {
        let begun = clock.now();
        echo(call);
        let took = clock.ticks_to_ns(clock.now().wrapping_sub(begun)) as f64;
        let mut stamped = stamped.lock().unwrap_or_else(PoisonError::into_inner);
        stamped.push(took);
    };
    let (parts, calls) = served(over, &client, &server, handler, |peer| {
        // The first ones warm up.
        exchanges(&client, peer, payload, TRANSACTIONS)?;
        log.take();
        let parts = exchanges(&client, peer, payload, TRANSACTIONS)?;
        Ok((parts, log.take()))
    })?;
    let handled = handled.lock().unwrap_or_else(PoisonError::into_inner);
    let of = |spans: &[Span]| median(&spans.iter().map(|span| span.ns()).collect::<Vec<f64>>());
    let part = |part: fn(&Exchange) -> Span| of(&parts.iter().map(part).collect::<Vec<Span>>());
    let tick = reading(clock)?;
    Ok(Spans {
        send: of(&calls.sends)? - tick,
        receive: of(&calls.receipts)? - tick,
        // The transport reads the clock twice inside.
        request: part(Exchange::request)? - 3.0 * tick,
        reply: part(Exchange::last_poll)? - 3.0 * tick,
        handler: (median(&handled)? - tick).max(0.0),
        round_trip: part(Exchange::round_trip)?,
    })
}

/// The cost of a reading of the clock, in nanoseconds.
fn reading(clock: &Clock) -> Result<f64, PerformabilityError> {
    let times = (0..1_000).map(|_| {
        let begun = clock.now();
        for _ in 0..100 {
            clock.now();
        }
        clock.ticks_to_ns(clock.now().wrapping_sub(begun)) as f64 / 101.0
    });
    median(&times.collect::<Vec<f64>>())
}

fn nanoseconds(time: TimeSpec) -> f64 {
    // A double holds the nanoseconds of a day to a thousandth.
    (time.tv_sec() % 86_400) as f64 * 1e9 + time.tv_nsec() as f64
}
