//! The examples run, and say what they should.

use std::process::Command;

use jitterlab_skip::built;

/// The output of an example.
fn said(example: &str) -> String {
    let program = built().join("examples").join(example);
    let output = Command::new(program).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn messages_come_back() {
    let lines = [5, 100, 8_000]
        .map(|length| format!("{length} bytes: <ACKED, PROCESSED>, the same came back: true\n"));
    assert_eq!(said("echo"), lines.concat());
}

#[test]
fn a_request_goes_to_another_node() {
    assert_eq!(
        said("failover"),
        "killed: <NOT_ACKED, REQUEST_RTX_EXCEEDED>\n\
         held: <NOT_ACKED, INDETERMINATE>\n\
         greet: <NOT_ACKED, NOT_RUN>\n\
         greet, moved: <ACKED, PROCESSED>: second greets Kaur\n"
    );
}
