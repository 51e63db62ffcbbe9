//! What can be chosen of an endpoint.

use std::ffi::c_char;
use std::mem::{MaybeUninit, offset_of};
use std::ptr;

use jitterlab_amvia::endpoint::Options;
use jitterlab_amvia::log::Durability;
use jitterlab_amvia::protocol::{Config, Protocol};
use jitterlab_verbs::Adapter;

use crate::error::{AM_Error, Failure, guard};
use crate::memory;

/// The protocol of an endpoint; both ends of a connection must have the same.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub enum AM_Protocol {
    /// Request, acknowledgement, reply.
    AM_PROTOCOL_AMVIA = 0,
    /// Request, reply, acknowledgement of the reply.
    AM_PROTOCOL_AMUDP = 1,
    /// Request and reply.
    AM_PROTOCOL_TWO_WAY = 2,
}

/// What the log of an endpoint survives.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub enum AM_Durability {
    /// Nothing: it is memory of the process.
    AM_DURABILITY_NONE = 0,
    /// The end of the process, by kill -9 too.
    AM_DURABILITY_PROCESS = 1,
    /// A power cut.
    AM_DURABILITY_POWER = 2,
}

impl AM_Protocol {
    const ALL: [(Self, Protocol); 3] = [
        (Self::AM_PROTOCOL_AMVIA, Protocol::Amvia),
        (Self::AM_PROTOCOL_AMUDP, Protocol::Amudp),
        (Self::AM_PROTOCOL_TWO_WAY, Protocol::TwoWay),
    ];
}

impl AM_Durability {
    const ALL: [(Self, Durability); 3] = [
        (Self::AM_DURABILITY_NONE, Durability::None),
        (Self::AM_DURABILITY_PROCESS, Durability::Process),
        (Self::AM_DURABILITY_POWER, Durability::Power),
    ];
}

/// What can be chosen of an endpoint. AM_InitOptions() fills it. Later versions may add members at the end.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct AM_Options {
    /// Bytes of the structure: that is how the library knows the version.
    pub size: usize,
    /// The file of the log; a null pointer with AM_DURABILITY_NONE.
    pub log: *const c_char,
    /// An AM_Durability.
    pub durability: u32,
    /// An AM_Protocol.
    pub protocol: u32,
    /// Maximum number of transactions under way with one peer, in each direction: the credits, 1 to 64. Both ends must have the same.
    pub window: u32,
    /// Peers at most.
    pub peers: u32,
    /// Bytes of a frame at most; 0: as the transport has it. The lesser of both ends counts.
    pub mtu: u32,
    /// Bytes of a message at most.
    pub message: u32,
    /// Segments of a message that go out before the receiver says what it has, 1 to 64.
    pub burst: u32,
    /// Retransmissions without an acknowledgement before a request is abandoned (k).
    pub request_retransmissions: u32,
    /// Retransmissions without a word after the acknowledgement before the reply is abandoned (N).
    pub reply_retransmissions: u32,
    /// 0.
    pub reserved: u32,
    /// The floor of the timeout.
    pub min_rto: u64,
    /// The ceiling of the timeout.
    pub max_rto: u64,
    /// The timeout before the first round trip is known.
    pub initial_rto: u64,
    /// The interval at which the program polls.
    pub granularity: u64,
    /// How long the acknowledgement waits for the reply, to ride on it; 0: it goes at once. AMVIA alone.
    pub ack_delay: u64,
    /// How long a handler is given before a missing reply is taken for abandoned. AMUDP and two-way alone.
    pub reply_wait: u64,
    /// How long the target waits for a handler that has started; 0: for ever.
    pub handler_time: u64,
    /// How long the target keeps the records of a client without a word from it.
    pub lease: u64,
    /// The RDMA device of an endpoint over verbs; a null pointer: the first one with a port that is up.
    pub device: *const c_char,
}

/// Bytes of the first version.
const FIRST: usize = offset_of!(AM_Options, lease) + size_of::<u64>();

impl AM_Options {
    fn defaults(size: usize) -> AM_Options {
        let Options { config, peers, .. } = Options::default();
        AM_Options {
            size,
            log: ptr::null(),
            durability: AM_Durability::AM_DURABILITY_NONE as u32,
            protocol: AM_Protocol::AM_PROTOCOL_AMVIA as u32,
            window: config.window.into(),
            peers,
            mtu: 0,
            message: config.message,
            burst: config.burst.into(),
            request_retransmissions: config.request_retransmissions.into(),
            reply_retransmissions: config.reply_retransmissions.into(),
            reserved: 0,
            min_rto: config.min_rto,
            max_rto: config.max_rto,
            initial_rto: config.initial_rto,
            granularity: config.granularity,
            ack_delay: config.ack_delay,
            reply_wait: config.reply_wait,
            handler_time: config.handler_time.unwrap_or(0),
            lease: config.lease,
            device: ptr::null(),
        }
    }

    /// The options of the program; a null pointer stands for the defaults.
    ///
    /// # Safety
    /// The pointer is null, or `size` bytes can be read there, `size` being the first member.
    pub(crate) unsafe fn read(options: *const AM_Options) -> Result<AM_Options, Failure> {
        let mut read = AM_Options::defaults(size_of::<AM_Options>());
        if options.is_null() {
            return Ok(read);
        }
        // SAFETY: the caller's promise; nothing is asked of the alignment.
        let size = unsafe { options.cast::<usize>().read_unaligned() };
        check(size)?;
        // SAFETY: the caller promises `size` bytes, and `check` that `read` has as many. Every member may have any bits.
        unsafe {
            let to = ptr::from_mut(&mut read).cast::<MaybeUninit<u8>>();
            ptr::copy_nonoverlapping(options.cast(), to, size);
        }
        Ok(read)
    }

    /// As the library has them. `mtu`: of the transport.
    pub(crate) fn options(&self, mtu: usize) -> Result<Options, Failure> {
        let protocol = AM_Protocol::ALL
            .into_iter()
            .find(|(named, _)| *named as u32 == self.protocol)
            .ok_or_else(|| out_of_range("protocol", self.protocol))?;
        let durability = AM_Durability::ALL
            .into_iter()
            .find(|(named, _)| *named as u32 == self.durability)
            .ok_or_else(|| out_of_range("durability", self.durability))?;
        if self.reserved != 0 {
            return Err(out_of_range("reserved", self.reserved));
        }
        let log = match self.log.is_null() {
            true => None,
            // SAFETY: the program's promise, see the head of amvia.h.
            false => Some(unsafe { memory::text("log", self.log) }?.into()),
        };
        let short = |what, value: u32| u16::try_from(value).map_err(|_| out_of_range(what, value));
        let byte = |what, value: u32| u8::try_from(value).map_err(|_| out_of_range(what, value));
        Ok(Options {
            config: Config {
                protocol: protocol.1,
                window: byte("window", self.window)?,
                mtu: u32::try_from(mtu).unwrap_or(u32::MAX),
                message: self.message,
                burst: byte("burst", self.burst)?,
                request_retransmissions: short(
                    "request_retransmissions",
                    self.request_retransmissions,
                )?,
                reply_retransmissions: short("reply_retransmissions", self.reply_retransmissions)?,
                min_rto: self.min_rto,
                max_rto: self.max_rto,
                initial_rto: self.initial_rto,
                granularity: self.granularity,
                ack_delay: self.ack_delay,
                reply_wait: self.reply_wait,
                handler_time: (self.handler_time > 0).then_some(self.handler_time),
                lease: self.lease,
            },
            peers: self.peers,
            durability: durability.1,
            log,
        })
    }

    /// The adapter of an endpoint over verbs.
    pub(crate) fn adapter(&self) -> Result<Adapter, Failure> {
        let device = match self.device.is_null() {
            true => None,
            // SAFETY: the program's promise, see the head of amvia.h.
            false => Some(unsafe { memory::text("device", self.device) }?.into()),
        };
        Ok(Adapter {
            device,
            ..Adapter::default()
        })
    }

    /// Refuses a device where the transport has none.
    pub(crate) fn refuse_device(&self) -> Result<(), Failure> {
        match self.device.is_null() {
            true => Ok(()),
            false => Err(Failure::new(
                AM_Error::AM_ERR_OPTION,
                "a device can be chosen for an address that begins with verbs:// alone",
            )),
        }
    }

    /// Bytes of a frame, where the transport usually has `usual`.
    pub(crate) fn mtu(&self, usual: usize) -> usize {
        match self.mtu {
            0 => usual,
            mtu => mtu as usize,
        }
    }
}

fn out_of_range(what: &str, value: u32) -> Failure {
    let text = format!("{what} cannot be {value}");
    Failure::new(AM_Error::AM_ERR_OPTION, text)
}

fn check(size: usize) -> Result<(), Failure> {
    let what = "AM_Options, which AM_InitOptions(&options, sizeof options) fills,";
    memory::check_size(what, size, FIRST, size_of::<AM_Options>())
}

/// Fills options with what an endpoint has where nothing else is said: AM_InitOptions(&options, sizeof options).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AM_InitOptions(options: *mut AM_Options, size: usize) -> AM_Error {
    guard(|| {
        check(size)?;
        // SAFETY: the program promises `size` bytes.
        unsafe { memory::put_first("options", options, size, &AM_Options::defaults(size)) }
    })
}
