//! The knowledge of an end about its stream, where the ends tell each other: over sockets, and datagrams of verbs.
//!
//! Beside messages there are notes of 16 bytes. The two upper bits of the first word of either say what
//! it is; the other 62 are the number of a message. That of a note: the greatest one that has come, or that it was
//! asked for; what has not come up to it is missing. The second word of a note is how many have come.

use super::end::Progress;

/// The length of a note.
pub(super) const NOTE: usize = 16;

const IS_NOTE: u64 = 1 << 63;
const IS_ASKED: u64 = 1 << 62;
const NUMBER: u64 = IS_ASKED - 1;

/// A word that begins a message or a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Head {
    /// A message.
    Message(u64),
    /// The progress of the other end.
    Note,
}

/// The knowledge of one end.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    half: u64,
    sent: u64,
    progress: Progress,
    greatest: u64,
    /// Half windows that have come as far as was told.
    told: u64,
    /// The number that the other end had sent when it asked.
    asked: Option<u64>,
}

/// After how many messages of a size the other end is told: half a window, and of long ones after a mebibyte.
pub(super) fn step(window: u32, size: u64) -> u64 {
    let half = u64::from(window / 2);
    half.min((1 << 20) / size.max(1)).max(1)
}

impl Ledger {
    pub fn new(window: u32, size: u64) -> Self {
        Ledger {
            half: step(window, size),
            ..Ledger::default()
        }
    }

    /// The first word of the next message.
    #[inline]
    pub fn next(&self) -> u64 {
        self.sent + 1
    }

    /// The number of the message that is to come next.
    #[inline]
    pub fn expected(&self) -> u64 {
        self.greatest.saturating_add(1)
    }

    /// The next message was sent.
    #[inline]
    pub fn sent(&mut self) {
        self.sent += 1;
    }

    /// The kind of message that a word begins.
    #[inline]
    pub fn head(word: u64) -> Head {
        match word & (IS_NOTE | IS_ASKED) {
            0 => Head::Message(word),
            _ => Head::Note,
        }
    }

    /// A message came.
    #[inline]
    pub fn arrived(&mut self, number: u64) {
        self.progress.arrived += 1;
        self.greatest = self.greatest.max(number);
    }

    /// A note came.
    pub fn heard(&mut self, note: &[u8; NOTE]) {
        let word = |at: usize| {
            note[at..]
                .first_chunk()
                .map_or(0, |&w| u64::from_le_bytes(w))
        };
        let (head, came) = (word(0), word(8));
        let number = head & NUMBER;
        if head & IS_NOTE == 0 {
            self.asked = Some(number);
            return;
        }
        // The messages that it says it has got must have been sent.
        let finished = number.min(self.sent);
        if finished >= self.progress.finished {
            self.progress.finished = finished;
            self.progress.missing = finished.saturating_sub(came);
        }
    }

    /// A question for the other end.
    pub fn ask(&self) -> [u8; NOTE] {
        note(IS_ASKED | self.sent, 0)
    }

    /// The note for the other end that is due now.
    #[inline]
    pub fn due(&self) -> Option<[u8; NOTE]> {
        let is_half = self.greatest >= (self.told + 1) * self.half;
        let number = match self.asked {
            Some(asked) => asked.max(self.greatest),
            None if is_half => self.greatest,
            None => return None,
        };
        Some(note(IS_NOTE | number, self.progress.arrived))
    }

    /// It was.
    pub fn told(&mut self) {
        self.told = self.greatest / self.half;
        self.asked = None;
    }

    /// The progress so far.
    #[inline]
    pub fn progress(&self) -> Progress {
        self.progress
    }
}

fn note(head: u64, came: u64) -> [u8; NOTE] {
    let mut note = [0; NOTE];
    note[..8].copy_from_slice(&head.to_le_bytes());
    note[8..].copy_from_slice(&came.to_le_bytes());
    note
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Two ends, and a network between them that loses what `fate` says, of messages and notes alike.
    /// Whatever is lost, a question that is answered leaves nothing under way, and what is missing is what
    /// was lost.
    fn transfer(window: u32, messages: u64, mut is_lost: impl FnMut() -> bool) -> Progress {
        let (mut from, mut to) = (Ledger::new(window, 64), Ledger::new(window, 64));
        let mut lost = 0;
        while from.sent < messages {
            while from.sent < messages && from.sent - from.progress.finished < window.into() {
                let number = from.next();
                from.sent();
                if is_lost() {
                    lost += 1;
                    continue;
                }
                assert_eq!(Ledger::head(number), Head::Message(number));
                to.arrived(number);
                if let Some(note) = to.due() {
                    to.told();
                    if !is_lost() {
                        from.heard(&note);
                    }
                }
            }
            // Stuck, or done: until an answer comes.
            while from.progress.finished < from.sent {
                let question = from.ask();
                if is_lost() {
                    continue;
                }
                to.heard(&question);
                let note = to.due().expect("who is asked answers");
                to.told();
                if !is_lost() {
                    from.heard(&note);
                }
            }
            assert_eq!(from.progress.missing, lost);
        }
        from.progress
    }

    proptest! {
        #[test]
        fn whatever_is_lost_the_stream_goes_on(
            window in 1u32..50,
            messages in 1u64..500,
            losses in proptest::collection::vec(any::<bool>(), 1..100),
        ) {
            // A question and its answer get through in the end.
            let mut fate = losses.iter().copied().chain([false; 2]).cycle();
            let progress = transfer(window, messages, || fate.next().unwrap_or(false));
            prop_assert_eq!(progress.finished, messages);
        }

        #[test]
        fn what_strangers_say_is_survived(notes: Vec<[u8; NOTE]>, sent in 0u64..1_000) {
            let mut ledger = Ledger::new(8, 64);
            (0..sent).for_each(|_| ledger.sent());
            for note in notes {
                ledger.heard(&note);
                prop_assert!(ledger.progress().finished <= sent);
                prop_assert!(ledger.progress().missing <= sent);
            }
        }
    }

    #[test]
    fn who_gets_half_a_window_says_so_once() {
        let mut ledger = Ledger::new(8, 64);
        for number in 1..=3 {
            ledger.arrived(number);
            assert_eq!(ledger.due(), None);
        }
        // The fourth is lost.
        ledger.arrived(5);
        assert!(ledger.due().is_some());
        ledger.told();
        assert_eq!(ledger.due(), None);
        ledger.arrived(8);
        assert!(ledger.due().is_some());
    }
}
