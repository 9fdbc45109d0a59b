//! The bulk workload: one host writes calls of a fixed size, the other reads.

use schema::trial::Stop;

/// The rest of a transfer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transfer {
    /// Bytes each call asks for.
    call_bytes: usize,
    /// Bytes still to move; `None` for a transfer that a clock ends.
    left_bytes: Option<u64>,
}

impl Transfer {
    /// A transfer in calls of `call_bytes`, ended as `stop` says.
    pub fn new(call_bytes: u32, stop: &Stop) -> Self {
        let left_bytes = match stop {
            Stop::Bytes { payload_bytes } => Some(*payload_bytes),
            Stop::Duration { .. } | Stop::Workload => None,
        };
        Self { call_bytes: call_bytes as usize, left_bytes }
    }

    /// Bytes the next call asks for: the call size, less at the tail; 0 when all is moved.
    pub fn poll_call(&self) -> usize {
        match self.left_bytes {
            Some(left) => self.call_bytes.min(usize::try_from(left).unwrap_or(usize::MAX)),
            None => self.call_bytes,
        }
    }

    /// Takes note of what a call moved.
    pub fn on_moved(&mut self, bytes: usize) {
        if let Some(left) = &mut self.left_bytes {
            *left = left.saturating_sub(bytes as u64);
        }
    }

    /// True where all bytes are moved. Never true for a transfer that a clock ends.
    pub fn is_complete(&self) -> bool {
        self.left_bytes == Some(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn moves_exactly_what_was_asked_whatever_each_call_moves(
            payload_bytes in 1u64..200_000,
            call_bytes in 1u32..70_000,
            shares in prop::collection::vec(0.01f64..1.0, 1..40),
        ) {
            let mut transfer = Transfer::new(call_bytes, &Stop::Bytes { payload_bytes });
            let mut moved = 0u64;
            for share in shares.iter().cycle() {
                let ask = transfer.poll_call();
                if ask == 0 { break; }
                prop_assert!(ask <= call_bytes as usize);
                #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
                let got = ((ask as f64 * share) as usize).max(1);
                transfer.on_moved(got);
                moved += got as u64;
            }
            prop_assert!(transfer.is_complete());
            prop_assert_eq!(moved, payload_bytes);
        }
    }

    #[test]
    fn a_timed_transfer_has_no_end_of_its_own() {
        let stop = Stop::Duration { warmup_ns: 0, measure_ns: 1, cooldown_ns: 0 };
        let mut transfer = Transfer::new(10, &stop);
        transfer.on_moved(1 << 40);
        assert!(!transfer.is_complete());
        assert_eq!(transfer.poll_call(), 10);
    }
}
