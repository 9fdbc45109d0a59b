//! The socket layer of `SunOS` 4.1: how much of a write is copied at once, when a writer sleeps, and in
//! which pieces what was received lies.

use super::spec::{Rules, WriteRule};
use std::collections::VecDeque;

/// How a segment is stored where it was received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pieces {
    /// The first buffer's bytes.
    pub first: u32,
    /// The others'.
    pub others: u32,
}

/// How much of a write the socket layer takes next, at most `limit` in all; `None`: the writer sleeps.
///
/// A write of 8704 bytes into a buffer of 8192 becomes 4096, 4096 and 512 by [`WriteRule::WholePieces`].
pub fn to_copy(rules: &Rules, remaining: u32, queued: u64, limit: u64) -> Option<u32> {
    let piece = rules.copy_limit_bytes;
    let room = limit.saturating_sub(queued);
    let waits = rules.write == WriteRule::WholePieces && remaining >= piece && room < u64::from(piece) && queued >= u64::from(piece);
    if room == 0 || waits {
        return None;
    }
    Some(u32::try_from(room).unwrap_or(u32::MAX).min(remaining).min(piece))
}

/// What was received and not yet read.
#[derive(Debug, Clone, Default)]
pub struct Received {
    pieces: VecDeque<u32>,
    /// Bytes in all.
    pub bytes: u64,
}

impl Received {
    /// A segment's payload is put behind what is there.
    pub fn append(&mut self, bytes: u32, sizes: Pieces) {
        self.bytes += u64::from(bytes);
        let mut rest = bytes;
        let mut size = sizes.first;
        while rest > 0 {
            let piece = size.min(rest);
            self.pieces.push_back(piece);
            rest -= piece;
            size = sizes.others;
        }
    }

    /// How much of a read that still has room for `room` bytes is copied in one go; 0 where nothing is.
    pub fn to_copy(&self, room: u32) -> u32 {
        self.pieces.front().map_or(0, |&piece| piece.min(room))
    }

    /// So much of the first piece was copied out and is free.
    pub fn take(&mut self, bytes: u32) {
        self.bytes -= u64::from(bytes);
        if let Some(first) = self.pieces.front_mut() {
            *first -= bytes;
            if *first == 0 {
                self.pieces.pop_front();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_is_copied_in_pieces_and_waits_for_a_pieces_room() {
        assert_eq!(to_copy(&Rules::SUNOS_4_1, 8704, 0, 8192), Some(4096));
        assert_eq!(to_copy(&Rules::SUNOS_4_1, 4608, 4096, 8192), Some(4096));
        assert_eq!(to_copy(&Rules::SUNOS_4_1, 512, 8192, 8192), None);
        assert_eq!(to_copy(&Rules::SUNOS_4_1, 512, 4096, 8192), Some(512));
        // 4608 are left, 3000 are free, and 5192 are queued: sleep.
        assert_eq!(to_copy(&Rules::SUNOS_4_1, 4608, 5192, 8192), None);
        // As long as less than a piece is queued, a part is taken.
        assert_eq!(to_copy(&Rules::SUNOS_4_1, 4608, 3000, 4096), Some(1096));
    }

    #[test]
    fn a_segment_of_4096_lies_in_six_buffers() {
        let mut received = Received::default();
        received.append(4096, Pieces { first: 44, others: 1012 });
        let mut freed = Vec::new();
        while received.bytes > 0 {
            let piece = received.to_copy(8192);
            received.take(piece);
            freed.push(piece);
        }
        assert_eq!(freed, [44, 1012, 1012, 1012, 1012, 4]);
    }
}
