//! Load by messages from rank to rank.
//!
//! Who sends keeps at most a window of messages under way to a rank, which tells it after each half window that this
//! much has arrived: what is under way is half a window to a whole one, as in the packet suite. Who sends ends with a
//! message that says so, and who receives goes on until all have said it: nobody waits for a message that does not come.

use std::collections::VecDeque;

use mpi::Tag;
use mpi::point_to_point::{Destination as _, Source as _};
use mpi::request::{LocalScope, Request};
use mpi::topology::{Communicator as _, SimpleCommunicator};

use super::pace::Pace;
use super::traffic::{HALF_WINDOW, Moved, Traffic};

/// The messages that a rank sends and receives.
pub struct Messages<'a> {
    comm: &'a SimpleCommunicator,
    /// The ranks that it sends to, in turn.
    targets: Vec<usize>,
    /// The number of ranks that send to it.
    sources: usize,
    data: Vec<u8>,
}

const DATA: Tag = 10;
const HALF_ARRIVED: Tag = 11;
const ENDED: Tag = 12;

const WINDOW: usize = 2 * HALF_WINDOW;

impl<'a> Messages<'a> {
    /// Messages of this size.
    pub fn new(
        comm: &'a SimpleCommunicator,
        targets: Vec<usize>,
        sources: usize,
        message: usize,
    ) -> Messages<'a> {
        Messages {
            comm,
            targets,
            sources,
            data: vec![0x6c; message],
        }
    }
}

impl Traffic for Messages<'_> {
    fn moves(&self) -> bool {
        !self.targets.is_empty()
    }

    fn run(&mut self, mut pace: Pace<'_>, over: &mut dyn FnMut() -> bool) -> Moved {
        let mut inbox = Inbox::new(self);
        let mut sends = !self.targets.is_empty();
        let sent = mpi::request::scope(|scope| {
            let mut outbox = Outbox::new(self, scope);
            while sends || !outbox.is_done(&inbox) || inbox.ended < self.sources {
                pace.pass();
                if sends && over() {
                    outbox.end();
                    sends = false;
                }
                let has_received = inbox.take();
                let may_send = sends && outbox.has_room(&inbox) && pace.take();
                if may_send {
                    outbox.send(&mut inbox);
                }
                outbox.forget_sent();
                if has_received || may_send {
                    continue;
                }
                // A send that is posted goes on only while this rank is in MPI, and so does what comes.
                if outbox.posted.is_empty() && self.sources == 0 {
                    pace.rest();
                } else {
                    pace.stay();
                }
            }
            outbox.sent
        });
        Moved {
            caused: sent,
            sent,
            received: inbox.received,
            elapsed_ns: pace.elapsed(),
            longest_gap_ns: pace.longest_gap(),
        }
    }
}

/// The messages that come.
struct Inbox<'a> {
    comm: &'a SimpleCommunicator,
    into: Vec<u8>,
    received: u64,
    /// Messages from each rank since it was last told.
    untold: Vec<usize>,
    /// Messages to each rank that it has not told of.
    under_way: Vec<usize>,
    /// The number of ranks that have sent their last.
    ended: usize,
}

impl<'a> Inbox<'a> {
    fn new(messages: &Messages<'a>) -> Inbox<'a> {
        let ranks = messages.comm.size() as usize;
        Inbox {
            comm: messages.comm,
            into: messages.data.clone(),
            received: 0,
            untold: vec![0; ranks],
            under_way: vec![0; ranks],
            ended: 0,
        }
    }

    /// Takes a message, if one is there.
    fn take(&mut self) -> bool {
        let Some((message, status)) = self.comm.any_process().immediate_matched_probe() else {
            return false;
        };
        message.matched_receive_into(&mut self.into[..]);
        let from = status.source_rank() as usize;
        match status.tag() {
            DATA => {
                self.received += 1;
                self.untold[from] += 1;
                if self.untold[from] == HALF_WINDOW {
                    self.untold[from] = 0;
                    tell(self.comm, from, HALF_ARRIVED);
                }
            }
            HALF_ARRIVED => self.under_way[from] -= HALF_WINDOW,
            _ => self.ended += 1,
        }
        true
    }
}

/// The messages that go.
struct Outbox<'s, 'a> {
    messages: &'a Messages<'a>,
    scope: &'s LocalScope<'a>,
    /// Sends that MPI may not have done with, the oldest first.
    posted: VecDeque<Request<'a, [u8], &'s LocalScope<'a>>>,
    sent: u64,
}

impl<'s, 'a> Outbox<'s, 'a> {
    fn new(messages: &'a Messages<'a>, scope: &'s LocalScope<'a>) -> Outbox<'s, 'a> {
        Outbox {
            messages,
            scope,
            posted: VecDeque::with_capacity(WINDOW),
            sent: 0,
        }
    }

    fn target(&self) -> usize {
        let targets = &self.messages.targets;
        targets[(self.sent % targets.len() as u64) as usize]
    }

    fn has_room(&self, inbox: &Inbox<'_>) -> bool {
        self.posted.len() < WINDOW && inbox.under_way[self.target()] < WINDOW
    }

    fn send(&mut self, inbox: &mut Inbox<'_>) {
        let target = self.target();
        let peer = self.messages.comm.process_at_rank(target as i32);
        let data = &self.messages.data[..];
        self.posted
            .push_back(peer.immediate_send_with_tag(self.scope, data, DATA));
        inbox.under_way[target] += 1;
        self.sent += 1;
    }

    /// Drops the oldest sends that are done. They are never waited for: who waits does not receive, and whom it
    /// waits for may be waiting likewise.
    fn forget_sent(&mut self) {
        while let Some(oldest) = self.posted.pop_front() {
            if let Err(oldest) = oldest.test() {
                self.posted.push_front(oldest);
                return;
            }
        }
    }

    /// Messages do not overtake each other: this is the last one, and all before it have been taken.
    fn end(&self) {
        for &target in &self.messages.targets {
            tell(self.messages.comm, target, ENDED);
        }
    }

    /// True if all was sent, and every half window has been told of.
    fn is_done(&self, inbox: &Inbox<'_>) -> bool {
        self.posted.is_empty() && inbox.under_way.iter().all(|&count| count < HALF_WINDOW)
    }
}

/// An empty message. It waits for nobody: there is nothing in it to wait with.
fn tell(comm: &SimpleCommunicator, to: usize, what: Tag) {
    comm.process_at_rank(to as i32)
        .send_with_tag(&[0_u8; 0][..], what);
}
