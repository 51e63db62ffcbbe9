//! The little of other libraries' layout that the hooks rely on. Tests compare every line with the
//! headers. libibverbs' is the same from rdma-core 44 to 64.

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
/// The number of them, one after the other, up to `wr_set_sge_list`.
pub(crate) const WR_BUILDERS: usize = (WR_START_AT - WR_BUILDERS_AT) / 8;
/// `offsetof(struct ibv_qp_ex, wr_complete)`.
pub(crate) const WR_COMPLETE_AT: usize = 328;
/// `offsetof(struct ibv_qp_ex, wr_abort)`.
pub(crate) const WR_ABORT_AT: usize = 336;
/// The place where later functions that build begin, `wr_atomic_write` and `wr_flush`. An rdma-core without them has
/// something there that is no function: providers put more than the structure in one block.
pub(crate) const WR_LATER_AT: usize = WR_ABORT_AT + 8;
/// The number of them.
pub(crate) const WR_LATER: usize = 2;

/// The ones of those functions that take a pointer to memory that may change before the request is posted.
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

/// The place of the operations of endpoints in `struct uct_iface`, which begins with a `uct_iface_ops_t`, in words.
pub(crate) mod uct {
    /// The beginning of the versions that have them there.
    pub(crate) const VERSION: &str = "1.13.";
    pub(crate) const PUT_SHORT: usize = 0;
    pub(crate) const PUT_BCOPY: usize = 1;
    pub(crate) const PUT_ZCOPY: usize = 2;
    pub(crate) const GET_SHORT: usize = 3;
    pub(crate) const GET_BCOPY: usize = 4;
    pub(crate) const GET_ZCOPY: usize = 5;
    pub(crate) const AM_SHORT: usize = 6;
    pub(crate) const AM_SHORT_IOV: usize = 7;
    pub(crate) const AM_BCOPY: usize = 8;
    pub(crate) const AM_ZCOPY: usize = 9;
    pub(crate) const ATOMIC_CSWAP64: usize = 10;
    pub(crate) const ATOMIC_CSWAP32: usize = 11;
    pub(crate) const ATOMIC32_POST: usize = 12;
    pub(crate) const ATOMIC64_POST: usize = 13;
    pub(crate) const ATOMIC32_FETCH: usize = 14;
    pub(crate) const ATOMIC64_FETCH: usize = 15;
    pub(crate) const TAG_EAGER_SHORT: usize = 16;
    pub(crate) const TAG_EAGER_BCOPY: usize = 17;
    pub(crate) const TAG_EAGER_ZCOPY: usize = 18;
    pub(crate) const TAG_RNDV_ZCOPY: usize = 19;
    pub(crate) const TAG_RNDV_REQUEST: usize = 21;
    /// The number of them up to the last of these.
    pub(crate) const OPERATIONS: usize = TAG_RNDV_REQUEST + 1;
}
