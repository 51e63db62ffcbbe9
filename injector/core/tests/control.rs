//! The control page as programs and people use it: made by one, observed and changed by another.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use jitterlab_base::clock::Clock;
use jitterlab_base::page::{self, Namespaces, PageError};
use jitterlab_base::seed;
use jitterlab_injector::control::{
    self, Asked, Attached, Created, Hook, HookFamily, Identity, Mode, Page, Settings, Switch,
};
use jitterlab_injector::delay::{Injection, Passage, Stream, Undelayed};
use jitterlab_injector::generator::{GeneratorKind, TABLE_ENTRIES};
use jitterlab_injector::table::{DelayUnit, TableSource};
use jitterlab_skip::skip;

fn identity() -> Identity {
    Identity {
        pid: std::process::id(),
        start_time: page::start_time("self").unwrap(),
        namespaces: Namespaces::own(),
        run: 0,
        rank: 3,
        hooks: HookFamily::Socket.bit(),
        program: "a program, of a name longer than all the room that there is for it".into(),
        report: "/a report".into(),
    }
}

fn table(entry: impl Fn(usize) -> u32) -> TableSource {
    TableSource {
        entries: Box::new(std::array::from_fn(entry)),
        origin: "test".into(),
        times: 1.0,
    }
}

/// Deferred, so that what is drawn can be looked at.
const DEFERRED: Settings = Settings {
    enabled: true,
    mode: Mode::Defer,
    seed: 7,
    ..Settings::NONE
};

fn create(directory: &Path, settings: Settings, table: &TableSource) -> Created {
    Page::create(&directory.join("pages"), &identity(), &settings, table).unwrap()
}

fn draw(injection: &Injection, stream: &Stream) -> u32 {
    let asked = || injection.page().totals().asked_ns;
    let before = asked();
    if let Passage::Defer(delay) = injection.before_send(stream, Hook::Send) {
        injection.wait_out(stream, delay);
    }
    (asked() - before) as u32
}

/// Whether a hook may perform a send at once; counted then.
fn is_undelayed(injection: &Injection, stream: &Stream) -> bool {
    let seen = injection.switch().seen();
    if seen.is_off() {
        return false;
    }
    let counters = stream.counters(seen);
    if let Some(counters) = counters {
        stream.count_undelayed(counters, Hook::Send);
    }
    counters.is_some()
}

fn draws(injection: &Injection, lineage: u64, n: usize) -> Vec<u32> {
    let stream = Stream::new();
    stream.set_lineage(lineage);
    (0..n).map(|_| draw(injection, &stream)).collect()
}

fn attach(created: &Created) -> Attached {
    control::attach(&created.path).unwrap()
}

#[test]
fn a_page_says_whose_it_is_and_what_is_set() {
    let directory = tempfile::tempdir().unwrap();
    let created = create(directory.path(), DEFERRED, &table(|i| i as u32));
    let attached = attach(&created);
    let seen = attached.identity();
    assert_eq!(seen.program, identity().program[..64]);
    assert_eq!((seen.pid, seen.rank), (std::process::id(), 3));
    assert_eq!(seen.namespaces, identity().namespaces);
    assert_eq!(seen.report, identity().report);
    let (settings, source) = attached.settings();
    assert_eq!(settings, DEFERRED);
    assert_eq!(source, table(|i| i as u32));
    drop(attached);
    let name = page::file_name(std::process::id()).unwrap();
    assert_eq!(created.path, directory.path().join("pages").join(name));
}

#[test]
fn the_same_seed_gives_the_same_delays_for_each_thread_and_rank() {
    let directory = tempfile::tempdir().unwrap();
    let page = create(directory.path(), DEFERRED, &table(|i| i as u32 + 1)).page;
    let rank = |rank| Injection::new(page, Clock::global(), rank);
    let (main, second) = (0, seed::child(0, 0));
    let first = draws(&rank(0), main, 500);
    assert_eq!(first, draws(&rank(0), main, 500));
    assert_ne!(first, draws(&rank(1), main, 500));
    assert_ne!(first, draws(&rank(0), second, 500));
}

#[test]
fn setting_a_seed_starts_streams_over_and_a_new_table_does_not() {
    let directory = tempfile::tempdir().unwrap();
    let created = create(directory.path(), DEFERRED, &table(|i| i as u32 + 1));
    let injection = Injection::new(created.page, Clock::global(), 0);
    let stream = Stream::new();
    let start: Vec<_> = (0..100).map(|_| draw(&injection, &stream)).collect();
    attach(&created)
        .lock()
        .unwrap()
        .change(|_, source| *source = table(|i| i as u32 + 10_001));
    let moved: Vec<_> = (0..100).map(|_| draw(&injection, &stream)).collect();
    let unmoved = draws(&injection, 0, 200);
    assert_eq!(moved, unmoved[100..], "the stream went on where it was");
    attach(&created)
        .lock()
        .unwrap()
        .change(|settings, _| settings.seedings += 1);
    let again: Vec<_> = (0..100)
        .map(|_| draw(&injection, &stream) - 10_000)
        .collect();
    assert_eq!(again, start);
}

#[test]
fn switching_off_and_on_takes_effect_at_the_next_send() {
    let directory = tempfile::tempdir().unwrap();
    let created = create(directory.path(), DEFERRED, &table(|_| 5));
    let injection = Injection::new(created.page, Clock::global(), 0);
    let stream = Stream::new();
    assert_eq!(draw(&injection, &stream), 5);
    attach(&created)
        .lock()
        .unwrap()
        .change(|settings, _| settings.enabled = false);
    assert!(injection.switch().seen().switch() == Switch::OFF);
    assert_eq!(draw(&injection, &stream), 0);
    attach(&created)
        .lock()
        .unwrap()
        .change(|settings, _| settings.enabled = true);
    assert_eq!(draw(&injection, &stream), 5);
}

/// Every table published holds one value only, so a mixture of two would show.
#[test]
fn a_reader_never_sees_half_a_table() {
    let directory = tempfile::tempdir().unwrap();
    let created = create(directory.path(), DEFERRED, &table(|_| 1));
    let injection = Injection::new(created.page, Clock::global(), 0);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for value in 2..2_000 {
                attach(&created)
                    .lock()
                    .unwrap()
                    .change(|_, source| *source = table(|_| value));
            }
            stop.store(true, Ordering::Release);
        });
        scope.spawn(|| {
            let stream = Stream::new();
            let mut last = 0;
            while !stop.load(Ordering::Acquire) {
                let drawn = draw(&injection, &stream);
                assert!(
                    drawn >= last,
                    "{drawn} after {last}: an older table came back"
                );
                last = drawn;
            }
        });
        scope.spawn(|| {
            while !stop.load(Ordering::Acquire) {
                let (_, source) = created.page.settings();
                assert!(
                    source
                        .entries
                        .iter()
                        .all(|&entry| entry == source.entries[0])
                );
            }
        });
    });
    assert_eq!(draws(&injection, 0, 1), [1_999]);
}

/// More threads than slots: the ones left over share, and still nothing is lost.
#[test]
fn every_call_of_every_thread_is_counted() {
    const THREADS: u64 = control::THREAD_SLOTS as u64 + 40;
    const CALLS: u64 = 50;
    let directory = tempfile::tempdir().unwrap();
    let created = create(directory.path(), DEFERRED, &table(|_| 3));
    let injection = Injection::new(created.page, Clock::global(), 0);
    let all_there = std::sync::Barrier::new(THREADS as usize);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let stream = Stream::new();
                draw(&injection, &stream);
                all_there.wait();
                for _ in 1..CALLS {
                    draw(&injection, &stream);
                }
                stream.release();
            });
        }
    });
    let totals = attach(&created).totals();
    assert_eq!(totals.calls[Hook::Send as usize], THREADS * CALLS);
    assert_eq!(totals.delays, THREADS * CALLS);
    assert_eq!(totals.asked_ns, THREADS * CALLS * 3);
}

#[test]
fn a_stream_goes_on_where_its_counters_were_given_back() {
    let directory = tempfile::tempdir().unwrap();
    let created = create(directory.path(), DEFERRED, &table(|i| i as u32 + 1));
    let injection = Injection::new(created.page, Clock::global(), 0);
    let expected = draws(&injection, 5, 20);
    let stream = Stream::new();
    stream.set_lineage(5);
    let drawn: Vec<u32> = (0..20)
        .map(|send| {
            if send % 5 == 0 {
                stream.release();
            }
            draw(&injection, &stream)
        })
        .collect();
    assert_eq!(drawn, expected);
}

#[test]
fn a_send_without_a_delay_is_told_apart_and_takes_nothing_from_the_others() {
    let directory = tempfile::tempdir().unwrap();
    for generator in GeneratorKind::ALL {
        let settings = Settings {
            generator,
            ..DEFERRED
        };
        let mostly_zero = table(|i| if i % 4 == 0 { i as u32 } else { 0 });
        let created = create(directory.path(), settings, &mostly_zero);
        let injection = Injection::new(created.page, Clock::global(), 0);
        let expected = draws(&injection, 5, 4_000);
        let before = created.page.totals();

        let stream = Stream::new();
        stream.set_lineage(5);
        let (mut told_apart, mut released) = (0, 0);
        let mut drawn = Vec::new();
        for at in 0..4_000 {
            // A thread that ends, and then sends once more, is where it was.
            if at % 330 == 50 {
                stream.release();
                released += usize::from(at % 200 < 100);
            }
            // Zeros alone every other hundred times.
            if at % 100 == 0 {
                let all_zero = at % 200 == 0;
                attach(&created).lock().unwrap().change(|_, source| {
                    *source = if all_zero {
                        table(|_| 0)
                    } else {
                        mostly_zero.clone()
                    };
                });
            }
            if is_undelayed(&injection, &stream) {
                told_apart += 1;
                drawn.push(None);
            } else {
                let delay = draw(&injection, &stream);
                drawn.push((at % 200 >= 100).then_some(delay));
            }
        }
        // All of those but the first each time, at which the stream has not yet seen the settings, and the first with
        // other counters.
        assert_eq!((told_apart, released), (20 * 99 - released, 6));
        let asked: u64 = drawn.iter().flatten().map(|&delay| u64::from(delay)).sum();
        for (delay, expected) in drawn.into_iter().zip(expected) {
            assert!(delay.is_none_or(|delay| delay == expected));
        }
        let totals = created.page.totals();
        assert_eq!(totals.calls[Hook::Send as usize], 8_000);
        assert_eq!(totals.delays, 8_000);
        assert_eq!(totals.asked_ns, before.asked_ns + asked);
    }
}

#[test]
fn a_seed_that_is_set_while_delays_are_zero_starts_the_stream_over() {
    let directory = tempfile::tempdir().unwrap();
    let created = create(directory.path(), DEFERRED, &table(|i| i as u32 + 1));
    let injection = Injection::new(created.page, Clock::global(), 0);
    let start = draws(&injection, 0, 50);
    let stream = Stream::new();
    let change_to = |entry: fn(usize) -> u32, seedings| {
        attach(&created).lock().unwrap().change(|settings, source| {
            *source = table(entry);
            settings.seedings += seedings;
        });
    };
    change_to(|_| 0, 0);
    for _ in 0..30 {
        if !is_undelayed(&injection, &stream) {
            injection.before_send(&stream, Hook::Send);
        }
    }
    change_to(|i| i as u32 + 1, 1);
    let again: Vec<u32> = (0..50).map(|_| draw(&injection, &stream)).collect();
    assert_eq!(again, start);
}

#[test]
#[allow(unsafe_code)]
fn memory_that_is_zero_is_a_new_stream() {
    let zero = std::mem::MaybeUninit::<Stream>::zeroed();
    // SAFETY: of integers, enumerations with a first variant, booleans and references that there may not be, zero is a value.
    let zero = unsafe { zero.assume_init() };
    assert_eq!(format!("{zero:?}"), format!("{:?}", Stream::new()));
}

#[test]
fn what_takes_a_new_look_is_not_taken_for_undelayed() {
    let directory = tempfile::tempdir().unwrap();
    let created = create(directory.path(), DEFERRED, &table(|_| 0));
    let injection = Injection::new(created.page, Clock::global(), 0);
    let stream = Stream::new();
    let undelayed = || is_undelayed(&injection, &stream);
    assert!(!undelayed(), "a stream without settings");
    injection.before_send(&stream, Hook::Send);
    assert!(undelayed());
    attach(&created)
        .lock()
        .unwrap()
        .change(|_, table| table.entries.fill(3));
    assert!(!undelayed(), "new settings");
    assert_eq!(draw(&injection, &stream), 3);
    assert!(!undelayed(), "a delay");
    attach(&created).lock().unwrap().change(|settings, table| {
        settings.enabled = false;
        table.entries.fill(0);
    });
    injection.before_send(&stream, Hook::Send);
    assert!(!undelayed(), "off");
    assert_eq!(created.page.totals().delays, 3);
}

#[test]
fn a_spin_is_never_shorter_than_asked_by_more_than_the_compensation() {
    let spinning = Settings {
        mode: Mode::Spin,
        ..DEFERRED
    };
    // On both sides of what is long enough to be rehearsed.
    for asked in [200, 1_999, 2_000, 20_000] {
        let directory = tempfile::tempdir().unwrap();
        let created = create(directory.path(), spinning, &table(|_| asked));
        let injection = Injection::new(created.page, Clock::global(), 0);
        let stream = Stream::new();
        for _ in 0..50 {
            let clock = injection.clock();
            let start = clock.now();
            assert_eq!(injection.before_send(&stream, Hook::Send), Passage::Now);
            let elapsed = clock.ticks_to_ns_f64(clock.now() - start);
            assert!(
                elapsed >= f64::from(asked) - injection.compensation_ns() - 1.0,
                "{elapsed}"
            );
        }
        let totals = created.page.totals();
        assert_eq!(
            (totals.delays, totals.asked_ns),
            (50, 50 * u64::from(asked))
        );
        assert!(totals.achieved_ns >= totals.asked_ns - 50, "{totals:?}");
    }
}

#[test]
fn a_delay_begins_where_its_send_entered_the_hook() {
    const ASKED: u32 = 5_000_000;
    let directory = tempfile::tempdir().unwrap();
    let spinning = Settings {
        mode: Mode::Spin,
        ..DEFERRED
    };
    let created = create(directory.path(), spinning, &table(|_| ASKED));
    let injection = Injection::new(created.page, Clock::global(), 0);
    let clock = injection.clock();
    if !clock.reads_counter() {
        return skip("the clock of this machine is not the counter of its processor");
    }
    let stream = Stream::new();
    let send = || {
        let (start, before) = (clock.now(), created.page.totals().achieved_ns);
        injection.before_send(&stream, Hook::Send);
        let waited = clock.ticks_to_ns(clock.now() - start);
        (waited, created.page.totals().achieved_ns - before)
    };
    let least = u64::from(ASKED) - injection.compensation_ns() as u64 - 2;
    let enter_long_ago = || stream.enter(Clock::counter() - clock.ns_to_ticks(1_000_000_000));
    assert!(send().0 >= least);
    // A second ago: the delay is long over, and counted as what it has become.
    enter_long_ago();
    assert!(send().1 >= 1_000_000_000);
    // That was the one before.
    assert!(send().0 >= least);
}

#[test]
fn paced_sends_are_apart_by_what_is_asked_for_and_late_ones_wait_for_nothing() {
    const GAP: u32 = 20_000;
    let directory = tempfile::tempdir().unwrap();
    let pacing = Settings {
        mode: Mode::Pace,
        ..DEFERRED
    };
    let created = create(directory.path(), pacing, &table(|_| GAP));
    let injection = Injection::new(created.page, Clock::global(), 0);
    let stream = Stream::new();
    let clock = injection.clock();
    let mut asked_before = None;
    for _ in 0..50 {
        assert!(!is_undelayed(&injection, &stream));
        let asks = clock.now();
        assert_eq!(injection.before_send(&stream, Hook::Send), Passage::Now);
        // The one before went after it was asked for, and this one has gone by now.
        if let Some(before) = asked_before.replace(asks) {
            assert!(clock.ticks_to_ns_f64(clock.now() - before) >= f64::from(GAP) - 1.0);
        }
    }
    let before = created.page.totals();
    assert_eq!((before.delays, before.asked_ns), (50, 50 * u64::from(GAP)));
    assert!(before.achieved_ns >= before.asked_ns - 50, "{before:?}");
    // One that comes later than that by itself is counted as what was asked.
    clock.wait_until(clock.now() + clock.ns_to_ticks(u64::from(10 * GAP)));
    injection.before_send(&stream, Hook::Send);
    let achieved = created.page.totals().achieved_ns - before.achieved_ns;
    assert!(achieved.abs_diff(GAP.into()) <= 1, "{achieved}");
}

#[test]
fn a_paced_send_without_a_gap_is_one_that_the_next_is_apart_from() {
    let directory = tempfile::tempdir().unwrap();
    let pacing = Settings {
        mode: Mode::Pace,
        ..DEFERRED
    };
    let created = create(directory.path(), pacing, &table(|_| 0));
    let injection = Injection::new(created.page, Clock::global(), 0);
    let stream = Stream::new();
    injection.before_send(&stream, Hook::Send);
    assert!(!is_undelayed(&injection, &stream));
    assert_eq!(injection.before_send(&stream, Hook::Send), Passage::Now);
    let totals = created.page.totals();
    assert_eq!((totals.delays, totals.asked_ns), (2, 0));
}

#[test]
fn modes_that_cannot_be_had_are_named() {
    let obstacle = |mode: Mode, unit, family: HookFamily| mode.obstacle(unit, family.bit());
    for mode in Mode::ALL {
        for family in HookFamily::ALL {
            let deferred = mode == Mode::Defer && !family.defers();
            let timed = obstacle(mode, DelayUnit::Nanoseconds, family);
            assert_eq!(timed.is_some(), deferred, "{mode:?} {family:?}");
            let spins = obstacle(mode, DelayUnit::Spins, family);
            assert_eq!(spins.is_some(), mode != Mode::Spin, "{mode:?} {family:?}");
        }
    }
}

#[test]
fn the_papers_generator_walks_the_table() {
    let directory = tempfile::tempdir().unwrap();
    let lcg = Settings {
        generator: GeneratorKind::Lcg,
        ..DEFERRED
    };
    let created = create(directory.path(), lcg, &table(|i| i as u32));
    let injection = Injection::new(created.page, Clock::global(), 0);
    let mut drawn = draws(&injection, 0, TABLE_ENTRIES);
    drawn.sort_unstable();
    assert!(drawn.into_iter().eq(0..TABLE_ENTRIES as u32));
}

#[test]
fn what_is_not_a_page_of_this_user_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let created = create(directory.path(), DEFERRED, &table(|_| 1));
    let file = directory.path().join("12");
    assert!(matches!(
        control::attach(&file),
        Err(PageError::System { .. })
    ));
    std::fs::write(&file, b"short").unwrap();
    assert!(matches!(
        control::attach(&file),
        Err(PageError::NotAPage { .. })
    ));
    std::fs::write(
        &file,
        vec![0; std::fs::metadata(&created.path).unwrap().len() as usize],
    )
    .unwrap();
    assert!(matches!(
        control::attach(&file),
        Err(PageError::NotAPage { .. })
    ));

    use std::os::unix::fs::PermissionsExt;
    let open = directory.path().join("open");
    std::fs::create_dir(&open).unwrap();
    std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o777)).unwrap();
    let link = directory.path().join("link");
    std::os::unix::fs::symlink(directory.path().join("pages"), &link).unwrap();
    for unsafe_directory in [open, link] {
        assert!(matches!(
            Page::create(&unsafe_directory, &identity(), &DEFERRED, &table(|_| 1)),
            Err(PageError::UnsafeDirectory { .. })
        ));
    }
}
