//! The result folder, after whoever filled it was killed.

use std::fs;

use jitterlab_experiment::store::{Recorder, StoreError};

const EXPERIMENT: &str = "name: e\nseed: 1\nrepetitions: 1\nhosts: { a: { at: local } }\n\
                          suites: { application: [{ name: x, client: { on: a, command: [x] } }] }\n";

#[test]
fn files_that_were_cut_off_are_removed_by_who_has_the_folder() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("e");
    let recorder = Recorder::create(&path, EXPERIMENT).unwrap();
    let kept = path.join(recorder.store_samples("x.none.r1", b"samples").unwrap());
    let left = [
        ".jitterlab-a1",
        "samples/.jitterlab-b2",
        "tables/.jitterlab-c3",
    ];
    let left = left.map(|name| path.join(name));
    for file in &left {
        fs::write(file, "cut off").unwrap();
    }
    // Whoever is in the middle of a file keeps it.
    let refused = Recorder::resume(&path);
    assert!(matches!(refused, Err(StoreError::InUse { .. })));
    assert!(left.iter().all(|file| file.is_file()));
    drop(recorder);
    Recorder::resume(&path).unwrap();
    assert!(!left.iter().any(|file| file.exists()));
    assert!(kept.is_file());
}
