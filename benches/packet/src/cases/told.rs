//! The options that some cases have beside the common ones, and the number of measurements of each: for the command
//! line, and for experiment files.

use Case::{Bandwidth, Bidirectional, BufferReuse, Completion, HotSpot, Latency, Overhead, Rtt};

use jitterlab_base::units::Bytes;

use super::{Case, bandwidth, buffer_reuse, hot_spot, open_loop, rtt};
use crate::transport::{Link, Transport};

/// The options that only some cases have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// One size of messages, and no list.
    OneSize,
    /// A list of sizes.
    Sizes,
    /// The number of messages that may be under way.
    Window,
    /// The number of buffers in which messages lie in turn.
    Buffers,
    /// The share of the messages that lies in one buffer.
    Reuse,
    /// The number of servers.
    Slaves,
    /// The rate at which messages are due.
    Rate,
    /// The fate of single samples.
    Samples,
    /// The way that a message is waited for.
    Wait,
}

impl Told {
    /// The cases that are told it; `in_open_loop`: where messages are due at times of their own.
    pub fn cases(self, in_open_loop: bool) -> &'static [Case] {
        match self {
            Told::OneSize => &[Rtt, HotSpot],
            Told::Sizes => &[
                Latency,
                Bandwidth,
                Bidirectional,
                Overhead,
                Completion,
                BufferReuse,
            ],
            Told::Window if in_open_loop => &[Rtt, Bandwidth, Bidirectional, Overhead, BufferReuse],
            Told::Window => &[Bandwidth, Bidirectional, Overhead, BufferReuse],
            Told::Buffers | Told::Reuse => &[BufferReuse],
            Told::Slaves => &[HotSpot],
            Told::Rate | Told::Samples => &[Rtt],
            // Completion measures all ways.
            Told::Wait => &[
                Rtt,
                Latency,
                Bandwidth,
                Bidirectional,
                Overhead,
                BufferReuse,
                HotSpot,
            ],
        }
    }
}

/// How many messages may be under way, if nothing is said; `in_open_loop`: where they are due at times of their own.
pub fn usual_window(in_open_loop: bool) -> u32 {
    match in_open_loop {
        true => open_loop::WINDOW,
        false => bandwidth::WINDOW,
    }
}

impl Case {
    /// Whether it can be measured with so many sizes.
    ///
    /// # Errors
    /// It cannot, and why.
    pub fn check_sizes(self, sizes: usize) -> Result<(), &'static str> {
        match self {
            BufferReuse if sizes > 2 => {
                Err("buffer-reuse has one size for latency and one for bandwidth")
            }
            _ => Ok(()),
        }
    }

    /// The sizes of messages, in bytes, if nothing is said. A link may not carry them all.
    pub fn usual_sizes(self) -> Vec<u64> {
        match self {
            Rtt | Completion => vec![rtt::SIZE.0],
            Latency | Bandwidth | Bidirectional => (0..=8).map(|power| 1 << (2 * power)).collect(),
            Overhead => vec![64, 1 << 10, 16 << 10],
            BufferReuse => vec![4 << 10],
            HotSpot => vec![4],
        }
    }

    /// Those of the usual sizes that can be sent over a link.
    pub fn usual_sizes_over(self, link: &Link) -> Vec<Bytes> {
        let possible = link.sizes();
        let least = match self {
            // What can be sent in both directions at once.
            Bidirectional => 16,
            _ => *possible.start(),
        };
        let most = match link.is_reliable() || link.transport() == Transport::Udp {
            true => *possible.end(),
            // One packet, which is no longer on an ordinary Ethernet.
            false => 1024,
        };
        let sizes = self.usual_sizes().into_iter();
        let mut sizes: Vec<Bytes> = sizes.map(|size| Bytes(size.clamp(least, most))).collect();
        sizes.dedup();
        sizes
    }

    /// The servers that it takes, of so many slaves if that was said.
    pub fn servers(self, slaves: Option<u8>) -> u8 {
        match self {
            HotSpot => slaves.unwrap_or(hot_spot::SLAVES),
            _ => 1,
        }
    }

    /// The number of measurements, at least and at most, with so many sizes, patterns of buffers and servers. Each has a
    /// warm-up. No sizes and no patterns are the usual ones.
    pub fn measurements(self, sizes: usize, patterns: usize, servers: u8) -> [u32; 2] {
        let or = |count: usize, usual: usize| if count == 0 { usual } else { count } as u32;
        let sizes = or(sizes, self.usual_sizes().len());
        let patterns = or(
            patterns,
            buffer_reuse::BUFFERS.len() + buffer_reuse::REUSE.len(),
        );
        let exactly = |n: u32| [n, n];
        match self {
            Rtt => exactly(1),
            Latency | Bandwidth => exactly(sizes),
            Bidirectional => exactly(2 * sizes),
            // A stream alone and beside computing, until it has dropped.
            Overhead => [sizes + 2, 2 * sizes + 30],
            // Two or three ways, in five turns, each with a warm-up of its own.
            Completion => [2 * sizes, 15 * sizes],
            BufferReuse => exactly(2 * patterns),
            HotSpot => exactly(2 * u32::from(servers)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_is_told_one_size_or_many() {
        for case in Case::ALL {
            let is_told = |told: Told| told.cases(false).contains(&case);
            assert!(is_told(Told::OneSize) != is_told(Told::Sizes), "{case}");
            let [least, most] = case.measurements(0, 0, 1);
            assert!(0 < least && least <= most, "{case}");
        }
    }

    #[test]
    fn a_window_is_told_to_streams_and_to_an_open_loop() {
        assert!(!Told::Window.cases(false).contains(&Rtt));
        assert!(Told::Window.cases(true).contains(&Rtt));
        for case in Told::Window.cases(false) {
            assert!(Told::Window.cases(true).contains(case));
        }
    }
}
