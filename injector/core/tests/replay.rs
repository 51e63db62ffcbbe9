//! A recording that is replayed, as programs that send under it have it.

use jitterlab_base::clock::Clock;
use jitterlab_base::page::{self, Namespaces};
use jitterlab_injector::control::{self, Created, Hook, Identity, Mode, Page, Settings};
use jitterlab_injector::delay::{Injection, Passage, Stream};
use jitterlab_injector::recording::Recording;
use jitterlab_injector::replay::{Order, Stretch};

const N: u32 = 1_000;
/// Each delay of the recording is there for eleven days: what is sent here is all sent at one time.
const LONG_NS: u64 = 1_000_000_000_000_000 / 1_000;

/// Delays that tell their place, from 1 on.
fn recording() -> &'static Recording {
    let times = (0..u64::from(N)).map(|i| LONG_NS * i).collect();
    let delays = (1..=N).collect();
    let recording = Recording::new(times, delays, LONG_NS * u64::from(N), "test");
    Box::leak(Box::new(recording.unwrap()))
}

/// Deferred, so that what is drawn can be looked at.
fn created(directory: &tempfile::TempDir, order: Order, stretch: Stretch) -> Created {
    let identity = Identity {
        pid: std::process::id(),
        start_time: page::start_time("self").unwrap(),
        namespaces: Namespaces::own(),
        run: 0,
        rank: 0,
        hooks: 0,
        program: "a program".into(),
        report: "".into(),
    };
    let settings = Settings {
        enabled: true,
        mode: Mode::Defer,
        seed: 7,
        order,
        stretch,
        ..Settings::NONE
    };
    let shown = recording().shown("here".as_ref());
    Page::create(
        &directory.path().join("pages"),
        &identity,
        &settings,
        &shown,
    )
    .unwrap()
}

fn draws(injection: &Injection, stream: &Stream, n: usize) -> Vec<u32> {
    let asked = || injection.page().totals().asked_ns;
    let draw = || {
        let before = asked();
        if let Passage::Defer(delay) = injection.before_send(stream, Hook::Send) {
            injection.wait_out(stream, delay);
        }
        (asked() - before) as u32
    };
    (0..n).map(|_| draw()).collect()
}

fn rank(page: &'static Page, rank: u64, elapsed_ns: u64) -> Injection {
    Injection::new(page, Clock::global(), rank).replaying(recording(), elapsed_ns)
}

#[test]
fn by_message_delays_come_in_their_order_and_start_over_with_the_seed() {
    let directory = tempfile::tempdir().unwrap();
    let created = created(&directory, Order::ByMessage, Stretch::All);
    let injection = rank(created.page, 0, 0);
    let stream = Stream::new();
    let first = draws(&injection, &stream, 100);
    assert!(
        first.windows(2).all(|pair| pair[1] == pair[0] % N + 1),
        "{first:?}"
    );
    let page = control::attach(&created.path).unwrap();
    page.lock()
        .unwrap()
        .change(|settings, _| settings.seedings += 1);
    assert_eq!(draws(&injection, &stream, 100), first);
    page.lock().unwrap().change(|settings, _| {
        settings.seed = 8;
        settings.seedings += 1;
    });
    assert_ne!(draws(&injection, &stream, 100), first);
    // A table takes the place of the recording.
    page.lock().unwrap().change(|settings, table| {
        settings.order = Order::Drawn;
        table.entries.fill(5_000);
    });
    assert_eq!(draws(&injection, &stream, 3), [5_000; 3]);
}

#[test]
fn ranks_replay_one_stretch_or_one_each() {
    for order in [Order::ByMessage, Order::ByTime] {
        for stretch in Stretch::ALL {
            let directory = tempfile::tempdir().unwrap();
            let page = created(&directory, order, stretch).page;
            let [first, second] =
                [0, 1].map(|number| draws(&rank(page, number, 0), &Stream::new(), 20));
            assert_eq!(
                first == second,
                stretch == Stretch::All,
                "{order} {stretch}"
            );
        }
    }
}

#[test]
fn by_time_a_delay_follows_from_when_the_replay_began() {
    let directory = tempfile::tempdir().unwrap();
    let page = created(&directory, Order::ByTime, Stretch::All).page;
    let at = |elapsed_ns: u64| draws(&rank(page, 0, elapsed_ns), &Stream::new(), 20);
    let first = at(LONG_NS / 10);
    assert_eq!(first, [first[0]; 20]);
    let later = at(LONG_NS / 10 + 5 * LONG_NS);
    assert_eq!(later, [(first[0] + 4) % N + 1; 20]);
}
