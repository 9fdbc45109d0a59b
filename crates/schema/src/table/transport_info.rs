//! What libraries that carry connections over UDP know of them.

use super::ColumnType::{Text, U32, U64};
use super::{CONNECTION, FINAL, HOST, PHASE, ROLE, SAMPLE, Table, column, optional};

/// One row a connection that a library carries, end and sample.
pub const TRANSPORT_INFO: Table = Table {
    name: "transport_info",
    row: "a sample of a library's own view of a connection over UDT, QUIC or SRT; what it does not know is absent",
    columns: &[
        HOST,
        CONNECTION,
        ROLE,
        PHASE,
        SAMPLE,
        FINAL,
        column("transport", Text, "", "udt, quic or srt.", "plan"),
        column("rtt_ns", U64, "ns", "Smoothed round-trip time.", "UDT, SRT: msRTT; QUIC: path.rtt"),
        column(
            "packet_payload_bytes",
            U32,
            "bytes",
            "Most payload of a packet.",
            "UDT, SRT: MSS less 44; QUIC: path.current_mtu, headers of its own included",
        ),
        optional("cwnd_bytes", U64, "bytes", "Congestion window.", "UDT, SRT: pktCongestionWindow, in payload; QUIC: path.cwnd"),
        optional("peer_window_bytes", U64, "bytes", "What the receiver has room for.", "UDT, SRT: pktFlowWindow, in payload"),
        optional("flight_bytes", U64, "bytes", "Sent and not yet acknowledged.", "UDT, SRT: pktFlightSize, in payload"),
        optional("sending_period_ns", U64, "ns", "Time between packets that the rate control asks for.", "UDT, SRT: usPktSndPeriod"),
        optional(
            "capacity_bytes_per_second",
            U64,
            "bytes/s",
            "Capacity of the path, estimated from pairs of packets.",
            "UDT, SRT: mbpsBandwidth",
        ),
        column(
            "sent_packets",
            U64,
            "packets",
            "Sent so far, those sent again included; UDT and SRT: with data.",
            "UDT, SRT: pktSentTotal; QUIC: path.sent_packets",
        ),
        column(
            "received_packets",
            U64,
            "packets",
            "Received so far; UDT and SRT: with data.",
            "UDT, SRT: pktRecvTotal; QUIC: udp_rx.datagrams",
        ),
        column("lost_packets", U64, "packets", "Sent so far and taken for lost.", "UDT, SRT: pktSndLossTotal; QUIC: path.lost_packets"),
        optional("lost_bytes", U64, "bytes", "Their bytes.", "QUIC: path.lost_bytes"),
        optional("missed_packets", U64, "packets", "Missing at this side so far when later ones came.", "UDT, SRT: pktRcvLossTotal"),
        optional("retransmitted_packets", U64, "packets", "Sent again so far.", "UDT, SRT: pktRetransTotal"),
        optional("acks_sent_count", U64, "count", "Acknowledgments sent so far.", "UDT, SRT: pktSentACKTotal; QUIC: frame_tx.acks"),
        optional("acks_received_count", U64, "count", "Acknowledgments received so far.", "UDT, SRT: pktRecvACKTotal; QUIC: frame_rx.acks"),
        optional(
            "congestion_events_count",
            U64,
            "count",
            "Times that the congestion control slowed down so far.",
            "QUIC: path.congestion_events",
        ),
        optional("send_calls_count", U64, "count", "System calls that sent so far.", "QUIC: load"),
        optional("receive_calls_count", U64, "count", "System calls that received so far.", "QUIC: load"),
    ],
};
