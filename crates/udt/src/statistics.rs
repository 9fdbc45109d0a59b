//! The report of a library about a connection (`UDT::perfmon`, its reference manual, `CPerfMon`; `srt_bistats`).

use crate::ffi::RawFacts;

/// Octets of IPv4 and UDP headers that the library counts to a packet, whatever the family
/// (`CUDT::m_iPktSize`), and of its own header (draft-gg-udt-03 section 2).
const HEADERS_BYTES: u32 = 28;
const OWN_HEADER_BYTES: u32 = 16;

/// Counts since the connection opened, and the state of an instant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Facts {
    /// Most payload of a packet in bytes.
    pub payload_bytes: u32,
    /// Data packets sent, including those sent again.
    pub sent_packets: u64,
    /// Data packets received.
    pub received_packets: u64,
    /// Data packets that the receiver reported missing, or that a timeout took for lost.
    pub lost_packets: u64,
    /// Data packets that were missing at this receiver when a later one came.
    pub missed_packets: u64,
    /// Data packets sent again.
    pub retransmitted_packets: u64,
    /// Acknowledgments sent.
    pub acks_sent_count: u64,
    /// Acknowledgments received.
    pub acks_received_count: u64,
    /// Loss reports sent.
    pub naks_sent_count: u64,
    /// Loss reports received.
    pub naks_received_count: u64,
    /// Time between two packets that the rate control asks for, in ns.
    pub sending_period_ns: u64,
    /// Smoothed round-trip time in ns.
    pub rtt_ns: u64,
    /// Capacity of the path as the library estimates it from pairs of packets, in bytes a second.
    pub capacity_bytes_per_second: u64,
    /// The room that the receiver has, in packets.
    pub window_packets: u64,
    /// Congestion window in packets.
    pub cwnd_packets: u64,
    /// Packets sent and not yet acknowledged.
    pub flight_packets: u64,
    /// Packets in the send buffer, sent or not.
    pub unacknowledged_packets: u64,
}

impl Facts {
    pub(crate) fn new(raw: &RawFacts, mss_bytes: u32) -> Self {
        let count = |number: i64| u64::try_from(number).unwrap_or(0);
        Self {
            payload_bytes: mss_bytes.saturating_sub(HEADERS_BYTES + OWN_HEADER_BYTES),
            sent_packets: count(raw.sent_packets),
            received_packets: count(raw.received_packets),
            lost_packets: count(raw.lost_packets),
            missed_packets: count(raw.missed_packets),
            retransmitted_packets: count(raw.retransmitted_packets),
            acks_sent_count: count(raw.acks_sent),
            acks_received_count: count(raw.acks_received),
            naks_sent_count: count(raw.naks_sent),
            naks_received_count: count(raw.naks_received),
            sending_period_ns: whole(raw.sending_period_us * 1e3),
            rtt_ns: whole(raw.rtt_ms * 1e6),
            capacity_bytes_per_second: whole(raw.capacity_mbps * 1e6 / 8.0),
            window_packets: count(raw.window_packets),
            cwnd_packets: count(raw.cwnd_packets),
            flight_packets: count(raw.flight_packets),
            unacknowledged_packets: count(raw.unacknowledged_packets),
        }
    }
}

/// The nearest whole number that is not negative.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the conversion saturates, and takes NaN for 0")]
fn whole(number: f64) -> u64 {
    number.round() as u64
}
