//! docs/architecture.md tells the truth: of what each crate uses, of where unsafe is, and of the places that its tables name.

use std::collections::{BTreeMap, BTreeSet};
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

fn document() -> String {
    fs::read_to_string(workspace().join("docs/architecture.md")).unwrap()
}

/// The cells of the rows of a chapter's table, from top to bottom.
fn rows(chapter: &str) -> Vec<Vec<String>> {
    let text = document();
    let mut chapters = text.split("\n## ");
    let chapter = chapters.find(|part| part.starts_with(chapter)).unwrap();
    let lines = chapter.lines().filter(|line| line.starts_with("| "));
    let cells = |row: &str| -> Vec<String> {
        let cells = row.trim_matches('|').split('|');
        cells.map(|cell| cell.trim().to_string()).collect()
    };
    // The first names the columns.
    lines.skip(1).map(cells).collect()
}

/// What stands in backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The rows of the table of the rooms, from top to bottom.
fn table() -> Vec<(String, Room)> {
    let rows = rows("The rooms").into_iter();
    rows.map(|row| {
        let [folder, name, _, uses] = &row[..] else {
            panic!("four cells: {row:?}");
        };
        let mut uses: Vec<_> = uses.split_whitespace().map(String::from).collect();
        uses.sort();
        let room = Room {
            folder: folder.trim_matches('`').into(),
            uses,
            tests_use: Vec::new(),
        };
        (name.clone(), room)
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

/// The ground has one door each: nobody passes on what it has.
#[test]
fn no_room_offers_what_the_ground_has() {
    let ground = fs::read_to_string(workspace().join("base/src/lib.rs")).unwrap();
    let parts = ground
        .lines()
        .filter_map(|line| line.strip_prefix("pub mod "));
    let parts: Vec<&str> = parts.map(|part| part.trim_end_matches(';')).collect();
    assert!(parts.contains(&"units") && parts.contains(&"clock"));
    let rooms = ["base", "stats", "live", "cluster", "verbs"];
    for (name, room) in manifests() {
        let mut texts = BTreeMap::new();
        modules(&workspace().join(&room.folder).join("src"), &[], &mut texts);
        for (module, text) in texts {
            for path in Uses::of(&text).passed_on {
                let is_of = |room: &&str| path.starts_with(&format!("jitterlab_{room}::"));
                let file = module.join("::");
                assert!(!rooms.iter().any(is_of), "{name}, {file}: {path}");
                let is_face = module.is_empty() && path.starts_with("jitterlab_");
                assert!(!is_face, "{name}: {path}");
            }
            if name != "base" && module.is_empty() {
                let own = text
                    .lines()
                    .filter_map(|line| line.strip_prefix("pub mod "));
                for own in own.map(|own| own.trim_end_matches(';')) {
                    assert!(
                        !parts.contains(&own),
                        "{name} has a module {own} of its own"
                    );
                }
            }
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
            let module = if is_folder { module.into() } else { inner };
            found.insert(module, text.into());
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

/// What code names from the crate or from the module around it on: a path each.
fn named(code: &str) -> impl Iterator<Item = String> {
    let is_of_path = |letter: char| letter.is_alphanumeric() || "_:".contains(letter);
    let roots = ["crate::", "super::"].into_iter();
    let found = roots.flat_map(move |root| code.match_indices(root));
    // In the middle of a path it is no root; in a macro (`$crate`) and in a visibility (`in crate`) it imports nothing.
    let begins = found.filter(move |&(at, _)| {
        let before = &code[..at];
        !before.ends_with(|letter| is_of_path(letter) || letter == '$') && !before.ends_with("(in ")
    });
    let paths = begins.map(move |(at, _)| {
        let end = code[at..].find(|letter| !is_of_path(letter));
        code[at..].split_at(end.unwrap_or(code.len() - at))
    });
    // In a macro it may end with whatever the macro is given.
    let whole = paths.filter(|(_, rest)| !rest.starts_with('$'));
    whole.map(|(path, _)| path.trim_end_matches(':').into())
}

/// What each module imports (`use`), what it passes on (`pub use`), and what its code names from the crate or the module around it
/// on (`crate::…`, `super::…`): a path each.
#[derive(Default)]
struct Uses {
    imported: Vec<String>,
    passed_on: Vec<String>,
    named: Vec<String>,
}

impl Uses {
    fn of(text: &str) -> Uses {
        let mut uses = Uses::default();
        // A comment may speak of whatever it likes.
        let code = text.lines();
        let code: Vec<&str> = code
            .filter(|line| !line.trim_start().starts_with("//"))
            .collect();
        for statement in code.join("\n").split(';') {
            let Some(begin) = statement.rfind("use ").map(|at| &statement[..at]) else {
                uses.named.extend(named(statement));
                continue;
            };
            // Attributes, and the end of what is no statement, stand in lines before it.
            let (before, visibility) = begin.split_at(begin.rfind('\n').map_or(0, |at| at + 1));
            let tree = paths(&statement[begin.len() + "use ".len()..]);
            let code = match visibility.split('(').next().unwrap_or_default().trim() {
                "" => {
                    uses.imported.extend(tree);
                    before
                }
                "pub" => {
                    uses.passed_on.extend(tree);
                    before
                }
                _ => statement,
            };
            uses.named.extend(named(code));
        }
        uses
    }
}

/// The module that a path leads to from another one. What a module passes on is looked for where it is.
fn owner<'a>(
    path: &str,
    module: &[String],
    all: &'a BTreeMap<Vec<String>, Uses>,
) -> Option<&'a Vec<String>> {
    let path = path.split(" as ").next().unwrap_or_default();
    let path = path.trim().trim_end_matches("::self");
    let mut words = path.split("::").map(String::from).peekable();
    let mut from = match words.peek()?.as_str() {
        "crate" => Vec::new(),
        "super" | "self" => module.to_vec(),
        // A module of this one, or another crate.
        name => {
            let inner = [module, &[name.to_string()]].concat();
            if !all.contains_key(&inner) {
                return None;
            }
            module.to_vec()
        }
    };
    words.next_if(|word| word == "crate" || word == "self");
    while words.next_if(|word| word == "super").is_some() {
        from.pop();
    }
    from.extend(words);
    // Beside modules it names what is in them.
    let mut name = None;
    while !all.contains_key(&from) {
        name = Some(from.pop()?);
    }
    let (found, uses) = all.get_key_value(&from)?;
    let is_it = |passed_on: &&String| passed_on.rsplit("::").next() == name.as_deref();
    let further = uses.passed_on.iter().find(is_it);
    let further = further.and_then(|path| owner(path, found, all));
    further.or(Some(found))
}

/// Within a crate, too: who imports from a file is not imported from there, by whatever way. To pass on what another file has is
/// no import; nor is what a `mod.rs` names of its own files in its code, which it puts together.
#[test]
fn files_of_a_room_import_in_no_circle() {
    for (name, room) in manifests() {
        let mut texts = BTreeMap::new();
        modules(&workspace().join(&room.folder).join("src"), &[], &mut texts);
        let texts = texts.into_iter();
        let all = BTreeMap::from_iter(texts.map(|(module, text)| (module, Uses::of(&text))));
        let imports = |(module, uses): (_, &Uses)| {
            let module: &Vec<String> = module;
            let owner = |path: &String| owner(path, module, &all);
            let named = uses.named.iter().filter_map(owner);
            let named = named.filter(|owner| !owner.starts_with(module));
            let owners = uses.imported.iter().filter_map(owner).chain(named);
            let others = owners.filter(|owner| *owner != module && !owner.is_empty());
            (module, others.collect::<Vec<_>>())
        };
        let arrows: BTreeMap<&Vec<String>, Vec<&Vec<String>>> = all.iter().map(imports).collect();
        // Whatever imports nothing that is left, or is imported by nothing that is left, is taken away, until nothing is left.
        let mut left: Vec<&Vec<String>> = all.keys().collect();
        loop {
            let before = left.len();
            let kept = left.clone();
            left.retain(|module| {
                let imports = |other: &Vec<String>| arrows[&other].contains(module);
                arrows[module].iter().any(|used| kept.contains(used))
                    && kept.iter().any(|it| imports(it))
            });
            if left.len() == before {
                break;
            }
        }
        let arrow = |from: &&Vec<String>| {
            let used = arrows[from].iter().filter(|used| left.contains(used));
            let used: Vec<String> = used.map(|used| used.join("::")).collect();
            format!("{} -> {}", from.join("::"), used.join(" "))
        };
        let circle: Vec<String> = left.iter().map(arrow).collect();
        assert!(circle.is_empty(), "a circle of {name}: {circle:#?}");
    }
}

/// Whether a line of code is unsafe.
fn is_unsafe(line: &str) -> bool {
    let words = line.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    !line.trim_start().starts_with("//") && words.into_iter().any(|word| word == "unsafe")
}

#[test]
fn unsafe_is_in_the_modules_that_the_table_names_and_in_no_other() {
    let told = rows("Where things may happen").into_iter();
    let mut told: BTreeMap<String, BTreeSet<String>> = told
        .map(|row| {
            let room = quoted(&row[0]).next().unwrap().to_string();
            (room, quoted(&row[1]).map(String::from).collect())
        })
        .collect();
    for (_, room) in manifests() {
        let told = told.remove(&room.folder).unwrap_or_default();
        if told.contains("all") {
            continue;
        }
        let mut texts = BTreeMap::new();
        modules(&workspace().join(&room.folder).join("src"), &[], &mut texts);
        let mut found = BTreeSet::new();
        for (module, text) in texts {
            if !text.lines().any(is_unsafe) {
                continue;
            }
            let path = module.join("/");
            let mut told = told.iter();
            let is_of = |told: &&String| path == **told || path.starts_with(&format!("{told}/"));
            let of = told.find(is_of);
            found.insert(
                of.cloned()
                    .unwrap_or_else(|| panic!("{}: {path}", room.folder)),
            );
        }
        assert_eq!(found, told, "{}", room.folder);
    }
    assert!(told.is_empty(), "no room is {:?}", told.keys());
}

/// Every file under a folder.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.path() {
            path if path.is_dir() => files(&path, found),
            path => found.push(path),
        }
    }
}

#[test]
fn every_path_in_the_text_is_there() {
    let text = document();
    let words: Vec<&str> = text.lines().flat_map(quoted).collect();
    let is_path = |word: &&&str| {
        let top = word.split_once('/').map(|(top, _)| top);
        let is_folder = top.is_some_and(|top| !top.is_empty() && workspace().join(top).is_dir());
        is_folder && !word.contains(' ')
    };
    let paths: Vec<&&str> = words.iter().filter(is_path).collect();
    assert!(paths.len() > 50, "{paths:?}");
    for path in paths {
        assert!(workspace().join(path).exists(), "`{path}` is not there");
    }
}

/// A path is told from the top, or from a folder that the row names; a type is one of a crate whose folder the row names.
#[test]
fn every_path_and_type_in_a_row_of_what_to_touch_is_there() {
    let rooms: Vec<PathBuf> = manifests()
        .into_values()
        .map(|room| workspace().join(room.folder))
        .collect();
    let touched = rows("One place to touch");
    assert!(touched.len() > 20);
    for row in touched {
        let places: Vec<PathBuf> = quoted(&row[1])
            .map(|word| workspace().join(word))
            .filter(|path| path.exists())
            .collect();
        assert!(!places.is_empty(), "{row:?}");
        let mut near = Vec::new();
        for place in &places {
            files(
                if place.is_dir() {
                    place
                } else {
                    place.parent().unwrap()
                },
                &mut near,
            );
        }
        let mut sources = Vec::new();
        for room in &rooms {
            if places.iter().any(|place| place.starts_with(room)) {
                files(&room.join("src"), &mut sources);
            }
        }
        let texts: Vec<String> = sources
            .iter()
            .filter_map(|path| fs::read_to_string(path).ok())
            .collect();
        for word in quoted(&row[1]) {
            let is_path = word.contains('/') || word.contains('.');
            let is_type = word.starts_with(char::is_uppercase);
            if is_path {
                let is_there = workspace().join(word).exists();
                let is_near = near.iter().any(|path| path.ends_with(word));
                assert!(is_there || is_near, "`{word}` is not there: {row:?}");
            } else if is_type {
                let kinds = ["struct", "enum", "trait"].map(|kind| format!("{kind} {word}"));
                let ends = |rest: &str| !rest.starts_with(|letter: char| letter.is_alphanumeric());
                let defines = |text: &String| {
                    let mut kinds = kinds.iter();
                    kinds.any(|kind| text.split(kind.as_str()).skip(1).any(ends))
                };
                assert!(texts.iter().any(defines), "`{word}` is no type: {row:?}");
            }
        }
    }
}
