//! Time in whole picoseconds: fine enough that a byte at 100 Gbit/s is exact, and a run may last months.

/// Picoseconds, or an instant in picoseconds since the run began.
pub type Ps = u64;

/// A nanosecond.
pub const NS: Ps = 1_000;
/// A microsecond.
pub const US: Ps = 1_000 * NS;
/// A millisecond.
pub const MS: Ps = 1_000 * US;
/// A second.
pub const S: Ps = 1_000 * MS;
