//! The tables of an emulated path: what the model counted, and what the router let go when.

use emulate::Way;
use emulate::ledger::Tally;
use path::Carried;
use path::router::{Departed, Released};
use schema::table::{PATH, PATH_LATENESS, Value};

use crate::record::{RecordError, TableBuilder};

/// The end under whose name the path is recorded: that of the agent which holds it.
const HOST: &str = "near";

/// All tables of a path that has ended.
///
/// # Errors
/// A row does not fit its table.
pub fn tables(mut carried: Carried) -> Result<[TableBuilder; 2], RecordError> {
    let (mut counts, mut lateness) = (TableBuilder::new(&PATH), TableBuilder::new(&PATH_LATENESS));
    for (way, departed) in Way::BOTH.into_iter().zip(&carried.departed) {
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

fn row(way: Way, tally: &Tally, released: Released) -> Vec<Value> {
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

fn histogram(way: Way, departed: &Departed) -> impl Iterator<Item = Vec<Value>> + '_ {
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
