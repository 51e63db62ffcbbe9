//! Slurm's form of lists: of nodes, `rack[0-1]n[08-10,12],login`, and of counts, `4(x2),1`.

use jitterlab_base::input::shortened;

/// Slurm has no more nodes than these (`MAX_SLURM_NODES` of its sources).
pub const MOST: usize = 65_536;

/// Slurm takes no longer number.
const MOST_DIGITS: usize = 18;

/// The names that a list of nodes stands for, in its order. Brackets hold numbers and ranges; the numbers of a range have at
/// least as many digits as its first. If a name has several brackets, the last one changes first.
///
/// ```
/// use jitterlab_cluster::schedulers::expand;
/// assert_eq!(expand("n[08-10],a").unwrap(), ["n08", "n09", "n10", "a"]);
/// ```
///
/// # Errors
/// It is no such list, or names more nodes than there are.
pub fn expand(list: &str) -> Result<Vec<String>, String> {
    let mut names = Vec::new();
    for element in elements(list)? {
        names.extend(names_of(element)?);
        limit(names.len())?;
    }
    Ok(names)
}

/// The counts that a list stands for: `4(x2),1` are 4, 4 and 1.
///
/// # Errors
/// It is no such list, or holds more counts than there are nodes.
pub fn counts(list: &str) -> Result<Vec<u32>, String> {
    let wrong = || format!("`{}` is no list of counts, like `4(x2),1`", shortened(list));
    let mut all = Vec::new();
    for element in list.split(',') {
        let (count, times) = match element.split_once("(x") {
            Some((count, times)) => (count, times.strip_suffix(')').ok_or_else(wrong)?),
            None => (element, "1"),
        };
        let count = number(count).and_then(|count| u32::try_from(count).ok());
        let times = number(times).and_then(|times| usize::try_from(times).ok());
        let (Some(count @ 1..), Some(times @ 1..)) = (count, times) else {
            return Err(wrong());
        };
        limit(times.saturating_add(all.len()))?;
        all.extend(std::iter::repeat_n(count, times));
    }
    Ok(all)
}

/// True if a text may name a node: it is no option, no path, nothing that a shell would read more into.
pub fn is_name(text: &str) -> bool {
    text.len() <= 253
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(is_of_name)
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || "._-".contains(c)
}

/// The parts between commas that stand in no brackets.
fn elements(list: &str) -> Result<Vec<&str>, String> {
    let mut is_inside = false;
    let mut all = Vec::new();
    let mut begin = 0;
    for (at, c) in list.char_indices() {
        match c {
            '[' | ']' if is_inside == (c == '[') => return Err(no_list(list)),
            '[' | ']' => is_inside = !is_inside,
            ',' if !is_inside => {
                all.push(&list[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    all.push(&list[begin..]);
    match is_inside {
        true => Err(no_list(list)),
        false => Ok(all),
    }
}

/// The names that one element stands for.
fn names_of(element: &str) -> Result<Vec<String>, String> {
    let mut names = vec![String::new()];
    let mut rest = element;
    while !rest.is_empty() {
        let ends: Vec<String>;
        (ends, rest) = match rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((inside, rest)) => (numbers(inside).ok_or_else(|| no_list(element))?, rest),
            None => {
                let (literal, rest) = rest.split_at(rest.find('[').unwrap_or(rest.len()));
                (vec![literal.into()], rest)
            }
        };
        limit(names.len().saturating_mul(ends.len()))?;
        let longer = |name: String| {
            let ends = ends.iter();
            ends.map(|end| name.clone() + end).collect::<Vec<_>>()
        };
        names = names.into_iter().flat_map(longer).collect();
    }
    match names.iter().all(|name| is_name(name)) {
        true => Ok(names),
        false => Err(no_list(element)),
    }
}

/// The numbers in brackets, with their zeros.
fn numbers(inside: &str) -> Option<Vec<String>> {
    let mut all = Vec::new();
    for range in inside.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let width = first.len();
        let (first, last) = (number(first)?, number(last)?);
        // More than there are nodes are refused by whoever counts them.
        let end = last.min(first.saturating_add(MOST as u64));
        if last < first || all.len() > MOST {
            return None;
        }
        all.extend((first..=end).map(|number| format!("{number:0width$}")));
    }
    Some(all)
}

fn number(digits: &str) -> Option<u64> {
    let is_number = digits.len() <= MOST_DIGITS && digits.bytes().all(|b| b.is_ascii_digit());
    digits.parse().ok().filter(|_| is_number)
}

fn limit(nodes: usize) -> Result<(), String> {
    match nodes <= MOST {
        true => Ok(()),
        false => Err(format!("it names more than {MOST} nodes")),
    }
}

fn no_list(text: &str) -> String {
    format!(
        "`{}` is no list of nodes, like `n[01-03,05],login`",
        shortened(text)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A range, and what it stands for.
    fn range() -> impl Strategy<Value = (String, Vec<String>)> {
        (0u64..200, 0u64..12, 1usize..5).prop_map(|(first, more, width)| {
            let last = first + more;
            let all: Vec<String> = (first..=last).map(|n| format!("{n:0>width$}")).collect();
            let text = match more {
                0 => all[0].clone(),
                _ => format!("{}-{last:0>width$}", all[0]),
            };
            (text, all)
        })
    }

    /// An element with up to two brackets, and the names that it stands for.
    fn element() -> impl Strategy<Value = (String, Vec<String>)> {
        let part = (
            "[a-z][a-z.-]{0,3}",
            proptest::collection::vec(range(), 0..4),
        );
        (proptest::collection::vec(part, 1..3), "[a-z]{0,2}").prop_map(|(parts, suffix)| {
            let mut text = String::new();
            let mut names = vec![String::new()];
            for (literal, ranges) in parts {
                text += &literal;
                let mut ends = vec![literal.clone()];
                if !ranges.is_empty() {
                    let (texts, numbers): (Vec<_>, Vec<_>) = ranges.into_iter().unzip();
                    text += &format!("[{}]", texts.join(","));
                    let numbers = numbers.concat();
                    ends = numbers.iter().map(|n| literal.clone() + n).collect();
                }
                let mut longer = Vec::new();
                for name in &names {
                    longer.extend(ends.iter().map(|end| format!("{name}{end}")));
                }
                names = longer;
            }
            names.iter_mut().for_each(|name| *name += &suffix);
            (text + &suffix, names)
        })
    }

    proptest! {
        #[test]
        fn a_list_stands_for_its_names_in_order(elements in proptest::collection::vec(element(), 1..5)) {
            let (texts, names): (Vec<_>, Vec<_>) = elements.into_iter().unzip();
            prop_assert_eq!(expand(&texts.join(",")), Ok(names.concat()));
        }

        #[test]
        fn whatever_is_expanded_is_names(list in "[a-c0-9\\[\\],_.;$ -]{0,24}") {
            if let Ok(names) = expand(&list) {
                prop_assert!(!names.is_empty() && names.iter().all(|name| is_name(name)), "{:?}", names);
            }
        }

        #[test]
        fn counts_are_repeated(groups in proptest::collection::vec((1u32..100, 1usize..20, any::<bool>()), 1..6)) {
            let text = |&(count, times, short): &(u32, usize, bool)| match (times, short) {
                (1, true) => count.to_string(),
                _ => format!("{count}(x{times})"),
            };
            let texts: Vec<String> = groups.iter().map(text).collect();
            let all: Vec<u32> = groups.iter().flat_map(|&(count, times, _)| vec![count; times]).collect();
            prop_assert_eq!(counts(&texts.join(",")), Ok(all));
        }
    }

    #[test]
    fn brackets_are_read_as_slurm_writes_them() {
        for (list, names) in [
            ("node3", &["node3"][..]),
            ("n[8,08]", &["n8", "n08"]),
            ("n[8-10]", &["n8", "n9", "n10"]),
            (
                "n[098-101]-ib",
                &["n098-ib", "n099-ib", "n100-ib", "n101-ib"],
            ),
            ("r[0-1]n[1-2]", &["r0n1", "r0n2", "r1n1", "r1n2"]),
        ] {
            assert_eq!(expand(list).unwrap(), names);
        }
    }

    #[test]
    fn what_is_no_list_is_refused() {
        for list in [
            "",
            ",",
            "a,",
            "n[",
            "n[]",
            "n]",
            "n[1-]",
            "n[-1]",
            "n[3-1]",
            "n[1-2",
            "n[1[2]]",
            "n[a]",
            "n[+1]",
            "-x",
            "a b",
            "a;b",
            "$(a)",
            "(null)",
            "n[1-99999999999999999999]",
            "[1-2],-[1]",
        ] {
            let error = expand(list).expect_err(list);
            assert!(error.contains("no list of nodes"), "{list}: {error}");
        }
        for list in [
            "n[0-65536]",
            "n[0-999]m[0-99]",
            "n[0-999999999]",
            "a[0-40000],b[0-40000]",
        ] {
            let error = expand(list).expect_err(list);
            assert!(error.contains("more than 65536 nodes"), "{list}: {error}");
        }
        for list in [
            "",
            "x",
            "0",
            "2(x0)",
            "2(x",
            "2(x1",
            "-1",
            "2(3)",
            "4294967296",
        ] {
            assert!(counts(list).is_err(), "{list}");
        }
        assert!(counts("1(x65537)").is_err());
    }
}
