//! The options of each case of the packet suite beside the rest, and the number of measurements that it takes.

use jitterlab_base::yaml::Step::{self, Key};
use jitterlab_base::yaml::{Checked, wrong};
use jitterlab_packet::cases::buffer_reuse::{BUFFERS, MOST_BUFFERS, REUSE};
use jitterlab_packet::cases::hot_spot::{MOST_SLAVES, SLAVES};
use jitterlab_packet::cases::open_loop::Spacing;
use jitterlab_packet::cases::{Told, usual_window};
use jitterlab_packet::transport::MOST_WINDOW;

use super::PacketCase;

impl PacketCase {
    /// Refuses what the case has no use for, and what is out of range; `at` is its place in the file.
    pub(super) fn check_options<'a>(&self, at: &[Step<'a>; 3]) -> Checked<'a> {
        let given = [
            ("size", self.size.is_some(), Told::OneSize),
            ("sizes", !self.sizes.is_empty(), Told::Sizes),
            ("window", self.window.is_some(), Told::Window),
            ("buffers", !self.buffers.is_empty(), Told::Buffers),
            ("reuse", !self.reuse.is_empty(), Told::Reuse),
            ("slaves", self.slaves.is_some(), Told::Slaves),
            ("rate", self.rate.is_some(), Told::Rate),
            ("gaps", self.gaps.is_some(), Told::Rate),
            ("wait", self.wait.is_some(), Told::Wait),
        ];
        let inside = |key| [at[0], at[1], at[2], Key(key)];
        for (key, is_given, told) in given {
            if is_given && !told.cases(self.rate.is_some()).contains(&self.case) {
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
        if let Err(problem) = self.case.check_sizes(self.sizes.len()) {
            return wrong(&inside("sizes"), problem);
        }
        let outside = |number: u32, range: [u32; 2]| !(range[0]..=range[1]).contains(&number);
        if self
            .window
            .is_some_and(|window| outside(window, [1, MOST_WINDOW]))
        {
            return wrong(
                &inside("window"),
                format!("a window has 1 to {MOST_WINDOW} messages"),
            );
        }
        if self.buffers.iter().any(|&n| outside(n, [1, MOST_BUFFERS])) {
            return wrong(
                &inside("buffers"),
                format!("messages lie in 1 to {MOST_BUFFERS} buffers"),
            );
        }
        if self.reuse.iter().any(|&percent| percent > 100) {
            return wrong(&inside("reuse"), "a share is a percentage from 0 to 100");
        }
        if self
            .slaves
            .is_some_and(|n| outside(n.into(), [1, MOST_SLAVES as u32]))
        {
            return wrong(
                &inside("slaves"),
                format!("there are 1 to {MOST_SLAVES} slaves"),
            );
        }
        Ok(())
    }

    /// Fills in what only some cases are told, and what is usual.
    pub(super) fn fill_options(&mut self) {
        let (case, is_open) = (self.case, self.rate.is_some());
        let is_told = |told: Told| told.cases(is_open).contains(&case);
        if is_told(Told::OneSize) {
            self.size = Some(self.message());
        }
        if is_told(Told::Window) {
            self.window.get_or_insert(usual_window(is_open));
        }
        if is_told(Told::Buffers) && self.buffers.is_empty() && self.reuse.is_empty() {
            (self.buffers, self.reuse) = (BUFFERS.into(), REUSE.into());
        }
        if is_told(Told::Slaves) {
            self.slaves.get_or_insert(SLAVES);
        }
        if is_open {
            self.gaps.get_or_insert_default();
        }
    }

    /// The servers that it needs.
    pub(super) fn servers(&self) -> u8 {
        self.case.servers(self.slaves)
    }

    /// True if it draws anything: then each run has its own seed.
    pub(super) fn draws(&self) -> bool {
        self.gaps == Some(Spacing::Exponential)
    }

    /// The arguments of `jitterlab packet run` that only this case has.
    pub(super) fn arguments(&self) -> Vec<String> {
        let list = |items: Vec<String>| (!items.is_empty()).then(|| items.join(","));
        let texts = |items: &[u32]| items.iter().map(u32::to_string).collect();
        let size = match self.has_one_size() {
            true => Some(self.message().to_string()),
            false => list(self.sizes.iter().map(ToString::to_string).collect()),
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

    /// True if messages of one size are measured: other cases have sizes of their own.
    pub(super) fn has_one_size(&self) -> bool {
        Told::OneSize.cases(false).contains(&self.case)
    }

    /// True if it is told how a message is waited for.
    pub(super) fn is_told_to_wait(&self) -> bool {
        Told::Wait.cases(false).contains(&self.case)
    }

    /// The number of measurements, at least and at most: each has a warm-up.
    pub(super) fn measurements(&self) -> [u32; 2] {
        let patterns = self.buffers.len() + self.reuse.len();
        self.case
            .measurements(self.sizes.len(), patterns, self.servers())
    }
}
