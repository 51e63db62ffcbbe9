//! The part that both roles of a connection share: the peer, the timeout, and the intents.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use super::segments::{Round, segments};
use super::{Action, Config, Counters, Entry, Local, Nanos, Payload, Slot};
use crate::transaction::{EndpointId, Incarnation, TransactionId};
use crate::wire::{Body, Have, Head, Hello, Number, Part, Refusal, Tag};

/// Never.
pub(super) const NEVER: Nanos = Nanos::MAX;

/// Something to be done: an action that is no frame, a frame without payload, or the segments of a message that are still to
/// be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Intent {
    Log(Slot, Entry),
    Run(Slot, TransactionId, u16),
    Deliver(Slot),
    Connected(Incarnation),
    Unreachable(Option<Refusal>),
    Forget,
    Say(Tag, Body),
    /// A message in one frame: a round of one segment takes no search.
    Whole(Message),
    Send(Message, Round),
}

/// A request or a reply that goes out in segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Message {
    pub(super) role: Role,
    pub(super) slot: Slot,
    pub(super) number: Number,
    pub(super) first_incomplete: u64,
    pub(super) attempt: u16,
    pub(super) handler: u16,
    pub(super) length: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Role {
    Request,
    Reply,
}

/// Counters are no part of what a connection is: two that differ in them alone are equal.
#[derive(Debug, Clone, Default)]
pub(super) struct Counted(pub(super) Counters);

impl PartialEq for Counted {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Counted {}

impl Hash for Counted {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Link {
    pub(super) config: Config,
    pub(super) local: Local,
    pub(super) peer: EndpointId,
    /// The peer's hello, once it has shown that it gets what is sent to it.
    pub(super) hello: Option<Hello>,
    /// True if the peer has shown that it knows what this end says of itself.
    pub(super) confirmed: bool,
    /// The driver takes the peer for connected.
    pub(super) is_connected: bool,
    pub(super) timeout: super::Timeout,
    pub(super) counted: Counted,
    /// When Connect is due again, while the peer is not connected.
    pub(super) dial_due: Nanos,
    dial_tries: u16,
    dial_sent: Nanos,
    /// The time before which nothing is due.
    pub(super) wake: Nanos,
    /// The intents, and how many of them are taken.
    intents: Vec<Intent>,
    taken: usize,
}

impl Link {
    pub(super) fn new(config: Config, local: Local, peer: EndpointId) -> Self {
        Self {
            timeout: super::Timeout::new(&config),
            config,
            local,
            peer,
            hello: None,
            confirmed: false,
            is_connected: false,
            counted: Counted::default(),
            dial_due: NEVER,
            dial_tries: 0,
            dial_sent: 0,
            wake: NEVER,
            intents: Vec::with_capacity(16),
            taken: 0,
        }
    }

    /// Something will be due after `wait`: the time of it.
    pub(super) fn alarm(&mut self, now: Nanos, wait: Nanos) -> Nanos {
        let due = now.saturating_add(wait);
        self.wake = self.wake.min(due);
        due
    }

    pub(super) fn counters(&mut self) -> &mut Counters {
        &mut self.counted.0
    }

    /// Bytes of a message in one frame to the peer, which is known.
    pub(super) fn chunk(&self) -> u32 {
        let theirs = self.hello.map_or(self.config.mtu, |hello| hello.mtu);
        Config::chunk(self.config.mtu.min(theirs))
    }

    /// Bytes of a message at most.
    pub(super) fn longest(&self) -> u32 {
        self.hello.map_or(self.config.message, |hello| {
            hello.message.min(self.config.message)
        })
    }

    /// True if a message in one frame can go straight: nothing is to be done before it, and no record of it is kept.
    #[inline(always)]
    pub(super) fn is_straight(&self) -> bool {
        !self.has_intents() && !self.local.keeps_log
    }

    /// Bytes of a message that goes out straight at most.
    #[inline]
    pub(super) fn longest_straight(&self) -> u32 {
        self.chunk().min(self.longest())
    }

    /// Bytes of a message that comes straight at most.
    #[inline]
    pub(super) fn longest_straight_here(&self) -> u32 {
        self.chunk().min(self.config.message)
    }

    pub(super) fn segments(&self, length: u32) -> u32 {
        segments(length, self.chunk())
    }

    /// The hello of this end.
    pub(super) fn hello(&self, first_incomplete: u64, attempt: u16) -> Hello {
        Hello {
            to: self.peer,
            tag: self.local.tag,
            incarnation: self.local.incarnation,
            since: self.local.since,
            first_incomplete,
            mtu: self.config.mtu,
            message: self.config.message,
            window: self.config.window,
            protocol: self.config.protocol,
            attempt,
        }
    }

    /// Begins to connect, unless that is under way.
    pub(super) fn dial(&mut self, now: Nanos, first_incomplete: u64) {
        if self.dial_due == NEVER {
            self.dial_tries = 0;
            self.send_connect(now, first_incomplete);
        }
    }

    fn send_connect(&mut self, now: Nanos, first_incomplete: u64) {
        self.dial_sent = now;
        self.dial_due = self.alarm(now, self.timeout.after(self.dial_tries));
        self.say(Body::Connect(self.hello(first_incomplete, self.dial_tries)));
    }

    /// Connect again, or give up: then true.
    pub(super) fn expire_dial(&mut self, now: Nanos, first_incomplete: u64) -> bool {
        if self.dial_due > now {
            return false;
        }
        if self.dial_tries == self.config.request_retransmissions {
            self.dial_due = NEVER;
            return true;
        }
        self.dial_tries += 1;
        self.send_connect(now, first_incomplete);
        false
    }

    /// Says once more who this end is: the peer may have restarted.
    pub(super) fn renew(&mut self, first_incomplete: u64) {
        self.counters().renewals += 1;
        self.say(Body::Connect(self.hello(first_incomplete, 0)));
    }

    /// True if a retransmission is to be accompanied by [`Link::renew`].
    pub(super) fn needs_renewal(&self, tries: u16) -> bool {
        tries >= 2 || !self.confirmed
    }

    /// The peer has been refused, refuses, or does not answer: connecting ends.
    pub(super) fn hang_up(&mut self, refusal: Option<Refusal>) {
        self.dial_due = NEVER;
        self.is_connected = false;
        self.intend(Intent::Unreachable(refusal));
    }

    /// The peer is what it says. Gives its incarnation if that is new here.
    pub(super) fn adopt(&mut self, now: Nanos, hello: Hello, accepts: bool) -> Option<Incarnation> {
        if accepts && self.dial_due != NEVER && hello.attempt == self.dial_tries {
            self.timeout.sample(now.saturating_sub(self.dial_sent));
        }
        self.dial_due = NEVER;
        let known = self.hello.replace(hello);
        let is_new = known.is_none_or(|known| known.incarnation != hello.incarnation);
        if is_new {
            (self.confirmed, self.is_connected) = (false, false);
            // Segments that are still to go were cut for the old peer.
            self.intents.drain(..self.taken);
            self.taken = 0;
            self.intents
                .retain(|intent| !matches!(intent, Intent::Whole(_) | Intent::Send(..)));
        }
        is_new.then_some(hello.incarnation)
    }

    /// Why this end will not be connected to who says this.
    pub(super) fn refusal(&self, hello: &Hello) -> Option<Refusal> {
        if hello.protocol != self.config.protocol {
            return Some(Refusal::Protocol);
        }
        if hello.window != self.config.window {
            return Some(Refusal::Window);
        }
        let known = self.hello?;
        match hello.incarnation.cmp(&known.incarnation) {
            Ordering::Less => Some(Refusal::OldIncarnation),
            // A life draws its tags once: this is another one of the same name.
            Ordering::Equal if hello.tag != known.tag => Some(Refusal::NameInUse),
            Ordering::Equal | Ordering::Greater => None,
        }
    }

    /// Puts something behind what is to be done.
    fn intend(&mut self, intent: Intent) {
        self.intents.push(intent);
    }

    /// Has a record logged, where records are kept.
    #[inline]
    pub(super) fn log(&mut self, slot: Slot, entry: impl FnOnce() -> Entry) {
        if self.local.keeps_log {
            self.intend(Intent::Log(slot, entry()));
        }
    }

    /// Has a record logged before all that is still to be done.
    pub(super) fn log_again(&mut self, slot: Slot, entry: Entry) {
        self.intents.insert(self.taken, Intent::Log(slot, entry));
    }

    pub(super) fn run(&mut self, slot: Slot, id: TransactionId, handler: u16) {
        self.intend(Intent::Run(slot, id, handler));
    }

    pub(super) fn deliver(&mut self, slot: Slot) {
        self.intend(Intent::Deliver(slot));
    }

    /// The driver is told that the peer is connected, unless it takes it for that.
    pub(super) fn be_connected(&mut self, incarnation: Incarnation) {
        if !std::mem::replace(&mut self.is_connected, true) {
            self.intend(Intent::Connected(incarnation));
        }
    }

    pub(super) fn forget(&mut self) {
        self.intend(Intent::Forget);
    }

    /// A frame without payload.
    pub(super) fn say(&mut self, body: Body) {
        self.say_to(self.tag(), body);
    }

    /// The head of a frame without payload.
    #[inline]
    pub(super) fn head(&self, body: Body) -> Head {
        Head {
            tag: self.tag(),
            from: self.local.endpoint,
            body,
        }
    }

    /// A frame without payload to one whose tag is not the known one.
    pub(super) fn say_to(&mut self, tag: Tag, body: Body) {
        self.intend(Intent::Say(tag, body));
    }

    /// Puts a message behind what is to be done, or, of one in segments, those that are missing among the first `burst` from
    /// the first missing one.
    #[inline]
    pub(super) fn send(&mut self, message: Message, have: Have, burst: u8) {
        let segments = self.segments(message.length);
        self.intend(match segments {
            1 => Intent::Whole(message),
            _ => Intent::Send(message, Round::missing(have, segments, burst)),
        });
    }

    /// True while an intent waits to be carried out.
    #[inline]
    pub(super) fn has_intents(&self) -> bool {
        !self.intents.is_empty()
    }

    /// The next action, if it is to send a message in one frame.
    #[inline(always)]
    fn next_whole(&mut self) -> Option<(Head, Payload)> {
        let Some(Intent::Whole(message)) = self.intents.get(self.taken) else {
            return None;
        };
        let message = *message;
        self.taken += 1;
        self.clear_taken();
        Some(self.whole(&message))
    }

    /// The frame of a message in one piece: its head, and the bytes behind it.
    #[inline(always)]
    pub(super) fn whole(&self, message: &Message) -> (Head, Payload) {
        self.part(message, 0, message.length, true)
    }

    /// The next intent is the first again once all are taken.
    #[inline(always)]
    fn clear_taken(&mut self) {
        if self.taken == self.intents.len() {
            self.intents.clear();
            self.taken = 0;
        }
    }

    /// The next action.
    #[inline(always)]
    pub(super) fn next(&mut self) -> Option<Action> {
        if let Some((head, payload)) = self.next_whole() {
            return Some(Action::Send { head, payload });
        }
        let intent = self.intents.get_mut(self.taken)?;
        if let Intent::Send(message, round) = intent {
            let (segment, push) = round.next();
            self.taken += usize::from(round.is_over());
            let message = *message;
            self.clear_taken();
            let offset = segment * self.chunk();
            let size = self.chunk().min(message.length - offset);
            let (head, payload) = self.part(&message, offset, size, push);
            return Some(Action::Send { head, payload });
        }
        let action = match *intent {
            Intent::Log(slot, entry) => Action::Log { slot, entry },
            Intent::Run(slot, id, handler) => Action::Run { slot, id, handler },
            Intent::Deliver(slot) => Action::Deliver { slot },
            Intent::Connected(incarnation) => Action::Connected { incarnation },
            Intent::Unreachable(refusal) => Action::Unreachable { refusal },
            Intent::Forget => Action::Forget,
            Intent::Say(tag, body) => Action::Send {
                head: Head {
                    tag,
                    from: self.local.endpoint,
                    body,
                },
                payload: Payload::None,
            },
            Intent::Whole(_) | Intent::Send(..) => return None,
        };
        self.taken += 1;
        self.clear_taken();
        Some(action)
    }

    /// The tag of the peer.
    fn tag(&self) -> Tag {
        self.hello.map_or(Tag::UNKNOWN, |hello| hello.tag)
    }

    #[inline(always)]
    fn part(&self, message: &Message, offset: u32, size: u32, push: bool) -> (Head, Payload) {
        let part = Part {
            number: message.number,
            first_incomplete: message.first_incomplete,
            attempt: message.attempt,
            handler: message.handler,
            offset,
            size,
            length: message.length,
            push,
        };
        let (body, payload) = match message.role {
            Role::Request => (
                Body::Request(part),
                Payload::Request {
                    slot: message.slot,
                    offset,
                    size,
                },
            ),
            Role::Reply => (
                Body::Reply(part),
                Payload::Reply {
                    slot: message.slot,
                    offset,
                    size,
                },
            ),
        };
        let head = Head {
            tag: self.tag(),
            from: self.local.endpoint,
            body,
        };
        (head, payload)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn link() -> Link {
        let local = Local {
            endpoint: EndpointId(1),
            incarnation: Incarnation(1),
            since: Incarnation(1),
            tag: Tag(1),
            keeps_log: false,
        };
        Link::new(Config::default(), local, EndpointId(2))
    }

    fn taken(mut link: Link) -> (Vec<Action>, Link) {
        let actions = std::iter::from_fn(|| link.next()).collect();
        (actions, link)
    }

    proptest! {
        /// Sent whole and sent as a round of one segment: the same frame, and the same state after it.
        #[test]
        fn a_message_in_one_frame_goes_out_as_its_round_would(
            length in 0..=Config::chunk(1472),
            (first, beyond, burst) in (any::<u32>(), any::<u64>(), 1..=64_u8),
            (is_request, before) in any::<(bool, bool)>(),
        ) {
            let message = Message {
                role: if is_request { Role::Request } else { Role::Reply },
                slot: Slot(3),
                number: Number { sequence: 19, incarnation: Incarnation(1) },
                first_incomplete: 17,
                attempt: 1,
                handler: 7,
                length,
            };
            let have = Have { first, beyond };
            let (mut straight, mut general) = (link(), link());
            if before {
                // Something is to be done before it.
                straight.deliver(Slot(0));
                general.deliver(Slot(0));
            }
            straight.send(message, have, burst);
            general.intend(Intent::Send(message, Round::missing(have, 1, burst)));
            prop_assert_eq!(taken(straight), taken(general));
        }
    }
}
