//! The little of libibverbs' layout that the hooks rely on: the same from rdma-core 44 to 64. A
//! test compares every line with the header.

/// `offsetof(struct ibv_context, ops.post_send)`.
pub(crate) const POST_SEND_AT: usize = 208;
/// `offsetof(struct ibv_qp_ex, wr_start)`.
pub(crate) const WR_START_AT: usize = 320;
