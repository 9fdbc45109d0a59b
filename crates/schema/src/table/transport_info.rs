//! Facts that libraries that carry connections over UDP know of them.

use super::cell::table;
use super::{CONNECTION, FINAL, HOST, PHASE, ROLE, SAMPLE, Text};
use crate::trial::{Phase, Role};
use crate::workload::Transport;

table! {
    /// One row a connection that a library carries, end and sample.
    TRANSPORT_INFO: TransportInfoRow = "transport_info", "a sample of a library's own view of a connection over UDT, QUIC or SRT; what it does not know is absent";
    host: Text = HOST;
    connection: u32 = CONNECTION;
    role: Role = ROLE;
    phase: Phase = PHASE;
    sample_mono_ns: u64 = SAMPLE;
    is_final as "final": bool = FINAL;
    transport: Transport = ("", "udt, quic or srt.", "plan");
    rtt_ns: u64 = ("ns", "Smoothed round-trip time.", "UDT, SRT: msRTT; QUIC: path.rtt");
    packet_payload_bytes: u32 = (
        "bytes",
        "Most payload of a packet.",
        "UDT, SRT: MSS less 44; QUIC: path.current_mtu, headers of its own included",
    );
    cwnd_bytes: Option<u64> = ("bytes", "Congestion window.", "UDT, SRT: pktCongestionWindow, in payload; QUIC: path.cwnd");
    peer_window_bytes: Option<u64> = ("bytes", "What the receiver has room for.", "UDT, SRT: pktFlowWindow, in payload");
    flight_bytes: Option<u64> = ("bytes", "Sent and not yet acknowledged.", "UDT, SRT: pktFlightSize, in payload");
    sending_period_ns: Option<u64> = ("ns", "Time between packets that the rate control asks for.", "UDT, SRT: usPktSndPeriod");
    capacity_bytes_per_second: Option<u64> = (
        "bytes/s",
        "Capacity of the path, estimated from pairs of packets.",
        "UDT, SRT: mbpsBandwidth",
    );
    sent_packets: u64 = (
        "packets",
        "Sent so far, those sent again included; UDT and SRT: with data.",
        "UDT, SRT: pktSentTotal; QUIC: path.sent_packets",
    );
    received_packets: u64 = (
        "packets",
        "Received so far; UDT and SRT: with data.",
        "UDT, SRT: pktRecvTotal; QUIC: udp_rx.datagrams",
    );
    lost_packets: u64 = ("packets", "Sent so far and taken for lost.", "UDT, SRT: pktSndLossTotal; QUIC: path.lost_packets");
    lost_bytes: Option<u64> = ("bytes", "Their bytes.", "QUIC: path.lost_bytes");
    missed_packets: Option<u64> = ("packets", "Missing at this side so far when later ones came.", "UDT, SRT: pktRcvLossTotal");
    retransmitted_packets: Option<u64> = ("packets", "Sent again so far.", "UDT, SRT: pktRetransTotal");
    acks_sent_count: Option<u64> = ("count", "Acknowledgments sent so far.", "UDT, SRT: pktSentACKTotal; QUIC: frame_tx.acks");
    acks_received_count: Option<u64> = (
        "count",
        "Acknowledgments received so far.",
        "UDT, SRT: pktRecvACKTotal; QUIC: frame_rx.acks",
    );
    congestion_events_count: Option<u64> = (
        "count",
        "Times that the congestion control slowed down so far.",
        "QUIC: path.congestion_events",
    );
    send_calls_count: Option<u64> = ("count", "System calls that sent so far.", "QUIC: load");
    receive_calls_count: Option<u64> = ("count", "System calls that received so far.", "QUIC: load");
}
