//! Rows of connections of other programs: tables `watched`, `sockets`, `tcp_info`, `tcp_options`, `flows` and `intervals`.
//!
//! The rows are made at the end: only then is it known in which direction a connection moved more, and how many samples
//! are left of it.

use probe::sockets::{Memory, Owner, Socket};
use probe::tcp_info::TcpInfo;
use schema::table::{FlowRow, IntervalRow, SocketRow, TcpInfoRow, TcpOptionsRow, WatchedRow};
use schema::trial::{Phase, Role};
use schema::workload::Transport;
use std::net::SocketAddr;

use super::tcp::{self, Moment};
use crate::table::{Columns, Rows};

/// The options that a program has set, as far as they are known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FixedOptions {
    /// It has set `SO_SNDBUF`.
    pub send_buffer_fixed: Option<bool>,
    /// It has set `SO_RCVBUF`.
    pub receive_buffer_fixed: Option<bool>,
    /// It has switched Nagle off.
    pub no_delay: Option<bool>,
    /// Upper bound of the window that it announces.
    pub window_clamp_bytes: Option<u32>,
}

/// A connection as it looked at an instant.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// Number of the sampler's round, the same for all connections that were looked at then.
    pub round: u32,
    /// When, on `CLOCK_MONOTONIC` in ns.
    pub mono_ns: u64,
    /// Received in sequence and not read.
    pub receive_queue_bytes: u32,
    /// Written and not acknowledged.
    pub send_queue_bytes: u32,
    /// Its counters.
    pub info: TcpInfo,
    /// Its memory; absent of the last sample of one that has closed.
    pub memory: Option<Memory>,
}

impl Sample {
    /// Of what the kernel has answered; `None` where its counters are missing.
    pub fn of(socket: &Socket, round: u32, mono_ns: u64) -> Option<Self> {
        Some(Self {
            round,
            mono_ns,
            receive_queue_bytes: socket.receive_queue_bytes,
            send_queue_bytes: socket.send_queue_bytes,
            info: socket.info?,
            memory: socket.memory,
        })
    }
}

/// Payload of both directions since the connection opened, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MovedPayload {
    /// Acknowledged by the peer.
    pub acked_bytes: u64,
    /// Received in sequence.
    pub received_bytes: u64,
}

impl MovedPayload {
    /// By the kernel's counters, without what they count for a SYN or a FIN: each has a sequence number (RFC 9293
    /// section 3.4).
    pub fn of(info: &TcpInfo) -> Self {
        let acked_bytes = info.raw.bytes_acked;
        let sent = info.bytes_sent().zip(info.bytes_retransmitted());
        Self {
            acked_bytes: sent.map_or(acked_bytes, |(sent, again)| acked_bytes.min(sent.saturating_sub(again))),
            received_bytes: info.raw.bytes_received.saturating_sub(u64::from(PEER_HAS_ENDED.contains(&info.raw.state))),
        }
    }

    /// The payload moved since `earlier`.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            acked_bytes: self.acked_bytes.saturating_sub(earlier.acked_bytes),
            received_bytes: self.received_bytes.saturating_sub(earlier.received_bytes),
        }
    }

    /// That of the direction in which more was moved.
    pub fn dominant_bytes(self) -> u64 {
        self.acked_bytes.max(self.received_bytes)
    }

    /// That of the same direction as `whole`'s greater one.
    fn in_direction_of(self, whole: Self) -> u64 {
        if whole.acked_bytes >= whole.received_bytes { self.acked_bytes } else { self.received_bytes }
    }
}

/// A watched connection.
#[derive(Debug)]
pub struct WatchedConnection {
    /// Its number.
    pub number: u32,
    /// Its two ends, this one first; none is mapped.
    pub ends: [SocketAddr; 2],
    /// The kernel's number of the socket.
    pub cookie: u64,
    /// Who holds it, where it is known.
    pub owner: Option<Owner>,
    /// The user that opened it.
    pub user: u32,
    /// Its control group; empty where it is not known.
    pub control_group: String,
    /// True if the kernel's totals count only what was watched.
    pub is_whole: bool,
    /// When the totals were `zero`, on `CLOCK_MONOTONIC` in ns: at its first sample, or, where it opened after the watch had
    /// begun, at the last look that did not find it.
    pub zero_mono_ns: u64,
    /// The payload that it had moved then.
    pub zero: MovedPayload,
    /// When it was last seen open.
    pub last_mono_ns: u64,
    /// True if it has closed.
    pub has_closed: bool,
    /// True if this side accepted it.
    pub listens: Option<bool>,
    /// Its congestion control.
    pub congestion_control: Option<String>,
    /// The options that its program has set.
    pub fixed: FixedOptions,
    /// Its samples, in their order; the first is that of its first sight.
    pub samples: Vec<Sample>,
}

impl WatchedConnection {
    /// The payload that it has moved while it was watched.
    pub fn moved(&self) -> MovedPayload {
        self.samples.last().map_or_else(MovedPayload::default, |last| MovedPayload::of(&last.info).since(self.zero))
    }
}

/// The tables of all connections. `stride` says of how many of the sampler's rounds one is left.
pub fn tables(host: &str, connections: &[WatchedConnection], stride: u32) -> Vec<Columns> {
    let mut rows = AllRows::default();
    for connection in connections {
        rows.push(host, connection, stride.max(1));
    }
    rows.into_columns()
}

#[derive(Default)]
struct AllRows {
    watched: Rows<WatchedRow<'static>>,
    sockets: Rows<SocketRow<'static>>,
    tcp_info: Rows<TcpInfoRow<'static>>,
    tcp_options: Rows<TcpOptionsRow<'static>>,
    flows: Rows<FlowRow<'static>>,
    intervals: Rows<IntervalRow<'static>>,
}

impl AllRows {
    fn push(&mut self, host: &str, connection: &WatchedConnection, stride: u32) {
        let Some(last) = connection.samples.last() else { return };
        self.push_watched(host, connection);
        self.push_flow(host, connection, last);
        self.push_intervals(host, connection, stride);
        self.tcp_options.push(tcp::options(host, connection.number, ROLE, &last.info));
        for (position, sample) in connection.samples.iter().enumerate() {
            let is_final = position + 1 == connection.samples.len();
            let moment = Moment { mono_ns: sample.mono_ns, phase: PHASE, is_final };
            self.tcp_info.push(tcp::row(host, connection.number, ROLE, moment, &sample.info));
            self.sockets.push(socket_row(host, connection.number, sample));
        }
    }

    fn push_watched(&mut self, host: &str, connection: &WatchedConnection) {
        let [local, remote] = connection.ends.map(|end| end.to_string());
        let owner = connection.owner.as_ref();
        self.watched.push(WatchedRow {
            host,
            connection: connection.number,
            local_address: &local,
            remote_address: &remote,
            cookie: connection.cookie,
            program: owner.map_or("", |owner| &owner.program),
            executable: owner.map_or("", |owner| &owner.executable),
            process: owner.map(|owner| owner.process),
            user: connection.user,
            control_group: &connection.control_group,
            whole: connection.is_whole,
            first_mono_ns: connection.samples.first().map_or(connection.zero_mono_ns, |sample| sample.mono_ns),
            last_mono_ns: connection.last_mono_ns,
            closed: connection.has_closed,
            listens: connection.listens,
            send_buffer_fixed: connection.fixed.send_buffer_fixed,
            receive_buffer_fixed: connection.fixed.receive_buffer_fixed,
        });
    }

    fn push_flow(&mut self, host: &str, connection: &WatchedConnection, last: &Sample) {
        let [local, remote] = connection.ends.map(|end| end.to_string());
        // The last sample of one that has closed has no memory.
        let memory = connection.samples.iter().rev().find_map(|sample| sample.memory).unwrap_or_default();
        self.flows.push(FlowRow {
            host,
            connection: connection.number,
            role: ROLE,
            transport: Transport::Tcp,
            local_address: &local,
            remote_address: &remote,
            opening_mono_ns: None,
            opened_mono_ns: None,
            window_requested_bytes: None,
            send_buffer_requested_bytes: None,
            send_buffer_granted_bytes: memory.send_buffer_bytes,
            receive_buffer_requested_bytes: None,
            receive_buffer_granted_bytes: memory.receive_buffer_bytes,
            window_clamp_bytes: connection.fixed.window_clamp_bytes,
            mss_bytes: Some(last.info.raw.snd_mss),
            congestion_control: connection.congestion_control.as_deref(),
            no_delay: connection.fixed.no_delay,
            quick_ack: false,
            thread: connection.owner.as_ref().map_or(0, |owner| owner.process),
            first_call_mono_ns: None,
            last_call_mono_ns: None,
            payload_bytes: connection.moved().dominant_bytes(),
            calls_count: 0,
            short_calls_count: 0,
            other_calls_count: 0,
            ended: "complete",
        });
    }

    fn push_intervals(&mut self, host: &str, connection: &WatchedConnection, stride: u32) {
        let whole = connection.moved();
        let mut before = (connection.zero_mono_ns, connection.zero);
        for sample in &connection.samples {
            let now = (sample.mono_ns, MovedPayload::of(&sample.info));
            // The first sample is where most begin.
            if now.0 > before.0 {
                self.intervals.push(IntervalRow {
                    host,
                    connection: connection.number,
                    role: ROLE,
                    interval: sample.round / stride,
                    phase: PHASE,
                    start_mono_ns: before.0,
                    end_mono_ns: now.0,
                    payload_bytes: now.1.since(before.1).in_direction_of(whole),
                    calls_count: 0,
                });
            }
            before = now;
        }
    }

    fn into_columns(self) -> Vec<Columns> {
        vec![
            self.watched.into_columns(),
            self.sockets.into_columns(),
            self.tcp_info.into_columns(),
            self.tcp_options.into_columns(),
            self.flows.into_columns(),
            self.intervals.into_columns(),
        ]
    }
}

/// States in which the peer's FIN has come: `TCP_CLOSE_WAIT`, `TCP_LAST_ACK`, `TCP_CLOSING`, and `TCP_CLOSE`, unless a reset
/// has closed it.
const PEER_HAS_ENDED: [u8; 4] = [8, 9, 11, 7];
/// Whoever sees both directions says later which is which.
const ROLE: Role = Role::Sender;
/// Times of TCP_INFO without a unit in their name are in ms.
const NS_PER_MS: u64 = 1_000_000;
/// A watch has one phase.
const PHASE: Phase = Phase::Measure;

fn socket_row<'a>(host: &'a str, connection: u32, sample: &Sample) -> SocketRow<'a> {
    let memory = sample.memory;
    SocketRow {
        host,
        connection,
        sample_mono_ns: sample.mono_ns,
        receive_queue_bytes: sample.receive_queue_bytes,
        send_queue_bytes: sample.send_queue_bytes,
        receive_memory_bytes: memory.map(|memory| memory.receive_bytes),
        receive_buffer_bytes: memory.map(|memory| memory.receive_buffer_bytes),
        send_memory_bytes: memory.map(|memory| memory.send_bytes),
        queued_memory_bytes: memory.map(|memory| memory.queued_bytes),
        send_buffer_bytes: memory.map(|memory| memory.send_buffer_bytes),
        backlog_bytes: memory.and_then(|memory| memory.backlog_bytes),
        dropped_packets: memory.and_then(|memory| memory.dropped_packets),
        last_data_sent_ns: Some(u64::from(sample.info.raw.last_data_sent) * NS_PER_MS),
        last_data_received_ns: Some(u64::from(sample.info.raw.last_data_recv) * NS_PER_MS),
    }
}
