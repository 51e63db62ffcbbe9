//! A file is read into its type, or the error says where something is wrong and what to write instead.

use std::path::Path;

use jitterlab_base::units::Nanos;
use jitterlab_base::yaml::{Checked, FileError, Step, parse, text_in, text_of, wrong};
use serde::Deserialize;

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Lamp {
    name: String,
    on: Vec<Nanos>,
}

fn check(lamp: &Lamp) -> Checked<'_> {
    match lamp.on.iter().position(|time| time.0 == 0) {
        Some(i) => wrong(&[Step::Key("on"), Step::Index(i)], "it is on for a time"),
        None => Ok(()),
    }
}

fn read(text: &str) -> Result<Lamp, String> {
    parse(text, Path::new("lamp.yaml"), check).map_err(|error| error.to_string())
}

#[test]
fn what_is_right_is_read() {
    let lamp = Lamp {
        name: "red".into(),
        on: vec![Nanos(1_000_000), Nanos(20_000)],
    };
    assert_eq!(read("name: red\non: [1ms, 20us]\n"), Ok(lamp));
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    for (text, place, said) in [
        ("nam: red\non: [1ms]\n", "1:1", "did you mean `name`?"),
        ("name: red\n", "1:1", "missing key `on`"),
        ("name: red\non: 1ms\n", "2:5", "expected a list"),
        ("name: red\non: [1ms, 2]\n", "2:11", "2"),
        ("name: red\non: [1ms, 0ms]\n", "2:11", "it is on for a time"),
        (
            "name: red\non: [1ms]\nname: blue\n",
            "3:1",
            "is given twice",
        ),
        ("name: red\n\ton: [1ms]\n", "2:1", "a tab character"),
        ("", "1:1", "missing key `name`"),
    ] {
        let error = read(text).unwrap_err();
        assert!(
            error.starts_with(&format!("lamp.yaml:{place}: ")),
            "{error}"
        );
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn what_is_no_text_is_told_by_what_it_should_have_been() {
    let path = Path::new("/nonexistent/lamp.yaml");
    let error = text_of("lamp file", path).unwrap_err();
    assert!(matches!(error, FileError::Read { .. }), "{error}");
    assert_eq!(
        error.to_string(),
        "cannot read lamp file /nonexistent/lamp.yaml"
    );
    let long = vec![b' '; 1 << 20];
    let error = text_in(long, "lamp file", path).unwrap_err().to_string();
    assert!(error.ends_with("no lamp file needs as many"), "{error}");
    let error = text_in(b"a\n\xff".to_vec(), "lamp file", path).unwrap_err();
    assert!(
        matches!(error, FileError::Content { line: 2, .. }),
        "{error}"
    );
}
