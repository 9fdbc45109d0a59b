//! The cost of each step to a host, as data.

use crate::time::Ps;

/// Processor time of an operation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cost {
    /// Each time, in ps.
    pub fixed: Ps,
    /// For each byte, in ps.
    pub per_byte: Ps,
}

impl Cost {
    /// Of an operation on `bytes`.
    pub fn of(self, bytes: u32) -> Ps {
        self.of_several(1, bytes)
    }

    /// Of `count` operations on `bytes` in all.
    pub fn of_several(self, count: u32, bytes: u32) -> Ps {
        self.fixed * Ps::from(count) + self.per_byte * Ps::from(bytes)
    }
}
