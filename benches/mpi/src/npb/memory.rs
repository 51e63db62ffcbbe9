//! The memory that a rank takes.

use std::fs;

/// The most memory that this process has had so far, in bytes: its `VmHWM` in /proc/self/status. None where that is not
/// to be had.
pub fn peak() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(1024 * kib)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_written_is_counted_and_stays_so() {
        const BYTES: usize = 1 << 26;
        let before = peak().unwrap();
        drop(std::hint::black_box(vec![1u8; BYTES]));
        assert!(peak().unwrap() >= before.max(BYTES as u64));
    }
}
