//! The nodes that remain, in the forms that launchers read.

use std::collections::BTreeMap;

/// A hostfile for Open MPI's mpirun: a line `NAME slots=N` for each node, of its name and its slots.
pub fn mpirun<'a>(nodes: impl IntoIterator<Item = (&'a str, u32)>) -> String {
    nodes
        .into_iter()
        .map(|(name, slots)| format!("{name} slots={slots}\n"))
        .collect()
}

/// A node list for Slurm (`srun --nodelist`), one line, compressed as Slurm does it:
/// `node[01-03,05],login`. Names that end in a number are gathered by what stands before it; zeros in
/// front of a number are kept.
///
/// ```
/// use jitterlab_node_tuning::validation::hostfile::slurm;
/// assert_eq!(slurm(["n9", "n10", "n12", "a-01", "a-02"]), "a-[01-02],n[9-10,12]\n");
/// ```
pub fn slurm<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let mut lists = Vec::new();
    let mut families: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for name in names {
        let prefix = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let digits = &name[prefix.len()..];
        if digits.is_empty() || digits.len() > MOST_DIGITS {
            lists.push(name.to_string());
        } else {
            families.entry(prefix).or_default().push(digits);
        }
    }
    lists.extend(
        families
            .into_iter()
            .map(|(prefix, numbers)| family(prefix, numbers)),
    );
    lists.join(",") + "\n"
}

/// Slurm takes no longer number.
const MOST_DIGITS: usize = 18;

/// Nodes of one prefix.
fn family(prefix: &str, mut numbers: Vec<&str>) -> String {
    numbers.sort_by_key(|digits| (value(digits), digits.len()));
    let mut ranges: Vec<(&str, &str)> = Vec::new();
    for digits in numbers {
        match ranges.last_mut() {
            Some((first, last)) if follows(first, last, digits) => *last = digits,
            _ => ranges.push((digits, digits)),
        }
    }
    if let [(first, last)] = ranges[..]
        && first == last
    {
        return format!("{prefix}{first}");
    }
    let ranges: Vec<String> = ranges
        .iter()
        .map(|&(first, last)| match first == last {
            true => first.to_string(),
            false => format!("{first}-{last}"),
        })
        .collect();
    format!("{prefix}[{}]", ranges.join(","))
}

fn value(digits: &str) -> u64 {
    digits.parse().unwrap_or(u64::MAX)
}

/// True if `digits` is the next of the range: Slurm fills numbers with zeros up to the width of the
/// range's first.
fn follows(first: &str, last: &str, digits: &str) -> bool {
    let width = first.len();
    value(digits) == value(last).saturating_add(1)
        && *digits == format!("{:0width$}", value(digits))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// The names as Slurm reads them.
    fn expanded(list: &str) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        let mut rest = list.trim_end();
        while !rest.is_empty() {
            let end = rest.find([',', '[']).unwrap_or(rest.len());
            let prefix = &rest[..end];
            rest = &rest[end..];
            if let Some(inside) = rest.strip_prefix('[') {
                let (inside, after) = inside.split_once(']').unwrap();
                for range in inside.split(',') {
                    let (first, last) = range.split_once('-').unwrap_or((range, range));
                    let width = first.len();
                    for number in first.parse::<u64>().unwrap()..=last.parse().unwrap() {
                        names.insert(format!("{prefix}{number:0width$}"));
                    }
                }
                rest = after;
            } else {
                names.insert(prefix.into());
            }
            rest = rest.strip_prefix(',').unwrap_or(rest);
        }
        names
    }

    proptest! {
        #[test]
        fn a_node_list_names_the_nodes_and_no_other(
            names in proptest::collection::btree_set("(a|b-|c1-)(0{0,2}[0-9]{1,3}|x)?", 1..40)
        ) {
            let list = slurm(names.iter().map(String::as_str));
            prop_assert_eq!(expanded(&list), names, "{}", list);
        }
    }

    #[test]
    fn launchers_read_what_is_written() {
        assert_eq!(
            mpirun([("node01", 8), ("node05", 4)]),
            "node01 slots=8\nnode05 slots=4\n"
        );
        for (names, list) in [
            (
                &["node01", "node02", "node03", "node05"][..],
                "node[01-03,05]\n",
            ),
            (&["node3"], "node3\n"),
            (&["a", "b"], "a,b\n"),
            (&["n08", "n09", "n10"], "n[08-10]\n"),
            (&["n8", "n08"], "n[8,08]\n"),
            (&["n01.lab", "n02.lab"], "n01.lab,n02.lab\n"),
        ] {
            assert_eq!(slurm(names.iter().copied()), list);
        }
    }
}
