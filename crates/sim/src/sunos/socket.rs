//! The socket layer of `SunOS` 4.1: how much of a write is copied at once and into how many buffers, when a writer
//! sleeps, and in which pieces what was received lies.

pub use super::rules::{Pieces, SendBuffers};
use super::rules::{Rules, WriteRule};
use std::collections::VecDeque;

/// The part of a write that is copied at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// Its bytes.
    pub bytes: u32,
    /// The buffers that it fills.
    pub buffers: u32,
}

/// The part of a write that the socket layer takes next, at most `limit` in all; `None`: the writer sleeps.
///
/// A write of 8704 bytes into a buffer of 8192 becomes 4096, 4096 and 512 by [`WriteRule::WholePieces`].
pub fn to_copy(rules: &Rules, remaining: u32, queued: u64, limit: u64) -> Option<Piece> {
    let piece = rules.copy_limit_bytes;
    let room = limit.saturating_sub(queued);
    // For a piece (study 1) as for a cluster (4.3BSD's `sosend`): while one is left and one is queued, one must fit.
    let waits_for = |bytes: u32| remaining >= bytes && room < u64::from(bytes) && queued >= u64::from(bytes);
    let waits = rules.write == WriteRule::WholePieces && (waits_for(piece) || waits_for(rules.send_buffers.cluster));
    if room == 0 || waits {
        return None;
    }
    let bytes = u32::try_from(room).unwrap_or(u32::MAX).min(remaining).min(piece);
    Some(Piece { bytes, buffers: rules.send_buffers.count(bytes, remaining, room) })
}

/// Data that was received and not yet read.
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

    /// Bytes copied in one go of a read that still has room for `room` bytes; 0 where nothing is.
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
        let copied = |remaining, queued, limit| to_copy(&Rules::SUNOS_4_1, remaining, queued, limit).map(|piece| piece.bytes);
        assert_eq!(copied(8704, 0, 8192), Some(4096));
        assert_eq!(copied(4608, 4096, 8192), Some(4096));
        assert_eq!(copied(512, 8192, 8192), None);
        assert_eq!(copied(512, 4096, 8192), Some(512));
        // 4608 are left, 3000 are free, and 5192 are queued: sleep.
        assert_eq!(copied(4608, 5192, 8192), None);
        // As long as less than a piece is queued, a part is taken.
        assert_eq!(copied(4608, 3000, 4096), Some(1096));
    }

    #[test]
    fn a_piece_fills_clusters_of_1024_and_small_buffers_of_112() {
        let buffers = |remaining, queued| to_copy(&Rules::SUNOS_4_1, remaining, queued, 8192).map(|piece| piece.buffers);
        assert_eq!(buffers(8192, 0), Some(4));
        // Half a cluster and more is one cluster, less is in small buffers: 4 × 112 + 63 = 511.
        assert_eq!(buffers(512, 0), Some(1));
        assert_eq!(buffers(511, 0), Some(5));
        // 1024 + 600, and 1024 + 2 × 112 + 76.
        assert_eq!(buffers(1624, 0), Some(2));
        assert_eq!(buffers(1324, 0), Some(4));
        // There is room for 1000 bytes, and so for no cluster: 8 × 112 + 104.
        assert_eq!(buffers(1000, 7192), Some(9));
        // Of the room for 1536, a cluster is one part, and 4 × 112 + 64 the other.
        assert_eq!(buffers(3000, 6656), Some(6));
    }

    #[test]
    fn a_write_with_a_cluster_left_waits_for_the_room_of_a_cluster() {
        let copied = |remaining, queued| to_copy(&Rules::SUNOS_4_1, remaining, queued, 8192).map(|piece| piece.bytes);
        // A write of 7168 fits after 7168 unacknowledged bytes with its cluster of 1024, one of 7680 with its 512 does not.
        assert_eq!(copied(3072, 7168), Some(1024));
        assert_eq!(copied(3584, 7680), None);
        // Less than a cluster of the call is left: it takes what room there is.
        assert_eq!(copied(1023, 7680), Some(512));
        // Less than a cluster is queued.
        let narrow = to_copy(&Rules::SUNOS_4_1, 1024, 1023, 1536).map(|piece| piece.bytes);
        assert_eq!(narrow, Some(513));
    }

    #[test]
    fn without_clusters_a_piece_is_one_buffer() {
        let rules = Rules { send_buffers: SendBuffers::WHOLE_PIECES, ..Rules::SUNOS_4_1 };
        assert_eq!(to_copy(&rules, 8704, 0, 8192), Some(Piece { bytes: 4096, buffers: 1 }));
        assert_eq!(to_copy(&rules, 100, 0, 8192), Some(Piece { bytes: 100, buffers: 1 }));
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
