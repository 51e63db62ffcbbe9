//! What the hooks believe of libibverbs is what its header says.

mod common;

#[path = "../src/abi.rs"]
mod abi;

use std::process::Command;

#[test]
fn layout_is_that_of_the_header() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("abi.c");
    let expected = [
        (
            "offsetof(struct ibv_context, ops.post_send)",
            abi::POST_SEND_AT,
        ),
        ("offsetof(struct ibv_qp_ex, wr_start)", abi::WR_START_AT),
    ];
    let prints: Vec<String> = expected
        .iter()
        .map(|(what, _)| format!("printf(\"%zu\\n\", (size_t)({what}));\n"))
        .collect();
    std::fs::write(
        &source,
        format!(
            "#include <infiniband/verbs.h>\n#include <stddef.h>\n#include <stdio.h>\n\
             int main(void) {{\n{}return 0;\n}}\n",
            prints.concat()
        ),
    )
    .unwrap();
    let program = folder.path().join("abi");
    common::compile(&source, &program, &[]);
    let output = Command::new(&program).output().unwrap();
    let found: Vec<String> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(String::from)
        .collect();
    assert_eq!(found.len(), expected.len());
    for ((what, ours), theirs) in expected.iter().zip(found) {
        assert_eq!(ours.to_string(), theirs, "{what}");
    }
}
