//! The places of the fields.

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{
    Body, Field, Have, Head, Hello, MAX_WINDOW, MIN_MTU, Number, Part, Protocol, Reason, Refusal,
    Tag, WireError,
};
use crate::transaction::{EndpointId, Incarnation};

/// Bytes of a head.
pub const HEAD: usize = size_of::<RawHead>();
/// The first two bytes of each frame.
pub const MAGIC: [u8; 2] = *b"AM";
/// The version of the format.
pub const VERSION: u8 = 4;

const BODY: usize = 48;

/// The beginning of each head but a short one without a checksum.
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct Front {
    magic: [u8; 2],
    version: u8,
    kind: u8,
    /// CRC32C: before a short head of what follows, in another head of the whole frame with these four bytes 0.
    checksum: U32,
}

#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct RawHead {
    front: Front,
    tag: U64,
    from: U64,
    body: [u8; BODY],
}

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct RawHello {
    to: U64,
    tag: U64,
    first_incomplete: U64,
    incarnation: U32,
    since: U32,
    mtu: U32,
    message: U32,
    attempt: U16,
    window: u8,
    protocol: u8,
    unused: [u8; 4],
}

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct RawTransaction {
    sequence: U64,
    first_incomplete: U64,
    /// Segments that are there, beyond the first missing one.
    beyond: U64,
    incarnation: U32,
    /// Bytes before the part; in Pull and Missing: the first missing segment.
    offset: U32,
    size: U32,
    length: U32,
    attempt: U16,
    /// The handler; in Nack and Refuse: the reason.
    handler: U16,
    push: u8,
    unused: [u8; 3],
}

const CONNECT: u8 = 1;
const ACCEPT: u8 = 2;
const REFUSE: u8 = 3;
pub(super) const REQUEST: u8 = 4;
pub(super) const REPLY: u8 = 5;
const PULL: u8 = 6;
const QUERY: u8 = 7;
pub(super) const ACK: u8 = 8;
const MISSING: u8 = 9;
const NACK: u8 = 10;
pub(super) const REPLY_ACK: u8 = 11;
/// A short head follows, which has the kind.
const SHORT: u8 = 12;

impl Front {
    #[inline(always)]
    fn of(kind: u8, checksum: u32) -> Self {
        Front {
            magic: MAGIC,
            version: VERSION,
            kind,
            checksum: checksum.into(),
        }
    }

    /// That of a short head.
    #[inline(always)]
    pub(super) fn short(checksum: u32) -> Self {
        Self::of(SHORT, checksum)
    }

    /// The checksum of what follows, if that begins with a short head.
    #[inline(always)]
    pub(super) fn of_short(&self) -> Option<u32> {
        let is_short = (self.magic, self.version, self.kind) == (MAGIC, VERSION, SHORT);
        is_short.then(|| self.checksum.get())
    }
}

impl Head {
    /// The bytes of the head of a frame with this `payload`, whose checksum they hold.
    pub fn encode(&self, payload: &[u8]) -> [u8; HEAD] {
        let mut raw = self.raw();
        raw.front.checksum = checksum(&raw, payload).into();
        zerocopy::transmute!(raw)
    }

    /// The bytes of the head of a frame without a checksum: for a transport that lets no damaged frame through.
    #[inline]
    pub fn encode_bare(&self) -> [u8; HEAD] {
        zerocopy::transmute!(self.raw())
    }

    #[inline]
    fn raw(&self) -> RawHead {
        let (kind, body) = raw_body(&self.body);
        RawHead {
            front: Front::of(kind, 0),
            tag: self.tag.0.into(),
            from: self.from.0.into(),
            body,
        }
    }
}

/// Bytes of a frame with a long head and a medium message.
const MEDIUM: usize = HEAD + 128;

/// Memory in which a short frame is put together. In one piece and aligned, its checksum takes a step for eight bytes; as it comes,
/// one for each byte outside whole words.
#[repr(align(8))]
pub struct Room([u8; MEDIUM]);

impl Default for Room {
    #[inline(always)]
    fn default() -> Self {
        Room([0; MEDIUM])
    }
}

impl Room {
    #[inline(always)]
    pub(super) fn holds(bytes: usize) -> bool {
        bytes <= MEDIUM
    }

    /// Puts the bytes one behind the other, if there is room.
    #[inline(always)]
    pub(super) fn join(&mut self, head: &[u8], payload: &[u8]) -> Option<&mut [u8]> {
        let frame = self.0.get_mut(..head.len() + payload.len())?;
        frame[..head.len()].copy_from_slice(head);
        frame[head.len()..].copy_from_slice(payload);
        Some(frame)
    }
}

/// The checksum of a frame whose head has none yet.
fn checksum(head: &RawHead, payload: &[u8]) -> u32 {
    match Room::default().join(head.as_bytes(), payload) {
        Some(frame) => crc32c::crc32c(frame),
        None => crc32c::crc32c_append(crc32c::crc32c(head.as_bytes()), payload),
    }
}

/// Reads a frame: its head, and its payload where it lies.
///
/// # Errors
/// The first thing that is wrong with it.
pub fn decode(frame: &[u8]) -> Result<(Head, &[u8]), WireError> {
    let (raw, payload) = split(frame)?;
    check(raw, payload)?;
    Ok((read(raw, payload)?, payload))
}

/// Reads a frame that may be without a checksum.
///
/// # Errors
/// The first thing that is wrong with it.
#[inline]
pub fn decode_bare(frame: &[u8]) -> Result<(Head, &[u8]), WireError> {
    let (raw, payload) = split(frame)?;
    if raw.front.checksum != U32::ZERO {
        check(raw, payload)?;
    }
    Ok((read(raw, payload)?, payload))
}

fn check(raw: &RawHead, payload: &[u8]) -> Result<(), WireError> {
    let mut bare = *raw;
    bare.front.checksum = U32::ZERO;
    match checksum(&bare, payload) == raw.front.checksum.get() {
        true => Ok(()),
        false => Err(WireError::Checksum),
    }
}

#[inline]
fn split(frame: &[u8]) -> Result<(&RawHead, &[u8]), WireError> {
    let (raw, payload) =
        RawHead::ref_from_prefix(frame).map_err(|_| WireError::Short(frame.len()))?;
    if raw.front.magic != MAGIC {
        return Err(WireError::Magic);
    }
    if raw.front.version != VERSION {
        return Err(WireError::Version(raw.front.version));
    }
    Ok((raw, payload))
}

#[inline]
fn read(raw: &RawHead, payload: &[u8]) -> Result<Head, WireError> {
    let body = read_body(raw.front.kind, &raw.body)?;
    check_payload(&body, payload.len())?;
    Ok(Head {
        tag: Tag(raw.tag.get()),
        from: EndpointId(raw.from.get()),
        body,
    })
}

fn check_payload(body: &Body, size: usize) -> Result<(), WireError> {
    let fits = match body {
        Body::Request(part) | Body::Reply(part) => {
            let end = part.offset.checked_add(part.size);
            size == part.size as usize
                && end.is_some_and(|end| end <= part.length)
                && (part.size > 0 || part.length == 0)
        }
        _ => size == 0,
    };
    if fits {
        Ok(())
    } else {
        Err(WireError::Field(Field::Size))
    }
}

fn raw_body(body: &Body) -> (u8, [u8; BODY]) {
    let (kind, raw) = match *body {
        Body::Connect(hello) => return (CONNECT, raw_hello(&hello)),
        Body::Accept(hello) => return (ACCEPT, raw_hello(&hello)),
        Body::Refuse { reason } => (
            REFUSE,
            RawTransaction {
                handler: (reason as u16).into(),
                ..RawTransaction::new_zeroed()
            },
        ),
        Body::Request(part) => (REQUEST, raw_part(&part)),
        Body::Reply(part) => (REPLY, raw_part(&part)),
        Body::Pull {
            number,
            first_incomplete,
            attempt,
            have,
        } => (
            PULL,
            raw_transaction(number, first_incomplete, attempt).have(have),
        ),
        Body::Query {
            number,
            first_incomplete,
            attempt,
        } => (QUERY, raw_transaction(number, first_incomplete, attempt)),
        Body::Ack { number, attempt } => (ACK, raw_transaction(number, 0, attempt)),
        Body::Missing {
            number,
            attempt,
            have,
        } => (MISSING, raw_transaction(number, 0, attempt).have(have)),
        Body::Nack {
            number,
            attempt,
            reason,
        } => (
            NACK,
            RawTransaction {
                handler: (reason as u16).into(),
                ..raw_transaction(number, 0, attempt)
            },
        ),
        Body::ReplyAck {
            number,
            first_incomplete,
            attempt,
        } => (
            REPLY_ACK,
            raw_transaction(number, first_incomplete, attempt),
        ),
    };
    (kind, zerocopy::transmute!(raw))
}

fn raw_hello(hello: &Hello) -> [u8; BODY] {
    zerocopy::transmute!(RawHello {
        to: hello.to.0.into(),
        tag: hello.tag.0.into(),
        first_incomplete: hello.first_incomplete.into(),
        incarnation: hello.incarnation.0.into(),
        since: hello.since.0.into(),
        mtu: hello.mtu.into(),
        message: hello.message.into(),
        attempt: hello.attempt.into(),
        window: hello.window,
        protocol: hello.protocol as u8,
        unused: [0; 4],
    })
}

fn raw_part(part: &Part) -> RawTransaction {
    RawTransaction {
        offset: part.offset.into(),
        size: part.size.into(),
        length: part.length.into(),
        handler: part.handler.into(),
        push: u8::from(part.push),
        ..raw_transaction(part.number, part.first_incomplete, part.attempt)
    }
}

fn raw_transaction(number: Number, first_incomplete: u64, attempt: u16) -> RawTransaction {
    RawTransaction {
        sequence: number.sequence.into(),
        incarnation: number.incarnation.0.into(),
        first_incomplete: first_incomplete.into(),
        attempt: attempt.into(),
        ..RawTransaction::new_zeroed()
    }
}

impl RawTransaction {
    fn have(self, have: Have) -> Self {
        Self {
            offset: have.first.into(),
            beyond: have.beyond.into(),
            ..self
        }
    }
}

impl RawTransaction {
    /// True if all that a kind does not use is 0.
    #[inline]
    fn is_clean(&self, kind: u8) -> bool {
        let message = self.size.get() | self.length.get() | u32::from(self.push);
        let (handler, have) = (
            u64::from(self.handler.get()),
            self.beyond.get() | u64::from(self.offset.get()),
        );
        let spare = match kind {
            REQUEST | REPLY => self.beyond.get() | u64::from(self.push & !1),
            PULL => handler | u64::from(message),
            MISSING => handler | u64::from(message) | self.first_incomplete.get(),
            QUERY | REPLY_ACK => handler | u64::from(message) | have,
            ACK => handler | u64::from(message) | have | self.first_incomplete.get(),
            NACK => u64::from(message) | have | self.first_incomplete.get(),
            _ => {
                let number = self.sequence.get() | u64::from(self.incarnation.get());
                let attempt = u64::from(self.attempt.get());
                number | attempt | u64::from(message) | have | self.first_incomplete.get()
            }
        };
        spare == 0 && self.unused == [0; 3]
    }
}

#[inline]
fn read_body(kind: u8, body: &[u8; BODY]) -> Result<Body, WireError> {
    if kind == CONNECT || kind == ACCEPT {
        let hello = read_hello(&zerocopy::transmute!(*body))?;
        return Ok(if kind == CONNECT {
            Body::Connect(hello)
        } else {
            Body::Accept(hello)
        });
    }
    let raw: &RawTransaction = zerocopy::transmute_ref!(body);
    if !(REFUSE..=REPLY_ACK).contains(&kind) {
        return Err(WireError::Kind(kind));
    }
    if !raw.is_clean(kind) {
        return Err(WireError::Field(Field::Unused));
    }
    if kind == REFUSE {
        return Ok(Body::Refuse {
            reason: listed(&Refusal::ALL, raw.handler.get(), Field::Reason)?,
        });
    }
    let number = Number {
        sequence: raw.sequence.get(),
        incarnation: Incarnation(raw.incarnation.get()),
    };
    if number.sequence == 0 {
        return Err(WireError::Field(Field::Sequence));
    }
    let (first_incomplete, attempt) = (raw.first_incomplete.get(), raw.attempt.get());
    let have = Have {
        first: raw.offset.get(),
        beyond: raw.beyond.get(),
    };
    Ok(match kind {
        REQUEST => Body::Request(read_part(number, raw)),
        REPLY => Body::Reply(read_part(number, raw)),
        PULL => Body::Pull {
            number,
            first_incomplete,
            attempt,
            have,
        },
        QUERY => Body::Query {
            number,
            first_incomplete,
            attempt,
        },
        ACK => Body::Ack { number, attempt },
        MISSING => Body::Missing {
            number,
            attempt,
            have,
        },
        NACK => Body::Nack {
            number,
            attempt,
            reason: listed(&Reason::ALL, raw.handler.get(), Field::Reason)?,
        },
        _ => Body::ReplyAck {
            number,
            first_incomplete,
            attempt,
        },
    })
}

fn read_hello(raw: &RawHello) -> Result<Hello, WireError> {
    if raw.unused != [0; 4] {
        return Err(WireError::Field(Field::Unused));
    }
    let hello = Hello {
        to: EndpointId(raw.to.get()),
        tag: Tag(raw.tag.get()),
        incarnation: Incarnation(raw.incarnation.get()),
        since: Incarnation(raw.since.get()),
        first_incomplete: raw.first_incomplete.get(),
        mtu: raw.mtu.get(),
        message: raw.message.get(),
        window: raw.window,
        protocol: listed(&Protocol::ALL, u16::from(raw.protocol), Field::Protocol)?,
        attempt: raw.attempt.get(),
    };
    if !(1..=MAX_WINDOW).contains(&hello.window) {
        return Err(WireError::Field(Field::Window));
    }
    if hello.mtu < MIN_MTU {
        return Err(WireError::Field(Field::Mtu));
    }
    if hello.tag == Tag::UNKNOWN {
        return Err(WireError::Field(Field::Tag));
    }
    if hello.first_incomplete == 0 {
        return Err(WireError::Field(Field::Sequence));
    }
    Ok(hello)
}

fn read_part(number: Number, raw: &RawTransaction) -> Part {
    Part {
        number,
        first_incomplete: raw.first_incomplete.get(),
        attempt: raw.attempt.get(),
        handler: raw.handler.get(),
        offset: raw.offset.get(),
        size: raw.size.get(),
        length: raw.length.get(),
        push: raw.push != 0,
    }
}

fn listed<T: Copy>(all: &[T], code: u16, field: Field) -> Result<T, WireError> {
    all.get(usize::from(code))
        .copied()
        .ok_or(WireError::Field(field))
}
