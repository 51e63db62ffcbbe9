//! `jitterlab tune` on copied trees: where the node swaps to.

mod common;
#[path = "../../node-tuning/tests/common/mod.rs"]
mod trees;
mod tuning;

use std::fs;

use tuning::{json, node};

#[test]
fn swap_goes_off_in_the_order_that_revert_turns_round() {
    let root = node();
    let header = "Filename Type Size Used Priority";
    let swaps = "/dev/b partition 8 0 -2\n/dev/c file 8 0 7\n/dev/a partition 8 0 -3\n";
    fs::write(root.path().join("proc/swaps"), format!("{header}\n{swaps}")).unwrap();
    let plan = json(root.path(), "plan --only swap");
    // A copied tree has no swap, and says so of each in turn.
    let notes = plan["settings"][0]["notes"].as_array().unwrap();
    let places: Vec<&str> = notes
        .iter()
        .map(|note| &note.as_str().unwrap()[..14])
        .collect();
    assert_eq!(
        places,
        ["swap on /dev/a", "swap on /dev/b", "swap on /dev/c"]
    );
}

#[test]
fn swaps_are_known_by_their_names_whatever_is_in_them() {
    let root = node();
    trees::grow(
        root.path(),
        "proc/swaps:
    Filename\t\t\tType\t\tSize\t\tUsed\t\tPriority
    /srv/my\\040swap\\011\\134040\\012.img\tfile\t\t8\t\t0\t\t-2
    /srv/a\\040(deleted)\tfile\t\t8\t\t0\t\t-3
    /dev/zram0\tpartition\t8\t\t0\t\t100
",
    );
    let plan = json(root.path(), "plan --only swap");
    let notes = plan["settings"][0]["notes"].as_array().unwrap();
    let places: Vec<&str> = notes
        .iter()
        .filter_map(|note| {
            note.as_str()?
                .strip_suffix(" exists only on a running node, not in a copy of its files")
        })
        .collect();
    assert_eq!(
        places,
        [
            "swap on /srv/a (deleted)",
            "swap on /srv/my swap\t\\040\n.img",
            "swap on /dev/zram0"
        ]
    );
}
