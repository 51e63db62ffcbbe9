//! Live pages from end to end: published by threads, read from a place, and told as differences.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use jitterlab_live::{
    Count, PLACE, Place, Rank, Reader, Timing, Total, Update, follow_own, own_reader, publisher,
};
use jitterlab_stats::histogram::Histogram;

/// Set for a process that publishes: how many samples.
const PUBLISHES: &str = "TEST_PUBLISHES";

/// This test is also the program that others start.
#[test]
#[ignore = "the other tests start it"]
fn a_program_that_publishes() {
    let samples = std::env::var(PUBLISHES).unwrap();
    let publisher = publisher();
    publisher.begin("first");
    publisher.sample(|| 7);
    publisher.timed(Timing::OpenLoop);
    publisher.begin("64B");
    for sample in 0..samples.parse().unwrap() {
        publisher.sample(|| 1_000 + sample);
    }
    publisher.count(Count::Lost, 2);
}

fn publish(place: &str, samples: u64) -> std::process::Output {
    Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "a_program_that_publishes",
            "--ignored",
            "--nocapture",
        ])
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
    let name = Place::new_name();
    let place = Place::make(&name).unwrap();
    let mut reader = Reader::of_place(place.path().into());
    assert_eq!(reader.update(), None);
    let mut total = Total::default();
    for (processes, samples) in [(1, 5_000), (2, 3_000)] {
        assert!(publish(&name, samples).status.success());
        let update = sent(reader.update().unwrap());
        assert_eq!(update.starts_over, processes == 1);
        total.take(update);
        assert_eq!((total.part, total.label.as_str()), (2, "64B"));
        assert_eq!(total.before, processes);
        assert_eq!(total.counts[&Count::Lost], 2 * processes);
        assert_eq!(total.timing, Some(Timing::OpenLoop));
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
    let followed = follow_own();
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
    assert_eq!(total.timing, None);
    // Others find it as long as it follows itself.
    let others = || {
        Place::of_programs().into_iter().filter_map(|place| {
            let mut reader = Reader::of_place(place.clone());
            let update = reader.update()?;
            (reader.process() == Some(std::process::id())).then_some((place, update))
        })
    };
    let (place, update) = others().next().unwrap();
    let mut seen = Total::default();
    seen.take(update);
    assert_eq!(seen, total);
    drop(followed);
    assert!(!place.exists());
    assert_eq!(others().count(), 0);
}

#[test]
fn nothing_is_shared_where_the_place_is_not_this_users_alone() {
    let name = Place::new_name();
    let place = Place::make(&name).unwrap();
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
    refused(&name, "is not this user's alone");
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
}

#[test]
fn a_name_is_had_by_one_place() {
    let name = Place::new_name();
    let place = Place::make(&name).unwrap();
    assert_ne!(name, Place::new_name());
    let again = Place::make(&name).unwrap_err();
    assert_eq!(again.kind(), std::io::ErrorKind::AlreadyExists);
    assert!(Place::make("live-../x").is_err());
    assert!(
        Place::take_over(&name).unwrap().is_none(),
        "its maker lives"
    );
    drop(place);
    assert!(Place::take_over(&name).unwrap().is_none(), "it is gone");
}

#[test]
fn a_place_that_was_left_can_be_read_for_a_while_and_is_removed_then() {
    let name = Place::new_name();
    let kept = Place::make(&name).unwrap();
    let left = Place::new_name();
    let path = kept.path().with_file_name(&left);
    std::fs::create_dir(&path).unwrap();
    let mode = std::fs::Permissions::from_mode(0o700);
    std::fs::set_permissions(&path, mode).unwrap();
    assert!(publish(&left, 40).status.success());
    drop(Place::make(&Place::new_name()).unwrap());
    let taken = Place::take_over(&left).unwrap().unwrap();
    let mut reader = Reader::of_place(taken.path().into());
    assert_eq!(reader.update().unwrap().more.count(), 40);
    assert!(!reader.is_written(), "who published has ended");
    // Whoever has it has not forgotten it, so it stays; then it is left again, and for long.
    let mark = std::fs::File::options()
        .write(true)
        .open(path.join("left"))
        .unwrap();
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    mark.set_modified(long_ago).unwrap();
    drop(Place::make(&Place::new_name()).unwrap());
    assert!(path.exists());
    std::mem::forget(taken);
    assert!(kept.path().exists());
}

/// What several sources tell is added up, whatever part each is at.
#[test]
fn totals_are_added_up() {
    let total = |part: u64, before: u64, samples: &[f64], lost: u64| Total {
        part,
        label: part.to_string(),
        before,
        timing: None,
        ranks: [(part, Rank::default())].into(),
        max_ns: samples.iter().copied().fold(0.0, f64::max) as u64,
        counts: [(Count::Lost, lost)].into(),
        histogram: Histogram::of(samples),
    };
    let all = [
        total(2, 10, &[5.0, 9.0], 1),
        total(1, 0, &[7.0; 4], 2),
        total(2, 10, &[6.0], 3),
    ];
    let sum = Total::together(all.iter());
    assert_eq!((sum.part, sum.label.as_str(), sum.before), (2, "2", 24));
    assert_eq!((sum.samples(), sum.max_ns), (27, 9));
    assert_eq!(sum.counts[&Count::Lost], 6);
    assert_eq!(sum.ranks.keys().collect::<Vec<_>>(), [&1, &2]);
    assert_eq!(sum.histogram, Histogram::of(&[5.0, 6.0, 9.0]));
    assert_eq!(Total::together([].iter()), Total::default());
}
