//! docs/architecture.md and the manifests agree on what each crate uses.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The rooms and what each uses, or names in its tests alone.
#[derive(Debug, Default)]
struct Room {
    folder: String,
    uses: Vec<String>,
    tests_use: Vec<String>,
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .canonicalize()
        .unwrap()
}

/// The name of a crate as the table has it.
fn short(name: &str) -> String {
    name.strip_prefix("jitterlab-").unwrap_or(name).into()
}

/// The crates of the workspace, as their manifests describe them.
fn manifests() -> BTreeMap<String, Room> {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--no-deps",
            "--offline",
            "--format-version",
            "1",
        ])
        .current_dir(workspace())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    packages.iter().map(room).collect()
}

fn room(package: &Value) -> (String, Room) {
    let text = |value: &Value| value.as_str().unwrap().to_string();
    let manifest = PathBuf::from(text(&package["manifest_path"]));
    let folder = manifest
        .parent()
        .unwrap()
        .strip_prefix(workspace())
        .unwrap();
    let mut room = Room {
        folder: folder.display().to_string(),
        ..Room::default()
    };
    for dependency in package["dependencies"].as_array().unwrap() {
        let name = text(&dependency["name"]);
        if !name.starts_with("jitterlab") {
            continue;
        }
        let list = match dependency["kind"].as_str() {
            Some("dev") => &mut room.tests_use,
            _ => &mut room.uses,
        };
        list.push(short(&name));
    }
    room.uses.sort();
    (short(&text(&package["name"])), room)
}

/// The rows of the table of the rooms, from top to bottom.
fn table() -> Vec<(String, Room)> {
    let text = fs::read_to_string(workspace().join("docs/architecture.md")).unwrap();
    let rooms = text
        .split("\n## ")
        .find(|part| part.starts_with("The rooms"));
    let rows = rooms
        .unwrap()
        .lines()
        .filter(|line| line.starts_with("| `"));
    rows.map(|row| {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [folder, name, _, uses] = cells[..] else {
            panic!("four cells: {row}");
        };
        let mut uses: Vec<_> = uses.split_whitespace().map(String::from).collect();
        uses.sort();
        let room = Room {
            folder: folder.trim_matches('`').into(),
            uses,
            tests_use: Vec::new(),
        };
        (name.into(), room)
    })
    .collect()
}

#[test]
fn the_table_of_the_rooms_tells_every_arrow_and_no_other() {
    let mut drawn = BTreeMap::from_iter(table());
    for (name, room) in manifests() {
        let drawn = drawn.remove(&name);
        let drawn = drawn.unwrap_or_else(|| panic!("{name} is missing in the table"));
        assert_eq!(drawn.folder, room.folder, "the folder of {name}");
        assert_eq!(
            drawn.uses, room.uses,
            "what {name} uses: the table, and its manifest"
        );
    }
    assert!(drawn.is_empty(), "no manifest is of {:?}", drawn.keys());
}

#[test]
fn arrows_point_down() {
    let floors: Vec<String> = table().into_iter().map(|(name, _)| name).collect();
    let floor = |name: &str| floors.iter().position(|other| other == name);
    for (name, room) in manifests() {
        for used in room.uses.iter().chain(&room.tests_use) {
            assert!(
                floor(used) > floor(&name),
                "{name} uses {used}, which is not below it"
            );
        }
        assert!(
            !room.uses.contains(&"skip".into()),
            "{name} uses skip outside of its tests"
        );
    }
}

/// The ground has one door: nobody passes it on.
#[test]
fn no_room_offers_what_the_ground_has() {
    let ground = fs::read_to_string(workspace().join("base/src/lib.rs")).unwrap();
    let modules = ground
        .lines()
        .filter_map(|line| line.strip_prefix("pub mod "));
    let modules: Vec<&str> = modules.map(|module| module.trim_end_matches(';')).collect();
    assert!(modules.contains(&"units") && modules.contains(&"clock"));
    for (name, room) in manifests() {
        let face = workspace().join(&room.folder).join("src/lib.rs");
        let Ok(face) = fs::read_to_string(face) else {
            continue;
        };
        if name == "base" {
            continue;
        }
        for line in face.lines() {
            assert!(!line.starts_with("pub use jitterlab_"), "{name}: {line}");
            let module = line.strip_prefix("pub mod ").unwrap_or_default();
            let module = module.trim_end_matches(';');
            assert!(
                !modules.contains(&module),
                "{name} has a module {module} of its own"
            );
        }
    }
}
