//! Connections by the numbers that programs have for their sockets, for two threads: the watch's writes, that of the log reads.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::segment_log::KnownConnection;

/// Numbers have 16 bits.
const NUMBERS: usize = 1 << 16;
/// Of an entry: there is a connection.
const IS_KNOWN: u64 = 1 << 63;

/// The connections. Records of a socket may be read after it has closed.
pub struct KnownNumbers(Box<[AtomicU64]>);

impl KnownNumbers {
    /// Knows none.
    pub fn new() -> Self {
        Self((0..NUMBERS).map(|_| AtomicU64::new(0)).collect())
    }

    /// From now on, this number is of that connection.
    pub fn set(&self, number: u16, connection: KnownConnection) {
        let [own, others] = connection.scales.map(u64::from);
        let entry = IS_KNOWN | own << 40 | others << 32 | u64::from(connection.number);
        self.0[usize::from(number)].store(entry, Ordering::Release);
    }

    /// No record of this number is left.
    pub fn clear(&self, number: u16) {
        self.0[usize::from(number)].store(0, Ordering::Release);
    }

    /// The connection of a number.
    pub fn get(&self, number: u16) -> Option<KnownConnection> {
        let entry = self.0[usize::from(number)].load(Ordering::Acquire);
        let [number_bytes @ .., others, own, _, _] = entry.to_le_bytes();
        let connection = KnownConnection { number: u32::from_le_bytes(number_bytes), scales: [own, others] };
        (entry & IS_KNOWN != 0).then_some(connection)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_its_last_connection() {
        let known = KnownNumbers::new();
        assert_eq!(known.get(0), None);
        for connection in [KnownConnection { number: u32::MAX, scales: [14, 0] }, KnownConnection { number: 0, scales: [0, 14] }] {
            known.set(65_535, connection);
            assert_eq!(known.get(65_535), Some(connection));
        }
        known.clear(65_535);
        assert_eq!((known.get(1), known.get(65_535)), (None, None));
    }
}
