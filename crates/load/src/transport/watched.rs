//! The questions that the sampler may ask of a connection that a library carries, from its own thread.

use std::fmt::Debug;
use std::net::SocketAddr;

use crate::options::Granted;

/// A connection as others than its own thread see it.
pub trait Watched: Send + Sync + Debug {
    /// Addresses of this host and of the other.
    fn addresses(&self) -> [Option<SocketAddr>; 2];

    /// The outcome of the options.
    fn granted(&self) -> Granted;

    /// Facts that the library knows of it now, or last knew; none before it knew anything.
    fn facts(&self) -> Option<Facts>;
}

/// A library's report about a connection; what it does not report is absent. Counts are since it opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Facts {
    /// Smoothed round-trip time in ns.
    pub rtt_ns: u64,
    /// Most payload of a packet in bytes.
    pub packet_payload_bytes: u32,
    /// Congestion window in bytes.
    pub cwnd_bytes: Option<u64>,
    /// Room that the receiver has, in bytes.
    pub peer_window_bytes: Option<u64>,
    /// Payload sent and not yet acknowledged, in bytes.
    pub flight_bytes: Option<u64>,
    /// Time between packets that the rate control asks for, in ns.
    pub sending_period_ns: Option<u64>,
    /// Capacity of the path as the library estimates it, in bytes a second.
    pub capacity_bytes_per_second: Option<u64>,
    /// Packets sent, those sent again included.
    pub sent_packets: u64,
    /// Packets received.
    pub received_packets: u64,
    /// Packets that this host sent and takes for lost.
    pub lost_packets: u64,
    /// Their bytes.
    pub lost_bytes: Option<u64>,
    /// Packets that were missing at this host when later ones came.
    pub missed_packets: Option<u64>,
    /// Packets sent again.
    pub retransmitted_packets: Option<u64>,
    /// Acknowledgments sent.
    pub acks_sent_count: Option<u64>,
    /// Acknowledgments received.
    pub acks_received_count: Option<u64>,
    /// Times that the congestion control took a loss or a mark for congestion.
    pub congestion_events_count: Option<u64>,
    /// System calls that sent.
    pub send_calls_count: Option<u64>,
    /// System calls that received.
    pub receive_calls_count: Option<u64>,
}
