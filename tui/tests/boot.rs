//! `jitterlab boot` where no appliance boots.

mod common;

use common::Lab;

#[test]
fn a_node_file_is_judged_before_a_node_boots_with_it() {
    let lab = Lab::new();
    lab.write("node.yaml", "hostname: n1\nranks: 4\n");
    lab.write("wrong.yaml", "hostname: n1\nrank: 4\n");
    assert_eq!(lab.done("boot check node.yaml"), "node.yaml is right\n");
    for (arguments, message) in [
        (
            "boot check none.yaml",
            "cannot read node.yaml none.yaml: No such file or directory (os error 2)",
        ),
        (
            "boot check wrong.yaml",
            "wrong.yaml:2:1: unknown field `rank`, expected one of `hostname`, `addresses`, `ssh_keys`, `device`, `ranks`, \
             `tuning`, `experiment`; did you mean `ranks`?",
        ),
    ] {
        lab.refuses(arguments, message);
    }
}
