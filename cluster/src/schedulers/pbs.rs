//! The nodes of a job of PBS: a file with a line for each rank.

use std::path::Path;

use jitterlab_base::input::{Source, read_text};

use super::AllocationError;
use super::nodelist::{MOST, is_name};

/// The variable that leads to it.
pub const NODEFILE: &str = "PBS_NODEFILE";

/// A line has the name of a host, of 253 bytes at most.
const MOST_BYTES: u64 = MOST as u64 * 254;

/// The nodes in the order in which they are first named, each with its number of lines.
///
/// # Errors
/// The file cannot be read, is empty, or holds something else than names.
pub fn nodes(job: &str, path: &Path) -> Result<Vec<(String, u32)>, AllocationError> {
    let text =
        read_text(path, Source::File, MOST_BYTES).map_err(|source| AllocationError::File {
            job: job.into(),
            path: path.into(),
            source,
        })?;
    let wrong = |problem: String| AllocationError::Variable {
        job: job.into(),
        variable: NODEFILE,
        problem: format!("{}: {problem}", path.display()),
    };
    let mut nodes: Vec<(String, u32)> = Vec::new();
    let mut places = std::collections::BTreeMap::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if !is_name(line) {
            return Err(wrong("a line that is no name of a node".into()));
        }
        let place = *places.entry(line).or_insert(nodes.len());
        match nodes.get_mut(place) {
            Some((_, ranks)) => *ranks += 1,
            None => nodes.push((line.into(), 1)),
        }
    }
    match nodes.is_empty() {
        true => Err(wrong("it names no node".into())),
        false => Ok(nodes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<(String, u32)>, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        nodes("job 3.pbs of PBS", file.path()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_line_is_a_rank() {
        let nodes = read("n2.lab\nn2.lab\nn1.lab\nn2.lab\n").unwrap();
        assert_eq!(nodes, [("n2.lab".into(), 3), ("n1.lab".into(), 1)]);
    }

    #[test]
    fn what_names_no_nodes_is_refused() {
        for (text, problem) in [
            ("", "it names no node"),
            ("n1\n-oProxyCommand=x\n", "no name of a node"),
            ("n1 n2\n", "no name of a node"),
        ] {
            let error = read(text).unwrap_err();
            assert!(
                error.starts_with("PBS_NODEFILE of job 3.pbs of PBS: "),
                "{error}"
            );
            assert!(error.ends_with(problem), "{error}");
        }
        let error = nodes("job 3 of PBS", Path::new("/nowhere/nodes")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "cannot read the nodes of job 3 of PBS from /nowhere/nodes"
        );
    }
}
