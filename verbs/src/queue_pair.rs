#![allow(unsafe_code)]

use std::ptr::{NonNull, null_mut};

use rdma_sys::{
    ibv_access_flags, ibv_ah, ibv_ah_attr, ibv_create_ah, ibv_create_qp, ibv_destroy_ah,
    ibv_destroy_qp, ibv_modify_qp, ibv_post_recv, ibv_post_send, ibv_qp, ibv_qp_attr,
    ibv_qp_attr_mask as mask, ibv_qp_init_attr, ibv_qp_state as state, ibv_qp_type, ibv_recv_wr,
    ibv_send_flags, ibv_send_wr, ibv_sge, ibv_wr_opcode, rdma_t, ud_t,
};

use crate::{CompletionQueue, Error, MemoryRegion, Mtu};

/// The key that both ends of datagrams use.
const DATAGRAM_KEY: u32 = 0x1111_1111;
/// The time that an acknowledgement is waited for: 4.096 us times 2 to this power, 67 ms.
const TIMEOUT: u8 = 14;
/// The number of times that a packet is sent again before the link counts as broken: one less than the most,
/// which Soft-RoCE takes for ever.
const RETRIES: u8 = 6;
/// A peer that has posted no receive yet is asked again and again,
const FOR_EVER: u8 = 7;
/// after 0.64 ms (Table 45 of the InfiniBand specification, volume 1).
const NOT_READY_TIMER: u8 = 12;
/// Hops that a packet may take.
const HOPS: u8 = 255;

/// The service of a queue pair.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Service {
    /// Reliable connection: every message arrives, once and in order, or the link breaks.
    #[default]
    Rc,
    /// Unreliable datagram: a message may be lost, and is no longer than a packet.
    Ud,
}

jitterlab_base::named!(Service, serde, "a service", Rc => "rc", Ud => "ud");

/// The limits of a queue pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Sends that are not completed.
    pub sends: u32,
    /// Receives that are not completed.
    pub receives: u32,
    /// Bytes of a message in the work request itself.
    pub inline: u32,
    /// True if receives wake who sleeps.
    pub has_events: bool,
}

/// The end point of a queue pair, for the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndPoint {
    /// Its number.
    pub number: u32,
    /// The number of its first packet, of 24 bits.
    pub first_packet: u32,
    /// The LID of its port.
    pub lid: u16,
    /// The GID that it sends from; zeros where LIDs address.
    pub gid: [u8; 16],
}

/// The way to the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    /// The port of this end.
    pub port: u8,
    /// The entry of its GID table, where GIDs address.
    pub gid_index: Option<u8>,
    /// The longest packet.
    pub mtu: Mtu,
    /// The number of this end's first packet.
    pub first_packet: u32,
    /// The other end.
    pub to: EndPoint,
}

/// A place in the memory of the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Remote {
    /// Its address there.
    pub address: u64,
    /// The remote key of its region.
    pub key: u32,
}

/// The kind of send that a work request makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendKind {
    /// Sends it to the other end's next receive.
    Send,
    /// Writes it to a place there.
    Write(Remote),
    /// The same, and completes a receive there with this number.
    WriteImm(Remote, u32),
}

/// The message of a work request, and how it is handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Work {
    /// The number of its completion.
    pub id: u64,
    /// The place where it begins in the memory of the queue pair.
    pub at: usize,
    /// Its length in bytes.
    pub length: usize,
    /// True if it is copied into the work request.
    pub is_inline: bool,
    /// True if its completion is told. That of an error always is.
    pub is_signalled: bool,
}

/// A queue pair that is not connected: it takes receives, and cannot send.
#[derive(Debug)]
pub struct Prepared(Raw);

/// A queue pair that is connected, or, of datagrams, that knows whom to send to.
#[derive(Debug)]
pub struct QueuePair {
    raw: Raw,
    to: u32,
}

/// A queue pair in some state, with what it works on. That is destroyed after it.
#[derive(Debug)]
struct Raw {
    pair: NonNull<ibv_qp>,
    service: Service,
    inline: u32,
    address: Option<AddressHandle>,
    sends: CompletionQueue,
    receives: CompletionQueue,
    memory: MemoryRegion,
}

/// The address that datagrams go to.
#[derive(Debug)]
struct AddressHandle(NonNull<ibv_ah>);

// SAFETY: libibverbs allows calls of any thread, and what the pair works on goes with it.
unsafe impl Send for Raw {}
// SAFETY: a handle that is only given to calls.
unsafe impl Send for AddressHandle {}

impl Prepared {
    /// A queue pair on a port, in the state INIT, that works on `memory`.
    ///
    /// # Errors
    /// The device does not make it, or not with these limits.
    pub fn new(
        service: Service,
        memory: MemoryRegion,
        limits: &Limits,
        port: u8,
    ) -> Result<Self, Error> {
        let device = memory.domain().device();
        let sends = CompletionQueue::new(device, limits.sends, false)?;
        let receives = CompletionQueue::new(device, limits.receives, limits.has_events)?;
        // SAFETY: it holds numbers and pointers only, for which zeros are values.
        let mut wanted: ibv_qp_init_attr = unsafe { std::mem::zeroed() };
        wanted.send_cq = sends.as_ptr();
        wanted.recv_cq = receives.as_ptr();
        wanted.qp_type = match service {
            Service::Rc => ibv_qp_type::IBV_QPT_RC,
            Service::Ud => ibv_qp_type::IBV_QPT_UD,
        };
        wanted.cap.max_send_wr = limits.sends;
        wanted.cap.max_recv_wr = limits.receives;
        wanted.cap.max_send_sge = 1;
        wanted.cap.max_recv_sge = 1;
        wanted.cap.max_inline_data = limits.inline;
        // SAFETY: the domain and both completion queues are there and of one device; they are kept for
        // longer than the queue pair.
        let pair = unsafe { ibv_create_qp(memory.domain().as_ptr(), &mut wanted) };
        let pair =
            NonNull::new(pair).ok_or_else(|| Error::of_errno("ibv_create_qp", device.name()))?;
        let raw = Raw {
            pair,
            service,
            inline: wanted.cap.max_inline_data,
            address: None,
            sends,
            receives,
            memory,
        };
        let (mut attributes, mut given) = raw.attributes(state::IBV_QPS_INIT);
        attributes.port_num = port;
        given |= mask::IBV_QP_PKEY_INDEX | mask::IBV_QP_PORT;
        match service {
            Service::Rc => {
                attributes.qp_access_flags = ibv_access_flags::IBV_ACCESS_REMOTE_WRITE.0;
                given |= mask::IBV_QP_ACCESS_FLAGS;
            }
            Service::Ud => {
                attributes.qkey = DATAGRAM_KEY;
                given |= mask::IBV_QP_QKEY;
            }
        }
        raw.modify("ibv_modify_qp to INIT", attributes, given)?;
        Ok(Prepared(raw))
    }

    /// Its number.
    pub fn number(&self) -> u32 {
        // SAFETY: the queue pair is there; its number does not change.
        unsafe { self.0.pair.as_ref().qp_num }
    }

    /// The most bytes that it takes inline.
    pub fn inline(&self) -> u32 {
        self.0.inline
    }

    /// The memory that it works on.
    pub fn memory(&self) -> &MemoryRegion {
        &self.0.memory
    }

    /// Does as [`QueuePair::post_receive`].
    ///
    /// # Errors
    /// As of that one.
    pub fn post_receive(&self, id: u64, at: usize, length: usize) -> Result<(), Error> {
        self.0.post_receive(id, at, length)
    }

    /// Brings it to the state RTR, in which it receives, and to RTS, in which it sends, too.
    ///
    /// # Errors
    /// The other end cannot be reached from this port, or an attribute is none for the device.
    pub fn connect(self, route: &Route) -> Result<QueuePair, Error> {
        let Prepared(mut raw) = self;
        let (mut attributes, mut given) = raw.attributes(state::IBV_QPS_RTR);
        if raw.service == Service::Rc {
            attributes.ah_attr = route.address();
            attributes.path_mtu = route.mtu.code().into();
            attributes.dest_qp_num = route.to.number;
            attributes.rq_psn = route.to.first_packet;
            attributes.max_dest_rd_atomic = 1;
            attributes.min_rnr_timer = NOT_READY_TIMER;
            given |= mask::IBV_QP_AV
                | mask::IBV_QP_PATH_MTU
                | mask::IBV_QP_DEST_QPN
                | mask::IBV_QP_RQ_PSN
                | mask::IBV_QP_MAX_DEST_RD_ATOMIC
                | mask::IBV_QP_MIN_RNR_TIMER;
        }
        raw.modify("ibv_modify_qp to RTR", attributes, given)?;

        let (mut attributes, mut given) = raw.attributes(state::IBV_QPS_RTS);
        attributes.sq_psn = route.first_packet;
        given |= mask::IBV_QP_SQ_PSN;
        if raw.service == Service::Rc {
            attributes.timeout = TIMEOUT;
            attributes.retry_cnt = RETRIES;
            attributes.rnr_retry = FOR_EVER;
            attributes.max_rd_atomic = 1;
            given |= mask::IBV_QP_TIMEOUT
                | mask::IBV_QP_RETRY_CNT
                | mask::IBV_QP_RNR_RETRY
                | mask::IBV_QP_MAX_QP_RD_ATOMIC;
        }
        raw.modify("ibv_modify_qp to RTS", attributes, given)?;
        if raw.service == Service::Ud {
            raw.address = Some(AddressHandle::new(&raw, route)?);
        }
        Ok(QueuePair {
            raw,
            to: route.to.number,
        })
    }
}

impl QueuePair {
    /// The memory that it works on.
    #[inline]
    pub fn memory(&self) -> &MemoryRegion {
        &self.raw.memory
    }

    /// The completions of its sends.
    #[inline]
    pub fn sends(&self) -> &CompletionQueue {
        &self.raw.sends
    }

    /// The completions of its receives.
    #[inline]
    pub fn receives(&self) -> &CompletionQueue {
        &self.raw.receives
    }

    /// The queue pair at the other end.
    #[inline]
    pub fn peer(&self) -> u32 {
        self.to
    }

    /// Lets a message that comes be put at a place of the memory: `length` bytes at most, of a datagram with
    /// the 40 of its header; none for what is only told of a write.
    ///
    /// # Errors
    /// There is no room for it.
    ///
    /// # Panics
    /// Part of the place lies outside.
    #[inline]
    pub fn post_receive(&self, id: u64, at: usize, length: usize) -> Result<(), Error> {
        self.raw.post_receive(id, at, length)
    }

    /// Posts a send.
    ///
    /// # Errors
    /// There is no room for it, or the service knows no such operation.
    ///
    /// # Panics
    /// Part of the message lies outside, or it is inline and longer than what was granted.
    #[inline]
    pub fn post_send(&self, kind: SendKind, work: &Work) -> Result<(), Error> {
        let raw = &self.raw;
        let mut part = raw.part(work.at, work.length);
        let mut flags = 0;
        if work.is_signalled {
            flags |= ibv_send_flags::IBV_SEND_SIGNALED.0;
        }
        if work.is_inline {
            assert!(part.length <= raw.inline);
            flags |= ibv_send_flags::IBV_SEND_INLINE.0;
        }
        // SAFETY: it holds numbers and pointers only, for which zeros are values.
        let mut request: ibv_send_wr = unsafe { std::mem::zeroed() };
        request.wr_id = work.id;
        request.sg_list = &mut part;
        request.num_sge = 1;
        request.send_flags = flags;
        let write = |to: Remote| rdma_t {
            remote_addr: to.address,
            rkey: to.key,
        };
        match kind {
            SendKind::Send => request.opcode = ibv_wr_opcode::IBV_WR_SEND,
            SendKind::Write(to) => {
                request.opcode = ibv_wr_opcode::IBV_WR_RDMA_WRITE;
                request.wr.rdma = write(to);
            }
            SendKind::WriteImm(to, number) => {
                request.opcode = ibv_wr_opcode::IBV_WR_RDMA_WRITE_WITH_IMM;
                request.imm_data_invalidated_rkey_union.imm_data = number.to_be();
                request.wr.rdma = write(to);
            }
        }
        if let Some(address) = &raw.address {
            request.wr.ud = ud_t {
                ah: address.0.as_ptr(),
                remote_qpn: self.to,
                remote_qkey: DATAGRAM_KEY,
            };
        }
        let mut bad = null_mut();
        // SAFETY: the queue pair is there. Request and list are read within the call. The message lies in the
        // registered memory of this queue pair, which outlives it.
        match unsafe { ibv_post_send(raw.pair.as_ptr(), &mut request, &mut bad) } {
            0 => Ok(()),
            code => Err(raw.failed("ibv_post_send", code)),
        }
    }
}

impl Raw {
    /// The attributes that a change to a state begins with.
    fn attributes(&self, state: state::Type) -> (ibv_qp_attr, mask) {
        // SAFETY: it holds numbers only, for which zeros are values.
        let mut attributes: ibv_qp_attr = unsafe { std::mem::zeroed() };
        attributes.qp_state = state;
        (attributes, mask::IBV_QP_STATE)
    }

    fn modify(&self, call: &'static str, mut to: ibv_qp_attr, given: mask) -> Result<(), Error> {
        // SAFETY: the queue pair is there, and the attributes are read within the call.
        match unsafe { ibv_modify_qp(self.pair.as_ptr(), &mut to, given.0 as i32) } {
            0 => Ok(()),
            code => Err(self.failed(call, code)),
        }
    }

    #[inline]
    fn part(&self, at: usize, length: usize) -> ibv_sge {
        ibv_sge {
            addr: self.memory.part(at, length),
            length: length as u32,
            lkey: self.memory.local_key(),
        }
    }

    #[inline]
    fn post_receive(&self, id: u64, at: usize, length: usize) -> Result<(), Error> {
        let mut part = self.part(at, length);
        let mut request = ibv_recv_wr {
            wr_id: id,
            next: null_mut(),
            sg_list: &mut part,
            num_sge: i32::from(length > 0),
        };
        let mut bad = null_mut();
        // SAFETY: as of a send: what is posted lies in memory that outlives the queue pair.
        match unsafe { ibv_post_recv(self.pair.as_ptr(), &mut request, &mut bad) } {
            0 => Ok(()),
            code => Err(self.failed("ibv_post_recv", code)),
        }
    }

    #[cold]
    fn failed(&self, call: &'static str, code: i32) -> Error {
        Error::of_code(call, self.memory.domain().device().name(), code)
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        // SAFETY: it was not destroyed yet.
        if unsafe { ibv_destroy_qp(self.pair.as_ptr()) } != 0 {
            // The device may go on writing.
            self.memory.abandon();
        }
    }
}

impl Route {
    fn address(&self) -> ibv_ah_attr {
        // SAFETY: it holds numbers only, for which zeros are values.
        let mut address: ibv_ah_attr = unsafe { std::mem::zeroed() };
        address.port_num = self.port;
        address.dlid = self.to.lid;
        if let Some(index) = self.gid_index {
            address.is_global = 1;
            address.grh.dgid.raw = self.to.gid;
            address.grh.sgid_index = index;
            address.grh.hop_limit = HOPS;
        }
        address
    }
}

impl AddressHandle {
    fn new(raw: &Raw, route: &Route) -> Result<Self, Error> {
        let domain = raw.memory.domain();
        let mut address = route.address();
        // SAFETY: the domain is there, and the address is read within the call. The handle is kept in the queue
        // pair, in front of the memory, which keeps the domain.
        let handle = unsafe { ibv_create_ah(domain.as_ptr(), &mut address) };
        match NonNull::new(handle) {
            Some(handle) => Ok(AddressHandle(handle)),
            None => Err(Error::of_errno("ibv_create_ah", domain.device().name())),
        }
    }
}

impl Drop for AddressHandle {
    fn drop(&mut self) {
        // SAFETY: it was not destroyed yet; the queue pair that sent to it was, before.
        unsafe { ibv_destroy_ah(self.0.as_ptr()) };
    }
}
