//! A reduction that was not needed is undone: what was held for lost comes after all, as its echoed time stamp shows
//! (Eifel, RFC 3522; `tcp_may_undo`, `tcp_packet_delayed`, `tcp_undo_cwnd_reduction`, `tcp_input.c`).
//!
//! Time stamps count milliseconds: of what leaves again within the millisecond in which it left they show nothing. The
//! receiver's other sign, that a segment came twice (DSACK, RFC 2883), is not modeled.

use crate::linux::congestion::Congestion;
use crate::linux::sender::Sender;
use crate::time::{MS, Ps};

/// The time stamp of an instant; 0 is none.
pub fn stamp(now: Ps) -> u32 {
    u32::try_from(now / MS + 1).unwrap_or(u32::MAX)
}

/// What there is to undo.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Undo {
    /// Window and threshold before the reduction (`prior_cwnd`, `prior_ssthresh`); `None`: there is none, or it stands.
    before: Option<(u32, u32)>,
    /// Time stamp of what first left again (`retrans_stamp`); 0: nothing has.
    again: u32,
}

impl Undo {
    /// A reduction begins (`tcp_init_undo`).
    pub fn mark(&mut self, congestion: &Congestion) {
        *self = Self { before: Some((congestion.window, congestion.threshold)), again: 0 };
    }

    /// Something leaves again.
    pub fn on_again(&mut self, now: Ps) {
        if self.again == 0 {
            self.again = stamp(now);
        }
    }

    /// Whether an acknowledgment that echoes this stamp is for what left before anything left again.
    pub fn is_delayed(&self, echo: u32) -> bool {
        self.before.is_some() && echo > 0 && (self.again == 0 || echo < self.again)
    }

    /// The window and the threshold are as before, unless they are larger.
    pub fn take_back(&mut self, congestion: &mut Congestion) {
        if let Some((window, threshold)) = self.before.take() {
            if congestion.is_by_rate() {
                return congestion.on_undone();
            }
            congestion.window = congestion.window.max(window);
            congestion.threshold = congestion.threshold.max(threshold);
        }
    }

    /// Whether the reduction still stands to be undone.
    pub fn is_open(&self) -> bool {
        self.before.is_some()
    }

    /// It was needed.
    pub fn forget(&mut self) {
        *self = Self::default();
    }
}

impl Sender {
    /// The oldest hole is filled by what left before anything left again: nothing is lost, if nothing that left again is
    /// under way (`tcp_try_undo_partial`, `tcp_try_undo_loss`).
    pub(super) fn undo_in_part(&mut self, echo: u32) {
        let is_under_way = self.recovery.is_under_way() && !self.recovery.is_ended_by(self.una);
        if !is_under_way || !self.recovery.undo.is_delayed(echo) {
            return;
        }
        self.recovery.has_reordering = true;
        if self.segments.again > 0 && !self.recovery.is_behind_timeout() {
            return;
        }
        for index in 0..self.queue.sent_count() {
            if let Some(buffer) = self.queue.sent_mut(index) {
                buffer.is_lost = false;
            }
        }
        self.segments.lost = 0;
        self.recovery.undo.take_back(&mut self.congestion);
        self.recovery.reopen();
    }
}

#[cfg(test)]
mod tests {
    use super::super::congestion::Algorithm;
    use super::*;

    #[test]
    fn an_echo_from_before_takes_the_reduction_back() {
        let mut congestion = Congestion::new(Algorithm::Reno);
        (congestion.window, congestion.threshold) = (100, 90);
        let mut undo = Undo::default();
        undo.mark(&congestion);
        undo.on_again(50 * MS);
        undo.on_again(60 * MS);
        (congestion.window, congestion.threshold) = (50, 50);
        // What left at 50 ms left again; nothing is known of what carries no stamp.
        let shown: Vec<bool> = [0, stamp(49 * MS), stamp(50 * MS), stamp(70 * MS)].map(|echo| undo.is_delayed(echo)).into();
        assert_eq!(shown, [false, true, false, false]);
        undo.take_back(&mut congestion);
        assert_eq!((congestion.window, congestion.threshold, undo.is_open()), (100, 90, false));
        assert!(!undo.is_delayed(stamp(MS)));
    }
}
