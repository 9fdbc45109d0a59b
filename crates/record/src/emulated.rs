//! The tables of an emulated path: what the model counted and what the router let go when,
//! or what the kernel's disciplines counted.

use emulate::PathDirection;
use emulate::ledger::Tally;
use path::Carried;
use path::netem::Interval;
use path::router::{Carried as Routed, Released};
use schema::table::{Maker, PathLatenessRow, PathRow};

use crate::table::{Columns, Rows};

/// The end under whose name the path is recorded: that of the agent which holds it.
const HOST: &str = "near";

/// All tables of a path that has ended. That of lateness stays empty where nobody saw when packets left.
pub fn tables(carried: Carried) -> [Columns; 2] {
    let (mut counts, mut lateness) = (Rows::<PathRow<'_>>::new(), Rows::<PathLatenessRow<'_>>::new());
    match carried {
        Carried::Routed(carried) => routed(*carried, &mut counts, &mut lateness),
        Carried::Counted(counted) => {
            for (way, intervals) in PathDirection::ALL.into_iter().zip(&counted.intervals) {
                for (number, interval) in (0_u32..).zip(intervals) {
                    counts.push(counted_row(way, number, interval));
                }
            }
        }
    }
    [counts.into_columns(), lateness.into_columns()]
}

fn routed(mut carried: Routed, counts: &mut Rows<PathRow<'_>>, lateness: &mut Rows<PathLatenessRow<'_>>) {
    for (way, departed) in PathDirection::ALL.into_iter().zip(&carried.departed) {
        let direction = carried.path.direction(way);
        let mut tallies: Vec<Tally> = std::iter::from_fn(|| direction.poll_tally()).collect();
        tallies.push(direction.current_tally());
        for tally in tallies {
            let released = usize::try_from(tally.interval).ok().and_then(|index| departed.intervals.get(index)).copied();
            counts.push(row(way, &tally, Some(released.unwrap_or_default())));
        }
        if let Some(values) = &departed.lateness {
            for value in values.iter_recorded() {
                let at = value.value_iterated_to();
                lateness.push(PathLatenessRow {
                    host: HOST,
                    direction: way,
                    lateness_ns_low: values.lowest_equivalent(at),
                    lateness_ns_high: values.highest_equivalent(at),
                    released_packets: value.count_at_value(),
                });
            }
        }
    }
}

fn counted_row(way: PathDirection, number: u32, interval: &Interval) -> PathRow<'static> {
    let [queue_before, queue_after] = interval.queue_bytes;
    let length_ns = interval.end_ns - interval.start_ns;
    PathRow {
        host: HOST,
        direction: way,
        interval: number,
        start_mono_ns: interval.start_ns,
        end_mono_ns: interval.end_ns,
        arrived_packets: interval.arrived_packets,
        arrived_bytes: None,
        passed_packets: interval.passed_packets,
        passed_bytes: interval.passed_bytes,
        thinned_packets: 0,
        lost_random_packets: interval.lost_random_packets,
        lost_scripted_packets: 0,
        dropped_full_packets: interval.dropped_full_packets,
        dropped_early_packets: interval.dropped_early_packets,
        marked_packets: interval.marked_packets,
        duplicated_packets: interval.duplicated_packets,
        reordered_packets: interval.reordered_packets,
        cross_arrived_packets: 0,
        cross_dropped_packets: 0,
        queue_bytes_min: queue_before.min(queue_after),
        queue_bytes_max: queue_before.max(queue_after),
        queue_bytes_ns_sum: queue_before.midpoint(queue_after) * length_ns,
        queue_packets_max: interval.queue_packets_max,
        misordered_packets: None,
        released_packets: interval.released_packets,
        lateness_ns_sum: None,
        lateness_ns_max: None,
    }
}

/// A row of what was counted, and released if a router carried it.
pub fn row<M: Maker>(way: PathDirection, tally: &Tally, released: Option<Released>) -> PathRow<'static, M> {
    PathRow {
        host: M::held(HOST),
        direction: M::held(way),
        interval: M::held(tally.interval),
        start_mono_ns: M::held(tally.start_ns),
        end_mono_ns: M::held(tally.end_ns),
        arrived_packets: Some(tally.arrived_packets),
        arrived_bytes: Some(tally.arrived_bytes),
        passed_packets: Some(tally.passed_packets),
        passed_bytes: Some(tally.passed_bytes),
        thinned_packets: M::held(tally.thinned_packets),
        lost_random_packets: M::held(tally.lost_random_packets),
        lost_scripted_packets: M::held(tally.lost_scripted_packets),
        dropped_full_packets: M::held(tally.dropped_full_packets),
        dropped_early_packets: M::held(tally.dropped_early_packets),
        marked_packets: M::held(tally.marked_packets),
        duplicated_packets: Some(tally.duplicated_packets),
        reordered_packets: M::held(tally.reordered_packets),
        cross_arrived_packets: M::held(tally.cross_arrived_packets),
        cross_dropped_packets: M::held(tally.cross_dropped_packets),
        queue_bytes_min: M::held(tally.queue_bytes_min),
        queue_bytes_max: M::held(tally.queue_bytes_max),
        queue_bytes_ns_sum: M::held(tally.queue_bytes_ns_sum),
        queue_packets_max: M::held(tally.queue_packets_max),
        misordered_packets: Some(tally.misordered_packets),
        released_packets: released.map(|released| released.packets),
        lateness_ns_sum: released.map(|released| released.lateness_ns_sum),
        lateness_ns_max: released.map(|released| released.lateness_ns_max),
    }
}
