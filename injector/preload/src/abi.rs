//! The little of libibverbs' layout that the hooks rely on: the same from rdma-core 44 to 64. A
//! test compares every line with the header.

/// `offsetof(struct ibv_context, ops.post_send)`.
pub(crate) const POST_SEND_AT: usize = 208;
/// `offsetof(struct ibv_qp_ex, wr_start)`.
pub(crate) const WR_START_AT: usize = 320;
/// `offsetof(struct ibv_qp_ex, wr_id)`.
pub(crate) const WR_ID_AT: usize = 168;
/// `offsetof(struct ibv_qp_ex, wr_flags)`.
pub(crate) const WR_FLAGS_AT: usize = 176;
/// `offsetof(struct ibv_qp_ex, wr_atomic_cmp_swp)`: the first of the functions that build work
/// requests.
pub(crate) const WR_BUILDERS_AT: usize = 184;
/// How many there are, one after the other, up to `wr_set_sge_list`.
pub(crate) const WR_BUILDERS: usize = (WR_START_AT - WR_BUILDERS_AT) / 8;
/// `offsetof(struct ibv_qp_ex, wr_complete)`.
pub(crate) const WR_COMPLETE_AT: usize = 328;
/// `offsetof(struct ibv_qp_ex, wr_abort)`.
pub(crate) const WR_ABORT_AT: usize = 336;

/// Which of those functions take a pointer to memory that may change before the request is posted.
pub(crate) mod builder {
    /// `wr_bind_mw(qp, mw, rkey, bind_info)`
    pub(crate) const BIND_MW: usize = 2;
    /// `wr_send_tso(qp, hdr, hdr_sz, mss)`
    pub(crate) const SEND_TSO: usize = 10;
    /// `wr_set_inline_data(qp, addr, length)`
    pub(crate) const SET_INLINE_DATA: usize = 13;
    /// `wr_set_inline_data_list(qp, num_buf, buf_list)`
    pub(crate) const SET_INLINE_DATA_LIST: usize = 14;
    /// `wr_set_sge_list(qp, num_sge, sg_list)`
    pub(crate) const SET_SGE_LIST: usize = 16;
}

/// `sizeof(struct ibv_mw_bind_info)`.
pub(crate) const BIND_INFO_SIZE: usize = 32;

/// `struct ibv_sge`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Sge {
    pub(crate) address: u64,
    pub(crate) length: u32,
    pub(crate) key: u32,
}

/// `struct ibv_data_buf`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct DataBuffer {
    pub(crate) address: *const u8,
    pub(crate) length: usize,
}

/// `struct ibv_send_wr`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct SendRequest {
    pub(crate) id: u64,
    pub(crate) next: *mut SendRequest,
    pub(crate) parts: *mut Sge,
    pub(crate) count: i32,
    pub(crate) opcode: u32,
    pub(crate) flags: u32,
    pub(crate) rest: [u32; 23],
}

/// `IBV_SEND_INLINE`.
pub(crate) const SEND_INLINE: u32 = 8;
/// `IBV_WR_TSO`.
pub(crate) const OPCODE_TSO: u32 = 10;
/// `IBV_QP_STATE`, in the mask of `ibv_modify_qp`.
pub(crate) const QP_STATE: i32 = 1;
/// `IBV_QPS_RTS`; `qp_state` is the first member of `struct ibv_qp_attr`.
pub(crate) const STATE_RTS: u32 = 3;
