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

/// The files of a folder of sources by the path of their module.
fn modules(folder: &Path, module: &[String], found: &mut BTreeMap<Vec<String>, String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let inner: Vec<String> = module.iter().cloned().chain([name.clone()]).collect();
        if path.is_dir() {
            modules(&path, &inner, found);
        } else if path.extension() == Some("rs".as_ref()) {
            let is_folder = ["mod", "lib", "main"].contains(&name.as_str());
            let text = fs::read_to_string(&path).unwrap();
            // A test may look at whatever it likes.
            let text = text.split("#[cfg(test)]\nmod tests").next().unwrap();
            let text = text
                .replace("\npub use ", "\nuse ")
                .replace("\npub(crate) use ", "\nuse ");
            found.insert(if is_folder { module.into() } else { inner }, text);
        }
    }
}

/// What follows `use `, with its braces multiplied out: a path each.
fn paths(tree: &str) -> Vec<String> {
    let Some((begin, rest)) = tree.split_once('{') else {
        return vec![tree.trim().into()];
    };
    let inner = rest.rsplit_once('}').map_or(rest, |(inner, _)| inner);
    let (mut depth, mut parts) = (0, vec![String::new()]);
    for letter in inner.chars() {
        depth += i32::from(letter == '{') - i32::from(letter == '}');
        match letter {
            ',' if depth == 0 => parts.push(String::new()),
            letter => parts.last_mut().unwrap().push(letter),
        }
    }
    let within = parts.iter().flat_map(|part| paths(part));
    within
        .filter(|path| !path.is_empty())
        .map(|path| format!("{}{path}", begin.trim()))
        .collect()
}

/// The modules of a crate that a module imports something from.
fn imports<'a>(
    module: &[String],
    text: &str,
    all: &'a BTreeMap<Vec<String>, String>,
) -> Vec<&'a Vec<String>> {
    let statements = text.split("\nuse ").skip(1);
    let trees = statements.filter_map(|statement| Some(statement.split_once(';')?.0));
    let paths = trees.flat_map(paths).filter_map(|path| {
        let mut words = path.split("::").map(String::from).peekable();
        let mut from = match words.peek()?.as_str() {
            "crate" => Vec::new(),
            "super" => module.to_vec(),
            _ => return None,
        };
        if from.is_empty() {
            words.next();
        }
        while words.next_if(|word| word == "super").is_some() {
            from.pop();
        }
        from.extend(words);
        // Beside modules it names what is in them.
        while !all.contains_key(&from) {
            from.pop()?;
        }
        all.get_key_value(&from).map(|(path, _)| path)
    });
    paths
        .filter(|path| *path != module && !path.is_empty())
        .collect()
}

/// Within a crate, too: who imports from a file is not imported from there, by whatever way.
#[test]
fn files_of_a_room_import_in_no_circle() {
    for (name, room) in manifests() {
        let mut all = BTreeMap::new();
        modules(&workspace().join(&room.folder).join("src"), &[], &mut all);
        let arrows: BTreeMap<&Vec<String>, Vec<&Vec<String>>> = all
            .iter()
            .map(|(module, text)| (module, imports(module, text, &all)))
            .collect();
        // Whatever imports nothing that is left is taken away, until nothing is left.
        let mut left: Vec<&Vec<String>> = all.keys().collect();
        loop {
            let before = left.len();
            let kept = left.clone();
            left.retain(|module| arrows[module].iter().any(|used| kept.contains(used)));
            if left.len() == before {
                break;
            }
        }
        let circle: Vec<String> = left.iter().map(|module| module.join("::")).collect();
        assert!(
            circle.is_empty(),
            "in or above a circle of {name}: {circle:?}"
        );
    }
}
