//! The environment by which `jitterlab inject run` configures the preloaded library.

/// Path of the distribution table. This or [`DELAY`] is required.
pub const TABLE: &str = "JITTERLAB_TABLE";
/// One delay for every send, such as `50us`, in the place of a table.
pub const DELAY: &str = "JITTERLAB_DELAY";
/// Path of the seed file; the seed is [`jitterlab_base::seed::DEFAULT`] if it is not set.
pub const SEED: &str = "JITTERLAB_SEED";
/// Families of hooks, separated by commas; `verbs,socket` if it is not set.
pub const HOOKS: &str = "JITTERLAB_HOOKS";
/// `spin` (the default), `defer` or `pace`.
pub const MODE: &str = "JITTERLAB_MODE";
/// `pcg` (the default) or `lcg`.
pub const GENERATOR: &str = "JITTERLAB_GENERATOR";
/// What the integers of a table without a header count: `ns` (the default) or `spins`.
pub const UNIT: &str = "JITTERLAB_UNIT";
/// The rank of the process in its parallel program, where the launcher does not tell.
pub const RANK: &str = "JITTERLAB_RANK";
/// Where control pages are made, in the place of the user's own directory in /dev/shm.
pub const CONTROL_DIR: &str = "JITTERLAB_CONTROL_DIR";
/// A file that gets a line of JSON with the counters when the process ends.
pub const REPORT: &str = "JITTERLAB_REPORT";
/// Which `inject run` started the program: 16 hexadecimal digits of its own.
pub const RUN: &str = "JITTERLAB_RUN";
/// A folder in which each rank of an MPI program leaves what it has sent when it ends.
pub const RECORDS: &str = "JITTERLAB_TRACE";
/// Who started the program, and as which of its children: 16 hexadecimal digits, written by the
/// library in their place when the program starts another.
pub const LINEAGE: &str = "JITTERLAB_LINEAGE";
/// Its value for a program that nobody under injection has started.
pub const NO_LINEAGE: &str = "0000000000000000";
/// Set by the library itself when it has said why it is off, so that children need not.
pub const SILENT: &str = "JITTERLAB_SILENT";

/// Whether this process was started under injection.
pub fn injects() -> bool {
    [TABLE, DELAY]
        .iter()
        .any(|name| std::env::var_os(name).is_some())
}
