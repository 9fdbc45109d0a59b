//! What holds for every path and every course of packets.

use crate::drive::{self, Fate, any_direction, any_packets, path, run};
use emulate::{Cause, Packet, Path, Segments};
use proptest::prelude::*;
use schema::path::{DirectionSpec, QueueLimit};
use std::collections::{HashMap, HashSet};

fn segments_count(packets: &[Packet]) -> u64 {
    packets.iter().map(|packet| u64::from(packet.segments.count)).sum()
}

/// Every super-segment taken apart: one packet a segment, named by what it was.
fn apart(packets: &[Packet]) -> (Vec<Packet>, Vec<(u64, u16)>) {
    let names: Vec<(u64, u16)> =
        packets.iter().flat_map(|packet| (0..packet.segments.count).map(move |segment| (packet.key, segment))).collect();
    let single = packets.iter().flat_map(|packet| {
        (0..packet.segments.count).map(|segment| Packet { segments: Segments::single(packet.segments.bytes(segment)), ..*packet })
    });
    ((0..).zip(single).map(|(key, packet)| Packet { key, ..packet }).collect(), names)
}

/// Who left when and how, and who was lost why, without the bookkeeping of keys.
type Decisions = (Vec<(u64, u16, u64, bool, bool)>, Vec<(u64, u16, Cause, bool)>);

fn decisions(fate: &Fate, name: impl Fn(u64, u16) -> (u64, u16)) -> Decisions {
    let releases = fate.releases.iter().map(|release| {
        let (key, segment) = name(release.key, release.segment);
        (key, segment, release.due_ns, release.is_marked, release.is_duplicate)
    });
    let losses = fate.losses.iter().map(|loss| {
        let (key, segment) = name(loss.key, loss.segment);
        (key, segment, loss.cause, loss.is_duplicate)
    });
    (releases.collect(), losses.collect())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(150) })]

    /// In = out + lost, for every segment on its own and in the counts; what is said to be the last word
    /// on a key is.
    #[test]
    fn nothing_is_made_and_nothing_vanishes(seed in any::<u64>(), forward in any_direction(), packets in any_packets()) {
        let spec = path(seed, forward);
        prop_assert!(spec.validate(1500).is_ok(), "{:?}", spec.validate(1500));
        let fate = run(&spec, &packets);
        let came = segments_count(&packets);
        let originals = fate.releases.iter().filter(|release| !release.is_duplicate).map(|release| (release.key, release.segment));
        let lost = fate.losses.iter().filter(|loss| !loss.is_duplicate).map(|loss| (loss.key, loss.segment));
        let settled: Vec<_> = originals.chain(lost).collect();
        prop_assert_eq!(settled.len() as u64, came);
        prop_assert_eq!(settled.iter().collect::<HashSet<_>>().len(), settled.len());
        let mut last = HashMap::new();
        for (key, is_last) in fate.releases.iter().map(|release| (release.key, release.is_last)).chain(fate.losses.iter().map(|loss| (loss.key, loss.is_last))) {
            *last.entry(key).or_insert(0) += u32::from(is_last);
        }
        prop_assert!(last.values().all(|count| *count == 1));
        prop_assert_eq!(fate.sum(|tally| tally.arrived_packets), came);
        prop_assert_eq!(fate.sum(|tally| tally.passed_packets), fate.releases.len() as u64);
        prop_assert_eq!(
            fate.sum(|tally| tally.thinned_packets + tally.lost_random_packets + tally.lost_scripted_packets + tally.dropped_full_packets + tally.dropped_early_packets),
            fate.losses.len() as u64
        );
        prop_assert_eq!(fate.sum(|tally| tally.duplicated_packets) + came, (fate.releases.len() + fate.losses.len()) as u64);
        prop_assert_eq!(fate.sum(|tally| tally.marked_packets), fate.releases.iter().filter(|release| release.is_marked).count() as u64);
        prop_assert_eq!(fate.sum(|tally| tally.misordered_packets), 0);
    }

    /// Also during the run: in = out + lost + inside.
    #[test]
    fn what_is_inside_is_known(seed in any::<u64>(), forward in any_direction(), packets in any_packets(), cut in any::<prop::sample::Index>()) {
        let mut direction = Path::new(&path(seed, forward), drive::START_NS).forward;
        let packets = &packets[..=cut.index(packets.len())];
        let mut fate = Fate::default();
        for packet in packets {
            direction.handle_packet(packet);
            fate.take(&mut direction, packet.arrival_ns);
        }
        fate.tallies.push(direction.current_tally());
        let settled = fate.releases.len() + fate.losses.len() + direction.inside();
        prop_assert_eq!(settled as u64, segments_count(packets) + fate.sum(|tally| tally.duplicated_packets));
    }

    /// Packets leave in the order in which they came unless reordering is asked for; in order of time always.
    #[test]
    fn the_order_is_kept(seed in any::<u64>(), forward in any_direction(), packets in any_packets()) {
        let is_reordering = forward.reorder_per_billion > 0;
        let fate = run(&path(seed, forward), &packets);
        prop_assert!(fate.releases.is_sorted_by_key(|release| release.due_ns));
        if !is_reordering {
            prop_assert!(fate.releases.is_sorted_by_key(|release| (release.key, release.segment, release.is_duplicate)));
            prop_assert_eq!(fate.sum(|tally| tally.reordered_packets), 0);
        }
    }

    /// How late and how often the caller calls changes nothing: not what is lost, not when what is due.
    #[test]
    fn lateness_changes_no_decision(
        seed in any::<u64>(),
        forward in any_direction(),
        packets in any_packets(),
        calls in prop::collection::vec((any::<bool>(), 0u64..10_000_000), 120),
    ) {
        let spec = path(seed, forward);
        let at_once = run(&spec, &packets);
        let mut direction = Path::new(&spec, drive::START_NS).forward;
        let mut fate = Fate::default();
        for (packet, (says_time, lag_ns)) in packets.iter().zip(calls) {
            if says_time {
                direction.handle_time(packet.arrival_ns - lag_ns.min(packet.arrival_ns));
                fate.take(&mut direction, packet.arrival_ns);
            }
            direction.handle_packet(packet);
        }
        let last_ns = packets[packets.len() - 1].arrival_ns;
        direction.handle_time(last_ns + drive::DRAIN_NS);
        fate.take(&mut direction, drive::END_NS);
        fate.tallies.push(direction.current_tally());
        prop_assert_eq!(fate.tallies, at_once.tallies);
        // What skips the delay can be polled behind what was polled before; nothing else changes.
        fate.releases.sort_by_key(|release| (release.due_ns, release.key, release.segment, release.is_duplicate));
        let mut releases = at_once.releases;
        releases.sort_by_key(|release| (release.due_ns, release.key, release.segment, release.is_duplicate));
        prop_assert_eq!(fate.losses.len(), at_once.losses.len());
        let plain = |fate: &[emulate::Release]| fate.iter().map(|release| (release.key, release.segment, release.due_ns, release.is_marked)).collect::<Vec<_>>();
        prop_assert_eq!(plain(&fate.releases), plain(&releases));
    }

    /// A super-segment is treated as the packets it stands for.
    #[test]
    fn a_super_segment_is_its_packets(seed in any::<u64>(), forward in any_direction(), packets in any_packets()) {
        let spec = path(seed, forward);
        let (single, names) = apart(&packets);
        let whole = decisions(&run(&spec, &packets), |key, segment| (key, segment));
        let parts = decisions(&run(&spec, &single), |key, _| names[usize::try_from(key).expect("small")]);
        prop_assert_eq!(whole, parts);
    }

    /// The queue never holds more than its limit.
    #[test]
    fn the_limit_is_never_passed(seed in any::<u64>(), forward in any_direction(), packets in any_packets()) {
        let spec = path(seed, forward);
        let fate = run(&spec, &packets);
        let most_bytes = fate.tallies.iter().map(|tally| tally.queue_bytes_max).max().expect("an interval");
        let most_packets = fate.tallies.iter().map(|tally| tally.queue_packets_max).max().expect("an interval");
        match spec.queue_limit(&spec.forward) {
            Some(QueueLimit::Bytes { bytes }) => prop_assert!(most_bytes <= bytes),
            Some(QueueLimit::Packets { packets }) => prop_assert!(most_packets <= packets),
            _ => prop_assert_eq!((most_bytes, most_packets), (0, 0)),
        }
    }

    /// In no interval does more leave than the rate allows: what leaves in (a, b] has been sent in it, but
    /// for the nanosecond to which instants are rounded.
    #[test]
    fn the_rate_is_never_exceeded(seed in any::<u64>(), mut forward in any_direction(), packets in any_packets(), rate_bps in 5_000_000u64..200_000_000) {
        forward = DirectionSpec { rate_bps: Some(rate_bps), jitter_ns: 0, reorder_per_billion: 0, ..forward };
        let sizes: HashMap<u64, Segments> = packets.iter().map(|packet| (packet.key, packet.segments)).collect();
        let fate = run(&path(seed, forward), &packets);
        let left: Vec<(u64, u64)> = fate.releases.iter()
            .map(|release| (release.due_ns, u64::from(sizes[&release.key].bytes(release.segment))))
            .collect();
        for (first, from) in left.iter().enumerate().step_by(7) {
            let mut bytes = 0;
            for to in &left[first + 1..] {
                bytes += to.1;
                let most_ns = u128::from(to.0 - from.0 + 1);
                prop_assert!(u128::from(bytes) * 8_000_000_000 <= u128::from(rate_bps) * most_ns);
            }
        }
    }

    /// Switching on one kind of random decision does not change what another decides.
    #[test]
    fn decisions_have_streams_of_their_own(seed in any::<u64>(), packets in any_packets()) {
        let loss = schema::path::LossSpec::Random { probability_per_billion: 100_000_000 };
        let plain = DirectionSpec { delay_ns: 5_000_000, loss, ..DirectionSpec::default() };
        let more = DirectionSpec { jitter_ns: 1_000_000, reorder_per_billion: 200_000_000, duplicate_per_billion: 200_000_000, ..plain.clone() };
        let lost = |forward| run(&path(seed, forward), &packets).losses.iter().map(|loss| (loss.key, loss.segment)).collect::<Vec<_>>();
        prop_assert_eq!(lost(plain), lost(more));
    }
}
