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

/// The reduction that there is to undo.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Undo {
    /// There is a recovery that may turn out not to have been needed (`undo_marker`).
    is_open: bool,
    /// Window and threshold before the reduction (`prior_cwnd`, `prior_ssthresh`); `None`: a mark of congestion asked for
    /// it as well, so that it stands.
    before: Option<(u32, u32)>,
    /// Time stamp of what first left again (`retrans_stamp`); 0: nothing has.
    again: u32,
}

impl Undo {
    /// A recovery begins (`tcp_init_undo`); `before` is what its reduction can be taken back to.
    pub fn mark(&mut self, before: Option<&Congestion>) {
        let before = before.map(|congestion| (congestion.window, congestion.threshold));
        *self = Self { is_open: true, before, again: 0 };
    }

    /// Something leaves again.
    pub fn on_again(&mut self, now: Ps) {
        if self.again == 0 {
            self.again = stamp(now);
        }
    }

    /// True if an acknowledgment that echoes this stamp is for what left before anything left again.
    pub fn is_delayed(&self, echo: u32) -> bool {
        self.is_open && echo > 0 && (self.again == 0 || echo < self.again)
    }

    /// The window and the threshold are as before, unless they are larger.
    pub fn take_back(&mut self, congestion: &mut Congestion) {
        self.is_open = false;
        if let Some((window, threshold)) = self.before.take() {
            if congestion.is_by_rate() {
                return congestion.on_undone();
            }
            congestion.window = congestion.window.max(window);
            congestion.threshold = congestion.threshold.max(threshold);
        }
    }

    /// True if the reduction still stands to be undone.
    pub fn is_open(&self) -> bool {
        self.is_open
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
    use super::super::ecn::Ecn;
    use super::super::sender::Push;
    use super::super::spec::{Kernel, Socket};
    use super::*;
    use crate::segment::{Block, Flags, Sack, Segment};

    const MSS: u32 = 1000;
    const TRIP: Ps = 100 * MS;

    /// Twenty segments are under way since 0, of a window of 20 and a threshold of 30.
    fn twenty_out() -> Sender {
        let socket = Socket { algorithm: Algorithm::Reno, ..Socket::default() };
        let mut sender = Sender::new(Kernel::default(), socket, MSS, 1 << 20, true);
        sender.ecn = Ecn::new(true);
        (sender.congestion.window, sender.congestion.threshold) = (20, 30);
        sender.queue.append(20 * MSS, true);
        while sender.poll(0, Push::Forced).is_some() {}
        sender.end_burst(0, true, false);
        assert_eq!(sender.segments.out, 20);
        sender
    }

    /// An acknowledgment of the first so many, and of three behind the next one where there is a hole.
    fn acknowledge(sender: &mut Sender, now: Ps, segments: u64, is_marked: bool, has_hole: bool) {
        let flags = Flags { is_congestion_echoed: is_marked, ..Flags::default() };
        let mut sack = Sack::default();
        if has_hole {
            sack.push(Block { after_bytes: MSS, bytes: 3 * MSS });
        }
        let acknowledgment = segments * u64::from(MSS);
        let segment = Segment { acknowledgment, window: 1 << 20, echo: stamp(0), flags, sack, ..Segment::data(0, 0) };
        sender.on_acknowledgment(now, &segment);
        while sender.poll(now, Push::Forced).is_some() {}
    }

    #[test]
    fn timeouts_in_a_window_that_was_reduced_for_a_mark_leave_the_threshold() {
        let mut sender = twenty_out();
        acknowledge(&mut sender, TRIP, 1, true, false);
        assert_eq!(sender.congestion.threshold, 10);
        // The tail's probe comes first, and then two timeouts without progress.
        for is_timeout in [false, true, true] {
            let at = sender.timer_at().expect("it runs");
            assert_eq!(sender.on_timer(at), is_timeout);
            while sender.poll(at, Push::Forced).is_some() {}
            assert_eq!(sender.congestion.threshold, 10);
        }
    }

    #[test]
    fn a_recovery_that_was_not_needed_gives_nothing_back_of_what_a_mark_took() {
        // The mark comes before the loss, or with it.
        for first_marked in [true, false] {
            let mut sender = twenty_out();
            acknowledge(&mut sender, TRIP, 1, first_marked, false);
            acknowledge(&mut sender, TRIP + MS, 1, !first_marked, true);
            assert_eq!((sender.congestion.threshold, sender.segments.again), (10, 1), "{first_marked}");
            acknowledge(&mut sender, 2 * TRIP, 20, false, false);
            assert_eq!(sender.congestion.threshold, 10, "{first_marked}");
            assert!(sender.congestion.window < 19, "{first_marked}: {}", sender.congestion.window);
        }
    }

    #[test]
    fn an_echo_from_before_takes_the_reduction_back() {
        let mut congestion = Congestion::new(Algorithm::Reno);
        (congestion.window, congestion.threshold) = (100, 90);
        let mut undo = Undo::default();
        undo.mark(Some(&congestion));
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
