//! Which option applies where: over which transports, with which loads and I/O models, on which targets.
//!
//! This is the only definition. The agent refuses by it, before anything is opened ([`check`]); the planner reads it as
//! `schemas/options.json`. What a trial always has, such as the size of a write, is no option.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::schedule::ScheduledFlow;
use crate::trial::{KernelTls, ProbeTransport, ReadWait, SendCall, SocketSpec, TrialSpec};
use crate::workload::{IoModel, Transport};

/// The load that a trial's connections carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Load {
    /// Payload in one direction, as fast as it goes.
    Stream,
    /// The operations of a workload.
    Operations,
    /// Numbered datagrams in one direction.
    Datagrams,
}

/// Where a trial runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// On hosts.
    Hosts,
    /// On the model of two hosts.
    Model,
}

/// A transport and what it carries.
#[derive(Debug, Serialize)]
pub struct Carries {
    /// The transport.
    pub transport: Transport,
    /// Its loads.
    pub loads: &'static [Load],
    /// The ways that threads can wait for its connections.
    pub io_models: &'static [IoModel],
    /// True if a library over UDP carries it instead of a socket of the kernel.
    pub is_library: bool,
}

/// Where an option applies.
#[derive(Debug, Serialize)]
pub struct Rule {
    /// The factor of a profile that sets it.
    pub factor: &'static str,
    /// Its field in the trial's message.
    pub field: &'static str,
    /// Over these transports,
    pub transports: &'static [Transport],
    /// with these loads,
    pub loads: &'static [Load],
    /// these I/O models,
    pub io_models: &'static [IoModel],
    /// and on these targets.
    pub targets: &'static [Target],
    #[serde(skip)]
    asked: Detector,
}

/// The way to see that somebody asks for an option.
#[derive(Debug)]
enum Detector {
    Socket(fn(&SocketSpec) -> bool),
    Trial(fn(&TrialSpec) -> bool),
}

use Detector::{Socket, Trial};
use IoModel::{Blocking, Epoll, IoUring};
use Load::{Datagrams, Operations, Stream};
use Target::{Hosts, Model};
use Transport::{Mptcp, Quic, Sctp, Srt, Tcp, Tls, Udp, Udt, Unix};

const EVERY_TRANSPORT: &[Transport] = &[Tcp, Mptcp, Udp, Unix, Udt, Quic, Srt, Tls, Sctp];
/// Whose packets take a mark.
const MARKED: &[Transport] = &[Tcp, Mptcp, Udp, Tls, Sctp];
const EVERY_LOAD: &[Load] = &[Stream, Operations, Datagrams];
const EVERY_IO_MODEL: &[IoModel] = &[Blocking, Epoll, IoUring];
const EVERY_TARGET: &[Target] = &[Hosts, Model];

const fn sockets(transport: Transport, loads: &'static [Load]) -> Carries {
    Carries { transport, loads, io_models: EVERY_IO_MODEL, is_library: false }
}

/// A library has threads of its own for each connection.
const fn library(transport: Transport, loads: &'static [Load]) -> Carries {
    Carries { transport, loads, io_models: &[Blocking], is_library: true }
}

/// Every transport.
pub const TRANSPORTS: &[Carries] = &[
    sockets(Tcp, &[Stream, Operations]),
    sockets(Mptcp, &[Stream, Operations]),
    sockets(Udp, &[Operations, Datagrams]),
    sockets(Unix, &[Stream, Operations]),
    library(Udt, &[Stream]),
    library(Quic, &[Stream, Datagrams]),
    library(Srt, &[Stream]),
    // What a ring's calls move has to be encrypted before and decrypted after.
    Carries { io_models: &[Blocking, Epoll], ..sockets(Tls, &[Stream, Operations]) },
    sockets(Sctp, &[Stream, Operations]),
];

/// An option that applies with every load and I/O model.
const fn option(
    factor: &'static str,
    field: &'static str,
    transports: &'static [Transport],
    targets: &'static [Target],
    asked: Detector,
) -> Rule {
    Rule { factor, field, transports, loads: EVERY_LOAD, io_models: EVERY_IO_MODEL, targets, asked }
}

/// An option of a stream whose threads block in their calls.
const fn of_plain_streams(factor: &'static str, field: &'static str, transports: &'static [Transport], asked: Detector) -> Rule {
    Rule { factor, field, transports, loads: &[Stream], io_models: &[Blocking], targets: &[Hosts], asked }
}

/// Every option. A transport that is not there has no such thing: Unix sockets nothing of IP, UDP nothing of streams, a
/// library nothing of sockets. Of a Multipath TCP connection the kernel numbers nothing that was sent, and hands down to
/// its subflows no window, no quick ACKs, no zero copy and no pacing (`mptcp_setsockopt`, net/mptcp/sockopt.c, up to
/// Linux 6.18).
pub const OPTIONS: &[Rule] = &[
    option(
        "window_bytes",
        "socket.window_bytes",
        &[Tcp, Udt, Quic, Srt, Tls],
        EVERY_TARGET,
        Socket(|socket| socket.window_bytes.is_some()),
    ),
    option(
        "send_buffer_bytes",
        "socket.send_buffer_bytes",
        EVERY_TRANSPORT,
        EVERY_TARGET,
        Socket(|socket| socket.send_buffer_bytes.is_some()),
    ),
    option(
        "receive_buffer_bytes",
        "socket.receive_buffer_bytes",
        EVERY_TRANSPORT,
        EVERY_TARGET,
        Socket(|socket| socket.receive_buffer_bytes.is_some()),
    ),
    option("no_delay", "socket.no_delay", &[Tcp, Mptcp, Tls, Sctp], EVERY_TARGET, Socket(|socket| socket.no_delay)),
    option("quick_ack", "socket.quick_ack", &[Tcp, Tls], EVERY_TARGET, Socket(|socket| socket.quick_ack)),
    option("cork", "socket.cork", &[Tcp, Mptcp, Tls], &[Hosts], Socket(|socket| socket.cork)),
    option(
        "congestion_control",
        "socket.congestion_control",
        &[Tcp, Mptcp, Quic, Tls],
        EVERY_TARGET,
        Socket(|socket| socket.congestion_control.is_some()),
    ),
    option("mss_bytes", "socket.mss_bytes", &[Tcp, Mptcp, Tls], EVERY_TARGET, Socket(|socket| socket.mss_bytes.is_some())),
    option(
        "source_address",
        "socket.source_address",
        &[Tcp, Mptcp, Udp, Tls, Sctp],
        &[Hosts],
        Socket(|socket| socket.source_address.is_some()),
    ),
    option(
        "pacing_rate_bps",
        "socket.pacing_rate_bytes_per_second",
        &[Tcp, Udp, Tls],
        EVERY_TARGET,
        Socket(|socket| socket.pacing_rate_bytes_per_second.is_some()),
    ),
    option("busy_poll_us", "socket.busy_poll_us", &[Tcp, Mptcp, Udp, Tls], &[Hosts], Socket(|socket| socket.busy_poll_us.is_some())),
    option("dscp", "socket.dscp", MARKED, &[Hosts], Socket(|socket| socket.dscp.is_some())),
    option("zero_copy", "socket.zero_copy", &[Tcp], &[Hosts], Socket(|socket| socket.zero_copy)),
    Rule { loads: &[Stream], ..option("truncate", "socket.truncate", &[Tcp, Mptcp], &[Hosts], Socket(|socket| socket.truncate)) },
    option("send_call", "socket.send_call", &[Tcp, Mptcp, Unix, Tls], &[Hosts], Socket(|socket| socket.send_call != SendCall::Send)),
    Rule {
        loads: &[Operations, Datagrams],
        io_models: &[Blocking, Epoll],
        ..option("kernel_timestamps", "socket.kernel_timestamps", &[Tcp, Udp], &[Hosts], Socket(|socket| socket.kernel_timestamps))
    },
    option("tls_version", "socket.tls_version", &[Tls], &[Hosts], Socket(|socket| socket.tls_version.is_some())),
    option("tls_cipher", "socket.tls_cipher", &[Tls], &[Hosts], Socket(|socket| socket.tls_cipher.is_some())),
    option("tls_record_bytes", "socket.tls_record_bytes", &[Tls], &[Hosts], Socket(|socket| socket.tls_record_bytes.is_some())),
    option("sctp_streams", "socket.sctp_streams", &[Sctp], &[Hosts], Socket(|socket| socket.sctp_streams.is_some())),
    option("ktls", "socket.ktls", &[Tls], &[Hosts], Socket(|socket| socket.ktls != KernelTls::Off)),
    Rule {
        io_models: &[Epoll, IoUring],
        ..option("threads", "threads_count", EVERY_TRANSPORT, &[Hosts], Trial(|trial| trial.threads_count != 0))
    },
    of_plain_streams("read_wait", "read_wait", &[Tcp, Mptcp, Unix, Tls, Sctp], Trial(|trial| trial.read_wait == ReadWait::Block)),
    of_plain_streams("reply_size_bytes", "reply_size_bytes", EVERY_TRANSPORT, Trial(|trial| trial.reply_size_bytes != 0)),
    of_plain_streams("write_rate_bps", "write_rate_bps", EVERY_TRANSPORT, Trial(|trial| trial.write_rate_bps != 0)),
    of_plain_streams("schedule", "schedule", EVERY_TRANSPORT, Trial(|trial| !trial.schedule.is_empty())),
    option(
        "rtt_probe_ms",
        "round_trip_probe_ns",
        &[Tcp, Mptcp, Udp, Udt, Quic, Srt, Tls, Sctp],
        &[Hosts],
        Trial(|trial| trial.round_trip_probe_ns.is_some()),
    ),
    option(
        "rtt_probe",
        "round_trip_probe_by",
        &[Tcp, Mptcp, Udp, Udt, Quic, Srt, Tls, Sctp],
        &[Hosts],
        Trial(|trial| trial.round_trip_probe_by != ProbeTransport::Udp),
    ),
];

/// Something that a trial asks for and its transport, load, I/O model or target does not have, with what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotApplicable(String);

impl TrialSpec {
    /// The load of its connections. A workload of the name of a stream is one, executed operation by operation.
    pub fn load(&self) -> Load {
        match &self.workload {
            _ if self.datagrams.is_some() => Datagrams,
            Some(workload) if !STREAMS.contains(&workload.name.as_str()) => Operations,
            _ => Stream,
        }
    }
}

/// The shipped workloads that are streams.
pub const STREAMS: [&str; 2] = ["stream", "stream-receive"];

/// Checks that everything a trial asks of hosts applies there.
///
/// # Errors
/// The first that does not.
pub fn check(spec: &TrialSpec) -> Result<(), NotApplicable> {
    let (load, transport) = (spec.load(), spec.transport);
    for carries in TRANSPORTS.iter().filter(|carries| carries.transport == transport) {
        let name = transport.name();
        if !carries.loads.contains(&load) {
            let others = TRANSPORTS.iter().filter(|other| other.loads.contains(&load)).map(|other| other.transport);
            return Err(NotApplicable(format!("{name} carries no {}; choose {}", word(load), any(others))));
        }
        if !carries.io_models.contains(&spec.io_model) {
            let others = any(carries.io_models);
            return Err(NotApplicable(format!("{name} has no I/O model {}; choose {others}", word(spec.io_model))));
        }
    }
    // TCP connections come to one listening socket, which is Multipath TCP's only where the trial's is; a Unix socket's
    // file is no port for the others.
    let is_library = |other| TRANSPORTS.iter().any(|carries| carries.is_library && carries.transport == other);
    let can_join =
        |other: Transport| other == transport || (!matches!(transport, Unix | Sctp) && (matches!(other, Tcp | Tls) || is_library(other)));
    if let Some(other) = spec.schedule.iter().filter_map(|flow| flow.transport).find(|other| !can_join(*other)) {
        let (name, other) = (transport.name(), other.name());
        return Err(NotApplicable(format!("a flow of the schedule over {other} cannot join a trial over {name}; choose tcp for both")));
    }
    // A library has sockets of its own, on which no flow's mark is set.
    let carrying = |flow: &ScheduledFlow| flow.dscp.map(|_| flow.transport.unwrap_or(transport));
    if let Some(other) = spec.schedule.iter().filter_map(carrying).find(|other| !MARKED.contains(other)) {
        let (name, others) = (other.name(), any(MARKED));
        return Err(NotApplicable(format!("dscp of a flow is no option of the transport {name}; leave it out, or choose {others}")));
    }
    let is_asked = |rule: &&Rule| match rule.asked {
        Socket(asked) => asked(&spec.socket),
        Trial(asked) => asked(spec),
    };
    for rule in OPTIONS.iter().filter(is_asked) {
        let (what, others) = if !rule.transports.contains(&transport) {
            (format!("the transport {}", transport.name()), any(rule.transports))
        } else if !rule.loads.contains(&load) {
            (format!("a load of {}", word(load)), any(rule.loads))
        } else if !rule.io_models.contains(&spec.io_model) {
            (format!("the I/O model {}", word(spec.io_model)), any(rule.io_models))
        } else {
            continue;
        };
        return Err(NotApplicable(format!("{} is no option of {what}; leave it out, or choose {others}", rule.factor)));
    }
    Ok(())
}

/// Checks that the model has every option that is asked of its sockets.
///
/// # Errors
/// The first that it does not have.
pub fn check_model(socket: &SocketSpec) -> Result<(), NotApplicable> {
    let is_asked = |rule: &&Rule| matches!(rule.asked, Socket(asked) if asked(socket));
    match OPTIONS.iter().filter(is_asked).find(|rule| !rule.targets.contains(&Model)) {
        Some(rule) => Err(NotApplicable(format!("{} is no option of the model; leave it out", rule.factor))),
        None => Ok(()),
    }
}

/// The word of JSON.
fn word(value: impl Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

fn any(values: impl IntoIterator<Item: Serialize>) -> String {
    let mut names: Vec<_> = values.into_iter().map(word).collect();
    let last = names.pop().unwrap_or_default();
    if names.is_empty() { last } else { format!("{} or {last}", names.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_of_a_socket_has_a_rule() {
        let socket = serde_json::to_value(SocketSpec::default()).expect("JSON");
        let mut fields: Vec<_> = socket.as_object().expect("an object").keys().map(|field| format!("socket.{field}")).collect();
        let mut ruled: Vec<_> = OPTIONS.iter().map(|rule| rule.field.to_owned()).filter(|field| field.starts_with("socket.")).collect();
        fields.sort();
        ruled.sort();
        assert_eq!(fields, ruled);
    }

    #[test]
    fn the_model_says_what_it_lacks() {
        let asked = SocketSpec { cork: true, no_delay: true, ..SocketSpec::default() };
        assert_eq!(check_model(&asked).expect_err("no cork").to_string(), "cork is no option of the model; leave it out");
        assert_eq!(check_model(&SocketSpec { cork: false, ..asked }), Ok(()));
    }
}
