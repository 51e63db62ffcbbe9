//! Variables in files beside an inventory: `group_vars/GROUP.yml` and `host_vars/HOST.yml`, or folders of such files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use jitterlab_base::yaml::{FileError, parse, text_of};
use serde_yaml::Value;

use super::groups::{Groups, Layer, Variable, Variables};
use super::problem::At;

/// A file that begins with this is encrypted as a whole, and passed over.
const ENCRYPTED: &str = "$ANSIBLE_VAULT";

/// Reads the files for groups and hosts that the inventory at `path` has; what they set comes before what it sets itself.
///
/// # Errors
/// A file cannot be read.
pub fn read(groups: &mut Groups, path: &Path) -> Result<(), FileError> {
    let folder = path.with_file_name("");
    for file in files(&folder.join("group_vars")) {
        if groups.has(&file.name) {
            let set = variables(&file.path)?;
            for (name, variable) in set {
                groups.set(&file.name, Layer::Beside, &name, variable);
            }
        }
    }
    for file in files(&folder.join("host_vars")) {
        if groups.has_host(&file.name) {
            groups.set_host(&file.name, variables(&file.path)?);
        }
    }
    Ok(())
}

/// A file, and whom it is for.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Found {
    name: String,
    path: PathBuf,
}

/// The files of such a folder, in the order of their names. Whoever has no such folder has no files.
fn files(folder: &Path) -> Vec<Found> {
    let mut found = Vec::new();
    for path in entries(folder) {
        let Some(name) = name(&path) else {
            continue;
        };
        let within = match path.is_dir() {
            true => entries(&path),
            false => vec![path],
        };
        let within = within.into_iter().filter(|path| path.is_file());
        found.extend(within.map(|path| Found {
            name: name.clone(),
            path,
        }));
    }
    found.sort();
    found
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    paths.filter(|path| name(path).is_some()).collect()
}

/// The name of a file without an ending that files of variables have; nothing of another file, or one that is hidden.
fn name(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let endings = [".yml", ".yaml", ".json"].iter();
    let bare = endings.clone().find_map(|ending| name.strip_suffix(ending));
    let is_plain = !name.starts_with('.') && !name.ends_with('~');
    bare.or(is_plain.then_some(name))
        .filter(|name| !name.starts_with('.'))
        .map(String::from)
}

fn variables(path: &Path) -> Result<Variables, FileError> {
    let text = text_of("file of variables", path)?;
    if text.starts_with(ENCRYPTED) || text.trim().is_empty() {
        return Ok(Variables::new());
    }
    let set: Option<BTreeMap<String, Value>> = parse(&text, path, |_| Ok(()))?;
    let set = set.into_iter().flatten().map(|(name, value)| {
        let at = At::File(path.into(), name.clone());
        (name, Variable { value, at })
    });
    Ok(set.collect())
}
