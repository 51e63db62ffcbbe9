//! Live pages from end to end: published by threads, read from a place, and told as differences.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use jitterlab_live::{
    Count, PLACE, Place, Reader, Total, Update, follow_own, own_reader, publisher,
};
use jitterlab_stats::histogram::Histogram;

/// Set for a process that publishes: how many samples.
const PUBLISHES: &str = "TEST_PUBLISHES";

/// This test is also the program that others start.
#[test]
fn a_program_that_publishes() {
    let Ok(samples) = std::env::var(PUBLISHES) else {
        return;
    };
    let publisher = publisher();
    publisher.begin("first");
    publisher.sample(|| 7);
    publisher.begin("64B");
    for sample in 0..samples.parse().unwrap() {
        publisher.sample(|| 1_000 + sample);
    }
    publisher.count(Count::Lost, 2);
}

fn publish(place: &str, samples: u64) -> std::process::Output {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_program_that_publishes", "--nocapture"])
        .env(PLACE, place)
        .env(PUBLISHES, samples.to_string())
        .output()
        .unwrap()
}

/// An update as it comes from a worker.
fn sent(update: Update) -> Update {
    serde_json::from_slice(&serde_json::to_vec(&update).unwrap()).unwrap()
}

#[test]
fn what_processes_have_published_is_read_after_they_have_ended() {
    let place = Place::make().unwrap();
    let mut reader = Reader::of_place(place.path().into());
    assert_eq!(reader.update(), None);
    let mut total = Total::default();
    for (processes, samples) in [(1, 5_000), (2, 3_000)] {
        assert!(publish(place.name(), samples).status.success());
        let update = sent(reader.update().unwrap());
        assert_eq!(update.starts_over, processes == 1);
        total.take(update);
        assert_eq!((total.part, total.label.as_str()), (2, "64B"));
        assert_eq!(total.before, processes);
        assert_eq!(total.counts[&Count::Lost], 2 * processes);
        assert_eq!(reader.update(), None, "nothing has changed");
    }
    let all = (0..5_000)
        .chain(0..3_000)
        .map(|sample| 1_000.0 + f64::from(sample));
    assert_eq!(total.histogram, Histogram::of(&all.collect::<Vec<_>>()));
    assert_eq!((total.samples(), total.max_ns), (8_002, 5_999));
    let path = place.path().to_path_buf();
    drop(place);
    assert!(!path.exists());
}

#[test]
fn a_reader_sees_whole_parts_while_they_are_published() {
    const PARTS: u64 = 50;
    const SAMPLES: u64 = 2_000;
    follow_own();
    let over = AtomicBool::new(false);
    let mut total = Total::default();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let publisher = publisher();
            for part in 1..=PARTS {
                publisher.begin(&part.to_string());
                for _ in 0..SAMPLES {
                    publisher.sample(|| part * 1_000);
                }
            }
            over.store(true, Ordering::Release);
        });
        let mut reader = own_reader();
        let mut before = 0;
        loop {
            let is_over = over.load(Ordering::Acquire);
            if let Some(update) = reader.update() {
                total.take(sent(update));
                assert_eq!(total.label, total.part.to_string());
                assert_eq!(total.before, (total.part - 1) * SAMPLES);
                let own = Histogram::of(&[total.part as f64 * 1_000.0]).min();
                assert!(total.histogram.is_empty() || total.histogram.min() == own);
                assert!(total.samples() >= before, "samples are never taken back");
                before = total.samples();
            }
            if is_over {
                break;
            }
        }
    });
    assert_eq!((total.part, total.samples()), (PARTS, PARTS * SAMPLES));
    assert_eq!(total.max_ns, PARTS * 1_000);
}

#[test]
fn nothing_is_shared_where_the_place_is_not_this_users_alone() {
    let place = Place::make().unwrap();
    let refused = |name: &str, why: &str| {
        let output = publish(name, 1);
        assert!(output.status.success(), "the program goes on");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains(why), "{said}");
    };
    for name in ["", "live-", "../x", "live-../x", "live-a/b", "1234"] {
        refused(name, "not the name of a place");
    }
    // On another machine, as far as anybody here knows.
    let elsewhere = publish("live-0", 1);
    assert!(elsewhere.status.success() && elsewhere.stderr.is_empty());
    std::fs::set_permissions(place.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    refused(place.name(), "is not this user's alone");
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
}

#[test]
fn a_place_that_was_left_is_removed_by_the_next() {
    let kept = Place::make().unwrap();
    let left = kept.path().with_file_name(format!("{}left", kept.name()));
    std::fs::create_dir(&left).unwrap();
    let _next = Place::make().unwrap();
    assert!(!left.exists());
    assert!(kept.path().exists());
}
