//! `latency`: ping-pong by message size. One-way latency is half the round trip.

use std::net::SocketAddr;

use jitterlab_base::units::Bytes;
use serde::Serialize;

use super::rtt::{Point, Rtt};
use super::{Setting, each_size};
use crate::Error;

/// Latency by message size.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// `latency`.
    pub case: &'static str,
    /// What it was measured over, and with.
    #[serde(flatten)]
    pub setting: Setting,
    /// By message size.
    pub points: Vec<Point>,
}

/// Measures each size in turn; `options` says the rest.
///
/// # Errors
/// As those of [`Rtt::run`].
pub fn by_size(options: &Rtt, sizes: &[Bytes], address: SocketAddr) -> Result<Report, Error> {
    let (points, path) = each_size(sizes, |size| {
        let outcome = Rtt {
            size,
            ..options.clone()
        }
        .run(address)?;
        Ok((Point::of(size, &outcome)?, outcome.path))
    })?;
    Ok(Report {
        case: "latency",
        setting: Setting::now(&options.link, options.wait, path),
        points,
    })
}
