//! What each case of the packet suite has to be told beside the rest, and how many measurements it takes.

use jitterlab_base::yaml::Step::{self, Key};
use jitterlab_base::yaml::{Checked, wrong};
use jitterlab_packet::cases::Case;
use jitterlab_packet::cases::Case::{
    Bandwidth, Bidirectional, BufferReuse, Completion, HotSpot, Latency, Overhead, Rtt,
};
use jitterlab_packet::cases::hot_spot::MOST_SLAVES;
use jitterlab_packet::transport::MOST_WINDOW;

use super::PacketCase;

/// Slaves of a hot spot, where nothing is said: as `jitterlab packet run` has it.
const SLAVES: u8 = 4;

impl PacketCase {
    /// Refuses what the case has no use for, and what is out of range; `at` is its place in the file.
    pub(super) fn check_options<'a>(&self, at: &[Step<'a>; 3]) -> Checked<'a> {
        let streams = [Bandwidth, Bidirectional, Overhead, BufferReuse];
        let by_size = [
            Latency,
            Bandwidth,
            Bidirectional,
            Overhead,
            Completion,
            BufferReuse,
        ];
        let in_flight = if self.rate.is_some() {
            &[Rtt][..]
        } else {
            &streams
        };
        let not_completion: Vec<Case> = Case::ALL
            .into_iter()
            .filter(|&case| case != Completion)
            .collect();
        let uses: [(&str, bool, &[Case]); 9] = [
            ("size", self.size.is_some(), &[Rtt, HotSpot]),
            ("sizes", !self.sizes.is_empty(), &by_size),
            ("window", self.window.is_some(), in_flight),
            ("buffers", !self.buffers.is_empty(), &[BufferReuse]),
            ("reuse", !self.reuse.is_empty(), &[BufferReuse]),
            ("slaves", self.slaves.is_some(), &[HotSpot]),
            ("rate", self.rate.is_some(), &[Rtt]),
            ("gaps", self.gaps.is_some(), &[Rtt]),
            ("wait", self.wait.is_some(), &not_completion),
        ];
        let inside = |key| [at[0], at[1], at[2], Key(key)];
        for (key, is_given, cases) in uses {
            if is_given && !cases.contains(&self.case) {
                return wrong(
                    &inside(key),
                    format!("the case {} has no `{key}`", self.case),
                );
            }
        }
        if self.gaps.is_some() && self.rate.is_none() {
            return wrong(
                &inside("gaps"),
                "`gaps` are those of an open loop: give a `rate`",
            );
        }
        if self.case == BufferReuse && self.sizes.len() > 2 {
            return wrong(
                &inside("sizes"),
                "buffer-reuse has one size for latency and one for bandwidth",
            );
        }
        if self
            .window
            .is_some_and(|window| !(1..=MOST_WINDOW).contains(&window))
        {
            return wrong(
                &inside("window"),
                format!("a window has 1 to {MOST_WINDOW} messages"),
            );
        }
        if self
            .slaves
            .is_some_and(|n| !(1..=MOST_SLAVES).contains(&usize::from(n)))
        {
            return wrong(
                &inside("slaves"),
                format!("there are 1 to {MOST_SLAVES} slaves"),
            );
        }
        Ok(())
    }

    /// The servers that it needs.
    pub(super) fn servers(&self) -> u8 {
        match self.case {
            HotSpot => self.slaves.unwrap_or(SLAVES),
            _ => 1,
        }
    }

    /// The arguments of `jitterlab packet run` that only this case has.
    pub(super) fn arguments(&self) -> Vec<String> {
        let list = |items: Vec<String>| (!items.is_empty()).then(|| items.join(","));
        let texts = |items: &[u32]| items.iter().map(u32::to_string).collect();
        let size = match self.case {
            Rtt | HotSpot => Some(self.message().to_string()),
            _ => list(self.sizes.iter().map(ToString::to_string).collect()),
        };
        let given = [
            ("--size", size),
            ("--window", self.window.map(|window| window.to_string())),
            ("--buffers", list(texts(&self.buffers))),
            (
                "--reuse",
                list(self.reuse.iter().map(u8::to_string).collect()),
            ),
            ("--rate", self.rate.map(|rate| rate.to_string())),
            ("--gaps", self.gaps.map(|gaps| gaps.to_string())),
        ];
        let given = given
            .into_iter()
            .filter_map(|(name, value)| Some([name.into(), value?]));
        given.flatten().collect()
    }

    /// How many measurements it takes, at least and at most: each has a warm-up.
    pub(super) fn measurements(&self) -> [u32; 2] {
        let sizes = |usual: usize| match self.sizes.len() {
            0 => usual as u32,
            n => n as u32,
        };
        let patterns = match self.buffers.len() + self.reuse.len() {
            0 => 9,
            n => n as u32,
        };
        let exactly = |n: u32| [n, n];
        match self.case {
            Rtt => exactly(1),
            Latency | Bandwidth => exactly(sizes(9)),
            Bidirectional => exactly(2 * sizes(9)),
            // A stream alone and beside computing, until it has dropped.
            Overhead => [sizes(3) + 2, 2 * sizes(3) + 30],
            // Two or three ways, in five turns, each with a warm-up of its own.
            Completion => [2 * sizes(1), 15 * sizes(1)],
            BufferReuse => exactly(2 * patterns),
            HotSpot => exactly(2 * u32::from(self.servers())),
        }
    }
}
