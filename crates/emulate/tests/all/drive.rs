//! Sends packets through a direction and keeps everything that becomes of them.
#![allow(dead_code, reason = "the benchmark uses its part")]

use emulate::ledger::Tally;
use emulate::{Direction, Loss, Packet, PacketKind, Path, Release, Segments};
use proptest::prelude::*;
use schema::path::{CrossTraffic, DirectionSpec, Discipline, LossSpec, PathImplementation, PathSpec, QueueLimit, QueueSpec};

/// When the path of a test begins.
pub const START_NS: u64 = 1_000_000_000;
/// After everything.
pub const END_NS: u64 = START_NS + 3_600_000_000_000;
/// Within this time the longest queue of a test runs empty.
pub const DRAIN_NS: u64 = 1_000_000_000;

/// A path with this forward direction, and nothing backward.
pub fn path(seed: u64, forward: DirectionSpec) -> PathSpec {
    PathSpec {
        implementation: PathImplementation::Auto,
        seed,
        forward,
        backward: DirectionSpec { delay_ns: 5_000_000, ..DirectionSpec::default() },
        interval_ns: 1_000_000_000,
    }
}

/// An ordinary packet of TCP data.
pub fn data(key: u64, arrival_ns: u64, bytes: u32) -> Packet {
    Packet { key, arrival_ns, segments: Segments::single(bytes), kind: PacketKind::Data, is_ecn_capable: false }
}

/// What became of all packets.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Fate {
    pub releases: Vec<Release>,
    pub losses: Vec<Loss>,
    pub tallies: Vec<Tally>,
}

impl Fate {
    /// Sum of a count over all intervals.
    pub fn sum(&self, count: impl Fn(&Tally) -> u64) -> u64 {
        self.tallies.iter().map(count).sum()
    }

    /// Takes what can be had by `until_ns`.
    pub fn take(&mut self, direction: &mut Direction, until_ns: u64) {
        self.releases.extend(std::iter::from_fn(|| direction.poll_release(until_ns)));
        self.losses.extend(std::iter::from_fn(|| direction.poll_loss()));
        self.tallies.extend(std::iter::from_fn(|| direction.poll_tally()));
    }
}

/// Hands all packets in at once, and takes everything at the end.
pub fn run(spec: &PathSpec, packets: &[Packet]) -> Fate {
    let mut direction = Path::new(spec, START_NS).forward;
    for packet in packets {
        direction.handle_packet(packet);
    }
    let mut fate = Fate::default();
    let last_ns = packets.last().map_or(START_NS, |packet| packet.arrival_ns);
    direction.handle_time(last_ns + DRAIN_NS);
    fate.take(&mut direction, END_NS);
    fate.tallies.push(direction.current_tally());
    fate
}

/// Any direction that is valid at an MTU of 1500.
pub fn any_direction() -> impl Strategy<Value = DirectionSpec> {
    let probability = prop_oneof![Just(0), Just(20_000_000u32), Just(300_000_000)];
    let limit = prop_oneof![
        (1514u64..40_000).prop_map(|bytes| QueueLimit::Bytes { bytes }),
        (1u64..30).prop_map(|packets| QueueLimit::Packets { packets }),
        Just(QueueLimit::BandwidthDelayProduct),
    ];
    let discipline = prop_oneof![
        Just(Discipline::DropTail),
        Just(Discipline::Codel { target_ns: 1_000_000, interval_ns: 5_000_000 }),
        any::<bool>().prop_map(|is_gentle| Discipline::Red {
            min_bytes: 3_000,
            max_bytes: 9_000,
            probability_per_billion: 100_000_000,
            weight_log: 2,
            is_gentle
        }),
    ];
    let loss = prop_oneof![
        Just(LossSpec::None),
        Just(LossSpec::Random { probability_per_billion: 50_000_000 }),
        Just(LossSpec::GilbertElliott {
            good_to_bad_per_billion: 30_000_000,
            bad_to_good_per_billion: 300_000_000,
            bad_loss_per_billion: 800_000_000,
            good_loss_per_billion: 10_000_000,
        }),
        Just(LossSpec::Scripted { segments: vec![2, 3, 40] }),
    ];
    let cross = prop_oneof![
        Just(vec![]),
        Just(vec![
            CrossTraffic { rate_bps: 3_000_000, amplitude_bps: 2_000_000, period_ns: 20_000_000, packet_bytes: 700 },
            CrossTraffic { rate_bps: 1_000_000, amplitude_bps: 0, period_ns: 0, packet_bytes: 1514 },
        ]),
    ];
    let rate = prop_oneof![1 => Just(None), 6 => (5_000_000u64..200_000_000).prop_map(Some)];
    (
        rate,
        5_000_000u64..20_000_000,
        0u64..2_000_000,
        (limit, discipline, any::<bool>()),
        loss,
        (probability.clone(), probability),
        0u32..4,
        cross,
    )
        .prop_map(|(rate_bps, delay_ns, jitter_ns, (limit, discipline, ecn), loss, (reorder, duplicate), ack_thinning, cross)| {
            DirectionSpec {
                rate_bps,
                delay_ns,
                jitter_ns,
                queue: queue(rate_bps, limit, discipline, ecn),
                loss,
                reorder_per_billion: reorder,
                duplicate_per_billion: duplicate,
                ack_thinning,
                cross_traffic: if rate_bps.is_some() { cross } else { vec![] },
            }
        })
}

/// A queue that is valid: nothing to manage without a rate, nothing to mark without a discipline, and room
/// for the thresholds of RED.
fn queue(rate_bps: Option<u64>, limit: QueueLimit, discipline: Discipline, ecn: bool) -> QueueSpec {
    match discipline {
        _ if rate_bps.is_none() => QueueSpec::default(),
        Discipline::DropTail => QueueSpec { limit, discipline, ecn: false },
        Discipline::Codel { .. } => QueueSpec { limit, discipline, ecn },
        Discipline::Red { .. } => QueueSpec { limit: QueueLimit::Bytes { bytes: 12_000 }, discipline, ecn },
    }
}

/// A course of packets: distances in ns, sizes and kinds of all sorts.
pub fn any_packets() -> impl Strategy<Value = Vec<Packet>> {
    let distance = prop_oneof![3 => 0u64..3_000, 3 => 0u64..400_000, 1 => 0u64..30_000_000];
    let segments = prop_oneof![
        3 => (60u32..=1514).prop_map(Segments::single),
        2 => (2u32..46, 1u32..1448).prop_map(|(full, rest)| Segments::split(66 + full * 1448 + rest, 66, 1448)),
    ];
    let kind = prop_oneof![3 => Just(PacketKind::Data), 2 => Just(PacketKind::PureAck), 1 => Just(PacketKind::Other)];
    let packet = (distance, segments, kind, any::<bool>());
    prop::collection::vec(packet, 1..120).prop_map(|packets| {
        let mut arrival_ns = START_NS;
        (0..)
            .zip(packets)
            .map(|(key, (distance_ns, segments, kind, is_ecn_capable))| {
                arrival_ns += distance_ns;
                // A pure ACK is never a super-segment.
                let segments = if kind == PacketKind::PureAck { Segments::single(66) } else { segments };
                Packet { key, arrival_ns, segments, kind, is_ecn_capable }
            })
            .collect()
    })
}
