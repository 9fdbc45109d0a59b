//! The actions of a direction in every interval: counts and sums, for the record.

use crate::packet::Cause;
use std::collections::VecDeque;

/// The counts of one interval. The table `path` says what each is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Tally {
    /// Number of the interval, from 0.
    pub interval: u32,
    /// Start, on the clock of the arrivals.
    pub start_ns: u64,
    /// End.
    pub end_ns: u64,
    pub arrived_packets: u64,
    pub arrived_bytes: u64,
    pub passed_packets: u64,
    pub passed_bytes: u64,
    pub thinned_packets: u64,
    pub lost_random_packets: u64,
    pub lost_scripted_packets: u64,
    pub dropped_full_packets: u64,
    pub dropped_early_packets: u64,
    pub marked_packets: u64,
    pub duplicated_packets: u64,
    pub reordered_packets: u64,
    pub cross_arrived_packets: u64,
    pub cross_dropped_packets: u64,
    pub queue_bytes_min: u64,
    pub queue_bytes_max: u64,
    pub queue_bytes_ns_sum: u64,
    pub queue_packets_max: u64,
    pub misordered_packets: u64,
}

/// Counts interval after interval. Every call comes in order of time.
#[derive(Debug, Clone)]
pub struct Ledger {
    interval_ns: u64,
    current: Tally,
    closed: VecDeque<Tally>,
    queue_bytes: u64,
    queue_packets: u64,
    /// Up to when the queue is summed.
    summed_ns: u64,
}

impl Ledger {
    /// The first interval begins at `start_ns`.
    pub fn new(interval_ns: u64, start_ns: u64) -> Self {
        let interval_ns = interval_ns.max(1);
        let current = Tally { start_ns, end_ns: start_ns + interval_ns, ..Tally::default() };
        Self { interval_ns, current, closed: VecDeque::new(), queue_bytes: 0, queue_packets: 0, summed_ns: start_ns }
    }

    /// The next interval that is over.
    pub fn poll(&mut self) -> Option<Tally> {
        self.closed.pop_front()
    }

    /// The interval under way, as far as it has come.
    pub fn current(&self) -> Tally {
        Tally { end_ns: self.summed_ns.max(self.current.start_ns), ..self.current }
    }

    /// Time has come to `to_ns`.
    pub fn advance(&mut self, to_ns: u64) {
        while to_ns >= self.current.end_ns {
            self.sum(self.current.end_ns);
            let closed = self.current;
            self.closed.push_back(closed);
            self.current = Tally {
                interval: closed.interval + 1,
                start_ns: closed.end_ns,
                end_ns: closed.end_ns + self.interval_ns,
                queue_bytes_min: self.queue_bytes,
                queue_bytes_max: self.queue_bytes,
                queue_packets_max: self.queue_packets,
                ..Tally::default()
            };
        }
        self.sum(to_ns);
    }

    fn sum(&mut self, to_ns: u64) {
        if to_ns > self.summed_ns {
            self.current.queue_bytes_ns_sum += self.queue_bytes * (to_ns - self.summed_ns);
            self.summed_ns = to_ns;
        }
    }

    pub(crate) fn on_arrived(&mut self, packets: u64, bytes: u64) {
        self.current.arrived_packets += packets;
        self.current.arrived_bytes += bytes;
    }

    pub(crate) fn on_cross_arrived(&mut self) {
        self.current.cross_arrived_packets += 1;
    }

    pub(crate) fn on_misordered(&mut self, packets: u64) {
        self.current.misordered_packets += packets;
    }

    pub(crate) fn on_duplicated(&mut self) {
        self.current.duplicated_packets += 1;
    }

    pub(crate) fn on_reordered(&mut self) {
        self.current.reordered_packets += 1;
    }

    pub(crate) fn on_marked(&mut self) {
        self.current.marked_packets += 1;
    }

    /// Passed without a queue.
    pub(crate) fn on_passed(&mut self, bytes: u32) {
        self.current.passed_packets += 1;
        self.current.passed_bytes += u64::from(bytes);
    }

    pub(crate) fn on_dropped(&mut self, cause: Cause, is_cross: bool) {
        let current = &mut self.current;
        *match cause {
            Cause::Full | Cause::Early if is_cross => &mut current.cross_dropped_packets,
            Cause::Thinned => &mut current.thinned_packets,
            Cause::Random => &mut current.lost_random_packets,
            Cause::Scripted => &mut current.lost_scripted_packets,
            Cause::Full => &mut current.dropped_full_packets,
            Cause::Early => &mut current.dropped_early_packets,
        } += 1;
    }

    pub(crate) fn on_entered(&mut self, at_ns: u64, bytes: u32) {
        self.advance(at_ns);
        self.queue_bytes += u64::from(bytes);
        self.queue_packets += 1;
        self.current.queue_bytes_max = self.current.queue_bytes_max.max(self.queue_bytes);
        self.current.queue_packets_max = self.current.queue_packets_max.max(self.queue_packets);
    }

    fn on_gone(&mut self, at_ns: u64, bytes: u32) {
        self.advance(at_ns);
        self.queue_bytes -= u64::from(bytes);
        self.queue_packets -= 1;
        self.current.queue_bytes_min = self.current.queue_bytes_min.min(self.queue_bytes);
    }

    pub(crate) fn on_left(&mut self, at_ns: u64, bytes: u32, is_cross: bool) {
        self.on_gone(at_ns, bytes);
        if !is_cross {
            self.on_passed(bytes);
        }
    }

    pub(crate) fn on_dropped_inside(&mut self, at_ns: u64, bytes: u32, is_cross: bool) {
        self.on_gone(at_ns, bytes);
        self.on_dropped(Cause::Early, is_cross);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_queue_is_summed_over_time_and_across_intervals() {
        let mut ledger = Ledger::new(100, 1000);
        ledger.on_entered(1050, 10);
        ledger.on_entered(1080, 20);
        ledger.on_left(1150, 10, false);
        ledger.advance(1300);
        let first = ledger.poll().expect("closed");
        assert_eq!((first.queue_bytes_min, first.queue_bytes_max, first.queue_packets_max), (0, 30, 2));
        assert_eq!(first.queue_bytes_ns_sum, 30 * 10 + 20 * 30);
        let second = ledger.poll().expect("closed");
        assert_eq!((second.queue_bytes_min, second.queue_bytes_max, second.queue_packets_max), (20, 30, 2));
        assert_eq!(second.queue_bytes_ns_sum, 50 * 30 + 50 * 20);
        assert_eq!((second.passed_packets, second.passed_bytes), (1, 10));
        let third = ledger.poll().expect("closed");
        assert_eq!((third.interval, third.start_ns, third.end_ns), (2, 1200, 1300));
        assert_eq!((third.queue_bytes_min, third.queue_bytes_max, third.queue_bytes_ns_sum), (20, 20, 2000));
        assert_eq!(ledger.poll(), None);
    }

    #[test]
    fn the_interval_under_way_ends_where_it_has_come_to() {
        let mut ledger = Ledger::new(100, 1000);
        assert_eq!((ledger.current().start_ns, ledger.current().end_ns), (1000, 1000));
        ledger.on_entered(1010, 5);
        ledger.advance(1130);
        let current = ledger.current();
        assert_eq!((current.interval, current.start_ns, current.end_ns, current.queue_bytes_ns_sum), (1, 1100, 1130, 150));
    }

    #[test]
    fn each_event_has_a_count_of_its_own() {
        let mut ledger = Ledger::new(100, 0);
        let causes = [Cause::Thinned, Cause::Random, Cause::Scripted, Cause::Full, Cause::Early];
        for (times, cause) in (1..).zip(causes) {
            (0..times).for_each(|_| ledger.on_dropped(cause, false));
        }
        ledger.on_dropped(Cause::Full, true);
        ledger.on_dropped(Cause::Early, true);
        (0..2).for_each(|_| ledger.on_entered(0, 10));
        ledger.on_dropped_inside(1, 10, false);
        ledger.on_left(2, 10, true);
        ledger.on_arrived(3, 300);
        ledger.on_arrived(1, 20);
        (0..2).for_each(|_| ledger.on_passed(7));
        (0..2).for_each(|_| ledger.on_misordered(3));
        (0..2).for_each(|_| ledger.on_cross_arrived());
        (0..3).for_each(|_| ledger.on_duplicated());
        (0..4).for_each(|_| ledger.on_reordered());
        (0..5).for_each(|_| ledger.on_marked());
        let expected = Tally {
            end_ns: 2,
            arrived_packets: 4,
            arrived_bytes: 320,
            passed_packets: 2,
            passed_bytes: 14,
            thinned_packets: 1,
            lost_random_packets: 2,
            lost_scripted_packets: 3,
            dropped_full_packets: 4,
            dropped_early_packets: 6,
            marked_packets: 5,
            duplicated_packets: 3,
            reordered_packets: 4,
            cross_arrived_packets: 2,
            cross_dropped_packets: 2,
            queue_bytes_max: 20,
            queue_bytes_ns_sum: 30,
            queue_packets_max: 2,
            misordered_packets: 6,
            ..Tally::default()
        };
        assert_eq!(ledger.current(), expected);
    }
}
