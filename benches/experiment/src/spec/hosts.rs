//! Hosts for a file that names none itself.

use std::collections::BTreeMap;
use std::path::Path;

use jitterlab_base::yaml::{FileError, keys};
use jitterlab_cluster::Host;

const HOSTS: &str = "hosts";
/// A file with this key has its hosts from another file.
const HOSTS_FILE: &str = "hosts_file";

/// True if a file leaves out its hosts. A file that cannot be read does not: its error is shown later.
pub fn lacks_hosts(text: &str) -> bool {
    keys(text).is_some_and(|keys| {
        let says = |key: &String| key == HOSTS || key == HOSTS_FILE;
        !keys.iter().any(says)
    })
}

/// The text of a file that lacks hosts, with these at its end; a comment says where they come `from`. `path` is for messages.
///
/// # Errors
/// The text is not one to whose end keys can be added.
pub fn with_hosts(
    text: &str,
    path: &Path,
    hosts: &BTreeMap<String, Host>,
    from: &str,
) -> Result<String, FileError> {
    let wrong = |problem: String| FileError::Content {
        path: path.into(),
        line: 1,
        column: 1,
        problem,
    };
    let section = serde_yaml::to_string(&BTreeMap::from([(HOSTS, hosts)]))
        .map_err(|error| wrong(error.to_string()))?;
    let text = format!("{}\n\n# {from}\n{section}", text.trim_end());
    match keys(&text) {
        Some(keys) if keys.iter().any(|key| key == HOSTS) => Ok(text),
        _ => Err(wrong(
            "a file without `hosts` gets those of the job at its end: its keys have to stand on lines of their own, not in \
             braces, and nothing may end it"
                .into(),
        )),
    }
}
