//! Wrong arguments, tables and samples of `jitterlab dist`, from outside.

mod common;

use common::{Lab, text};

#[test]
fn wrong_arguments_are_refused() {
    let lab = Lab::with_tables();
    lab.write("kept.dist", "not to be touched");
    for (arguments, message) in [
        (
            "make --shape constant --mean 50 -o x",
            "error: invalid value '50' for '--mean <MEAN>': `50` is not a duration; write a number and \
             one of ns, us, ms, s, min, h, as in `250us`",
        ),
        (
            "make --shape constant --mean=-5us -o x",
            "error: invalid value '-5us' for '--mean <MEAN>': `-5us` is not a duration of 0 or \
             more, as in `250us`",
        ),
        (
            "make --shape constant --mean -10us -o x",
            "error: invalid value '-10us' for '--mean <MEAN>': `-10us` is not a duration of 0 or \
             more, as in `250us`",
        ),
        (
            "make --shape cubic --mean 50us -o x",
            "error: invalid value 'cubic' for '--shape <SHAPE>': `cubic` is not a shape; write \
             constant, uniform or lognormal",
        ),
        (
            "make --shape constant --mean 50us",
            "error: the following required arguments were not provided:",
        ),
        (
            "make --shape constant --mean 50us --std 1us -o x",
            "a constant shape takes no standard deviation",
        ),
        (
            "make --shape uniform --mean 50us -o x",
            "a uniform shape needs a standard deviation",
        ),
        (
            "make --shape uniform --mean 50us --std 40us -o kept.dist",
            "a uniform distribution with mean 50 us and standard deviation 40 us has \
             negative delays; the standard deviation may be at most mean / √3",
        ),
        (
            "make --shape lognormal --mean 50us -o x",
            "a lognormal shape needs a standard deviation above 0 and a mean above its location",
        ),
        (
            "make --shape lognormal --mean 50us --std 1us --location 50us -o x",
            "a lognormal shape needs a standard deviation above 0 and a mean above its location",
        ),
        (
            "make --shape uniform --mean 50us --std 1us --location 1us -o x",
            "--location is only for --shape lognormal",
        ),
        (
            "make --shape constant --mean 2s -o kept.dist",
            "4096 of the 4096 delays of constant(value=2000000000) are beyond 1 s, the longest \
             that a table holds",
        ),
        (
            "make --shape constant --mean 0.4ns -o x",
            "error: invalid value '0.4ns' for '--mean <MEAN>': `0.4ns` is not 0, or a duration of at least 1ns",
        ),
        (
            "make --shape constant --mean 50us -o none/t.dist",
            "cannot write none/t.dist: No such file or directory (os error 2)",
        ),
        (
            "fit samples.csv --shape gauss",
            "error: invalid value 'gauss' for '--shape <SHAPE>': `gauss` is not constant, \
             uniform, lognormal, gamma, weibull, generalised-pareto, two-lognormals, three-lognormals or best",
        ),
        (
            "family samples.csv -o kept.dist",
            "cannot make folder kept.dist: File exists (os error 17)",
        ),
        (
            "show plain --unit us",
            "error: invalid value 'us' for '--unit <UNIT>': `us` is not a unit of delays; write ns or \
             spins",
        ),
        (
            "check t.dist --tolerance 2",
            "--tolerance lies between 0 and 1",
        ),
        (
            "check t.dist --tolerance NaN",
            "--tolerance lies between 0 and 1",
        ),
        (
            "check plain",
            "plain does not name the distribution it was made from; --samples FILE checks it against samples",
        ),
        (
            "import netem.dist --mean 1us -o x",
            "error: the following required arguments were not provided:",
        ),
        (
            "import netem.dist --mean 2s --std 1us -o x",
            "--mean 2s is beyond 1 s, the longest delay that a table holds",
        ),
    ] {
        lab.refuses(&format!("dist {arguments}"), message);
    }
}

#[test]
fn wrong_tables_are_refused_with_their_line() {
    let lab = Lab::with_tables();
    let line = "1 2 3 4 5 6 7 8\n";
    let with = |at: usize, wrong: &str| {
        let rest = line.repeat(512 - at);
        format!("{}{wrong}\n{rest}", line.repeat(at - 1)).into_bytes()
    };
    for (content, message) in [
        (
            Vec::new(),
            "1: the table ends after 0 lines of delays; it needs 512",
        ),
        (
            line.repeat(511).into(),
            "511: the table ends after 511 lines of delays; it needs 512",
        ),
        (
            line.repeat(513).into(),
            "513: a line too many; a table has 512 lines of delays",
        ),
        (
            with(7, "1 2 3"),
            "7: this line has 3 integers; each line of a table must have 8 integers",
        ),
        (
            with(9, ""),
            "9: this line has 0 integers; each line of a table must have 8 integers",
        ),
        (
            with(3, "1 2 -3 4 5 6 7 8"),
            "3: column 5: `-3` is negative; a delay is 0 or more",
        ),
        (
            with(4, "1 2 3.5 4 5 6 7 8"),
            "4: column 5: `3.5` is not an integer",
        ),
        (
            with(5, "1 2 3 4 5 6 7 1000000001"),
            "5: column 15: 1000000001 ns is beyond 1 s",
        ),
        (
            with(1, "# jitterlab-table 2 unit=ns origin="),
            "1: version `2` of the table format; this program reads version 1",
        ),
        (
            with(1, "# jitterlab-table 1 unit=us origin="),
            "1: `us` is not a unit of delays; write ns or spins",
        ),
        (
            with(1, "# mine"),
            "1: expected `# jitterlab-table 1 unit=ns origin=…` or a line of eight delays",
        ),
        (
            b"1 2\n\xff\xfe".into(),
            "2: not text: byte 5 is not UTF-8; a distribution table holds integers",
        ),
        (
            vec![b'1'; 2 << 20],
            "1: more than 1048576 bytes; no distribution table has as many",
        ),
    ] {
        lab.write("w.dist", content);
        for verb in ["show w.dist", "check w.dist", "export w.dist -o x"] {
            lab.refuses(&format!("dist {verb}"), &format!("w.dist:{message}"));
        }
    }
    lab.refuses(
        "dist show none.dist",
        "cannot read distribution table none.dist: No such file or directory (os error 2)",
    );
}

#[test]
fn wrong_netem_tables_are_refused_with_their_line() {
    let lab = Lab::new();
    for (content, message) in [
        (
            b"# nothing\n".to_vec(),
            "1: no values; a netem table holds integers",
        ),
        (
            b"1 2\n3 x\n".to_vec(),
            "2: `x` is not an integer from -32768 to 32767",
        ),
        (
            b"40000\n".to_vec(),
            "1: `40000` is not an integer from -32768 to 32767",
        ),
        (
            b"1\n\xff\n".to_vec(),
            "2: not text: byte 3 is not UTF-8; a distribution table holds integers",
        ),
        (
            "1 ".repeat(16_385).into(),
            "1: more than 16384 values; netem takes no more",
        ),
    ] {
        lab.write("w.dist", content);
        lab.refuses(
            "dist import w.dist --mean 1us --std 1us -o x",
            &format!("w.dist:{message}"),
        );
    }
}

#[test]
fn wrong_samples_are_refused_with_their_line() {
    let lab = Lab::new();
    let number = "is not a sample: each line is one number of nanoseconds, from 0 to 1e18";
    for (content, message) in [
        (b"".to_vec(), "w.csv holds no samples".to_string()),
        (
            b"rtt_ns\n# none\n".to_vec(),
            "w.csv holds no samples".into(),
        ),
        (
            b"1\n2\nthree\n".to_vec(),
            format!("w.csv:3: `three` {number}"),
        ),
        (
            b"rtt_ns\n1\n-2\n".to_vec(),
            format!("w.csv:3: `-2` {number}"),
        ),
        (b"1\ninf\n".to_vec(), format!("w.csv:2: `inf` {number}")),
        (
            b"1\n2\n3\n1e306\n".to_vec(),
            format!("w.csv:4: `1e306` {number}"),
        ),
        (
            b"1,2\n".to_vec(),
            "w.csv:1: there are several columns, `1`, `2`; name one behind the file, as in FILE:2"
                .into(),
        ),
        (b"nan\n5\n".to_vec(), format!("w.csv:1: `nan` {number}")),
        (
            b"1\n\xff\n".to_vec(),
            format!("w.csv:2: `\u{fffd}` {number}"),
        ),
    ] {
        lab.write("w.csv", content);
        for verb in ["fit w.csv", "family w.csv -o family"] {
            lab.refuses(&format!("dist {verb}"), &message);
        }
    }
    lab.write("w.csv", "PAR1 and no more");
    let broken = lab.run("dist fit w.csv");
    assert_eq!(broken.status.code(), Some(2));
    let message = text(&broken.stderr);
    let expected = "jitterlab: w.csv cannot be read as a Parquet file: ";
    assert!(message.starts_with(expected), "{message}");
    assert_eq!(message.lines().count(), 1);
    lab.refuses(
        "dist fit none.csv",
        "cannot read samples none.csv: No such file or directory (os error 2)",
    );
    for (samples, verb, message) in [
        (
            "5\n",
            "fit w.csv --shape lognormal",
            "a lognormal fit needs at least 3 samples; there are 1",
        ),
        (
            "5\n",
            "fit w.csv --shape uniform",
            "a uniform fit needs at least 2 samples; there are 1",
        ),
        (
            "5\n5\n5\n",
            "fit w.csv --shape uniform",
            "a uniform fit is not defined for samples that are all equal",
        ),
    ] {
        lab.write("w.csv", samples);
        lab.refuses(&format!("dist {verb}"), message);
    }
    let family = lab.run("dist family w.csv -o family");
    assert_eq!(family.status.code(), Some(1));
    let said = text(&family.stdout);
    let line = said.lines().find(|line| line.starts_with("lognormal "));
    let reason = "not written: a lognormal fit is not defined for samples that are all equal";
    assert!(line.is_some_and(|line| line.contains(reason)), "{said}");
}
