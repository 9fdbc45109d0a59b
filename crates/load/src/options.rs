//! Socket options of a trial: set before the connection opens, read back after.
//!
//! The window. `window_bytes` must mean that many bytes on the wire, so at the receiver it sets
//! both `SO_RCVBUF` (which the kernel doubles for its bookkeeping) and `TCP_WINDOW_CLAMP`
//! (which it does not), before the connection opens, because the SYN already announces a window;
//! and the clamp again after, because the handshake may lift it. At the sender it sets
//! `SO_SNDBUF`, as the studies' hosts did.

use schema::message::Note;
use schema::trial::{Role, SocketSpec};
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use std::fs;
use std::net::SocketAddr;
use std::os::fd::AsFd;

use crate::LoadError;
use crate::open::MANY_FILES;
use crate::sockopt;

/// What the kernel made of the options of one connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Granted {
    /// `SO_SNDBUF` in bytes.
    pub send_buffer_bytes: u32,
    /// `SO_RCVBUF` in bytes.
    pub receive_buffer_bytes: u32,
    /// `TCP_WINDOW_CLAMP` in bytes.
    pub window_clamp_bytes: u32,
    /// `TCP_MAXSEG` in bytes.
    pub mss_bytes: u32,
    /// `TCP_CONGESTION`.
    pub congestion_control: String,
    /// `TCP_NODELAY`.
    pub no_delay: bool,
}

/// Buffers that a trial asks for at one end.
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
        let cut = |buffer: &str, requested: Option<u32>, sysctl: &str| {
            let requested_bytes = requested?;
            let limit_bytes: u32 = fs::read_to_string(sysctl).ok()?.trim().parse().ok()?;
            (requested_bytes > limit_bytes).then(|| Note::BufferCut { buffer: buffer.to_owned(), requested_bytes, limit_bytes })
        };
        let send = cut("send", self.send_buffer_bytes, "/proc/sys/net/core/wmem_max");
        let receive = cut("receive", self.receive_buffer_bytes, "/proc/sys/net/core/rmem_max");
        send.into_iter().chain(receive).collect()
    }
}

/// A socket of the address's family with all options set that must be set before it opens.
///
/// # Errors
/// The kernel refuses an option; the sentence names it.
pub fn prepare(address: &SocketAddr, spec: &SocketSpec, role: Role) -> Result<Socket, LoadError> {
    let socket = Socket::new(Domain::for_address(*address), Type::STREAM, Some(Protocol::TCP))
        .map_err(|error| LoadError::host("opening a TCP socket", error, MANY_FILES))?;
    let requested = Requested::new(spec, role);
    if let Some(bytes) = requested.send_buffer_bytes {
        socket.set_send_buffer_size(bytes as usize).map_err(|error| LoadError::host(format!("SO_SNDBUF {bytes}"), error, ""))?;
    }
    if let Some(bytes) = requested.receive_buffer_bytes {
        socket.set_recv_buffer_size(bytes as usize).map_err(|error| LoadError::host(format!("SO_RCVBUF {bytes}"), error, ""))?;
    }
    clamp_window(&socket, spec, role)?;
    if let Some(bytes) = spec.mss_bytes {
        sockopt::set_tcp(&socket, libc::TCP_MAXSEG, as_int(bytes)?)
            .map_err(|error| LoadError::host(format!("TCP_MAXSEG {bytes}"), error, "; it must lie between 88 and 32767"))?;
    }
    if let Some(name) = &spec.congestion_control {
        socket.set_tcp_congestion(name.as_bytes()).map_err(|error| {
            let advice = "; see `whyperf doctor` for those this host has";
            LoadError::host(format!("congestion control \"{name}\""), error, advice)
        })?;
    }
    if spec.no_delay {
        socket.set_tcp_nodelay(true).map_err(|error| LoadError::host("TCP_NODELAY", error, ""))?;
    }
    Ok(socket)
}

/// Options that must be set (again) once the connection is open.
///
/// # Errors
/// The kernel refuses an option.
pub fn settle(socket: &Socket, spec: &SocketSpec, role: Role) -> Result<(), LoadError> {
    clamp_window(socket, spec, role)?;
    if spec.quick_ack {
        quick_ack(socket).map_err(|error| LoadError::host("TCP_QUICKACK", error, ""))?;
    }
    if let (Role::Sender, Some(rate)) = (role, spec.pacing_rate_bytes_per_second) {
        sockopt::pace(socket, rate).map_err(|error| LoadError::host(format!("SO_MAX_PACING_RATE {rate}"), error, ""))?;
    }
    Ok(())
}

/// Turns delayed ACK off until the kernel finds the connection interactive again (tcp(7)).
pub(crate) fn quick_ack(socket: &impl AsFd) -> std::io::Result<()> {
    sockopt::set_tcp(socket, libc::TCP_QUICKACK, 1)
}

/// Puts the window clamp back where the kernel has moved it: it computes the clamp anew from the
/// buffer whenever the largest segment seen grows (`tcp_measure_rcv_mss`, `net/ipv4/tcp_input.c`).
pub(crate) fn keep_clamp(socket: &impl AsFd, window_bytes: u32) -> std::io::Result<()> {
    let wanted = libc::c_int::try_from(window_bytes).map_err(std::io::Error::other)?;
    if sockopt::get_tcp(socket, libc::TCP_WINDOW_CLAMP)? > wanted {
        sockopt::set_tcp(socket, libc::TCP_WINDOW_CLAMP, wanted)?;
    }
    Ok(())
}

fn clamp_window(socket: &Socket, spec: &SocketSpec, role: Role) -> Result<(), LoadError> {
    match (role, spec.window_bytes) {
        (Role::Receiver, Some(bytes)) => sockopt::set_tcp(socket, libc::TCP_WINDOW_CLAMP, as_int(bytes)?)
            .map_err(|error| LoadError::host(format!("TCP_WINDOW_CLAMP {bytes}"), error, "")),
        _ => Ok(()),
    }
}

/// Reads back what an open connection got.
///
/// # Errors
/// The socket is no TCP socket any more.
pub fn granted(socket: &Socket) -> Result<Granted, LoadError> {
    let read = || -> std::io::Result<Granted> {
        let size = |bytes: usize| u32::try_from(bytes).unwrap_or(u32::MAX);
        let option = |option| sockopt::get_tcp(socket, option).map(|value| u32::try_from(value).unwrap_or(0));
        let name = SockRef::from(socket).tcp_congestion()?;
        Ok(Granted {
            send_buffer_bytes: size(socket.send_buffer_size()?),
            receive_buffer_bytes: size(socket.recv_buffer_size()?),
            window_clamp_bytes: option(libc::TCP_WINDOW_CLAMP)?,
            mss_bytes: option(libc::TCP_MAXSEG)?,
            congestion_control: String::from_utf8_lossy(&name).trim_end_matches('\0').to_owned(),
            no_delay: socket.tcp_nodelay()?,
        })
    };
    read().map_err(|error| LoadError::host("reading back the socket's options", error, ""))
}

fn as_int(bytes: u32) -> Result<libc::c_int, LoadError> {
    libc::c_int::try_from(bytes).map_err(|_| LoadError::Usage(format!("{bytes} bytes is more than a socket option can say")))
}
