//! Rows of what TCP says of its connections: tables `tcp_info` and `tcp_options`.

use load::running::Load;
use probe::clock::mono_ns;
use probe::tcp_info::TcpInfo;
use schema::table::{TcpInfoRow, TcpOptionsRow};
use schema::trial::{Phase, Role, TrialSpec};
use std::os::fd::AsFd;

use super::connection::Known;
use super::intervals::MAX_SINGLE_FLOWS;
use crate::table::Rows;

/// Connections of a multitude that have rows while the load runs, at most.
const MAX_SAMPLED: usize = 1_000;

const NS_PER_US: u64 = 1_000;

/// Asks connections in turn.
#[derive(Default)]
pub struct Tcp {
    /// Its table.
    pub rows: Rows<TcpInfoRow<'static>>,
    /// That of the options, from the last sample.
    pub options: Rows<TcpOptionsRow<'static>>,
    /// The state of the first connection when last seen.
    first: Option<TcpInfo>,
    /// Position of the connection that is asked next.
    next: usize,
}

impl Tcp {
    /// Asks the connections in turn, beginning behind the last one asked, until all are done or it is
    /// `until_mono_ns`. Of a multitude only some have rows before the last sample: 15,000 rows ten
    /// times a second would be 40 MB/s of memory.
    pub fn sample(&mut self, spec: &TrialSpec, load: &Load, known: &mut [Known], phase: Phase, until_mono_ns: Option<u64>) {
        let count = load.flows.len();
        let is_final = until_mono_ns.is_none();
        let step = if count > MAX_SINGLE_FLOWS && !is_final { count.div_ceil(MAX_SAMPLED) } else { 1 };
        for _ in 0..count {
            let position = self.next;
            let flow = &load.flows[position];
            self.next = (position + 1) % count;
            if let Some(info) = flow.socket.as_ref().and_then(|socket| TcpInfo::read(socket.as_fd()).ok()) {
                if position.is_multiple_of(step) {
                    let moment = Moment { mono_ns: mono_ns(), phase, is_final };
                    self.rows.push(row(&spec.host, flow.number, spec.role_of(flow.number), moment, &info));
                }
                if is_final {
                    self.options.push(options(&spec.host, flow.number, spec.role_of(flow.number), &info));
                }
                known[position].on_info(&info);
                if position == 0 {
                    self.first = Some(info);
                }
            }
            if until_mono_ns.is_some_and(|until| mono_ns() > until) {
                break;
            }
        }
    }

    /// The state of the first connection when last seen.
    pub fn first(&self) -> Option<&TcpInfo> {
        self.first.as_ref()
    }
}

/// When a sample was taken.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    /// On `CLOCK_MONOTONIC` in ns.
    pub mono_ns: u64,
    /// In which phase.
    pub phase: Phase,
    /// True if it is the connection's last one.
    pub is_final: bool,
}

/// One row of the options.
pub(super) fn options<'a>(host: &'a str, connection: u32, role: Role, info: &TcpInfo) -> TcpOptionsRow<'a> {
    let [own_shift, peer_shift] = info.window_scales();
    TcpOptionsRow {
        host,
        connection,
        role,
        window_scaling: info.has_window_scaling(),
        own_window_shift: u32::from(own_shift),
        peer_window_shift: u32::from(peer_shift),
        selective_acks: info.has_selective_acks(),
        timestamps: info.has_timestamps(),
        ecn: info.has_ecn(),
        ecn_seen: info.has_seen_ecn(),
    }
}

/// One row of the table.
pub(super) fn row<'a>(host: &'a str, connection: u32, role: Role, moment: Moment, info: &TcpInfo) -> TcpInfoRow<'a> {
    let raw = &info.raw;
    let ns = |microseconds: u32| u64::from(microseconds) * NS_PER_US;
    TcpInfoRow {
        host,
        connection,
        role,
        phase: moment.phase,
        sample_mono_ns: moment.mono_ns,
        is_final: moment.is_final,
        state: u32::from(raw.state),
        ca_state: u32::from(raw.ca_state),
        rto_ns: ns(raw.rto),
        ato_ns: ns(raw.ato),
        send_mss_bytes: raw.snd_mss,
        receive_mss_bytes: raw.rcv_mss,
        unacked_segments: raw.unacked,
        lost_segments: raw.lost,
        rtt_ns: ns(raw.rtt),
        rtt_ns_deviation: ns(raw.rttvar),
        rtt_ns_min: ns(raw.min_rtt),
        ssthresh_segments: raw.snd_ssthresh,
        cwnd_segments: raw.snd_cwnd,
        pmtu_bytes: raw.pmtu,
        reordering_segments: raw.reordering,
        receive_rtt_ns: ns(raw.rcv_rtt),
        receive_space_bytes: raw.rcv_space,
        retransmitted_segments: raw.total_retrans,
        pacing_rate_bytes_per_second: raw.pacing_rate,
        bytes_acked: raw.bytes_acked,
        bytes_received: raw.bytes_received,
        segments_out: u64::from(raw.segs_out),
        segments_in: u64::from(raw.segs_in),
        data_segments_out: u64::from(raw.data_segs_out),
        data_segments_in: u64::from(raw.data_segs_in),
        not_sent_bytes: raw.notsent_bytes,
        delivery_rate_bytes_per_second: raw.delivery_rate,
        busy_ns: raw.busy_time * NS_PER_US,
        rwnd_limited_ns: raw.rwnd_limited * NS_PER_US,
        send_buffer_limited_ns: raw.sndbuf_limited * NS_PER_US,
        bytes_sent: info.bytes_sent(),
        bytes_retransmitted: info.bytes_retransmitted(),
        out_of_order_segments: info.out_of_order_segments(),
        peer_window_bytes: info.peer_window_bytes(),
        own_window_bytes: info.own_window_bytes(),
        ecn: info.has_ecn(),
        delivered_segments: info.delivered_segments(),
        delivered_marked_segments: info.delivered_marked_segments(),
        duplicate_sacks_count: info.duplicate_sacks(),
        reordering_events_count: info.reordering_events(),
        application_limited: info.is_application_limited(),
    }
}
