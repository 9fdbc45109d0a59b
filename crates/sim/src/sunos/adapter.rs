//! Between memory and line: the driver and the adapter, with programmed I/O or with a processor of its own.

use super::host::{Host, Output, Task};
use super::spec::Adapter;
use crate::cpu::Level;
use crate::end_system::{Arrival, Departure, Outbox};
use crate::link::HEADERS;
use crate::time::Ps;

impl Host {
    /// The driver gives the segment that was made to the adapter. With programmed I/O it leaves while the
    /// driver writes; else the adapter takes it up when the driver is done and it has nothing before it.
    pub(super) fn drive(&mut self, now: Ps, output: Output, out: &mut Outbox) {
        let segment = self.made;
        let driver = self.rng.around(self.spec.costs.driver_send.of(segment.bytes));
        self.counted.data_segments += u64::from(segment.bytes > 0);
        self.counted.pure_acks += u64::from(segment.bytes == 0);
        self.counted.retransmitted_segments += u64::from(segment.flags.is_retransmission);
        let (at, pace) = match self.spec.adapter {
            Adapter::ProgrammedIo { .. } => (now, driver),
            Adapter::Dma { send, .. } => {
                let at = (now + driver + send.fixed).max(self.board_free_at[0]);
                let pace = send.per_byte * Ps::from(segment.bytes);
                self.board_free_at[0] = at + pace;
                self.board_busy[0] += send.fixed + pace;
                (at, pace)
            }
        };
        let outstanding_bytes = self.tcp.next - self.tcp.una;
        out.send(Departure { at, pace, segment, outstanding_bytes, cwnd_bytes: self.tcp.recovery.cwnd, cause: output.cause });
        self.cpu.go_on(Level::Interrupt, driver, Task::Sent(output));
    }

    /// A segment comes in. With programmed I/O the driver can take it while it comes, but not before all of it
    /// is there; else the adapter takes it in and then interrupts.
    pub(super) fn put_in_adapter(&mut self, now: Ps, arrival: &Arrival) {
        let bytes = arrival.segment.bytes;
        let at = match self.spec.adapter {
            Adapter::ProgrammedIo { .. } => arrival.last.saturating_sub(self.spec.costs.driver_receive.of(bytes)).max(now),
            Adapter::Dma { receive, receive_cell, framing, .. } => {
                let cells = framing.units(bytes + HEADERS);
                let takes = receive.per_byte * Ps::from(bytes) + receive_cell * cells;
                let taken_in = arrival.last.max(now.max(self.board_free_at[1]) + takes);
                self.board_busy[1] += takes + receive.fixed;
                self.board_free_at[1] = taken_in;
                taken_in + receive.fixed
            }
        };
        self.inbox.push_back((at, *arrival));
    }

    /// The driver begins to take a segment.
    pub(super) fn begin_to_take(&mut self, now: Ps, arrival: &Arrival) {
        let segment = arrival.segment;
        let cost = self.spec.costs.driver_receive.of(segment.bytes);
        if self.can_hold(now, segment.bytes, arrival.last) {
            self.taking.push_back(segment);
            self.submit(now, Level::Interrupt, cost, Task::Taken);
        } else {
            self.counted.lost_segments += 1;
            self.submit(now, Level::Interrupt, cost, Task::Lost);
        }
    }

    /// True if a segment of `bytes`, whose last cell comes at `last`, finds room in the adapter while the driver reads
    /// what is there: as fast as it can, which may be slower than cells come.
    fn can_hold(&self, now: Ps, bytes: u32, last: Ps) -> bool {
        let (Adapter::ProgrammedIo { fifo_bytes }, per_byte) = (self.spec.adapter, self.spec.costs.driver_receive.per_byte) else {
            return true;
        };
        let unread = self.cpu.pending(now, Level::Interrupt, |task| matches!(task, Task::Taken | Task::Lost));
        let to_read = unread + per_byte * Ps::from(bytes);
        to_read.saturating_sub(last.saturating_sub(now)) <= per_byte * Ps::from(fifo_bytes)
    }

    /// The line is done with a segment at `left`: the host gets an interrupt for it, where the adapter raises one.
    pub(super) fn plan_interrupt_of_sent(&mut self, left: Ps) {
        if matches!(self.spec.adapter, Adapter::Dma { sent_interrupt, .. } if sent_interrupt > 0) {
            self.sent_at.push_back(left);
        }
    }

    pub(super) fn interrupt_of_sent(&mut self, now: Ps) {
        if let Adapter::Dma { sent_interrupt, .. } = self.spec.adapter {
            self.submit(now, Level::Interrupt, sent_interrupt, Task::SentInterrupt);
        }
    }
}
