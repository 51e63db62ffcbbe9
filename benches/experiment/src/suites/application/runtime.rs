//! The run time of an application: how long it took, or what it printed.

use jitterlab_cluster::{Ended, last_line, pattern};

use super::Runtime;

/// The run time of an application in seconds.
///
/// # Errors
/// What it printed tells none; for people.
pub fn runtime(how: Option<&Runtime>, ended: &Ended) -> Result<f64, String> {
    let Some(Runtime { pattern, unit }) = how else {
        return Ok(ended.seconds);
    };
    let regex = pattern::of_number(pattern)?;
    // Programs that show their progress return the carriage, and print the figure last.
    let figure = |stream: &str| -> Option<String> {
        let last = regex.captures_iter(stream).last()?;
        Some(last.get(1)?.as_str().into())
    };
    let figure = figure(&ended.stdout).or_else(|| figure(&ended.stderr));
    let figure = figure.ok_or_else(|| {
        let said = last_line(&ended.stdout, &ended.stderr);
        format!("its output has no number where the pattern `{pattern}` looks for one{said}")
    })?;
    let seconds = unit.seconds(number(&figure).ok_or_else(|| {
        format!(
            "`{figure}`, which the pattern `{pattern}` finds in its output, is no number: a point \
             stands before the fraction, a comma only between thousands"
        )
    })?);
    if seconds.is_finite() && seconds > 0.0 {
        Ok(seconds)
    } else {
        Err("its output gives a run time that is not above 0".into())
    }
}

/// A number as programs print it: `1250`, `1.25e3`, `1,250.0`. A comma that does not stand between
/// thousands may be a decimal comma, so such a text is no number.
fn number(text: &str) -> Option<f64> {
    let whole = text.split('.').next()?;
    let mut groups = whole.split(',');
    let first = groups.next()?;
    let are_thousands = (1..=3).contains(&first.len())
        && !first.starts_with('0')
        && groups.all(|group| group.len() == 3 && group.bytes().all(|b| b.is_ascii_digit()));
    if text.contains(',') && !are_thousands || text[whole.len()..].contains(',') {
        return None;
    }
    text.replace(',', "").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::super::RuntimeUnit;
    use super::*;

    fn ended(stdout: &str, stderr: &str) -> Ended {
        Ended {
            status: Some(0),
            signal: None,
            timed_out: false,
            seconds: 2.5,
            stdout: stdout.into(),
            stderr: stderr.into(),
        }
    }

    fn how(pattern: &str, unit: RuntimeUnit) -> Option<Runtime> {
        Some(Runtime {
            pattern: pattern.into(),
            unit,
        })
    }

    #[test]
    fn the_last_number_of_a_pattern_is_the_runtime() {
        let rate = how("GET: ([0-9.,]+) requests", RuntimeUnit::PerSecond);
        let printed = "GET: 10 requests\rGET: 1,250.0 requests per second\n";
        assert_eq!(
            runtime(rate.as_ref(), &ended(printed, "")),
            Ok(1.0 / 1250.0)
        );
        assert_eq!(runtime(None, &ended("", "")), Ok(2.5));
        let time = how("time=([0-9.]+)", RuntimeUnit::Ms);
        assert_eq!(runtime(time.as_ref(), &ended("time=12", "")), Ok(0.012));
        assert!(runtime(time.as_ref(), &ended("no time", "")).is_err());
        assert!(runtime(time.as_ref(), &ended("time=0", "")).is_err());
    }

    #[test]
    fn what_stdout_does_not_tell_stderr_may() {
        let time = how("time=([0-9.]+)", RuntimeUnit::S);
        assert_eq!(
            runtime(time.as_ref(), &ended("done\n", "time=3\n")),
            Ok(3.0)
        );
        assert_eq!(
            runtime(time.as_ref(), &ended("time=2\n", "time=3\n")),
            Ok(2.0)
        );
    }

    #[test]
    fn a_comma_that_is_not_between_thousands_is_not_guessed_at() {
        for (text, value) in [
            ("12", 12.0),
            ("12.5", 12.5),
            ("1.25e3", 1250.0),
            ("1,250", 1250.0),
            ("12,345,678.5", 12_345_678.5),
        ] {
            assert_eq!(number(text), Some(value), "{text}");
        }
        for text in [
            "12,5",
            "12,50",
            "0,125",
            "1234,567",
            "1,2345",
            "1,23,456",
            ",125",
            "12,",
            "1.234,5",
            "1,250.000,5",
            "1,2e3",
            ",",
            "",
            "12.5.1",
        ] {
            assert_eq!(number(text), None, "{text}");
        }
        let time = how("time: ([0-9.,]+) s", RuntimeUnit::S);
        let reason = runtime(time.as_ref(), &ended("time: 12,5 s\n", "")).unwrap_err();
        assert!(reason.starts_with("`12,5`, which the pattern"), "{reason}");
    }
}
