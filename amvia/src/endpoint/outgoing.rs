//! Frames that go out.

use super::error::EndpointError;
use crate::transport::{self, Transport};
use crate::wire::{Head, Room};

/// Sends a frame. One that is not taken is lost; the protocol sees to it.
#[inline(always)]
pub(super) fn send(
    transport: &mut dyn Transport,
    to: transport::Peer,
    head: &Head,
    payload: &[u8],
    has_checksum: bool,
) -> Result<(), EndpointError> {
    if has_checksum {
        return send_sealed(transport, to, *head, payload);
    }
    match head.encode_short() {
        Some(short) => transport.send(to, &short, payload),
        None => transport.send(to, &head.encode_bare(), payload),
    }?;
    Ok(())
}

/// Sends a frame with a checksum. It takes a head of its own, so that the caller's need not lie in memory.
#[inline(never)]
fn send_sealed(
    transport: &mut dyn Transport,
    to: transport::Peer,
    head: Head,
    payload: &[u8],
) -> Result<(), EndpointError> {
    match head.encode_sealed(payload, &mut Room::default()) {
        Some([frame, rest]) => transport.send(to, frame, rest),
        None => transport.send(to, &head.encode(payload), payload),
    }?;
    Ok(())
}
