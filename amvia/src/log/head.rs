//! The head of a log's file: what it is, and whose.
//!
//! All but two words is written once, when the file is made, before the file has its name. The incarnation grows at each
//! opening by one store of one word; the incarnation since which the log has no gap for who is no peer in it is another such word.

use super::record::commit_word;
use super::shape::{HEAD, Shape};

/// Counts the formats of the file.
pub(super) const VERSION: u32 = 2;
/// The place of the incarnation.
pub(super) const INCARNATION: usize = 64;
/// The place of the incarnation since which the log has no gap.
pub(super) const SINCE: usize = 72;

/// Read as a number, so that a file of a machine of the other byte order is a foreign one.
const MAGIC: u64 = u64::from_be_bytes(*b"AMVIALOG");
const FIXED: usize = 36;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) endpoint: u64,
    pub(super) shape: Shape,
    pub(super) incarnation: u32,
    pub(super) since: u32,
}

/// Why bytes are no head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoHead {
    Foreign,
    Version(u32),
    Damaged,
}

impl Head {
    pub(super) fn encode(&self) -> [u8; HEAD] {
        let mut bytes = [0; HEAD];
        let mut at = 0;
        let mut put = |field: &[u8]| {
            bytes[at..][..field.len()].copy_from_slice(field);
            at += field.len();
        };
        put(&MAGIC.to_ne_bytes());
        put(&VERSION.to_ne_bytes());
        put(&self.shape.peers.to_ne_bytes());
        put(&self.shape.window.to_ne_bytes());
        put(&self.shape.payload.to_ne_bytes());
        put(&self.endpoint.to_ne_bytes());
        let crc = crc32c::crc32c(&bytes[..FIXED - 4]);
        bytes[FIXED - 4..FIXED].copy_from_slice(&crc.to_ne_bytes());
        for (at, life) in [(INCARNATION, self.incarnation), (SINCE, self.since)] {
            bytes[at..][..8].copy_from_slice(&commit_word(life).to_ne_bytes());
        }
        bytes
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Head, NoHead> {
        let u32_at = |at: usize| {
            bytes
                .get(at..at + 4)?
                .try_into()
                .ok()
                .map(u32::from_ne_bytes)
        };
        let u64_at = |at: usize| {
            bytes
                .get(at..at + 8)?
                .try_into()
                .ok()
                .map(u64::from_ne_bytes)
        };
        if u64_at(0) != Some(MAGIC) {
            return Err(NoHead::Foreign);
        }
        match u32_at(8) {
            Some(VERSION) => {}
            Some(other) => return Err(NoHead::Version(other)),
            None => return Err(NoHead::Damaged),
        }
        let head = || {
            let crc = crc32c::crc32c(bytes.get(..FIXED - 4)?);
            let shape = Shape {
                peers: u32_at(12)?,
                window: u32_at(16)?,
                payload: u32_at(20)?,
            };
            let life = |at| {
                let word = u64_at(at)?;
                (word == commit_word(word as u32)).then_some(word as u32)
            };
            let head = Head {
                endpoint: u64_at(24)?,
                shape,
                incarnation: life(INCARNATION)?,
                since: life(SINCE)?,
            };
            let whole = u32_at(FIXED - 4)? == crc && shape.fits();
            whole.then_some(head)
        };
        head().ok_or(NoHead::Damaged)
    }
}
