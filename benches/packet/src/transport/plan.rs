//! The request of a client to a server, and its words.
//!
//! Numbers are little-endian. Nothing that is read decides how much is read on or reserved before
//! [`Link::check_plan`](super::Link::check_plan) has looked at it.

use super::kind::Wait;

/// The plan of the two ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// The role of the server.
    pub role: Role,
    /// The way that both ends wait for them.
    pub wait: Wait,
    /// Bytes of a message to the server.
    pub size: u64,
    /// Bytes of a message from it.
    pub answer: u64,
    /// The buffers that messages lie in, at both ends.
    pub buffers: Buffers,
}

/// The role of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Answers those whose number leaves `rest` when divided by `every`.
    Answer {
        /// The divisor, from 1.
        every: u32,
        /// The remainder.
        rest: u32,
    },
    /// Sends a message of its own with each one, before that has come: both ends do the same at once.
    Exchange,
    /// Takes a stream of messages, and says how far it is after each half window.
    Sink {
        /// Messages that may be under way.
        window: u32,
    },
    /// The same, and streams to the client likewise.
    Both {
        /// Messages that may be under way in each direction.
        window: u32,
    },
}

/// The buffer that a message lies in: the paper's two patterns of buffer reuse
/// (interconnect-microbenchmarks, "Impact of buffer reuse").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Buffers {
    /// So many, one after the other.
    Fifo(u32),
    /// So many messages. This percentage of them takes one and the same buffer, all others one each of their own.
    Reuse {
        /// 0 to 100.
        percent: u8,
        /// Messages until it begins again.
        of: u32,
    },
}

/// These words come first. They change with what follows them.
pub(super) const HELLO: &[u8; 8] = b"jlplan 1";
/// The length of a plan in words.
pub(super) const WORDS: usize = 40;
/// The most buffers, and the most messages to one answer.
const MOST: u32 = 1 << 20;
/// The largest window.
pub const MOST_WINDOW: u32 = 4096;
/// The byte in the place of a percentage.
const IS_FIFO: u8 = 255;

impl Plan {
    /// Ping-pong: every message is answered by one of the same size, and one buffer is enough.
    pub fn ping_pong(size: u64, wait: Wait) -> Self {
        Plan {
            role: Role::Answer { every: 1, rest: 0 },
            wait,
            size,
            answer: size,
            buffers: Buffers::Fifo(1),
        }
    }

    /// The plan in the words that it is said with.
    pub(super) fn words(&self) -> [u8; WORDS] {
        let (kind, first, second) = match self.role {
            Role::Answer { every, rest } => (0, every, rest),
            Role::Exchange => (1, 0, 0),
            Role::Sink { window } => (2, window, 0),
            Role::Both { window } => (3, window, 0),
        };
        let (percent, buffers) = match self.buffers {
            Buffers::Fifo(count) => (IS_FIFO, count),
            Buffers::Reuse { percent, of } => (percent, of),
        };
        let mut words = [0; WORDS];
        words[..8].copy_from_slice(HELLO);
        words[8..12].copy_from_slice(&[kind, self.wait as u8, percent, 0]);
        for (place, number) in words[12..24].chunks_mut(4).zip([first, second, buffers]) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        words[24..32].copy_from_slice(&self.size.to_le_bytes());
        words[32..].copy_from_slice(&self.answer.to_le_bytes());
        words
    }

    /// The plan that was heard; `None` if it is none.
    pub(super) fn heard(words: &[u8]) -> Option<Self> {
        let words: &[u8; WORDS] = words.try_into().ok()?;
        let short = |at: usize| Some(u32::from_le_bytes(*words[at..].first_chunk()?));
        let long = |at: usize| Some(u64::from_le_bytes(*words[at..].first_chunk()?));
        words.starts_with(HELLO).then_some(())?;
        let (first, second) = (short(12)?, short(16)?);
        let window = first;
        let role = match words[8] {
            0 => Role::Answer {
                every: first,
                rest: second,
            },
            1 => Role::Exchange,
            2 => Role::Sink { window },
            3 => Role::Both { window },
            _ => return None,
        };
        let wait = match words[9] {
            0 => Wait::Block,
            1 => Wait::Poll,
            _ => return None,
        };
        let buffers = match (words[10], short(20)?) {
            (IS_FIFO, count) => Buffers::Fifo(count),
            (percent @ 0..=100, of) => Buffers::Reuse { percent, of },
            _ => return None,
        };
        let most = match role {
            Role::Answer { .. } => MOST,
            Role::Exchange | Role::Sink { .. } | Role::Both { .. } => MOST_WINDOW,
        };
        (first <= most && (role == Role::Exchange || first > 0)).then_some(())?;
        (1..=MOST).contains(&short(20)?).then_some(())?;
        let plan = Plan {
            role,
            wait,
            size: long(24)?,
            answer: long(32)?,
            buffers,
        };
        // Nothing is said where there is nothing to say.
        (plan.words() == *words).then_some(plan)
    }

    /// Messages that may be under way, if it is a stream.
    pub fn window(&self) -> Option<u32> {
        match self.role {
            Role::Sink { window } | Role::Both { window } => Some(window),
            Role::Answer { .. } | Role::Exchange => None,
        }
    }

    /// Messages that may be under way from the server, if it streams, too.
    pub(super) fn window_back(&self) -> Option<u32> {
        match self.role {
            Role::Both { window } => Some(window),
            _ => None,
        }
    }
}

impl Buffers {
    /// The number of buffers.
    pub fn count(self) -> usize {
        match self {
            Buffers::Fifo(count) => count as usize,
            Buffers::Reuse { percent, of } => {
                1 + (of as usize - reused(percent, of.into()) as usize)
            }
        }
    }

    /// The buffer of a message, counted from 0; messages are numbered from 1.
    #[inline]
    pub fn of(self, number: u64) -> usize {
        match self {
            Buffers::Fifo(1) => 0,
            Buffers::Fifo(count) => (number % u64::from(count)) as usize,
            Buffers::Reuse { percent, of } => {
                let place = number % u64::from(of);
                let before = reused(percent, place);
                match reused(percent, place + 1) > before {
                    true => 0,
                    false => 1 + (place - before) as usize,
                }
            }
        }
    }
}

/// The number of the first `messages` that take the one buffer: as evenly as it goes.
#[inline]
fn reused(percent: u8, messages: u64) -> u64 {
    messages * u64::from(percent) / 100
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn roles() -> impl Strategy<Value = Role> {
        prop_oneof![
            (1..=MOST, any::<u32>()).prop_map(|(every, rest)| Role::Answer { every, rest }),
            Just(Role::Exchange),
            (1..=MOST_WINDOW).prop_map(|window| Role::Sink { window }),
            (1..=MOST_WINDOW).prop_map(|window| Role::Both { window }),
        ]
    }

    fn patterns() -> impl Strategy<Value = Buffers> {
        prop_oneof![
            (1..=MOST).prop_map(Buffers::Fifo),
            (0u8..=100, 1..=MOST).prop_map(|(percent, of)| Buffers::Reuse { percent, of }),
        ]
    }

    proptest! {
        #[test]
        fn what_was_said_is_heard(role in roles(), poll: bool, size: u64, answer: u64, buffers in patterns()) {
            let wait = if poll { Wait::Poll } else { Wait::Block };
            let plan = Plan { role, wait, size, answer, buffers };
            prop_assert_eq!(Plan::heard(&plan.words()), Some(plan));
            prop_assert_eq!(Plan::heard(&plan.words()[1..]), None);
        }

        #[test]
        fn strangers_are_refused(words: [u8; WORDS], tail: [u8; WORDS - 8]) {
            prop_assert!(words.starts_with(HELLO) || Plan::heard(&words).is_none());
            let mut words = words;
            words[..8].copy_from_slice(HELLO);
            words[8..].copy_from_slice(&tail);
            if let Some(plan) = Plan::heard(&words) {
                prop_assert_eq!(plan.words(), words);
            }
        }

        #[test]
        fn buffers_are_those_that_there_are(buffers in patterns(), number: u64) {
            prop_assert!(buffers.of(number % (1 << 50)) < buffers.count());
        }

        /// Counted over a whole pattern: so many messages in the one buffer, every other buffer once.
        #[test]
        fn a_percentage_is_kept(percent in 0u8..=100, of in 1u32..2_000) {
            let buffers = Buffers::Reuse { percent, of };
            let mut uses = vec![0u64; buffers.count()];
            (0..u64::from(of)).for_each(|number| uses[buffers.of(number)] += 1);
            prop_assert_eq!(uses[0], u64::from(of) * u64::from(percent) / 100);
            prop_assert!(uses[1..].iter().all(|&count| count == 1));
        }
    }
}
