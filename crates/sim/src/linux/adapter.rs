//! Arrivals at a host: the adapter's queues, their interrupts, and the softirq that takes from them.

use super::shared::Shared;
use super::tasks::Task;
use crate::cpu::Level;
use crate::end_system::Arrival;
use crate::segment::{Sack, Segment};
use crate::time::Ps;
use std::collections::VecDeque;

/// Most bytes and segments that are merged on receiving (`GRO_LEGACY_MAX_SIZE`, `MAX_SKB_FRAGS` 17 with the head's).
const MERGED_BYTES: u32 = 65536;
const MERGED_SEGMENTS: u16 = 17;
/// Frames of other connections between those that are merged: what a softirq takes at once (`NAPI_POLL_WEIGHT`).
const POLLED_FRAMES: usize = 64;

impl Shared {
    /// A segment comes in. An adapter that is not being worked off interrupts, after its coalescing, and an idle
    /// processor has to be woken first.
    pub fn put_in_adapter(&mut self, arrival: &Arrival) {
        let last = arrival.last.max(self.now);
        let number = self.queue_of(arrival.segment.connection);
        let queue = &mut self.queues[number];
        queue.waiting.push_back((last, arrival.segment));
        if !queue.is_polling {
            let coalescing = self.spec.adapter.coalescing;
            let waiting = u32::try_from(queue.waiting.len()).unwrap_or(u32::MAX);
            let due = if waiting >= coalescing.frames { last } else { last + coalescing.delay };
            let at = queue.raised_at.map_or(due, |at| at.min(due));
            self.interrupt(number, at);
        }
    }

    /// The softirq takes the next segment, merged with those that follow it, or ends.
    pub fn poll_adapter(&mut self, number: usize) {
        let (now, has_gro, costs) = (self.now, self.spec.adapter.has_gro, self.spec.costs);
        let queue = &mut self.queues[number];
        let Some(&(last, mut segment)) = queue.waiting.front() else {
            queue.is_polling = false;
            return;
        };
        if last > now {
            queue.is_polling = false;
            return self.interrupt(number, last + self.spec.adapter.coalescing.delay);
        }
        queue.waiting.pop_front();
        let mut cost = costs.softirq.of(segment.bytes);
        if has_gro {
            cost += costs.merge * merge_waiting(&mut segment, &mut queue.waiting, now);
        }
        self.submit(self.cpu_of(number), Level::Protocol, cost, (segment.connection, Task::Taken(segment)));
    }
}

/// Merges into a segment those of its connection that wait behind it, between those of others; returns how many.
fn merge_waiting(segment: &mut Segment, waiting: &mut VecDeque<(Ps, Segment)>, now: Ps) -> Ps {
    let (mut merged, mut position) = (0, 0);
    while position < POLLED_FRAMES
        && let Some(&(last, next)) = waiting.get(position)
        && last <= now
    {
        if next.connection != segment.connection {
            position += 1;
            continue;
        }
        if !merges(segment, &next) {
            break;
        }
        waiting.remove(position);
        segment.bytes += next.bytes;
        segment.wire_segments_count += next.wire_segments_count;
        segment.flags.is_push |= next.flags.is_push;
        (segment.acknowledgment, segment.window) = (next.acknowledgment, next.window);
        merged += 1;
    }
    merged
}

/// True if GRO merges the second behind the first (`tcp_gro_receive`, `tcp_offload.c`): next in sequence, no push
/// between, the same size but for the last, and alike in what they say of congestion.
fn merges(first: &Segment, second: &Segment) -> bool {
    let each = first.bytes / u32::from(first.wire_segments_count).max(1);
    first.bytes > 0
        && second.bytes > 0
        && first.end() == second.sequence
        && !first.flags.is_push
        && second.bytes <= each
        && first.bytes + second.bytes < MERGED_BYTES
        && first.wire_segments_count + second.wire_segments_count <= MERGED_SEGMENTS
        && first.sack == Sack::default()
        && first.flags.is_ecn_capable == second.flags.is_ecn_capable
        && first.flags.is_congestion_experienced == second.flags.is_congestion_experienced
        && first.flags.is_congestion_echoed == second.flags.is_congestion_echoed
        && !second.flags.is_window_reduced
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::Flags;

    #[test]
    fn only_segments_that_are_alike_in_what_they_say_of_congestion_merge() {
        let first = Segment::data(0, 1000);
        let second = |flags| Segment { flags, ..Segment::data(1000, 1000) };
        assert!(merges(&first, &second(Flags::default())));
        for flags in [
            Flags { is_ecn_capable: true, ..Flags::default() },
            Flags { is_congestion_experienced: true, ..Flags::default() },
            Flags { is_congestion_echoed: true, ..Flags::default() },
            Flags { is_window_reduced: true, ..Flags::default() },
        ] {
            assert!(!merges(&first, &second(flags)), "{flags:?}");
        }
    }

    #[test]
    fn segments_merge_with_those_of_their_connection_between_those_of_others() {
        let of = |connection, sequence| (0, Segment { connection, ..Segment::data(sequence, 1000) });
        let mut waiting: VecDeque<_> = [of(1, 0), of(0, 1000), of(1, 1000), of(0, 2000), of(0, 5000)].into();
        let mut first = Segment::data(0, 1000);
        assert_eq!(merge_waiting(&mut first, &mut waiting, 0), 2);
        assert_eq!((first.bytes, first.wire_segments_count), (3000, 3));
        assert_eq!(
            waiting.iter().map(|(_, segment)| (segment.connection, segment.sequence)).collect::<Vec<_>>(),
            [(1, 0), (1, 1000), (0, 5000)]
        );
    }
}
