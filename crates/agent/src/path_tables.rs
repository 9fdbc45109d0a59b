//! The tables of an emulated path: what the model counted and what the router let go when,
//! or what the kernel's disciplines counted.

use emulate::PathDirection;
use emulate::ledger::Tally;
use path::Carried;
use path::netem::{Counted, Interval};
use path::router::{Carried as Routed, Departed, Released};
use schema::table::{PATH, PATH_LATENESS, Value};

use crate::record::{RecordError, TableBuilder};

/// The end under whose name the path is recorded: that of the agent which holds it.
const HOST: &str = "near";

/// All tables of a path that has ended.
///
/// # Errors
/// A row does not fit its table.
pub fn tables(carried: Carried) -> Result<[TableBuilder; 2], RecordError> {
    match carried {
        Carried::Routed(carried) => routed(*carried),
        Carried::Counted(counted) => by_netem(&counted),
    }
}

fn routed(mut carried: Routed) -> Result<[TableBuilder; 2], RecordError> {
    let (mut counts, mut lateness) = (TableBuilder::new(&PATH), TableBuilder::new(&PATH_LATENESS));
    for (way, departed) in PathDirection::BOTH.into_iter().zip(&carried.departed) {
        let direction = carried.path.direction(way);
        let mut tallies: Vec<Tally> = std::iter::from_fn(|| direction.poll_tally()).collect();
        tallies.push(direction.current_tally());
        for tally in tallies {
            let released = usize::try_from(tally.interval).ok().and_then(|index| departed.intervals.get(index)).copied();
            counts.push(row(way, &tally, released.unwrap_or_default()))?;
        }
        for row in histogram(way, departed) {
            lateness.push(row)?;
        }
    }
    Ok([counts, lateness])
}

/// The table of lateness stays empty: nobody saw when packets left.
fn by_netem(counted: &Counted) -> Result<[TableBuilder; 2], RecordError> {
    let mut counts = TableBuilder::new(&PATH);
    for (way, intervals) in PathDirection::BOTH.into_iter().zip(&counted.intervals) {
        for (number, interval) in (0_u32..).zip(intervals) {
            counts.push(counted_row(way, number, interval))?;
        }
    }
    Ok([counts, TableBuilder::new(&PATH_LATENESS)])
}

fn counted_row(way: PathDirection, number: u32, interval: &Interval) -> Vec<Value> {
    let [queue_before, queue_after] = interval.queue_bytes;
    let length_ns = interval.end_ns - interval.start_ns;
    let none = 0_u64;
    vec![
        HOST.into(),
        way.name().into(),
        number.into(),
        interval.start_ns.into(),
        interval.end_ns.into(),
        interval.arrived_packets.into(),
        Value::None,
        interval.passed_packets.into(),
        interval.passed_bytes.into(),
        none.into(),
        interval.lost_random_packets.into(),
        none.into(),
        interval.dropped_full_packets.into(),
        interval.dropped_early_packets.into(),
        interval.marked_packets.into(),
        interval.duplicated_packets.into(),
        interval.reordered_packets.into(),
        none.into(),
        none.into(),
        queue_before.min(queue_after).into(),
        queue_before.max(queue_after).into(),
        (queue_before.midpoint(queue_after) * length_ns).into(),
        interval.queue_packets_max.into(),
        Value::None,
        interval.released_packets.into(),
        Value::None,
        Value::None,
    ]
}

/// A row of the model's path, which no router carries: when packets left is not told.
pub fn simulated(way: PathDirection, tally: &Tally) -> Vec<Value> {
    let mut row = row(way, tally, Released::default());
    let told = row.len() - 3;
    row.truncate(told);
    row.extend([Value::None, Value::None, Value::None]);
    row
}

fn row(way: PathDirection, tally: &Tally, released: Released) -> Vec<Value> {
    let mut row = vec![HOST.into(), way.name().into(), tally.interval.into(), tally.start_ns.into(), tally.end_ns.into()];
    let counts = [
        tally.arrived_packets,
        tally.arrived_bytes,
        tally.passed_packets,
        tally.passed_bytes,
        tally.thinned_packets,
        tally.lost_random_packets,
        tally.lost_scripted_packets,
        tally.dropped_full_packets,
        tally.dropped_early_packets,
        tally.marked_packets,
        tally.duplicated_packets,
        tally.reordered_packets,
        tally.cross_arrived_packets,
        tally.cross_dropped_packets,
        tally.queue_bytes_min,
        tally.queue_bytes_max,
        tally.queue_bytes_ns_sum,
        tally.queue_packets_max,
        tally.misordered_packets,
        released.packets,
        released.lateness_ns_sum,
        released.lateness_ns_max,
    ];
    row.extend(counts.map(Value::U64));
    row
}

fn histogram(way: PathDirection, departed: &Departed) -> impl Iterator<Item = Vec<Value>> + '_ {
    departed.lateness.iter().flat_map(move |lateness| {
        lateness.iter_recorded().map(move |value| {
            let at = value.value_iterated_to();
            vec![
                HOST.into(),
                way.name().into(),
                lateness.lowest_equivalent(at).into(),
                lateness.highest_equivalent(at).into(),
                value.count_at_value().into(),
            ]
        })
    })
}
