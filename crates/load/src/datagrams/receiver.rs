//! The receiving side: keeps account of what arrives.

use probe::clock::{mono_ns, realtime_ns};
use quic::QuicConnection;
use socket2::Socket;
use std::io::{self, ErrorKind};
use std::sync::mpsc::TryRecvError;
use workload::datagrams::{Account, Header};

use super::DatagramTask;
use super::agreement::FlowCounts;
use super::calls::Messages;
use super::transport::{DatagramTransport, TICK};
use crate::LoadError;
use crate::connection_result::{ConnectionResult, Ended};
use crate::counter::Counts;
use crate::{options, sockopt, stamps};

/// Datagrams taken in one call (recvmmsg(2)), and where the kernel merges them, super-datagrams.
const CALL_COUNT: usize = 32;
const MERGED_CALL_COUNT: usize = 4;
/// Longest that merged datagrams may be.
const MERGED_BYTES: usize = 65_536;
/// Time after the last arrival from which what is missing counts as lost, when the sender has ended.
const QUIET_NS: u64 = 250_000_000;

/// Sets the socket up for its datagrams.
///
/// # Errors
/// The kernel does not merge datagrams (before Linux 5.0).
pub(crate) fn prepare(task: &DatagramTask, socket: &Socket) -> Result<(), LoadError> {
    let failed = |error| LoadError::host("a socket for datagrams", error, "");
    socket.set_read_timeout(Some(TICK)).map_err(failed)?;
    if task.stream.is_merged {
        options::set_checked(socket, &sockopt::UDP_GRO, 1, "; merging of datagrams needs Linux 5.0")?;
    }
    if task.is_stamped {
        stamps::ask_of_arrivals(socket).map_err(|error| LoadError::host("SO_TIMESTAMPING", error, ""))?;
    }
    Ok(())
}

/// Takes datagrams until the sender has ended and all have come, or nothing more comes.
pub(crate) fn carry(task: &mut DatagramTask) -> ConnectionResult {
    let mut result = ConnectionResult::new(task.number);
    let ended = receive_all(task, &mut result).and_then(|counts| task.counts_sender.send(task.number, counts));
    result.ended = match (task.control.cut(), ended) {
        (Some(cut), _) => Ended::Cut(cut),
        (None, Ok(())) => Ended::Complete,
        (None, Err(error)) => Ended::Failed(format!("receiving datagrams of flow {}: {error}", task.number)),
    };
    result
}

fn receive_all(task: &mut DatagramTask, result: &mut ConnectionResult) -> io::Result<FlowCounts> {
    let mut account = Account::new(task.window);
    let mut messages = if task.stream.is_merged {
        Messages::new(MERGED_CALL_COUNT, MERGED_BYTES)
    } else {
        // A byte more, so that a longer datagram is seen to be an unauthenticated peer's.
        Messages::new(CALL_COUNT, task.stream.datagram_bytes as usize + 1)
    };
    let tag = task.tag;
    let arrivals = Arrivals { is_stamped: task.is_stamped, ahead_ns: realtime_ns().wrapping_sub(mono_ns()) };
    let mut sent = None;
    let mut strangers_count = 0;
    let mut quiet_since = mono_ns();
    while task.control.cut().is_none() {
        let taken = match &mut task.transport {
            DatagramTransport::Socket(socket) => {
                messages.receive(socket).map(|count| take(tag, &messages, count, &mut account, &arrivals, mono_ns(), result))
            }
            DatagramTransport::Quic(connection) => take_from(connection, tag, &mut account),
        };
        match taken {
            Ok(unauthenticated) => {
                let now = mono_ns();
                strangers_count += unauthenticated;
                let arrived = account.arrived();
                result.calls_count += 1;
                if arrived.payload_bytes > result.payload_bytes {
                    result.first_call_mono_ns.get_or_insert(now);
                    result.last_call_mono_ns = Some(now);
                    quiet_since = now;
                }
                result.payload_bytes = arrived.payload_bytes;
                task.counts.show_arrived(&arrived, strangers_count);
                task.counter.show(Counts { payload_bytes: result.payload_bytes, calls_count: result.calls_count });
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted | ErrorKind::ConnectionRefused) => {
                result.other_calls_count += 1;
            }
            Err(error) => return Err(error),
        }
        if sent.is_none() {
            sent = match task.inbox.try_recv() {
                Ok(counts) => {
                    quiet_since = mono_ns();
                    Some(counts)
                }
                Err(TryRecvError::Empty) => None,
                Err(TryRecvError::Disconnected) => return Err(io::Error::other("the sender is gone")),
            };
        }
        let arrived = account.arrived();
        let counts = FlowCounts { datagrams_count: arrived.received_count, payload_bytes: arrived.payload_bytes };
        if let Some(sent) = sent
            && (counts.datagrams_count >= sent.datagrams_count || mono_ns().saturating_sub(quiet_since) > QUIET_NS)
        {
            return Ok(counts);
        }
    }
    Err(io::Error::other("cut"))
}

/// Takes the datagrams that have come over QUIC, or waits for some; returns how many were not the flow's.
fn take_from(connection: &mut QuicConnection, tag: u32, account: &mut Account) -> io::Result<u32> {
    let (mut strangers_count, mut taken_count) = (0, 0);
    loop {
        match connection.read_datagram() {
            Ok(datagram) => {
                taken_count += 1;
                match Header::decode(tag, &datagram) {
                    Some(header) => account.on_arrival(&header, mono_ns()),
                    None => strangers_count += 1,
                }
            }
            Err(error) if error.kind() != ErrorKind::WouldBlock => return Err(error),
            Err(_) if taken_count > 0 => return Ok(strangers_count),
            Err(_) => {
                connection.drive(TICK)?;
                return Err(ErrorKind::Interrupted.into());
            }
        }
    }
}

/// By which clock datagrams arrive.
struct Arrivals {
    is_stamped: bool,
    /// The lead of the clock of stamps, `CLOCK_REALTIME`, over `CLOCK_MONOTONIC` at the beginning, in ns.
    ahead_ns: u64,
}

/// Takes the datagrams of the first `count` messages; returns how many were not the flow's.
fn take(
    tag: u32,
    messages: &Messages,
    count: usize,
    account: &mut Account,
    arrivals: &Arrivals,
    now_ns: u64,
    result: &mut ConnectionResult,
) -> u32 {
    let mut strangers_count = 0;
    for position in 0..count {
        let (message, merged) = messages.received(position);
        let mut arrived_ns = now_ns;
        if arrivals.is_stamped {
            match messages.stamp_ns(position) {
                Some(stamp_ns) => arrived_ns = stamp_ns.wrapping_sub(arrivals.ahead_ns),
                None => result.unstamped_count += 1,
            }
        }
        for datagram in message.chunks(merged.unwrap_or(usize::MAX).max(1)) {
            match Header::decode(tag, datagram) {
                Some(header) => account.on_arrival(&header, arrived_ns),
                None => strangers_count += 1,
            }
        }
        strangers_count += u32::from(message.is_empty());
    }
    strangers_count
}
