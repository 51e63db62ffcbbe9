//! The measurements that are judged.

/// One measurement of a pair: the observation that tests count. The many round trips in it came one after
/// the other between the same two programs and are no independent evidence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measurement {
    /// The two nodes, in either order.
    pub pair: (usize, usize),
    /// When: measurements of the same moment were made at the same time, those of the next one after them.
    pub moment: u32,
    /// Median RTT in nanoseconds.
    pub rtt_ns: f64,
}

/// Two nodes, the smaller number first.
pub type Pair = (usize, usize);
