//! The order in which deferred sends become due.

#[allow(dead_code)]
#[path = "../src/defer/queue.rs"]
mod queue;

use proptest::prelude::*;
use queue::{CAPACITY, Item, Queue};

/// On the heap from the start: it is too large for a test's stack.
fn empty() -> Box<Queue<usize>> {
    static EMPTY: Queue<usize> = Queue::new();
    let mut queue = Box::<Queue<usize>>::new_uninit();
    // SAFETY: a copy of an empty queue is an empty queue; it has no destructor.
    unsafe {
        std::ptr::copy_nonoverlapping(&raw const EMPTY, queue.as_mut_ptr(), 1);
        queue.assume_init()
    }
}

proptest! {
    /// Pushes and pops in any mixture give what a sorted list would.
    #[test]
    fn what_is_due_first_comes_first(
        steps in prop::collection::vec(prop::option::weighted(0.6, 0u64..50), 1..400)
    ) {
        let mut queue = empty();
        let mut list: Vec<(u64, u64, usize)> = Vec::new();
        for (order, step) in steps.into_iter().enumerate() {
            match step {
                Some(when) => {
                    queue.push(Item { when, order: order as u64, thing: order });
                    list.push((when, order as u64, order));
                    list.sort_unstable();
                }
                None => {
                    let expected = (!list.is_empty()).then(|| list.remove(0));
                    let popped = queue.pop().map(|item| (item.when, item.order, item.thing));
                    prop_assert_eq!(popped, expected);
                }
            }
            let first = queue.first().map(|item| item.thing);
            prop_assert_eq!(first, list.first().map(|item| item.2));
        }
    }
}

#[test]
fn it_holds_as_much_as_it_says_and_no_more() {
    let mut queue = empty();
    for order in 0..CAPACITY as u64 {
        assert!(!queue.is_full());
        let when = CAPACITY as u64 - order;
        queue.push(Item {
            when,
            order,
            thing: 0,
        });
    }
    assert!(queue.is_full());
    let mut last = 0;
    while let Some(item) = queue.pop() {
        assert!(item.when > last);
        last = item.when;
    }
    assert_eq!(last, CAPACITY as u64);
}
