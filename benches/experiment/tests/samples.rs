//! Files of samples as other programs and people write them.

use std::path::{Path, PathBuf};

use jitterlab_experiment::samples::read;

/// Made by `samples/make.py`.
fn made(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/samples")
        .join(name)
}

#[test]
fn parquet_is_read_whoever_wrote_it() {
    let mut seen = 0;
    for entry in std::fs::read_dir(made("")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if name.ends_with(".parquet") && !name.starts_with("other-") {
            let samples = read(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(samples, [5.0, 7.0, 6.0, 1e6], "{name}");
            seen += 1;
        }
    }
    assert!(seen > 20, "{seen}");
}

#[test]
fn columns_of_parquet_are_chosen_and_what_they_hold_is_told() {
    let chosen = |name: &str| read(&made(name));
    let ns = vec![5.0, 7.0, 6.0, 1e6];
    assert_eq!(chosen("other-two-columns.parquet:latency").unwrap(), ns);
    assert_eq!(chosen("other-two-columns.parquet:2").unwrap(), ns);
    assert_eq!(
        chosen("other-two-columns.parquet:iteration").unwrap(),
        [1.0, 2.0, 3.0, 4.0]
    );
    assert_eq!(chosen("other-fractions.parquet").unwrap(), [5.5, 7.25]);
    assert_eq!(
        chosen("other-microseconds.parquet").unwrap(),
        [5e3, 7e3, 6e3, 1e9]
    );
    for (name, said) in [
        (
            "other-two-columns.parquet",
            "there are several columns, `iteration`, `latency`; name one behind the file, as in FILE:latency",
        ),
        (
            "other-two-columns.parquet:rtt",
            "there is no column `rtt`; there are `iteration`, `latency`",
        ),
        (
            "pyarrow-text-beside.parquet:host",
            "column `host` holds texts",
        ),
        (
            "other-nulls.parquet",
            "2 rows of column `latency` have no value, the first of them is row 2",
        ),
        (
            "other-nan.parquet",
            "row 3 of column `latency` is NaN, which is not a sample",
        ),
        (
            "other-negative.parquet",
            "row 2 of column `latency` is -7, which is not a sample",
        ),
        ("other-empty.parquet", "holds no samples"),
        (
            "other-texts.parquet",
            "no column holds numbers; there are `host`, `on`",
        ),
        (
            "other-timestamps.parquet:at",
            "column `at` holds points in time",
        ),
        ("other-timestamps.parquet", "no column holds numbers"),
        ("other-lists.parquet", "no column holds numbers"),
    ] {
        let error = chosen(name).unwrap_err().to_string();
        assert!(error.contains(said), "{name}: {error}");
    }
}

#[test]
fn damaged_parquet_is_an_error_whichever_byte_is_another() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s.parquet");
    for name in [
        "pyarrow-snappy",
        "pyarrow-zstd",
        "pyarrow-v2-delta",
        "pyarrow-split",
        "pyarrow-gzip",
    ] {
        let whole = std::fs::read(made(&format!("{name}.parquet"))).unwrap();
        for length in (0..whole.len()).step_by(7) {
            std::fs::write(&path, &whole[..length]).unwrap();
            assert!(read(&path).is_err(), "{name}: {length}");
        }
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 1 << (at % 8);
            std::fs::write(&path, damaged).unwrap();
            // Of some nobody can tell: those of a name, of a sample.
            let _ = read(&path);
        }
    }
}

fn text(content: impl AsRef<[u8]>, column: &str) -> Result<Vec<f64>, String> {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("s.csv");
    std::fs::write(&file, content).unwrap();
    let named = format!("{}{column}", file.display());
    read(Path::new(&named)).map_err(|error| {
        let folder = format!("{}/", directory.path().display());
        error.to_string().replace(&folder, "")
    })
}

#[test]
fn a_first_line_is_a_heading_unless_it_could_be_a_number() {
    for value in [
        "nan", "NaN", "-nan", "inf", "-inf", "+inf", "Infinity", "INFINITY", "NA", "N/A", "null",
        "None", "\"nan\"", "nan ns", "5us", "5 us", "-5", "1_000", "0x10", "1.#INF", ".", "-", "∞",
        "1e400",
    ] {
        let error = text(format!("{value}\n5\n7\n8\n"), "").unwrap_err();
        let said = format!("s.csv:1: `{}` is not a sample", value.trim_matches('"'));
        assert!(error.starts_with(&said), "{value}: {error}");
        let later = text(format!("5\n7\n{value}\n"), "").unwrap_err();
        assert!(later.starts_with("s.csv:3: `"), "{value}: {later}");
    }
    for heading in [
        "rtt",
        "rtt_ns",
        "RTT (ns)",
        "\"latency\"",
        "info",
        "Nanoseconds",
        "nano",
        "µs",
        "ns",
        "# 5\nrtt",
        "\n\nrtt",
        "nullable",
    ] {
        assert_eq!(
            text(format!("{heading}\n5\n7\n"), "").unwrap(),
            [5.0, 7.0],
            "{heading}"
        );
    }
    for number in ["5", "+5", "5.0", "5e0", "0.5e1", "\"5\"", " 5 ", "5.", "05"] {
        assert_eq!(
            text(format!("{number}\n7\n"), "").unwrap(),
            [5.0, 7.0],
            "{number}"
        );
    }
    let twice = text("rtt\nrtt\n5\n", "").unwrap_err();
    assert!(
        twice.starts_with("s.csv:2: `rtt` is not a sample"),
        "{twice}"
    );
}

#[test]
fn csv_of_any_make_is_read_or_told() {
    for (content, column) in [
        ("5\r\n7\r\n", ""),
        ("5,\n7,\n", ""),
        ("5\n\n\n7", ""),
        ("\u{feff}5\n7\n", ""),
        ("\u{feff}rtt\r\n5\r\n7\r\n", ""),
        ("i,rtt\n1,5\n2,7\n", ":rtt"),
        ("i,rtt\n1,5\n2,7\n", ":2"),
        ("rtt,i,\n5,1,\n7,2,\n", ":rtt"),
        ("i;rtt\n1;5\n2;7\n", ":rtt"),
        ("i\trtt\n1\t5\n2\t7\n", ":rtt"),
        (",rtt\n0,5\n1,7\n", ":rtt"),
        ("host,rtt\n\"a, b\",5\nc,7\n", ":rtt"),
        ("\"host\",\"rtt\"\n\"a\",\"5\"\n\"b\",\"7\"\n", ":rtt"),
        ("1,5\n2,7\n", ":2"),
        ("rank,ns\n0,5\n0,7\n", ""),
        ("rtt,note\n5,\n7,x\n", ":rtt"),
    ] {
        assert_eq!(
            text(content, column).as_deref(),
            Ok(&[5.0, 7.0][..]),
            "{content:?}"
        );
    }
    let several = "there are several columns";
    for (content, column, said) in [
        (
            "i,rtt\n1,5\n",
            "",
            "s.csv:1: there are several columns, `i`, `rtt`; name one behind the file, as in FILE:rtt",
        ),
        ("1,5\n", "", "s.csv:1: there are several columns, `1`, `2`"),
        ("1;5\n", "", several),
        ("1,234\n", "", several),
        (
            "i,rtt\n1,5\n",
            ":ns",
            "s.csv:1: there is no column `ns`; there are `i`, `rtt`",
        ),
        (
            "i,rtt\n1,5\n2\n",
            ":rtt",
            "s.csv:3: 1 fields, and the first line has 2",
        ),
        ("i;rtt\n1;5,5\n", ":rtt", "s.csv:2: `5,5` is not a sample"),
        ("rtt,note\n,x\n", ":rtt", "s.csv:2: `` is not a sample"),
        ("5\n7,\n8,9\n", "", "s.csv:2: `7,` is not a sample"),
        ("5 6\n", "", "s.csv:1: `5 6` is not a sample"),
        ("", "", "s.csv holds no samples"),
        ("rtt\n", "", "s.csv holds no samples"),
        ("5\n\u{feff}7\n", "", "s.csv:2: `\u{fffd}7` is not a sample"),
    ] {
        let error = text(content, column).unwrap_err();
        assert!(error.contains(said), "{content:?}: {error}");
    }
    for (bytes, said) in [
        (
            &b"\xff\xfe5\0\n\0"[..],
            "s.csv:1: this is UTF-16, little-endian",
        ),
        (b"5\0\n\x007\0", "s.csv:1: this is UTF-16, little-endian"),
        (b"\0\0\x005", "s.csv:1: this is UTF-32, big-endian"),
    ] {
        let error = text(bytes, "").unwrap_err();
        assert!(error.starts_with(said), "{error}");
    }
}

#[test]
fn what_is_no_file_of_samples_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let pipe = directory.path().join("pipe");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    assert!(
        read(&pipe)
            .unwrap_err()
            .to_string()
            .ends_with("holds no samples")
    );
    let folder = read(directory.path()).unwrap_err().to_string();
    assert!(folder.starts_with("cannot read samples"), "{folder}");
    let colon = directory.path().join("a:b.csv");
    std::fs::write(&colon, "5\n").unwrap();
    assert_eq!(read(&colon).unwrap(), [5.0]);
    let csv = directory.path().join("s.parquet");
    std::fs::write(&csv, "5\n").unwrap();
    let error = read(&csv).unwrap_err().to_string();
    assert!(
        error.ends_with("this is not a Parquet file: it does not begin with PAR1"),
        "{error}"
    );
}
