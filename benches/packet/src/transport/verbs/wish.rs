//! The wish of a client of the packet suite to a server, in the words that go before its place.

use jitterlab_verbs::Service;

use crate::transport::path::{Inline, Operation, Verbs};
use crate::transport::plan::{Plan, WORDS};

/// The bytes that it takes.
pub const LENGTH: usize = WORDS + 3;

/// The plan of the ends and the options, as bytes.
pub fn words(plan: &Plan, how: &Verbs) -> [u8; LENGTH] {
    let mut words = [0; LENGTH];
    words[..WORDS].copy_from_slice(&plan.words());
    words[WORDS] = place_in(&Operation::ALL, how.operation);
    words[WORDS + 1] = place_in(&Service::ALL, how.service);
    words[WORDS + 2] = place_in(&Inline::ALL, how.inline);
    words
}

/// The same, heard; `None` if it is something else.
pub fn heard(words: &[u8; LENGTH]) -> Option<(Plan, Verbs)> {
    let (plan, how) = words.split_first_chunk::<WORDS>()?;
    let how = Verbs {
        operation: at(&Operation::ALL, how[0])?,
        service: at(&Service::ALL, how[1])?,
        inline: at(&Inline::ALL, how[2])?,
    };
    Some((Plan::heard(plan)?, how))
}

fn place_in<T: PartialEq>(all: &[T], value: T) -> u8 {
    all.iter().position(|v| *v == value).unwrap_or(0) as u8
}

fn at<T: Copy>(all: &[T], place: u8) -> Option<T> {
    all.get(usize::from(place)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::Wait;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_was_said_is_heard(
            size: u64,
            operation in proptest::sample::select(&Operation::ALL),
            service in proptest::sample::select(&Service::ALL),
            inline in proptest::sample::select(&Inline::ALL),
        ) {
            let how = Verbs { operation, service, inline };
            let plan = Plan::ping_pong(size, Wait::Poll);
            prop_assert_eq!(heard(&words(&plan, &how)), Some((plan, how)));
        }

        #[test]
        fn other_ways_are_refused(at in WORDS..LENGTH, value in 3u8..) {
            let mut words = words(&Plan::ping_pong(64, Wait::Poll), &Verbs::default());
            words[at] = value;
            prop_assert_eq!(heard(&words), None);
        }
    }
}
