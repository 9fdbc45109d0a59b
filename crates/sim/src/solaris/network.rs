//! TCP's output and input as work of processors.

use super::deferred::Answer;
use super::host::Acting;
use super::tasks::{Caller, Run, Task};
use crate::end_system::{Cause, Departure, Outbox};
use crate::segment::Segment;
use crate::time::Ps;

impl Acting<'_> {
    /// Enters TCP's output; `false` where nothing is to be sent, or somebody is inside.
    pub(super) fn begin_run(&mut self, now: Ps, caller: Caller, cause: Cause) -> bool {
        if self.own.run.is_some() {
            self.own.is_wanted_again = true;
            return false;
        }
        let left = self.own.sender.begin_run();
        if left == 0 {
            self.watch_shut_window(now);
            return false;
        }
        self.own.run = Some(Run { caller, cause, left, segment: Segment::data(0, 0) });
        let is_under_way = self.make_segment(now);
        if !is_under_way {
            self.own.run = None;
        }
        is_under_way
    }

    fn make_segment(&mut self, now: Ps) -> bool {
        let Some(run) = &mut self.own.run else { return false };
        let Some(piece) = (run.left > 0).then(|| self.own.sender.send(now, run.left)).flatten() else { return false };
        run.left -= u64::from(piece.bytes).min(run.left);
        run.segment = Segment { connection: self.own.number, ..Segment::data(piece.sequence, piece.bytes) };
        run.segment.flags.is_retransmission = piece.is_retransmission;
        run.segment.flags.is_push = self.own.sender.unsent.bytes == 0;
        let (caller, cost) = (run.caller, self.shared.spec.send_of(&piece));
        self.shared.go_on(caller, cost, (self.own.number, Task::Sent(caller)));
        true
    }

    /// The segment is the adapter's; the run goes on with the next, or ends.
    pub(super) fn sent(&mut self, now: Ps, out: &mut Outbox) {
        let Some(Run { cause, segment, .. }) = self.own.run else { return };
        self.own.counted.data_segments += 1;
        self.own.counted.retransmitted_segments += u64::from(segment.flags.is_retransmission);
        self.depart(segment, cause, out);
        self.on_queue_shorter();
        if !self.make_segment(now) {
            self.leave(now);
        }
    }

    /// Who was inside leaves, after what others left to it: output, then the messages of the writer, one by one.
    fn leave(&mut self, now: Ps) {
        let Some(Run { caller, .. }) = self.own.run.take() else { return };
        if std::mem::take(&mut self.own.is_wanted_again) && self.begin_run(now, caller, Cause::Arrival) {
            return;
        }
        if let Some(bytes) = self.own.handed_over.pop_front() {
            self.own.run = Some(Run { caller, cause: Cause::Deferred, left: 0, segment: Segment::data(0, 0) });
            self.shared.go_on(caller, self.shared.spec.costs.hand_over, (self.own.number, Task::HandedOver(caller, bytes)));
            return;
        }
        self.returned(now, caller);
    }

    /// A message that waited for the perimeter is TCP's.
    pub(super) fn handed_over(&mut self, now: Ps, caller: Caller, bytes: u32) {
        self.own.handed_over_bytes -= u64::from(bytes);
        self.own.sender.unsent.push(bytes);
        self.own.run = None;
        if !self.begin_run(now, caller, Cause::Deferred) {
            self.own.run = Some(Run { caller, cause: Cause::Deferred, left: 0, segment: Segment::data(0, 0) });
            self.leave(now);
        }
    }

    fn depart(&mut self, segment: Segment, cause: Cause, out: &mut Outbox) {
        let (acknowledgment, window) = self.own.receiver.answer();
        self.own.deferred_at = None;
        self.own.ack_due = None;
        let at = self.shared.fetched_at(segment.bytes);
        let segment = Segment { acknowledgment, window, ..segment };
        let (outstanding_bytes, cwnd_bytes) = (self.own.sender.outstanding(), self.own.sender.cwnd);
        out.send(Departure { at, pace: 0, segment, outstanding_bytes, cwnd_bytes, cause });
    }

    /// Makes an acknowledgment without data.
    pub(super) fn begin_ack(&mut self, caller: Caller, cause: Cause) {
        self.own.ack_due = None;
        self.shared.go_on(caller, self.shared.spec.costs.send_ack, (self.own.number, Task::AckSent(caller, cause)));
    }

    pub(super) fn ack_sent(&mut self, now: Ps, caller: Caller, cause: Cause, out: &mut Outbox) {
        self.own.counted.pure_acks += 1;
        self.depart(Segment { connection: self.own.number, ..Segment::data(self.own.sender.next, 0) }, cause, out);
        self.returned(now, caller);
    }

    /// Whoever was in TCP goes on.
    fn returned(&mut self, now: Ps, caller: Caller) {
        match caller {
            Caller::Writer => self.write_on(now),
            Caller::Reader => self.call(now, false),
            Caller::Input => self.after_input(),
            Caller::Timer => {}
        }
    }

    pub(super) fn received(&mut self, now: Ps) {
        let Some((_, segment)) = self.shared.ring.pop_front() else { return };
        self.own.counted.segments_in += 1;
        let is_new = self.own.sender.on_acknowledgment(now, segment.acknowledgment, segment.window, segment.bytes == 0);
        if self.own.sender.window > 0 {
            self.own.persist_at = None;
        }
        if segment.bytes > 0 {
            self.take_data(now, &segment);
        }
        let cause = if is_new || segment.bytes > 0 { Cause::Arrival } else { Cause::OutOfOrder };
        let has_more = self.own.sender.unsent.bytes > 0 || self.own.sender.is_repairing();
        if !(has_more && self.begin_run(now, Caller::Input, cause)) {
            self.after_input();
        }
    }

    fn take_data(&mut self, now: Ps, segment: &Segment) {
        let before = self.own.receiver.expected;
        let answer = self.own.receiver.on_data(segment.sequence, segment.bytes);
        if self.own.receiver.expected > before {
            self.on_unread();
        }
        match answer {
            Answer::Now if self.own.receiver.expected == before => self.own.ack_due = Some(Cause::OutOfOrder),
            Answer::Now => self.own.ack_due = Some(Cause::SecondSegment),
            Answer::Later if self.own.deferred_at.is_none() => {
                self.own.deferred_at = Some(now + self.shared.spec.rules.deferred_ack_interval);
            }
            Answer::Later => {}
        }
    }

    /// Sends alone what a segment asked for and no data carried; then takes the next frame.
    fn after_input(&mut self) {
        match self.own.ack_due {
            Some(cause) => self.begin_ack(Caller::Input, cause),
            None => self.shared.next_frame(),
        }
    }

    pub(super) fn on_retransmission_timer(&mut self, now: Ps) {
        if self.own.sender.highest > self.own.sender.una {
            self.own.sender.on_timeout(now);
            self.begin_run(now, Caller::Timer, Cause::Retransmission);
        }
    }

    /// A window of zero with data behind it and nothing under way: only a probe can find it open (RFC 1122 4.2.2.17).
    fn watch_shut_window(&mut self, now: Ps) {
        let has_more = self.own.sender.unsent.bytes > 0 || self.own.sender.is_repairing();
        let is_shut = self.own.sender.window == 0 && self.own.sender.outstanding() == 0 && has_more;
        if is_shut && self.shared.spec.rules.has_persist_timer && self.own.persist_at.is_none() {
            self.own.persist_at = Some(now + self.own.sender.rto);
        }
    }

    /// Sends a byte beyond the window.
    pub(super) fn probe(&mut self, now: Ps) {
        if self.own.sender.window > 0 || self.own.run.is_some() {
            return;
        }
        self.own.sender.window = 1;
        self.begin_run(now, Caller::Timer, Cause::WindowProbe);
        self.own.sender.window = 0;
    }
}
