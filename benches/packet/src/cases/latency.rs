//! `latency`: ping-pong by message size. One-way latency is half the round trip.

use std::net::SocketAddr;

use jitterlab_base::show;
use jitterlab_base::units::Bytes;

use super::report::{Column, Point, Report, Setting, size};
use super::rtt::{self, Rtt};
use super::{Case, each_size};
use crate::Error;

impl Point for rtt::Point {
    type Common = ();

    const COLUMNS: &'static [Column<Self>] = &[
        ("size", |point| size(point.size)),
        ("one-way", |point| show::time(point.one_way_median_ns)),
        ("RTT median", |point| show::time(point.rtt_ns.median)),
        ("mean", |point| show::time(point.rtt_ns.mean)),
        ("std", |point| {
            point.rtt_ns.std.map_or("-".into(), show::time)
        }),
        ("99 %", |point| show::time(point.rtt_ns.p99)),
        ("99.9 %", |point| show::time(point.rtt_ns.p999)),
        ("n", |point| show::count(point.rtt_ns.n as u64)),
        ("lost", |point| show::count(point.lost)),
    ];

    fn memory_full(&self) -> bool {
        self.memory_full
    }
}

/// Measures each size in turn; `options` says the rest.
///
/// # Errors
/// As those of [`Rtt::run`].
pub fn by_size(
    options: &Rtt,
    sizes: &[Bytes],
    address: SocketAddr,
) -> Result<Report<rtt::Point>, Error> {
    let (points, path) = each_size(sizes, |size| {
        let outcome = Rtt {
            size,
            ..options.clone()
        }
        .run(address)?;
        Ok((rtt::Point::of(size, &outcome)?, outcome.path))
    })?;
    Ok(Report {
        case: Case::Latency,
        setting: Setting::now(&options.link, options.wait, path),
        common: (),
        points,
    })
}
