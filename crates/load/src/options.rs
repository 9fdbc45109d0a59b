//! Socket options of a trial: set before the connection opens, read back after.
//!
//! The window. `window_bytes` must mean that many bytes on the wire, so at the receiver it sets
//! both `SO_RCVBUF` (which the kernel doubles for its bookkeeping) and `TCP_WINDOW_CLAMP`
//! (which it does not), before the connection opens, because the SYN already announces a window;
//! and the clamp again after, because the handshake may lift it. At the sender it sets
//! `SO_SNDBUF`, as the studies' hosts did.

use schema::message::{Buffer, Note};
use schema::trial::{Role, SocketSpec};
use schema::workload::Transport;
use socket2::{Domain, Protocol, SockAddr, SockRef, Socket, Type};
use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;

use crate::LoadError;
use crate::limits;
use crate::sctp;
use crate::sockopt::{self, IntOption};

/// The options of one connection, as the kernel granted them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Granted {
    /// The transport that carries it; TCP where the other end of a Multipath TCP connection has none.
    pub transport: Transport,
    /// `SO_SNDBUF` in bytes.
    pub send_buffer_bytes: u32,
    /// `SO_RCVBUF` in bytes.
    pub receive_buffer_bytes: u32,
    /// `TCP_WINDOW_CLAMP` in bytes.
    pub window_clamp_bytes: Option<u32>,
    /// `TCP_MAXSEG` in bytes.
    pub mss_bytes: Option<u32>,
    /// `TCP_CONGESTION`.
    pub congestion_control: Option<String>,
    /// `TCP_NODELAY`, or SCTP's.
    pub no_delay: Option<bool>,
    /// Streams of an SCTP association: outgoing, and incoming.
    pub sctp_streams: Option<(u16, u16)>,
}

/// Buffers that a trial asks for on one host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Requested {
    /// `SO_SNDBUF` in bytes.
    pub send_buffer_bytes: Option<u32>,
    /// `SO_RCVBUF` in bytes.
    pub receive_buffer_bytes: Option<u32>,
    /// Window in bytes: clamp at the receiver.
    pub window_bytes: Option<u32>,
}

impl Requested {
    /// The buffers of the end in `role`. Only the payload's direction is shaped.
    pub fn new(spec: &SocketSpec, role: Role) -> Self {
        match role {
            Role::Sender => Self {
                send_buffer_bytes: spec.send_buffer_bytes.or(spec.window_bytes),
                receive_buffer_bytes: None,
                window_bytes: spec.window_bytes,
            },
            Role::Receiver => Self {
                send_buffer_bytes: None,
                receive_buffer_bytes: spec.receive_buffer_bytes.or(spec.window_bytes),
                window_bytes: spec.window_bytes,
            },
        }
    }

    /// Notes on buffers that the host's limits cut.
    pub fn notes(&self) -> Vec<Note> {
        let cut = |buffer, requested: Option<u32>, sysctl: &str| {
            let requested_bytes = requested?;
            let limit_bytes: u32 = fs::read_to_string(sysctl).ok()?.trim().parse().ok()?;
            (requested_bytes > limit_bytes).then_some(Note::BufferCut { buffer, requested_bytes, limit_bytes })
        };
        let send = cut(Buffer::Send, self.send_buffer_bytes, "/proc/sys/net/core/wmem_max");
        let receive = cut(Buffer::Receive, self.receive_buffer_bytes, "/proc/sys/net/core/rmem_max");
        send.into_iter().chain(receive).collect()
    }
}

/// A socket with all options set that must be set before it opens, each read back.
///
/// # Errors
/// The kernel refuses an option, or takes another value; the sentence names it.
pub fn prepare(domain: Domain, transport: Transport, spec: &SocketSpec, role: Role) -> Result<Socket, LoadError> {
    let socket = open_socket(domain, transport)?;
    let requested = Requested::new(spec, role);
    if let Some(bytes) = requested.send_buffer_bytes {
        socket.set_send_buffer_size(bytes as usize).map_err(|error| LoadError::host(format!("SO_SNDBUF {bytes}"), error, ""))?;
    }
    if let Some(bytes) = requested.receive_buffer_bytes {
        socket.set_recv_buffer_size(bytes as usize).map_err(|error| LoadError::host(format!("SO_RCVBUF {bytes}"), error, ""))?;
    }
    set_any(&socket, domain, spec)?;
    if is_tcp(transport) {
        set_tcp(&socket, spec, role)?;
    }
    if transport == Transport::Sctp {
        sctp::prepare(&socket, spec)?;
    }
    Ok(socket)
}

fn open_socket(domain: Domain, transport: Transport) -> Result<Socket, LoadError> {
    let (kind, protocol, advice) = match transport {
        Transport::Tcp | Transport::Tls => (Type::STREAM, Some(Protocol::TCP), ""),
        Transport::Mptcp => (Type::STREAM, Some(Protocol::MPTCP), "; MPTCP needs a kernel that has it, and net.mptcp.enabled=1"),
        Transport::Sctp => (Type::STREAM, Some(Protocol::SCTP), "; SCTP needs a kernel that has it (modprobe sctp)"),
        Transport::Udp => (Type::DGRAM, Some(Protocol::UDP), ""),
        Transport::Unix => (Type::STREAM, None, ""),
        Transport::Udt | Transport::Quic | Transport::Srt => {
            return Err(LoadError::Usage(format!("{} has no stream sockets of the kernel", transport.name())));
        }
    };
    Socket::new(domain, kind, protocol).map_err(|error| {
        let limit = limits::of_open_files(&error);
        limit.unwrap_or_else(|| LoadError::host(format!("opening a {} socket", transport.name()), error, advice))
    })
}

/// True if the options of TCP apply.
pub fn is_tcp(transport: Transport) -> bool {
    matches!(transport, Transport::Tcp | Transport::Mptcp | Transport::Tls)
}

/// Options that sockets of several transports have.
fn set_any(socket: &Socket, domain: Domain, spec: &SocketSpec) -> Result<(), LoadError> {
    if let Some(microseconds) = spec.busy_poll_us {
        let advice = "; more than net.core.busy_read only root may ask for";
        set_checked(socket, &sockopt::BUSY_POLL, as_int(microseconds)?, advice)?;
    }
    if let Some(dscp) = spec.dscp {
        // The two bits below are ECN's (RFC 3168), which TCP sets itself.
        let class = libc::c_int::from(dscp) << 2;
        let option = if domain == Domain::IPV6 { &sockopt::TRAFFIC_CLASS } else { &sockopt::TYPE_OF_SERVICE };
        set_checked(socket, option, class, "")?;
    }
    if spec.zero_copy {
        set_checked(socket, &sockopt::ZERO_COPY, 1, "; this transport does not send without copying on this kernel")?;
    }
    Ok(())
}

/// Options of TCP.
fn set_tcp(socket: &Socket, spec: &SocketSpec, role: Role) -> Result<(), LoadError> {
    clamp_window(socket, spec, role)?;
    if let Some(bytes) = spec.mss_bytes {
        set_checked(socket, &sockopt::MAXSEG, as_int(bytes)?, "; it must lie between 88 and 32767")?;
    }
    if let Some(name) = &spec.congestion_control {
        set_congestion_control(socket, name)?;
    }
    if spec.no_delay {
        set_checked(socket, &sockopt::NO_DELAY, 1, "")?;
    }
    Ok(())
}

fn set_congestion_control(socket: &Socket, name: &str) -> Result<(), LoadError> {
    socket.set_tcp_congestion(name.as_bytes()).map_err(|error| {
        let advice = "; see `whyperf doctor` for those this host has";
        LoadError::host(format!("congestion control \"{name}\""), error, advice)
    })?;
    let got = congestion_control(socket).map_err(|error| LoadError::host("reading back TCP_CONGESTION", error, ""))?;
    if got == name { Ok(()) } else { Err(LoadError::Limit(format!("TCP_CONGESTION was set to {name} and reads back as {got}"))) }
}

/// Sets an integer option and reads it back.
pub(crate) fn set_checked(socket: &Socket, option: &IntOption, value: libc::c_int, advice: &'static str) -> Result<(), LoadError> {
    let name = option.name;
    option.set(socket, value).map_err(|error| LoadError::host(format!("{name} {value}"), error, advice))?;
    let got = option.get(socket).map_err(|error| LoadError::host(format!("reading back {name}"), error, ""))?;
    if got == value { Ok(()) } else { Err(LoadError::Limit(format!("{name} was set to {value} and reads back as {got}"))) }
}

/// Binds a socket that will connect to the address that the trial asks for.
///
/// # Errors
/// It is no address of this host, or of another version of IP.
pub fn bind_source(socket: &Socket, spec: &SocketSpec) -> Result<(), LoadError> {
    let Some(source) = source(spec) else { return Ok(()) };
    let advice = "; source_address is an address of the near host, of the trial's version of IP";
    let refused = |error| LoadError::host(format!("binding to {source}"), error, advice);
    bind_without_port(socket, &SocketAddr::new(source, 0).into()).map_err(refused)
}

/// The address that connecting sockets are bound to; none leaves it to the kernel.
pub(crate) fn source(spec: &SocketSpec) -> Option<IpAddr> {
    spec.source_address.as_deref().and_then(|text| text.parse().ok())
}

/// Binds to an address and leaves the port to connect(2).
pub(crate) fn bind_without_port(socket: &Socket, source: &SockAddr) -> io::Result<()> {
    // Multipath TCP may lack the option; its port is chosen here then.
    let _ = sockopt::BIND_ADDRESS_NO_PORT.set(socket, 1);
    socket.bind(source)
}

/// Options that must be set (again) once the connection is open.
///
/// # Errors
/// The kernel refuses an option, or takes another value.
pub fn settle(socket: &Socket, transport: Transport, spec: &SocketSpec, role: Role) -> Result<(), LoadError> {
    if is_tcp(transport) {
        clamp_window(socket, spec, role)?;
        // One that was accepted has the listening socket's; a flow of a schedule may have another.
        if let Some(name) = &spec.congestion_control
            && congestion_control(socket).is_ok_and(|got| got != *name)
        {
            set_congestion_control(socket, name)?;
        }
        // Not earlier: the token would be held back. The receiver's few bytes are not payload.
        if spec.cork && role == Role::Sender {
            set_checked(socket, &sockopt::CORK, 1, "")?;
        }
        if spec.quick_ack {
            quick_ack(socket).map_err(|error| LoadError::host("TCP_QUICKACK", error, ""))?;
        }
    }
    // One that was accepted has what the listening socket had, if the kernel hands it down.
    if spec.busy_poll_us.is_some() || spec.dscp.is_some() || spec.zero_copy {
        let domain = socket.domain().map_err(|error| LoadError::host("asking for a socket's family", error, ""))?;
        set_any(socket, domain, spec)?;
    }
    if let (Role::Sender, Some(rate)) = (role, spec.pacing_rate_bytes_per_second) {
        sockopt::pace(socket, rate).map_err(|error| LoadError::host(format!("SO_MAX_PACING_RATE {rate}"), error, ""))?;
        let got = sockopt::pacing_rate(socket).map_err(|error| LoadError::host("reading back SO_MAX_PACING_RATE", error, ""))?;
        if got != rate {
            return Err(LoadError::Limit(format!("SO_MAX_PACING_RATE was set to {rate} and reads back as {got}")));
        }
    }
    Ok(())
}

/// Turns delayed ACK off until the kernel finds the connection interactive again (tcp(7)).
pub(crate) fn quick_ack(socket: &impl AsFd) -> std::io::Result<()> {
    sockopt::QUICK_ACK.set(socket, 1)
}

/// Puts the window clamp back where the kernel has moved it: it computes the clamp anew from the
/// buffer whenever the largest segment seen grows (`tcp_measure_rcv_mss`, `net/ipv4/tcp_input.c`).
pub(crate) fn keep_clamp(socket: &impl AsFd, window_bytes: u32) -> std::io::Result<()> {
    let wanted = libc::c_int::try_from(window_bytes).map_err(std::io::Error::other)?;
    if sockopt::WINDOW_CLAMP.get(socket)? > wanted {
        sockopt::WINDOW_CLAMP.set(socket, wanted)?;
    }
    Ok(())
}

fn clamp_window(socket: &Socket, spec: &SocketSpec, role: Role) -> Result<(), LoadError> {
    match (role, spec.window_bytes) {
        (Role::Receiver, Some(bytes)) => sockopt::WINDOW_CLAMP
            .set(socket, as_int(bytes)?)
            .map_err(|error| LoadError::host(format!("TCP_WINDOW_CLAMP {bytes}"), error, "")),
        _ => Ok(()),
    }
}

/// Reads back what an open connection got. What its transport does not have, or the kernel does not
/// report, is absent.
///
/// # Errors
/// The socket is none any more.
pub fn granted(socket: &Socket, transport: Transport) -> Result<Granted, LoadError> {
    let read = || -> std::io::Result<Granted> {
        let size = |bytes: usize| u32::try_from(bytes).unwrap_or(u32::MAX);
        let is_sctp = transport == Transport::Sctp;
        let option = |option: &IntOption| is_tcp(transport).then(|| option.get(socket).ok()?.try_into().ok()).flatten();
        let no_delay = option(&sockopt::NO_DELAY).map(|value| value != 0);
        Ok(Granted {
            transport: sockopt::transport_of(socket, transport),
            send_buffer_bytes: size(socket.send_buffer_size()?),
            receive_buffer_bytes: size(socket.recv_buffer_size()?),
            window_clamp_bytes: option(&sockopt::WINDOW_CLAMP),
            mss_bytes: option(&sockopt::MAXSEG),
            congestion_control: is_tcp(transport).then(|| congestion_control(socket).ok()).flatten(),
            no_delay: if is_sctp { sctp::NO_DELAY.get(socket).ok().map(|value| value != 0) } else { no_delay },
            sctp_streams: if is_sctp { sctp::streams(socket).ok() } else { None },
        })
    };
    read().map_err(|error| LoadError::host("reading back the socket's options", error, ""))
}

fn congestion_control(socket: &Socket) -> std::io::Result<String> {
    let name = SockRef::from(socket).tcp_congestion()?;
    Ok(String::from_utf8_lossy(&name).trim_end_matches('\0').to_owned())
}

fn as_int(bytes: u32) -> Result<libc::c_int, LoadError> {
    libc::c_int::try_from(bytes).map_err(|_| LoadError::Usage(format!("{bytes} bytes is more than a socket option can say")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    fn connected_from(source: &str) -> Result<IpAddr, LoadError> {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let spec = SocketSpec { source_address: Some(source.to_owned()), ..SocketSpec::default() };
        let socket = prepare(Domain::IPV4, Transport::Tcp, &spec, Role::Sender)?;
        bind_source(&socket, &spec)?;
        socket.connect(&listener.local_addr().expect("an address").into()).expect("connects");
        Ok(listener.accept().expect("a connection").1.ip())
    }

    #[test]
    fn connections_come_from_the_source_address() {
        assert_eq!(connected_from("127.0.0.9").expect("binds").to_string(), "127.0.0.9");
    }

    #[test]
    fn an_address_of_another_host_is_refused_by_its_name() {
        let error = connected_from("192.0.2.7").expect_err("no address of this host").to_string();
        assert!(error.contains("binding to 192.0.2.7") && error.contains("source_address"), "{error}");
    }
}
