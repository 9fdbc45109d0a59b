//! The emulated path between the two ends of a testbed, as data: what each direction does to packets.
//!
//! A direction is a row of stations that every packet passes in this order: ACK thinning, loss,
//! duplication, the queue of the bottleneck, the bottleneck itself, the delay line. A packet is what
//! crosses the wire at the MTU: a super-segment of the kernel counts as the packets it stands for.
//!
//! Sizes and rates count the packet with its Ethernet header (14 bytes) and without preamble, check
//! sequence and gap, as `skb->len` does and with it netem, tbf and the device counters. Probabilities
//! are whole numbers of a billion, so that a decision is the same on every machine.

mod audit;
mod check;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use audit::PathAudit;
pub use check::PathSpecError;

/// A probability of one in the fields that end in `_per_billion`.
pub const BILLION: u32 = 1_000_000_000;

/// Bytes of the Ethernet header that each packet carries beyond the MTU.
pub const ETHERNET_HEADER_BYTES: u32 = 14;

/// The path of one trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PathSpec {
    /// The implementation that carries it out.
    pub implementation: PathImplementation,
    /// Seed of everything random in it. Each kind of decision draws from a stream of its own.
    pub seed: u64,
    /// From the near side to the far side.
    pub forward: DirectionSpec,
    /// From the far side to the near side.
    pub backward: DirectionSpec,
    /// Length of the intervals of the table `path`, in ns.
    pub interval_ns: u64,
}

/// The implementation that carries out a path.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PathImplementation {
    /// The router, which can do all of it.
    #[default]
    Auto,
    /// The router in user space.
    Router,
    /// The kernel's netem and its queueing disciplines, where the kernel has them and they can do it
    /// ([`PathSpec::beyond_netem`]).
    Netem,
}

/// The treatment of packets by one direction. The default lets everything pass at once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DirectionSpec {
    /// Rate of the bottleneck in bit/s, Ethernet headers counted; absent: no bottleneck and no queue.
    pub rate_bps: Option<u64>,
    /// Propagation delay in ns, from the end of the bottleneck to the other side.
    pub delay_ns: u64,
    /// Most by which the delay departs from `delay_ns` to either side, in ns. It wanders: values drawn
    /// uniformly every 4 × `jitter_ns`, joined by straight lines, so that packets keep their order and
    /// their distances change by half at most.
    pub jitter_ns: u64,
    /// Queue in front of the bottleneck. Without a rate it is always empty.
    pub queue: QueueSpec,
    /// Packets lost for no reason of load.
    pub loss: LossSpec,
    /// The probability that a packet skips the propagation delay, and so overtakes those sent within it
    /// (netem's `reorder`).
    pub reorder_per_billion: u32,
    /// The probability that a packet enters the queue twice.
    pub duplicate_per_billion: u32,
    /// Of the pure ACKs only each `ack_thinning`-th passes; 0 and 1: all. An ACK with SACK blocks always
    /// passes, and so does the first after 10 ms without one.
    pub ack_thinning: u32,
    /// Virtual UDP that shares the queue and the bottleneck, and ends behind it.
    pub cross_traffic: Vec<CrossTraffic>,
}

/// The queue in front of a bottleneck.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueueSpec {
    /// The amount that it holds, the packet that is being sent counted.
    pub limit: QueueLimit,
    /// The discipline: what it drops or marks before it is full.
    pub discipline: Discipline,
    /// True if the discipline marks packets that are ECN-capable (RFC 3168) where it would drop them.
    /// A full queue always drops. With it in either direction TCP at both sides asks for ECN.
    pub ecn: bool,
}

/// The amount that a queue holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "by", rename_all = "snake_case", deny_unknown_fields)]
pub enum QueueLimit {
    /// The rate of the direction times the delays of both directions.
    #[default]
    BandwidthDelayProduct,
    /// A sum of packet sizes.
    Bytes {
        /// Bytes, Ethernet headers counted.
        bytes: u64,
    },
    /// A number of packets, whatever their size.
    Packets {
        /// Packets.
        packets: u64,
    },
}

/// Active queue management.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "name", rename_all = "snake_case", deny_unknown_fields)]
pub enum Discipline {
    /// None: what arrives at a full queue is dropped.
    #[default]
    DropTail,
    /// Controlled delay (RFC 8289).
    Codel {
        /// Acceptable standing queue in ns; the RFC's is 5 ms.
        target_ns: u64,
        /// Time above target after which dropping begins, in ns; the RFC's is 100 ms.
        interval_ns: u64,
    },
    /// Random early detection (Floyd, Jacobson, "Random early detection gateways for congestion
    /// avoidance", IEEE/ACM Transactions on Networking 1(4), 1993), its average taken in bytes.
    Red {
        /// Average queue in bytes from which on packets are dropped or marked.
        min_bytes: u64,
        /// Average queue in bytes at which the probability is the greatest, and above which everything is
        /// dropped.
        max_bytes: u64,
        /// Probability at `max_bytes` (the paper's `max_p`).
        probability_per_billion: u32,
        /// Weight of the average: w = 2 to the power of minus this. 9 is 0.00195, the paper's 0.002.
        weight_log: u8,
        /// True if the probability grows to 1 between `max_bytes` and twice of it, instead of leaping
        /// (Floyd, "Recommendation on using the gentle variant of RED", 2000).
        is_gentle: bool,
    },
}

/// Loss that has nothing to do with the queue.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "by", rename_all = "snake_case", deny_unknown_fields)]
pub enum LossSpec {
    /// None.
    #[default]
    None,
    /// Every packet alike.
    Random {
        /// Probability.
        probability_per_billion: u32,
    },
    /// In bursts: a chain of two states (Gilbert 1960, Elliott 1963), a step a packet. The state
    /// decides over the packet, then changes. Share lost: (p (1-h) + r (1-k)) / (p + r).
    GilbertElliott {
        /// p: from the good state to the bad one.
        good_to_bad_per_billion: u32,
        /// r: from the bad state to the good one.
        bad_to_good_per_billion: u32,
        /// 1 - h: loss in the bad state.
        bad_loss_per_billion: u32,
        /// 1 - k: loss in the good state.
        good_loss_per_billion: u32,
    },
    /// These and no others.
    Scripted {
        /// Numbers of segments, from 1, ascending: over the TCP segments with payload of this direction,
        /// of all connections and with those sent again.
        segments: Vec<u64>,
    },
}

/// Virtual UDP of a rate that is constant or swings: `rate_bps + amplitude_bps * sin(2 pi t / period_ns)`
/// at `t` after the path began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CrossTraffic {
    /// Mean rate in bit/s, Ethernet headers counted.
    pub rate_bps: u64,
    /// By how much it swings to either side, in bit/s; 0: constant.
    pub amplitude_bps: u64,
    /// Period of the swing in ns; 0 with a constant rate.
    pub period_ns: u64,
    /// Size of its packets in bytes, Ethernet header included.
    pub packet_bytes: u32,
}

impl PathSpec {
    /// The limit of a direction's queue, a bandwidth-delay product worked out; `None` without a rate.
    pub fn queue_limit(&self, direction: &DirectionSpec) -> Option<QueueLimit> {
        let rate_bps = direction.rate_bps?;
        Some(match direction.queue.limit {
            QueueLimit::BandwidthDelayProduct => QueueLimit::Bytes { bytes: self.bandwidth_delay_product_bytes(rate_bps) },
            given => given,
        })
    }

    /// Bytes of a rate in a round trip without queues.
    pub fn bandwidth_delay_product_bytes(&self, rate_bps: u64) -> u64 {
        let round_trip_ns = u128::from(self.forward.delay_ns) + u128::from(self.backward.delay_ns);
        u64::try_from(u128::from(rate_bps) * round_trip_ns / 8_000_000_000).unwrap_or(u64::MAX)
    }

    /// The first thing in it that netem and its companions cannot do as it is defined here.
    pub fn beyond_netem(&self) -> Option<&'static str> {
        [&self.forward, &self.backward].into_iter().find_map(DirectionSpec::beyond_netem)
    }
}

impl DirectionSpec {
    fn beyond_netem(&self) -> Option<&'static str> {
        if matches!(self.loss, LossSpec::Scripted { .. }) {
            return Some("scripted loss");
        }
        if self.ack_thinning > 1 {
            return Some("ACK thinning");
        }
        if !self.cross_traffic.is_empty() {
            return Some("cross traffic");
        }
        let rate_bps = self.rate_bps?;
        if rate_bps % 8 > 0 {
            return Some("rate that is no multiple of 8 bit/s");
        }
        let in_packets = matches!(self.queue.limit, QueueLimit::Packets { .. });
        match self.queue.discipline {
            Discipline::Codel { .. } if !in_packets => {
                Some("CoDel in a queue of bytes, only one of packets (such as path_queue = \"1000p\")")
            }
            Discipline::Red { .. } if in_packets => Some("RED in a queue of packets, only one of bytes"),
            Discipline::Red { is_gentle: true, .. } => Some("gentle RED"),
            // red_check_params in include/net/red.h: the average is kept in 32 bits, the weight's among them.
            Discipline::Red { min_bytes, weight_log, .. } if min_bytes >> 31_u32.saturating_sub(u32::from(weight_log)) > 0 => {
                Some("RED with so high a lower threshold")
            }
            _ => None,
        }
    }
}
