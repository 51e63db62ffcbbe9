//! The environment variables with which `jitterlab inject run` configures the preloaded library.

/// Path of the distribution table. This, [`DELAY`] or [`REPLAY`] is required.
pub const TABLE: &str = "JITTERLAB_TABLE";
/// One delay for every send, such as `50us`, in the place of a table.
pub const DELAY: &str = "JITTERLAB_DELAY";
/// Path of a recording whose delays come in their order, in the place of a table.
pub const REPLAY: &str = "JITTERLAB_REPLAY";
/// The order of its delays: `by-time` (the default) or `by-message`.
pub const ORDER: &str = "JITTERLAB_ORDER";
/// `all` (the default) if all ranks replay the same stretch of it, `each` if each has its own.
pub const STRETCH: &str = "JITTERLAB_STRETCH";
/// When the replay began, in nanoseconds since 1970: ranks that replay by time are then at the same place at the same time.
pub const BEGAN: &str = "JITTERLAB_BEGAN";
/// Path of the seed file; the seed is [`jitterlab_base::seed::DEFAULT`] if it is not set.
pub const SEED: &str = "JITTERLAB_SEED";
/// Families of hooks, separated by commas; `verbs,socket` if it is not set.
pub const HOOKS: &str = "JITTERLAB_HOOKS";
/// `spin` (the default), `defer` or `pace`.
pub const MODE: &str = "JITTERLAB_MODE";
/// `pcg` (the default) or `lcg`.
pub const GENERATOR: &str = "JITTERLAB_GENERATOR";
/// The unit of the integers of a table without a header: `ns` (the default) or `spins`.
pub const UNIT: &str = "JITTERLAB_UNIT";
/// The rank of the process in its parallel program, where the launcher does not tell.
pub const RANK: &str = "JITTERLAB_RANK";
/// The directory in which control pages are made, in the place of the user's own directory in /dev/shm.
pub const CONTROL_DIR: &str = "JITTERLAB_CONTROL_DIR";
/// A file that gets a line of JSON with the counters when the process ends.
pub const REPORT: &str = "JITTERLAB_REPORT";
/// The `inject run` that started the program: 16 hexadecimal digits of its own.
pub const RUN: &str = "JITTERLAB_RUN";
/// A folder in which each rank of an MPI program leaves what it has sent when it ends.
pub const RECORDS: &str = "JITTERLAB_TRACE";
/// The program's parent, and its number among the children: 16 hexadecimal digits, written by the
/// library in their place when the program starts another.
pub const LINEAGE: &str = "JITTERLAB_LINEAGE";
/// Its value for a program that nobody under injection has started.
pub const NO_LINEAGE: &str = "0000000000000000";
/// Set by the library itself when it has said why it is off, so that children need not.
pub const SILENT: &str = "JITTERLAB_SILENT";

/// True if this process was started under injection.
pub fn injects() -> bool {
    [TABLE, DELAY, REPLAY]
        .iter()
        .any(|name| std::env::var_os(name).is_some())
}
