//! Losses, by the order of time (RACK, RFC 8985; `tcp_recovery.c`): what left before something that arrived.

use crate::linux::recovery::Recovery;
use crate::linux::sender::{Sender, Timer};
use crate::linux::write_queue::Buffer;
use crate::time::Ps;

/// Duplicates after which a segment is held for lost at once (RFC 5681 3.2).
const DUPLICATES: u32 = 3;

impl Recovery {
    /// Something arrived: RACK knows the newest (RFC 8985 6.2 step 2).
    pub(super) fn on_delivered(&mut self, now: Ps, buffer: &Buffer, least: Ps) {
        let round_trip = now - buffer.sent_at;
        // Sooner than can be: it was the first transmission that arrived. The least that is known here was measured
        // with full segments, while Linux has the handshake's empty ones.
        if buffer.was_again_out && round_trip < least / 8 * 7 {
            return;
        }
        if (buffer.sent_at, buffer.end()) > (self.newest_sent_at, self.newest_end) {
            (self.newest_sent_at, self.newest_end, self.newest_round_trip) = (buffer.sent_at, buffer.end(), round_trip);
        }
    }
}

impl Sender {
    /// Marks lost what is overdue and left before something that arrived (RFC 8985 6.2 step 5; `tcp_rack_detect_loss`).
    /// Without SACK three duplicates mark only the oldest (RFC 5681 3.2).
    pub(super) fn detect_losses(&mut self, now: Ps) {
        let recovery = self.recovery;
        if !recovery.has_sack {
            if recovery.duplicates == DUPLICATES {
                self.mark_lost(0);
            }
            return;
        }
        if self.segments.sacked == 0 && !recovery.is_under_way() {
            return;
        }
        // `tcp_rack_reo_wnd`: patient from the first reordering on.
        let is_sure = !recovery.has_reordering && (recovery.is_under_way() || self.segments.sacked >= DUPLICATES);
        let patience = if is_sure { 0 } else { (self.round_trip.least / 4).min(self.round_trip.smoothed) };
        let mut wait = None;
        for index in 0..self.queue.sent_count() {
            let Some(&mut buffer) = self.queue.sent_mut(index) else { break };
            if buffer.is_sacked || (buffer.is_lost && !buffer.is_again_out) {
                continue;
            }
            if (buffer.sent_at, buffer.end()) >= (recovery.newest_sent_at, recovery.newest_end) {
                continue;
            }
            let due = buffer.sent_at + recovery.newest_round_trip + patience;
            if due <= now {
                self.mark_lost(index);
            } else {
                wait = Some(wait.map_or(due, |wait: Ps| wait.max(due)));
            }
        }
        if let Some(at) = wait {
            self.timer = Some((at, Timer::Reordering));
        }
    }

    pub(super) fn mark_lost(&mut self, index: usize) {
        let Some(buffer) = self.queue.sent_mut(index) else { return };
        let was = *buffer;
        (buffer.is_lost, buffer.is_again_out) = (true, false);
        let count = self.count(was.bytes);
        self.segments.again -= if was.is_again_out { count } else { 0 };
        self.segments.lost += if was.is_lost { 0 } else { count };
        self.recovery.lost_ever += u64::from(count);
    }
}
