//! Names that stand for several: `node[01:16]`, `rack[a:c]-node[1:9:2]`.

use jitterlab_base::input::shortened;

/// Hosts that an inventory names at most.
pub const MOST: usize = 10_000;

/// The names that a pattern stands for; a name without a range stands for itself.
///
/// # Errors
/// A range is none, runs backwards, or stands for too many names; for people.
pub fn expanded(pattern: &str) -> Result<Vec<String>, String> {
    let Some((before, rest)) = pattern.split_once('[') else {
        return Ok(vec![pattern.into()]);
    };
    let (range, after) = rest
        .split_once(']')
        .ok_or_else(|| format!("`{}` has a `[` without its `]`", shortened(pattern)))?;
    let middles = of_range(range)?;
    let ends = expanded(after)?;
    if middles.len().saturating_mul(ends.len()) > MOST {
        return Err(format!(
            "`{}` stands for more than {MOST} hosts",
            shortened(pattern)
        ));
    }
    let names = middles
        .iter()
        .flat_map(|middle| ends.iter().map(move |end| format!("{before}{middle}{end}")));
    Ok(names.collect())
}

/// The values of `FIRST:LAST` or `FIRST:LAST:STEP`, the last one included.
fn of_range(range: &str) -> Result<Vec<String>, String> {
    let wrong = |why: &str| {
        format!(
            "`[{}]` {why}; a range is written as in node[01:16], node[a:f] or node[0:30:2]",
            shortened(range)
        )
    };
    let parts: Vec<&str> = range.split(':').collect();
    let (first, last, step) = match parts[..] {
        [first, last] => (first, last, "1"),
        [first, last, step] => (first, last, step),
        _ => return Err(wrong("is no range")),
    };
    // A range without a first begins at 0, as in Ansible.
    let first = if first.is_empty() { "0" } else { first };
    let step: usize = match step.parse() {
        Ok(step) if step > 0 => step,
        _ => return Err(wrong("has no step of 1 or more")),
    };
    let letter = |text: &str| match text.as_bytes() {
        [letter] if letter.is_ascii_alphabetic() => Some(*letter),
        _ => None,
    };
    if let (Some(a), Some(b)) = (letter(first), letter(last)) {
        if a.is_ascii_lowercase() != b.is_ascii_lowercase() || a > b {
            return Err(wrong("runs backwards, or from small letters to capitals"));
        }
        let letters = (a..=b)
            .step_by(step)
            .map(|letter| char::from(letter).into());
        return Ok(letters.collect());
    }
    let digits = |text: &str| text.chars().all(|c| c.is_ascii_digit());
    let (Ok(a), Ok(b)) = (first.parse::<usize>(), last.parse::<usize>()) else {
        return Err(wrong("is no range"));
    };
    if !digits(first) || !digits(last) {
        return Err(wrong("is no range"));
    }
    if a > b {
        return Err(wrong("runs backwards"));
    }
    let is_padded = first.len() > 1 && first.starts_with('0');
    if is_padded && first.len() != last.len() {
        return Err(wrong("has a first and a last of different lengths"));
    }
    if (b - a) / step >= MOST {
        return Err(wrong(&format!("stands for more than {MOST} hosts")));
    }
    let width = if is_padded { first.len() } else { 0 };
    let numbers = (a..=b).step_by(step);
    Ok(numbers.map(|number| format!("{number:0width$}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ranges_are_those_of_ansible() {
        for (pattern, names) in [
            ("n1", "n1"),
            ("n[1:3]", "n1 n2 n3"),
            ("n[08:10]", "n08 n09 n10"),
            ("n[:2].x", "n0.x n1.x n2.x"),
            ("n[0:6:3]", "n0 n3 n6"),
            ("n[a:c]", "na nb nc"),
            ("r[1:2]-[A:B]", "r1-A r1-B r2-A r2-B"),
        ] {
            assert_eq!(expanded(pattern).unwrap().join(" "), names, "{pattern}");
        }
        for (pattern, why) in [
            ("n[1:3", "without its `]`"),
            ("n[1]", "is no range"),
            ("n[1:2:3:4]", "is no range"),
            ("n[a:2]", "is no range"),
            ("n[-1:2]", "is no range"),
            ("n[+1:2]", "is no range"),
            ("n[3:1]", "runs backwards"),
            ("n[a:C]", "capitals"),
            ("n[01:100]", "different lengths"),
            ("n[1:3:0]", "no step"),
            ("n[1:99999999999999999999999]", "is no range"),
            ("n[1:20000]", "more than 10000"),
            ("n[1:200][1:200]", "more than 10000"),
        ] {
            let error = expanded(pattern).unwrap_err();
            assert!(error.contains(why) && !error.contains('\n'), "{error}");
        }
    }

    proptest! {
        #[test]
        fn a_range_has_each_number_once_in_its_width(
            first in 0_usize..300, more in 0_usize..300, step in 1_usize..9, width in 1_usize..5
        ) {
            let (a, b) = (format!("{first:0width$}"), format!("{:0width$}", first + more));
            prop_assume!(a.len() == b.len() || !a.starts_with('0') || a.len() == 1);
            let names = expanded(&format!("n[{a}:{b}:{step}]")).unwrap();
            prop_assert_eq!(names.len(), more / step + 1);
            for (i, name) in names.iter().enumerate() {
                let number: usize = name[1..].parse().unwrap();
                prop_assert_eq!(number, first + i * step);
                prop_assert!(!a.starts_with('0') || a.len() == 1 || name.len() == a.len() + 1);
            }
        }

        #[test]
        fn no_pattern_makes_it_panic_or_take_much(pattern in "[a-z0-9:\\[\\]]{0,24}") {
            if let Ok(names) = expanded(&pattern) {
                prop_assert!(names.len() <= MOST);
            }
        }
    }
}
