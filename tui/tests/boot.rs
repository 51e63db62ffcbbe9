//! `jitterlab boot` where no appliance boots.

mod common;

use common::Lab;

#[test]
fn a_node_file_is_judged_before_a_node_boots_with_it() {
    let lab = Lab::new();
    lab.write("node.yaml", "hostname: n1\nranks: 4\n");
    lab.write("wrong.yaml", "hostname: n1\nrank: 4\n");
    assert_eq!(lab.done("boot check node.yaml"), "node.yaml is right\n");
    lab.write("marked.yaml", "\u{feff}hostname: n1\r\nranks: 4\r\n");
    assert_eq!(lab.done("boot check marked.yaml"), "marked.yaml is right\n");
    lab.write("utf-16.yaml", b"\xff\xfer\0a\0");
    lab.write("deep.yaml", "{a: ".repeat(100_000));
    lab.write("list.yaml", "- ranks\n");
    for (arguments, message) in [
        (
            "boot check none.yaml",
            "cannot read node.yaml none.yaml: No such file or directory (os error 2)",
        ),
        (
            "boot check utf-16.yaml",
            "utf-16.yaml:1:1: this is UTF-16, little-endian; save it as UTF-8, or convert it with iconv -f UTF-16 -t UTF-8",
        ),
        (
            "boot check deep.yaml",
            "deep.yaml:1:257: more than 64 lists and maps stand in one another here",
        ),
        (
            "boot check list.yaml",
            "list.yaml:1:1: found a list, expected keys with values",
        ),
        (
            "boot check /dev/zero",
            "/dev/zero:1:1: more than 524288 bytes; no node.yaml needs as many",
        ),
        (
            "boot check .",
            "cannot read node.yaml .: Is a directory (os error 21)",
        ),
        (
            "boot check wrong.yaml",
            "wrong.yaml:2:1: unknown key `rank`, expected one of `hostname`, `addresses`, `ssh_keys`, `known_hosts`, `device`, \
             `ranks`, `tuning`, `experiment`; did you mean `ranks`?",
        ),
    ] {
        lab.refuses(arguments, message);
    }
}
