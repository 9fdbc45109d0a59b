//! What is told of a trial while it runs, for display only.

use probe::tcp_info::TcpInfo;
use schema::message::Progress;
use schema::trial::Role;

use crate::transport_info::TransportInfo;

/// Adds what TCP said of the first connection, if it carries any.
pub(super) fn told_by_tcp(progress: Progress, first: Option<&TcpInfo>, role: Role) -> Progress {
    let Some(info) = first else { return progress };
    let announced = match role {
        Role::Sender => info.peer_window_bytes(),
        Role::Receiver => info.own_window_bytes(),
    };
    Progress {
        cwnd_segments: info.raw.snd_cwnd,
        srtt_ns: u64::from(info.raw.rtt) * 1_000,
        announced_window_bytes: announced.unwrap_or(0),
        ..progress
    }
}

/// Adds what a library knows, if one carries connections, in the words of TCP: packets are segments
/// there.
pub(super) fn told_by_library(progress: Progress, info: Option<&TransportInfo>) -> Progress {
    let Some((info, first)) = info.and_then(|info| Some((info, info.first()?))) else { return progress };
    let bounded = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    Progress {
        retransmitted_segments: progress.retransmitted_segments + info.again_packets(),
        cwnd_segments: bounded(first.cwnd_bytes.unwrap_or(0) / u64::from(first.packet_payload_bytes.max(1))),
        srtt_ns: first.rtt_ns,
        announced_window_bytes: bounded(first.peer_window_bytes.unwrap_or(0)),
        ..progress
    }
}
