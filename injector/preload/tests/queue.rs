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

/// What happens to the queue.
#[derive(Debug, Clone)]
enum Step {
    /// A program sends, if there is room.
    Send(u64),
    /// The helper takes what is due first,
    Take,
    /// and is through with it,
    Over,
    /// or has to try again later.
    Retry(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0u64..50).prop_map(Step::Send),
        2 => Just(Step::Take),
        1 => Just(Step::Over),
        2 => (0u64..50).prop_map(Step::Retry),
    ]
}

proptest! {
    /// Whatever programs and helper do, be the queue full or empty, it gives what a sorted list would.
    #[test]
    fn what_is_due_first_comes_first(
        nearly_full in any::<bool>(),
        steps in prop::collection::vec(step(), 1..400)
    ) {
        let mut queue = empty();
        let mut list: Vec<(u64, u64)> = Vec::new();
        let mut orders = 0;
        let mut taken: Option<u64> = None;
        let add = |queue: &mut Queue<usize>, list: &mut Vec<(u64, u64)>, when, order| {
            let at = list.partition_point(|&other| other < (when, order));
            list.insert(at, (when, order));
            queue.push(Item { when, order, thing: order as usize })
        };
        while nearly_full && list.len() < CAPACITY - 3 {
            orders += 1;
            prop_assert!(add(&mut queue, &mut list, 100, orders));
        }
        for step in steps {
            match step {
                Step::Send(when) if !queue.is_full() => {
                    orders += 1;
                    prop_assert!(add(&mut queue, &mut list, when, orders));
                }
                Step::Take if taken.is_none() => {
                    let expected = (!list.is_empty()).then(|| list.remove(0));
                    let popped = queue.pop();
                    prop_assert_eq!(popped.map(|item| (item.when, item.order)), expected);
                    taken = popped.map(|item| item.order);
                }
                Step::Over => taken = None,
                Step::Retry(when) => {
                    if let Some(order) = taken.take() {
                        prop_assert!(add(&mut queue, &mut list, when, order), "lost");
                    }
                }
                Step::Send(_) | Step::Take => {}
            }
            let first = queue.first().map(|item| (item.when, item.order));
            prop_assert_eq!(first, list.first().copied());
        }
    }
}

#[test]
fn it_holds_as_much_as_it_says_and_no_more() {
    let mut queue = empty();
    let item = |order: usize| Item {
        when: (CAPACITY - order) as u64,
        order: order as u64,
        thing: 0,
    };
    for order in 0..CAPACITY {
        assert_eq!(queue.is_full(), order == CAPACITY - 1);
        assert!(queue.push(item(order)));
    }
    assert!(queue.is_full() && !queue.push(item(0)));
    let mut last = 0;
    while let Some(item) = queue.pop() {
        assert!(item.when > last);
        last = item.when;
    }
    assert_eq!(last, CAPACITY as u64);
}
