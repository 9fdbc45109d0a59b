//! Which queueing disciplines make a path of the kernel's own, as data.
//!
//! A direction passes three devices. On the sending end's lies what is lost or sent twice whatever
//! the load; on the first device of the path namespace the bottleneck with its queue; on the second, towards
//! the receiving end, the delay and nothing else. A netem that both limits the rate and delays keeps
//! less than its limit, because what is under way counts as queued.

use schema::path::{BILLION, DirectionSpec, Discipline, ETHERNET_HEADER_BYTES, LossSpec, PathSpec, QueueLimit};

use super::red::Red;

/// Room for packets that lie in no queue of the path: those on the end's device leave at once.
const PASSING_PACKETS: u32 = 100_000;
/// The least frame of Ethernet, without its check sequence, in bytes.
const MIN_FRAME_BYTES: u64 = 60;
/// A delay line that is never full has room for this many times what the bottleneck lets in.
const LINE_FACTOR: u64 = 2;
/// Packets that a delay line has room for at least, and without a rate.
const LINE_PACKETS: (u32, u32) = (1000, 10_000_000);
/// netem keeps packets in order where it has a rate, even with jitter. This one takes no time.
const ORDERLY_BYTES_PER_S: u64 = 1_000_000_000_000;
/// The burst that tbf may send at once, as time at its rate: it catches up with a timer that came later than
/// the packet before it was sent.
const BURST_NS: u64 = 1_000_000;
/// Packets that tbf may send at once at least.
const BURST_PACKETS: u64 = 2;
/// Limit of a discipline whose child has the real one.
const NO_LIMIT: u32 = u32::MAX / 2;

/// A path as the kernel carries it: forward, then backward.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan(pub [DirectionPlan; 2]);

/// The disciplines on the devices of one direction; absent where it does nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DirectionPlan {
    /// On the sending end's device.
    pub edge: Option<Qdisc>,
    /// On the device of the path namespace's first half.
    pub bottleneck: Option<Qdisc>,
    /// On the device of the path namespace's second half.
    pub line: Option<Qdisc>,
}

/// A root discipline and what lies in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Qdisc {
    /// netem alone.
    Netem(Netem),
    /// A token bucket with a queue of its own.
    Tbf(Tbf),
}

/// The settings of netem.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Netem {
    /// Packets that it holds.
    pub limit_packets: u32,
    /// Delay in ns.
    pub delay_ns: u64,
    /// Most by which a packet's delay departs from it, in ns.
    pub jitter_ns: u64,
    /// Rate in bytes a second; 0: none.
    pub rate_bytes_per_s: u64,
    /// Loss.
    pub loss: Loss,
    /// Probability of a packet to be sent twice.
    pub duplicate: Share,
    /// Probability of a packet to skip the delay.
    pub reorder: Share,
    /// Seed of its random decisions, since Linux 6.6; older kernels do not take one.
    pub seed: Option<u64>,
}

/// Loss as netem knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// Every packet alike.
    Random(Share),
    /// Gilbert and Elliott's chain: p, r, 1 - (loss in the bad state), loss in the good state.
    Chain([Share; 4]),
}

impl Default for Loss {
    fn default() -> Self {
        Loss::Random(Share(0))
    }
}

/// A probability as a part of 2^32 - 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Share(pub u32);

impl Share {
    /// From parts of a billion.
    pub fn from_billion(per_billion: u32) -> Self {
        let part = u64::from(per_billion) * u64::from(u32::MAX) / u64::from(BILLION);
        Share(u32::try_from(part).unwrap_or(u32::MAX))
    }
}

/// A token bucket and the queue in front of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tbf {
    /// Rate in bytes a second.
    pub rate_bytes_per_s: u64,
    /// Bytes that may leave at once.
    pub burst_bytes: u32,
    /// Its queue.
    pub child: Child,
}

/// The queue in front of a token bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Child {
    /// Drop-tail of so many bytes.
    Bytes(u32),
    /// `codel` of so many packets.
    Codel {
        /// Packets.
        limit_packets: u32,
        /// In µs, the kernel's unit.
        target_us: u32,
        /// In µs.
        interval_us: u32,
        /// True if it marks.
        ecn: bool,
    },
    /// `red`.
    Red(Red),
}

impl Child {
    /// The limit of the bucket around it.
    pub fn bucket_limit_bytes(&self) -> u32 {
        match self {
            Child::Bytes(bytes) => *bytes,
            Child::Codel { .. } | Child::Red(_) => NO_LIMIT,
        }
    }
}

/// The disciplines of a path that [`PathSpec::beyond_netem`] has nothing against.
pub fn plan(spec: &PathSpec, mtu_bytes: u32) -> Plan {
    let way = |direction: &DirectionSpec, number: u64| DirectionPlan {
        edge: edge(direction, spec.seed.wrapping_add(number)),
        bottleneck: bottleneck(spec, direction, mtu_bytes),
        line: line(direction, spec.seed.wrapping_add(2 + number)),
    };
    Plan([way(&spec.forward, 0), way(&spec.backward, 1)])
}

/// The discipline for what happens whatever the load.
fn edge(direction: &DirectionSpec, seed: u64) -> Option<Qdisc> {
    let share = Share::from_billion;
    let loss = match &direction.loss {
        LossSpec::Random { probability_per_billion } => Loss::Random(share(*probability_per_billion)),
        LossSpec::GilbertElliott { good_to_bad_per_billion, bad_to_good_per_billion, bad_loss_per_billion, good_loss_per_billion } => {
            let kept_in_bad = BILLION - bad_loss_per_billion;
            Loss::Chain([*good_to_bad_per_billion, *bad_to_good_per_billion, kept_in_bad, *good_loss_per_billion].map(share))
        }
        LossSpec::None | LossSpec::Scripted { .. } => Loss::default(),
    };
    let duplicate = share(direction.duplicate_per_billion);
    (loss != Loss::default() || duplicate != Share(0)).then_some(Qdisc::Netem(Netem {
        limit_packets: PASSING_PACKETS,
        loss,
        duplicate,
        seed: Some(seed),
        ..Netem::default()
    }))
}

/// The queue and the bottleneck behind it.
fn bottleneck(spec: &PathSpec, direction: &DirectionSpec, mtu_bytes: u32) -> Option<Qdisc> {
    let rate_bytes_per_s = direction.rate_bps? / 8;
    let whole = |number: u64| u32::try_from(number).unwrap_or(u32::MAX).min(NO_LIMIT);
    let limit = spec.queue_limit(direction)?;
    let child = match (direction.queue.discipline, limit) {
        (Discipline::DropTail, QueueLimit::Packets { packets }) => {
            // netem counts the packet that is being sent, as the path does.
            return Some(Qdisc::Netem(Netem { limit_packets: whole(packets), rate_bytes_per_s, ..Netem::default() }));
        }
        (Discipline::Codel { target_ns, interval_ns }, QueueLimit::Packets { packets }) => Child::Codel {
            limit_packets: whole(packets),
            target_us: whole(target_ns / 1000),
            interval_us: whole(interval_ns / 1000),
            ecn: direction.queue.ecn,
        },
        (discipline, limit) => {
            let bytes = match limit {
                QueueLimit::Bytes { bytes } => bytes,
                QueueLimit::Packets { packets } => packets.saturating_mul(u64::from(mtu_bytes + ETHERNET_HEADER_BYTES)),
                QueueLimit::BandwidthDelayProduct => spec.bandwidth_delay_product_bytes(rate_bytes_per_s * 8),
            };
            let packet_bytes = u64::from(mtu_bytes + ETHERNET_HEADER_BYTES);
            match Red::of(discipline, whole(bytes), direction.queue.ecn, packet_bytes * 1_000_000_000 / rate_bytes_per_s.max(1)) {
                Some(red) => Child::Red(red),
                None => Child::Bytes(whole(bytes)),
            }
        }
    };
    let packet_bytes = u64::from(mtu_bytes + ETHERNET_HEADER_BYTES);
    let burst = u128::from(rate_bytes_per_s) * u128::from(BURST_NS) / 1_000_000_000;
    let burst_bytes = whole(u64::try_from(burst).unwrap_or(u64::MAX).max(BURST_PACKETS * packet_bytes));
    Some(Qdisc::Tbf(Tbf { rate_bytes_per_s, burst_bytes, child }))
}

/// The delay.
fn line(direction: &DirectionSpec, seed: u64) -> Option<Qdisc> {
    if direction.delay_ns == 0 {
        return None;
    }
    let longest_ns = u128::from(direction.delay_ns + direction.jitter_ns);
    let held = direction.rate_bps.map(|rate_bps| u128::from(rate_bps) * longest_ns / 8_000_000_000 / u128::from(MIN_FRAME_BYTES));
    let limit_packets = held.map_or(LINE_PACKETS.1, |packets| {
        u32::try_from(packets * u128::from(LINE_FACTOR)).unwrap_or(NO_LIMIT).max(LINE_PACKETS.0).min(NO_LIMIT)
    });
    let has_random_loss = direction.jitter_ns > 0 || direction.reorder_per_billion > 0;
    Some(Qdisc::Netem(Netem {
        limit_packets,
        delay_ns: direction.delay_ns,
        jitter_ns: direction.jitter_ns,
        rate_bytes_per_s: if direction.jitter_ns > 0 { ORDERLY_BYTES_PER_S } else { 0 },
        reorder: Share::from_billion(direction.reorder_per_billion),
        seed: has_random_loss.then_some(seed),
        ..Netem::default()
    }))
}
