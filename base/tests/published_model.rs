//! The publication of a block of words, under a model checker that tries every interleaving
//! and every weak-memory outcome: no reader sees half a block, and none waits for a writer.

mod atomic {
    pub(super) use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
}
#[path = "../src/page/published.rs"]
#[allow(dead_code)]
mod published;

use loom::sync::Arc;
use published::{Mark, Published};

/// Nothing published yet, as in fresh shared memory.
fn fresh() -> Published<2> {
    Published::default()
}

/// Two words that only make sense together.
fn block(value: u32) -> [u32; 2] {
    [value, value + 100]
}

#[test]
fn a_block_is_read_whole() {
    loom::model(|| {
        let shared = Arc::new(fresh());
        shared.publish(&block(1), Mark::NONE);
        let writer = {
            let shared = Arc::clone(&shared);
            loom::thread::spawn(move || {
                shared.publish(&block(2), Mark::NONE);
                shared.publish(&block(3), Mark::NONE);
            })
        };
        // A reader that is interrupted by both publications has to look again; it may do so only
        // as often as there are publications.
        let generation = shared.generation();
        let words = [shared.word(generation, 0), shared.word(generation, 1)];
        if let [Some(first), Some(second)] = words {
            assert_eq!(
                second,
                first + 100,
                "half a block in generation {generation}"
            );
            assert_eq!(u64::from(first), generation);
        } else {
            assert_ne!(shared.generation(), generation, "refused although current");
        }
        writer.join().unwrap();
        let mut last = [0; 2];
        assert_eq!(shared.read(&mut last), 3);
        assert_eq!(last, block(3));
    });
}

/// A writer that dies in the middle of filling a copy has disturbed nothing.
#[test]
fn a_word_of_an_old_generation_is_refused() {
    loom::model(|| {
        let shared = fresh();
        shared.publish(&block(1), Mark::NONE);
        let generation = shared.generation();
        shared.publish(&block(2), Mark::NONE);
        assert_eq!(shared.word(generation, 0), None);
        assert_eq!(shared.word(generation + 1, 0), Some(2));
    });
}

/// A mark is seen no later than the block that it was published with, and is gone with it.
#[test]
fn a_mark_is_its_blocks_own() {
    loom::model(|| {
        let shared = Arc::new(fresh());
        assert_eq!(shared.mark().seen().mark(), Mark::NONE);
        shared.publish(&block(1), Mark::BOTH);
        let writer = {
            let shared = Arc::clone(&shared);
            loom::thread::spawn(move || shared.publish(&block(2), Mark::NONE))
        };
        let mut words = [0; 2];
        shared.read(&mut words);
        if words == block(2) {
            assert_eq!(
                shared.mark().seen().mark(),
                Mark::NONE,
                "it outlived its block"
            );
        }
        writer.join().unwrap();
        assert_eq!(shared.mark().seen().mark(), Mark::NONE);
        shared.publish(&block(3), Mark::FIRST);
        assert_eq!(shared.mark().seen().mark(), Mark::FIRST);
        shared.read(&mut words);
        assert_eq!(words, block(3));
    });
}
