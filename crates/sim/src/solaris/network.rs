//! TCP's output and input as work of processors, and the adapter.

use super::deferred::Answer;
use super::host::{Caller, Host, Run, Task};
use crate::end_system::{Arrival, Cause, Departure, Outbox};
use crate::segment::Segment;
use crate::time::Ps;

impl Host {
    /// Enters TCP's output; `false` where nothing is to be sent, or somebody is inside.
    pub(super) fn begin_run(&mut self, now: Ps, caller: Caller, cause: Cause) -> bool {
        if self.run.is_some() {
            self.is_wanted_again = true;
            return false;
        }
        let left = self.sender.begin_run();
        if left == 0 {
            self.watch_shut_window(now);
            return false;
        }
        self.run = Some(Run { caller, cause, left, segment: Segment::data(0, 0) });
        let is_under_way = self.make_segment(now);
        if !is_under_way {
            self.run = None;
        }
        is_under_way
    }

    fn make_segment(&mut self, now: Ps) -> bool {
        let Some(run) = &mut self.run else { return false };
        let Some(piece) = (run.left > 0).then(|| self.sender.send(now, run.left)).flatten() else { return false };
        run.left -= u64::from(piece.bytes).min(run.left);
        run.segment = Segment::data(piece.sequence, piece.bytes);
        run.segment.flags.is_retransmission = piece.is_retransmission;
        run.segment.flags.is_push = self.sender.unsent.bytes == 0;
        let (caller, cost) = (run.caller, self.spec.costs.send.of(piece.bytes));
        self.go_on(caller, cost, Task::Sent);
        true
    }

    /// The segment is the adapter's; the run goes on with the next, or ends.
    pub(super) fn sent(&mut self, now: Ps, out: &mut Outbox) {
        let Some(Run { caller, cause, segment, .. }) = self.run else { return };
        self.counted.data_segments += 1;
        self.counted.retransmitted_segments += u64::from(segment.flags.is_retransmission);
        self.depart(now, segment, cause, out);
        self.on_queue_shorter(now);
        if self.make_segment(now) {
            return;
        }
        self.run = None;
        if std::mem::take(&mut self.is_wanted_again) && self.begin_run(now, caller, Cause::Arrival) {
            return;
        }
        self.returned(now, caller);
    }

    fn depart(&mut self, now: Ps, segment: Segment, cause: Cause, out: &mut Outbox) {
        let (acknowledgment, window) = self.receiver.answer();
        self.deferred_at = None;
        self.ack_due = None;
        let pace = self.spec.dma_per_byte * Ps::from(segment.bytes);
        let segment = Segment { acknowledgment, window, ..segment };
        let outstanding_bytes = self.sender.outstanding();
        out.send(Departure { at: now, pace, segment, outstanding_bytes, cwnd_bytes: self.sender.cwnd, cause });
    }

    /// Makes an acknowledgment without data.
    pub(super) fn begin_ack(&mut self, caller: Caller, cause: Cause) {
        self.ack_due = None;
        self.go_on(caller, self.spec.costs.send_ack, Task::AckSent(caller, cause));
    }

    pub(super) fn ack_sent(&mut self, now: Ps, caller: Caller, cause: Cause, out: &mut Outbox) {
        self.counted.pure_acks += 1;
        self.depart(now, Segment::data(self.sender.next, 0), cause, out);
        self.returned(now, caller);
    }

    /// Whoever was in TCP goes on.
    fn returned(&mut self, now: Ps, caller: Caller) {
        match caller {
            Caller::Writer => self.write_on(now),
            Caller::Reader => self.call(now),
            Caller::Input => self.after_input(now),
            Caller::Timer => {}
        }
    }

    /// The adapter writes a frame to memory; a super-segment comes as the segments that it is on the line.
    pub(super) fn take_from_line(&mut self, arrival: &Arrival) {
        let segment = arrival.segment;
        let full = segment.bytes.div_ceil(u32::from(segment.wire_segments_count.max(1))).max(1);
        let mut taken = 0;
        loop {
            let bytes = full.min(segment.bytes - taken);
            let part = Segment { sequence: segment.sequence + u64::from(taken), bytes, wire_segments_count: 1, ..segment };
            self.ring.push_back((arrival.last, part));
            self.moderator.on_frame(arrival.last);
            taken += bytes;
            if taken >= segment.bytes {
                return;
            }
        }
    }

    /// The interrupt's routine takes the next frame, or ends.
    pub(super) fn next_frame(&mut self, now: Ps) {
        match self.ring.front() {
            Some((since, segment)) if *since <= now => {
                let costs = &self.spec.costs;
                let cost = if segment.bytes > 0 { costs.receive.of(segment.bytes) } else { costs.receive_ack };
                self.go_on(Caller::Input, cost, Task::Received);
            }
            waiting => {
                let since = waiting.map(|(since, _)| *since);
                self.moderator.unmask();
                if let Some(since) = since {
                    self.moderator.on_frame(since);
                }
            }
        }
    }

    pub(super) fn received(&mut self, now: Ps) {
        let Some((_, segment)) = self.ring.pop_front() else { return };
        self.counted.segments_in += 1;
        let is_new = self.sender.on_acknowledgment(now, segment.acknowledgment, segment.window, segment.bytes == 0);
        if self.sender.window > 0 {
            self.persist_at = None;
        }
        if segment.bytes > 0 {
            self.take_data(now, &segment);
        }
        let cause = if is_new || segment.bytes > 0 { Cause::Arrival } else { Cause::OutOfOrder };
        let has_more = self.sender.unsent.bytes > 0 || self.sender.is_repairing();
        if !(has_more && self.begin_run(now, Caller::Input, cause)) {
            self.after_input(now);
        }
    }

    fn take_data(&mut self, now: Ps, segment: &Segment) {
        let before = self.receiver.expected;
        let answer = self.receiver.on_data(segment.sequence, segment.bytes);
        if self.receiver.expected > before {
            self.on_unread(now);
        }
        match answer {
            Answer::Now if self.receiver.expected == before => self.ack_due = Some(Cause::OutOfOrder),
            Answer::Now => self.ack_due = Some(Cause::SecondSegment),
            Answer::Later if self.deferred_at.is_none() => {
                self.deferred_at = Some(now + self.spec.rules.deferred_ack_interval);
            }
            Answer::Later => {}
        }
    }

    /// What a segment asked for and no data carried leaves alone; then the next frame.
    fn after_input(&mut self, now: Ps) {
        match self.ack_due {
            Some(cause) => self.begin_ack(Caller::Input, cause),
            None => self.next_frame(now),
        }
    }

    pub(super) fn on_retransmission_timer(&mut self, now: Ps) {
        if self.sender.highest > self.sender.una {
            self.sender.on_timeout(now);
            self.begin_run(now, Caller::Timer, Cause::Retransmission);
        }
    }

    /// A window of zero with data behind it and nothing under way: only a probe can find it open (RFC 1122 4.2.2.17).
    fn watch_shut_window(&mut self, now: Ps) {
        let has_more = self.sender.unsent.bytes > 0 || self.sender.is_repairing();
        let is_shut = self.sender.window == 0 && self.sender.outstanding() == 0 && has_more;
        if is_shut && self.spec.rules.has_persist_timer && self.persist_at.is_none() {
            self.persist_at = Some(now + self.sender.rto);
        }
    }

    /// Sends a byte beyond the window.
    pub(super) fn probe(&mut self, now: Ps) {
        if self.sender.window > 0 || self.run.is_some() {
            return;
        }
        self.sender.window = 1;
        self.begin_run(now, Caller::Timer, Cause::WindowProbe);
        self.sender.window = 0;
    }
}
