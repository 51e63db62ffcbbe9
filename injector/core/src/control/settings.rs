//! The settings that a page tells the hooks, and their form as words.

use serde::Serialize;

use super::hook::HookFamily;
use crate::generator::{GeneratorKind, TABLE_ENTRIES};
use crate::replay::{Order, Stretch};
use crate::table::{DelayUnit, TableSource};
use jitterlab_base::named;

/// The way that a delay is injected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Mode {
    /// The caller waits, then sends: the CPU is held and the send overhead o rises, as in the
    /// paper.
    #[default]
    Spin,
    /// A helper thread sends when the message is due: the latency L rises, the caller goes on.
    Defer,
    /// A send goes no earlier than the delay after the one before it in the same thread: the gap g
    /// rises, and a send that comes late enough by itself waits for nothing.
    Pace,
}

named!(Mode, serde, "a mode", Spin => "spin", Defer => "defer", Pace => "pace");

impl Mode {
    /// Why this mode cannot be had with a table that counts `unit`, at the families `hooks` (a sum of
    /// [`HookFamily::bit`]); `None` if it can.
    pub fn obstacle(self, unit: DelayUnit, hooks: u32) -> Option<&'static str> {
        let undeferred = |family: &HookFamily| hooks & family.bit() != 0 && !family.defers();
        if self != Mode::Spin && unit == DelayUnit::Spins {
            Some("a table of spins works only with --mode spin: the other modes need times")
        } else if self == Mode::Defer && HookFamily::ALL.iter().any(undeferred) {
            Some(
                "MPI and UCT cannot be deferred, because the data stay in the hands of the program: use --hook socket or verbs, or --mode spin or pace",
            )
        } else {
            None
        }
    }
}

/// The settings of an injected program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Settings {
    /// True if anything is injected.
    pub enabled: bool,
    /// The way that delays are injected.
    pub mode: Mode,
    /// The generator that draws delays from the table.
    pub generator: GeneratorKind,
    /// The order of the delays: drawn, or as they were recorded.
    pub order: Order,
    /// The stretches of a recording that ranks replay.
    pub stretch: Stretch,
    /// The unit of the table.
    pub unit: DelayUnit,
    /// The seed of every stream.
    pub seed: u64,
    /// Counts how often a seed was set. Streams start over when it changes, so that setting the
    /// same seed again repeats the same delays.
    pub seedings: u32,
}

impl Settings {
    /// The settings of a page before anything was published: nothing is injected.
    pub const NONE: Settings = Settings {
        enabled: false,
        mode: Mode::Spin,
        generator: GeneratorKind::Pcg,
        order: Order::Drawn,
        stretch: Stretch::All,
        unit: DelayUnit::Nanoseconds,
        seed: 0,
        seedings: 0,
    };
}

const ORIGIN_WORDS: usize = 64;
/// The word that holds the flags.
const FLAGS: usize = 0;
const SEEDINGS: usize = 1;
const SEED: usize = 2;
const TIMES: usize = 4;
const ORIGIN_AT: usize = 6;
/// The place at which the table begins.
pub(super) const TABLE_AT: usize = ORIGIN_AT + ORIGIN_WORDS;
/// Words in a published block.
pub(super) const SETTINGS_WORDS: usize = TABLE_AT + TABLE_ENTRIES;

const ENABLED: u32 = 1;
const DEFER: u32 = 2;
const LCG: u32 = 4;
const SPINS: u32 = 8;
const PACE: u32 = 16;
const BY_MESSAGE: u32 = 32;
const BY_TIME: u32 = 64;
const EACH_RANK: u32 = 128;

/// The part of the settings that a thread keeps, ready for its hot path.
pub(crate) type Head = Settings;

/// The settings from their words; `None` when a word could not be had.
pub(super) fn head(word: impl Fn(usize) -> Option<u32>) -> Option<Head> {
    let flags = word(FLAGS)?;
    let choose = |bit, set, clear| if flags & bit == 0 { clear } else { set };
    Some(Settings {
        enabled: flags & ENABLED != 0,
        mode: match flags & (DEFER | PACE) {
            0 => Mode::Spin,
            DEFER => Mode::Defer,
            _ => Mode::Pace,
        },
        generator: choose(LCG, GeneratorKind::Lcg, GeneratorKind::Pcg),
        order: match flags & (BY_MESSAGE | BY_TIME) {
            0 => Order::Drawn,
            BY_MESSAGE => Order::ByMessage,
            _ => Order::ByTime,
        },
        stretch: if flags & EACH_RANK == 0 {
            Stretch::All
        } else {
            Stretch::Each
        },
        unit: if flags & SPINS == 0 {
            DelayUnit::Nanoseconds
        } else {
            DelayUnit::Spins
        },
        seed: long(word(SEED)?, word(SEED + 1)?),
        seedings: word(SEEDINGS)?,
    })
}

/// The number whose halves are two words.
fn long(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

/// Zeroed words on the heap, never on the stack on their way there: a program may fork in a thread
/// that has hardly any.
pub(super) fn zeroed<const WORDS: usize>() -> Box<[u32; WORDS]> {
    match vec![0; WORDS].into_boxed_slice().try_into() {
        Ok(words) => words,
        Err(_) => unreachable!("a vector has the length that it was made with"),
    }
}

pub(super) fn decode(words: &[u32; SETTINGS_WORDS]) -> (Settings, TableSource) {
    let settings = head(|index| words.get(index).copied()).unwrap_or_default();
    let origin: Vec<u8> = words[ORIGIN_AT..TABLE_AT]
        .iter()
        .flat_map(|word| word.to_ne_bytes())
        .take_while(|&byte| byte != 0)
        .collect();
    let mut entries = zeroed::<TABLE_ENTRIES>();
    entries.copy_from_slice(&words[TABLE_AT..]);
    let table = TableSource {
        entries,
        origin: String::from_utf8_lossy(&origin).into_owned(),
        times: f64::from_bits(long(words[TIMES], words[TIMES + 1])),
    };
    (settings, table)
}

pub(super) fn encode(settings: &Settings, table: &TableSource) -> Box<[u32; SETTINGS_WORDS]> {
    let mut words = zeroed::<SETTINGS_WORDS>();
    let flag = |set: bool, bit: u32| if set { bit } else { 0 };
    words[FLAGS] = flag(settings.enabled, ENABLED)
        | flag(settings.mode == Mode::Defer, DEFER)
        | flag(settings.mode == Mode::Pace, PACE)
        | flag(settings.generator == GeneratorKind::Lcg, LCG)
        | flag(settings.order == Order::ByMessage, BY_MESSAGE)
        | flag(settings.order == Order::ByTime, BY_TIME)
        | flag(settings.stretch == Stretch::Each, EACH_RANK)
        | flag(settings.unit == DelayUnit::Spins, SPINS);
    words[SEEDINGS] = settings.seedings;
    for (at, long) in [(SEED, settings.seed), (TIMES, table.times.to_bits())] {
        words[at] = long as u32;
        words[at + 1] = (long >> 32) as u32;
    }
    for (word, bytes) in words[ORIGIN_AT..TABLE_AT]
        .iter_mut()
        .zip(table.origin.as_bytes().chunks(4))
    {
        let mut padded = [0; 4];
        padded[..bytes.len()].copy_from_slice(bytes);
        *word = u32::from_ne_bytes(padded);
    }
    words[TABLE_AT..].copy_from_slice(&table.entries[..]);
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(
            (enabled, lcg, spins, each_rank) in any::<(bool, bool, bool, bool)>(),
            mode in proptest::sample::select(&Mode::ALL[..]),
            order in proptest::sample::select(&Order::ALL[..]),
            (seed, seedings) in any::<(u64, u32)>(),
            origin in "[a-z=() ./]{0,256}",
            first in any::<u32>(), last in any::<u32>(), times in 0.0..1e9,
        ) {
            let settings = Settings {
                enabled,
                mode,
                generator: if lcg { GeneratorKind::Lcg } else { GeneratorKind::Pcg },
                order,
                stretch: if each_rank { Stretch::Each } else { Stretch::All },
                unit: if spins { DelayUnit::Spins } else { DelayUnit::Nanoseconds },
                seed,
                seedings,
            };
            let mut entries = Box::new([7; TABLE_ENTRIES]);
            entries[0] = first;
            entries[TABLE_ENTRIES - 1] = last;
            let table = TableSource { entries, origin, times };
            prop_assert_eq!(decode(&encode(&settings, &table)), (settings, table));
        }
    }
}
