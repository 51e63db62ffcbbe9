//! Regular expressions that people write, which look for something in what a program prints.

use regex::{Error, Regex};
use regex_syntax::Parser;

/// A pattern that looks for something in what a program prints.
///
/// # Errors
/// It is none: with what is wrong, and at which of its characters; for people.
pub fn compile(pattern: &str) -> Result<Regex, String> {
    Regex::new(pattern).map_err(|error| match error {
        Error::CompiledTooBig(most) => format!(
            "this regular expression repeats too much: it would take more than {} MiB",
            most >> 20
        ),
        error => format!(
            "this is not a regular expression: {}",
            syntax(pattern).unwrap_or_else(|| error.to_string())
        ),
    })
}

/// A pattern with one group, which is to hold a number.
///
/// # Errors
/// It is none, or has another number of groups, or matches where there is nothing; for people.
pub fn of_number(pattern: &str) -> Result<Regex, String> {
    let regex = compile(pattern)?;
    match regex.captures_len() - 1 {
        0 => Err("the pattern needs one group, (…), around the number".into()),
        1 if regex.is_match("") => Err(
            "the pattern also matches where nothing is printed; let it need at least a digit, as in \
             `time: (\\d+)`"
                .into(),
        ),
        1 => Ok(regex),
        groups => Err(format!(
            "the pattern needs one group, (…), around the number, and has {groups}; `(?:…)` keeps \
             parts together and is no group"
        )),
    }
}

/// The error of an expression on one line. The library draws it on several.
fn syntax(pattern: &str) -> Option<String> {
    let (kind, span) = match Parser::new().parse(pattern).err()? {
        regex_syntax::Error::Parse(error) => (error.kind().to_string(), *error.span()),
        regex_syntax::Error::Translate(error) => (error.kind().to_string(), *error.span()),
        _ => return None,
    };
    let before = pattern.get(..span.start.offset)?.chars().count();
    Some(format!("{kind}, at its character {}", before + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_write_is_understood() {
        for (pattern, printed, found) in [
            (r"took (\d+)", "took 12 s", "12"),
            (r"(?i)TIME:\s+(\S+)\s*ms", "time:  1.5 ms", "1.5"),
            (r"\b(\d+\.\d+)\b", "in 2.5 s", "2.5"),
            (r"(?m)^Zeit\W(\d+)$", "Zeit 3\n", "3"),
            (r"\p{L}+ (\d+)", "Größe 4", "4"),
            (r"(?:a|b)=(?P<time>[[:digit:]]+)", "b=5", "5"),
            (r"(?x) t = (\d+) # ticks", "t=6", "6"),
            (r"µs (\d+)", "µs 7", "7"),
            (r"(?i)straße (\d+)", "STRAßE 8", "8"),
        ] {
            let regex = of_number(pattern).unwrap();
            assert_eq!(&regex.captures(printed).unwrap()[1], found, "{pattern}");
        }
    }

    #[test]
    fn what_is_none_is_told_on_one_line_with_its_place() {
        for (pattern, said) in [
            (
                "[0-9.",
                "not a regular expression: unclosed character class, at its character 1",
            ),
            ("äö(", "unclosed group, at its character 3"),
            (
                r"(\d+)(?=s)",
                "look-around, including look-ahead and look-behind, is not supported, at its character 6",
            ),
            (
                r"(a)\1",
                "backreferences are not supported, at its character 4",
            ),
            (
                r"\p{Elvish} (\d)",
                "Unicode property not found, at its character 1",
            ),
            ("(a{2,1})", "invalid repetition count range"),
            (
                r"(\w{999}){999}",
                "repeats too much: it would take more than 10 MiB",
            ),
            (r"\d+", "needs one group, (…), around the number"),
            (r"(?:\d+)", "needs one group"),
            (
                r"(\d+):(\d+)",
                "needs one group, (…), around the number, and has 2",
            ),
            (r"(\d*)", "also matches where nothing is printed"),
            ("", "needs one group"),
        ] {
            let problem = of_number(pattern).unwrap_err();
            assert!(problem.contains(said), "{pattern}: {problem}");
            assert!(!problem.contains('\n'), "{problem}");
        }
        let deep = "(".repeat(100_000);
        assert!(compile(&deep).is_err());
    }
}
