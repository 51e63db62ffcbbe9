//! What the hooks believe of libibverbs and UCX is what their headers say.

mod common;

#[allow(dead_code)]
#[path = "../src/abi.rs"]
mod abi;

use std::mem::offset_of;
use std::path::Path;
use std::process::Command;

use jitterlab_skip::skip;

#[test]
fn layout_is_that_of_libibverbs() {
    let expected = [
        (
            "offsetof(struct ibv_context, ops.post_send)",
            abi::POST_SEND_AT,
        ),
        ("offsetof(struct ibv_qp_ex, wr_start)", abi::WR_START_AT),
        ("offsetof(struct ibv_qp_ex, wr_id)", abi::WR_ID_AT),
        ("offsetof(struct ibv_qp_ex, wr_flags)", abi::WR_FLAGS_AT),
        (
            "offsetof(struct ibv_qp_ex, wr_atomic_cmp_swp)",
            abi::WR_BUILDERS_AT,
        ),
        (
            "offsetof(struct ibv_qp_ex, wr_complete)",
            abi::WR_COMPLETE_AT,
        ),
        ("offsetof(struct ibv_qp_ex, wr_abort)", abi::WR_ABORT_AT),
        (
            "offsetof(struct ibv_qp_ex, wr_atomic_write)",
            abi::WR_LATER_AT,
        ),
        (
            "offsetof(struct ibv_qp_ex, wr_bind_mw)",
            abi::WR_BUILDERS_AT + 8 * abi::builder::BIND_MW,
        ),
        (
            "offsetof(struct ibv_qp_ex, wr_send_tso)",
            abi::WR_BUILDERS_AT + 8 * abi::builder::SEND_TSO,
        ),
        (
            "offsetof(struct ibv_qp_ex, wr_set_inline_data)",
            abi::WR_BUILDERS_AT + 8 * abi::builder::SET_INLINE_DATA,
        ),
        (
            "offsetof(struct ibv_qp_ex, wr_set_inline_data_list)",
            abi::WR_BUILDERS_AT + 8 * abi::builder::SET_INLINE_DATA_LIST,
        ),
        (
            "offsetof(struct ibv_qp_ex, wr_set_sge_list)",
            abi::WR_BUILDERS_AT + 8 * abi::builder::SET_SGE_LIST,
        ),
        (
            "offsetof(struct ibv_qp_ex, wr_set_sge_list) + sizeof(void *)",
            abi::WR_BUILDERS_AT + 8 * abi::WR_BUILDERS,
        ),
        ("sizeof(struct ibv_mw_bind_info)", abi::BIND_INFO_SIZE),
        ("sizeof(struct ibv_sge)", size_of::<abi::Sge>()),
        (
            "offsetof(struct ibv_sge, length)",
            offset_of!(abi::Sge, length),
        ),
        ("offsetof(struct ibv_sge, lkey)", offset_of!(abi::Sge, key)),
        ("sizeof(struct ibv_data_buf)", size_of::<abi::DataBuffer>()),
        (
            "offsetof(struct ibv_data_buf, length)",
            offset_of!(abi::DataBuffer, length),
        ),
        ("sizeof(struct ibv_send_wr)", size_of::<abi::SendRequest>()),
        (
            "offsetof(struct ibv_send_wr, next)",
            offset_of!(abi::SendRequest, next),
        ),
        (
            "offsetof(struct ibv_send_wr, sg_list)",
            offset_of!(abi::SendRequest, parts),
        ),
        (
            "offsetof(struct ibv_send_wr, num_sge)",
            offset_of!(abi::SendRequest, count),
        ),
        (
            "offsetof(struct ibv_send_wr, opcode)",
            offset_of!(abi::SendRequest, opcode),
        ),
        (
            "offsetof(struct ibv_send_wr, send_flags)",
            offset_of!(abi::SendRequest, flags),
        ),
        ("IBV_SEND_INLINE", abi::SEND_INLINE as usize),
        ("IBV_WR_TSO", abi::OPCODE_TSO as usize),
        ("IBV_QP_STATE", abi::QP_STATE as usize),
        ("IBV_QPS_RTS", abi::STATE_RTS as usize),
        ("offsetof(struct ibv_qp_attr, qp_state)", 0),
        ("offsetof(struct ibv_qp_ex, qp_base)", 0),
    ];
    expect("infiniband/verbs.h", &expected);
}

#[test]
fn layout_is_that_of_ucx() {
    if !Path::new("/usr/include/uct/api/uct.h").exists() {
        return skip("there are no headers of UCX; apt-get install libucx-dev");
    }
    let operations = [
        ("put_short", abi::uct::PUT_SHORT),
        ("put_bcopy", abi::uct::PUT_BCOPY),
        ("put_zcopy", abi::uct::PUT_ZCOPY),
        ("get_short", abi::uct::GET_SHORT),
        ("get_bcopy", abi::uct::GET_BCOPY),
        ("get_zcopy", abi::uct::GET_ZCOPY),
        ("am_short", abi::uct::AM_SHORT),
        ("am_short_iov", abi::uct::AM_SHORT_IOV),
        ("am_bcopy", abi::uct::AM_BCOPY),
        ("am_zcopy", abi::uct::AM_ZCOPY),
        ("atomic_cswap64", abi::uct::ATOMIC_CSWAP64),
        ("atomic_cswap32", abi::uct::ATOMIC_CSWAP32),
        ("atomic32_post", abi::uct::ATOMIC32_POST),
        ("atomic64_post", abi::uct::ATOMIC64_POST),
        ("atomic32_fetch", abi::uct::ATOMIC32_FETCH),
        ("atomic64_fetch", abi::uct::ATOMIC64_FETCH),
        ("tag_eager_short", abi::uct::TAG_EAGER_SHORT),
        ("tag_eager_bcopy", abi::uct::TAG_EAGER_BCOPY),
        ("tag_eager_zcopy", abi::uct::TAG_EAGER_ZCOPY),
        ("tag_rndv_zcopy", abi::uct::TAG_RNDV_ZCOPY),
        ("tag_rndv_request", abi::uct::TAG_RNDV_REQUEST),
    ];
    let fields: Vec<String> = operations
        .iter()
        .map(|(name, _)| format!("offsetof(uct_iface_t, ops.ep_{name})"))
        .collect();
    let mut expected: Vec<(&str, usize)> = fields
        .iter()
        .zip(operations)
        .map(|(field, (_, index))| (field.as_str(), index * size_of::<usize>()))
        .collect();
    let version = |index| {
        abi::uct::VERSION
            .split('.')
            .nth(index)
            .unwrap()
            .parse()
            .unwrap()
    };
    expected.push(("UCT_VERNO_MAJOR", version(0)));
    expected.push(("UCT_VERNO_MINOR", version(1)));
    expect("uct/api/uct.h", &expected);
}

/// Expects these values of expressions in C.
fn expect(header: &str, expected: &[(&str, usize)]) {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("abi.c");
    let prints: Vec<String> = expected
        .iter()
        .map(|(what, _)| format!("printf(\"%zu\\n\", (size_t)({what}));\n"))
        .collect();
    std::fs::write(
        &source,
        format!(
            "#include <{header}>\n#include <stddef.h>\n#include <stdio.h>\n\
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
