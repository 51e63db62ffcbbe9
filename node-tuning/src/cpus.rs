//! Sets of CPUs, as the kernel writes them: lists (`0-3,8`) and masks (`ffffffff,0000000f`).

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A logical CPU, by the kernel's number.
pub type Cpu = u32;

/// More CPUs than any kernel has (`CONFIG_NR_CPUS` ends at 8,192 on x86-64): a larger number is a typing error.
const MOST: Cpu = 65_536;

/// A set of CPUs. Text is a list: ranges and single numbers, separated by commas; empty is none.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CpuSet(BTreeSet<Cpu>);

/// The fault of the text of a set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CpuSetError {
    /// A piece of a list is neither a number nor a range.
    #[error("`{0}` is not a list of CPUs: write numbers and ranges like 1-3,8")]
    List(String),
    /// A range ends before it begins.
    #[error("the range `{0}` ends before it begins")]
    Backwards(String),
    /// A CPU that no kernel has.
    #[error("there is no CPU {0}: the greatest number is {max}", max = MOST - 1)]
    TooLarge(String),
    /// A mask has something else than hexadecimal digits.
    #[error("`{0}` is not a mask of CPUs: hexadecimal words separated by commas")]
    Mask(String),
}

impl CpuSet {
    /// No CPU.
    pub const fn new() -> Self {
        CpuSet(BTreeSet::new())
    }

    /// The set in a list of the kernel's command line (`bitmap_parselist` in lib/bitmap-str.c); `None` where the kernel
    /// refuses it. Besides numbers and ranges there are `all`, `N` for the `last` CPU, and `0-31:2/8`, the first two of
    /// every eight. Commas may be too many.
    pub fn from_boot(text: &str, last: Cpu) -> Option<Self> {
        let number = |text: &str| match text {
            "N" => Some(last),
            digits => {
                let set: CpuSet = digits.parse().ok()?;
                set.first().filter(|_| set.len() == 1)
            }
        };
        let mut set = BTreeSet::new();
        let pieces = text.split(|c: char| c == ',' || c.is_whitespace());
        for piece in pieces.filter(|piece| !piece.is_empty()) {
            let (range, groups) = piece.split_once(':').unwrap_or((piece, "1/1"));
            let (used, size) = groups.split_once('/')?;
            let (used, size) = (number(used)?, number(size)?);
            let (from, to) = match range.split_once('-') {
                _ if range.eq_ignore_ascii_case("all") => (0, last),
                Some((from, to)) => (number(from)?, number(to)?),
                None => (number(range)?, number(range)?),
            };
            if from > to || used == 0 || used > size {
                return None;
            }
            set.extend((from..=to).filter(|cpu| (cpu - from) % size < used));
        }
        Some(CpuSet(set)).filter(|set| !set.is_empty())
    }

    /// The set in a kernel's mask, most significant word first, 32 bits each.
    ///
    /// # Errors
    /// It is none.
    pub fn from_mask(text: &str) -> Result<Self, CpuSetError> {
        let wrong = || CpuSetError::Mask(text.trim().into());
        let digits: String = text.trim().split(',').collect();
        if digits.is_empty() || digits.len() * 4 > MOST as usize {
            return Err(wrong());
        }
        let mut set = BTreeSet::new();
        for (position, digit) in digits.chars().rev().enumerate() {
            let bits = digit.to_digit(16).ok_or_else(wrong)?;
            set.extend(
                (0..4)
                    .filter(|bit| bits & (1 << bit) != 0)
                    .map(|bit| position as Cpu * 4 + bit),
            );
        }
        Ok(CpuSet(set))
    }

    /// The kernel's mask of the set: hexadecimal words of 32 bits, at least `digits` digits in all
    /// (as many as the kernel's own masks on the machine have).
    pub fn to_mask(&self, digits: usize) -> String {
        let needed = self.last().map_or(1, |cpu| cpu as usize / 4 + 1);
        let mut text = String::new();
        for position in (0..needed.max(digits)).rev() {
            let bits = (0..4).filter(|bit| self.contains(position as Cpu * 4 + bit));
            let digit = bits.fold(0, |digit, bit| digit | 1 << bit);
            text.extend(char::from_digit(digit, 16));
            if position > 0 && position % 8 == 0 {
                text.push(',');
            }
        }
        text
    }

    /// True if there is no CPU in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of CPUs in it.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if `cpu` is in it.
    pub fn contains(&self, cpu: Cpu) -> bool {
        self.0.contains(&cpu)
    }

    /// Puts `cpu` into it.
    pub fn insert(&mut self, cpu: Cpu) {
        self.0.insert(cpu);
    }

    /// The CPUs, ascending.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Cpu> + '_ {
        self.0.iter().copied()
    }

    /// The lowest CPU.
    pub fn first(&self) -> Option<Cpu> {
        self.0.first().copied()
    }

    /// The highest CPU.
    pub fn last(&self) -> Option<Cpu> {
        self.0.last().copied()
    }

    /// The CPUs of this set that are not in `other`.
    pub fn without(&self, other: &CpuSet) -> CpuSet {
        CpuSet(self.0.difference(&other.0).copied().collect())
    }

    /// The CPUs of both sets.
    pub fn and(&self, other: &CpuSet) -> CpuSet {
        CpuSet(self.0.intersection(&other.0).copied().collect())
    }

    /// The CPUs of either set.
    pub fn or(&self, other: &CpuSet) -> CpuSet {
        CpuSet(self.0.union(&other.0).copied().collect())
    }

    /// True if every CPU of this set is in `other`.
    pub fn is_within(&self, other: &CpuSet) -> bool {
        self.0.is_subset(&other.0)
    }
}

impl FromIterator<Cpu> for CpuSet {
    fn from_iter<I: IntoIterator<Item = Cpu>>(cpus: I) -> Self {
        CpuSet(cpus.into_iter().collect())
    }
}

impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cpus = self.0.iter().copied().peekable();
        let mut separator = "";
        while let Some(first) = cpus.next() {
            let mut last = first;
            while let Some(next) = cpus.next_if(|&next| next == last + 1) {
                last = next;
            }
            match last - first {
                0 => write!(f, "{separator}{first}")?,
                _ => write!(f, "{separator}{first}-{last}")?,
            }
            separator = ",";
        }
        Ok(())
    }
}

impl FromStr for CpuSet {
    type Err = CpuSetError;

    fn from_str(text: &str) -> Result<Self, CpuSetError> {
        let mut set = BTreeSet::new();
        if text.trim().is_empty() {
            return Ok(CpuSet(set));
        }
        let number = |digits: &str, piece: &str| {
            // `parse` would take a sign.
            if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err(CpuSetError::List(piece.into()));
            }
            match digits.parse::<Cpu>() {
                Ok(cpu) if cpu < MOST => Ok(cpu),
                _ => Err(CpuSetError::TooLarge(digits.into())),
            }
        };
        for piece in text.trim().split(',') {
            let (first, last) = piece.split_once('-').unwrap_or((piece, piece));
            let (first, last) = (number(first, piece)?, number(last, piece)?);
            if first > last {
                return Err(CpuSetError::Backwards(piece.into()));
            }
            set.extend(first..=last);
        }
        Ok(CpuSet(set))
    }
}

impl TryFrom<String> for CpuSet {
    type Error = CpuSetError;

    fn try_from(text: String) -> Result<Self, CpuSetError> {
        text.parse()
    }
}

impl From<CpuSet> for String {
    fn from(set: CpuSet) -> String {
        set.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn masks_of_a_large_machine() {
        let set = CpuSet::from_mask("00000001,00000000,80000005\n").unwrap();
        assert_eq!(set.to_string(), "0,2,31,64");
        assert_eq!(set.to_mask(24), "00000001,00000000,80000005");
        assert_eq!(CpuSet::new().to_mask(2), "00");
        assert_eq!(CpuSet::from_mask("3").unwrap().to_mask(1), "3");
        assert!(CpuSet::from_mask("").is_err() && CpuSet::from_mask("fg").is_err());
    }

    #[test]
    fn what_is_no_list_says_so() {
        for wrong in ["a", "1-", "-1", "1,,2", "+1", "1-2-3", "1 2", "70000"] {
            assert!(wrong.parse::<CpuSet>().is_err(), "{wrong}");
        }
        assert_eq!(
            "3-1".parse::<CpuSet>(),
            Err(CpuSetError::Backwards("3-1".into()))
        );
    }

    #[test]
    fn lists_of_the_command_line() {
        for (text, expected) in [
            ("1-3,8", "1-3,8"),
            ("8,1-2,3", "1-3,8"),
            ("all", "0-15"),
            ("N", "15"),
            ("8-N", "8-15"),
            ("0-N:2/8", "0-1,8-9"),
            ("1,4-9:1/3", "1,4,7"),
            ("all:1/8", "0,8"),
            ("1,,2,", "1-2"),
            ("4-5, 6-7", "4-7"),
        ] {
            let expected = Some(expected.parse().unwrap());
            assert_eq!(CpuSet::from_boot(text, 15), expected, "{text}");
        }
        for wrong in [
            "", ",", "x", "3-1", "0-7:0/2", "0-7:3/2", "0-7:2", "0-7:/", "1,2-", "-", "70000",
        ] {
            assert_eq!(CpuSet::from_boot(wrong, 15), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn lists_of_the_kernel_are_lists_of_the_command_line(cpus in proptest::collection::btree_set(0..200u32, 1..60)) {
            let set: CpuSet = cpus.into_iter().collect();
            prop_assert_eq!(CpuSet::from_boot(&set.to_string(), 199), Some(set));
        }

        #[test]
        fn any_text_is_a_list_or_none(text in "[0-9N,:/a-]{0,12}") {
            CpuSet::from_boot(&text, 100);
        }

        #[test]
        fn text_is_read_back(cpus in proptest::collection::btree_set(0..300u32, 0..80), digits in 0..90usize) {
            let set: CpuSet = cpus.into_iter().collect();
            prop_assert_eq!(&set.to_string().parse::<CpuSet>().unwrap(), &set);
            prop_assert_eq!(&CpuSet::from_mask(&set.to_mask(digits)).unwrap(), &set);
        }
    }
}
