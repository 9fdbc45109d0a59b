//! Options of SCTP's sockets (RFC 6458) and what they report (`include/uapi/linux/sctp.h`). With unsafe code.

use schema::trial::{Role, SocketSpec, TrialSpec};
use schema::workload::Transport;
use socket2::{Domain, Socket};
use std::io;
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd};

use crate::LoadError;
use crate::sockopt::IntOption;

/// Nagle off.
pub(crate) const NO_DELAY: IntOption = IntOption::of("SCTP_NODELAY", libc::IPPROTO_SCTP, 3);
const INITMSG: libc::c_int = 2;
const STATUS: libc::c_int = 14;
const ASSOCIATION_COUNTS: libc::c_int = 112;
/// Bytes of a `sockaddr_storage`.
const ADDRESS_BYTES: usize = 128;

/// `struct sctp_initmsg`.
#[repr(C)]
#[allow(dead_code, reason = "the kernel lays it out")]
#[derive(Debug, Clone, Copy, Default)]
struct InitMessage {
    outgoing_streams: u16,
    incoming_streams: u16,
    attempts: u16,
    timeout_ms: u16,
}

/// `struct sctp_paddrinfo`, which is packed to 4 bytes.
#[repr(C)]
#[allow(dead_code, reason = "the kernel lays it out")]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Path {
    association: i32,
    address: [u8; ADDRESS_BYTES],
    state: i32,
    pub cwnd_bytes: u32,
    pub rtt_ms: u32,
    rto_ms: u32,
    mtu_bytes: u32,
}

/// `struct sctp_status`.
#[repr(C)]
#[allow(dead_code, reason = "the kernel lays it out")]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Status {
    association: i32,
    state: i32,
    pub peer_window_bytes: u32,
    unacknowledged_chunks: u16,
    pending_chunks: u16,
    pub incoming_streams: u16,
    pub outgoing_streams: u16,
    pub fragmentation_point_bytes: u32,
    pub primary: Path,
}

impl Status {
    /// True if the other host has not acknowledged all.
    pub fn is_pending(&self) -> bool {
        self.unacknowledged_chunks > 0 || self.pending_chunks > 0
    }
}

/// `struct sctp_assoc_stats`.
#[repr(C)]
#[allow(dead_code, reason = "the kernel lays it out")]
#[derive(Debug, Clone, Copy)]
pub(crate) struct AssociationCounts {
    association: i32,
    _padding: u32,
    address: [u8; ADDRESS_BYTES],
    longest_rto: u64,
    pub received_sacks: u64,
    pub sent_sacks: u64,
    pub sent_packets: u64,
    pub received_packets: u64,
    pub retransmitted_chunks: u64,
    pub out_of_sequence_chunks: u64,
    duplicate_chunks: u64,
    gap_acks: u64,
    sent_unordered_chunks: u64,
    received_unordered_chunks: u64,
    sent_ordered_chunks: u64,
    received_ordered_chunks: u64,
    sent_control_chunks: u64,
    received_control_chunks: u64,
}

/// Checks that each write fits the send buffer: the kernel takes no longer message (`sctp_sendmsg`, `net/sctp/socket.c`).
///
/// # Errors
/// The longest does not, or the kernel has no SCTP.
pub(crate) fn check(spec: &TrialSpec) -> Result<(), LoadError> {
    if spec.transport != Transport::Sctp {
        return Ok(());
    }
    let socket = crate::options::prepare(Domain::IPV4, spec.transport, &spec.socket, spec.role)?;
    let room = socket.send_buffer_size().map_err(|error| LoadError::host("reading back SO_SNDBUF", error, ""))?;
    let longest = match (&spec.workload, spec.role) {
        (Some(workload), _) => crate::engine::longest_write(spec, workload)?,
        (None, Role::Sender) => spec.write_size_bytes as usize,
        (None, Role::Receiver) => spec.reply_size_bytes as usize,
    };
    if longest <= room {
        return Ok(());
    }
    // The kernel doubles what is asked for.
    let least = longest.div_ceil(2);
    Err(LoadError::Limit(format!(
        "a write of {longest} bytes does not fit the send buffer of {room} bytes, and SCTP sends each write whole; write less at a \
         time, or set send_buffer_bytes to {least} or more"
    )))
}

/// Sets what an association is opened with.
///
/// # Errors
/// The kernel refuses an option, or takes another value.
pub(crate) fn prepare(socket: &Socket, spec: &SocketSpec) -> Result<(), LoadError> {
    if spec.no_delay {
        crate::options::set_checked(socket, &NO_DELAY, 1, "")?;
    }
    if let Some(streams) = spec.sctp_streams {
        let asked = InitMessage { outgoing_streams: streams, incoming_streams: streams, ..InitMessage::default() };
        set(socket, INITMSG, &asked).map_err(|error| LoadError::host(format!("SCTP_INITMSG with {streams} streams"), error, ""))?;
    }
    Ok(())
}

/// The outcome of the options of an open association: its streams in both directions.
pub(crate) fn streams(socket: &impl AsFd) -> io::Result<(u16, u16)> {
    status(socket).map(|status| (status.outgoing_streams, status.incoming_streams))
}

/// The state of an association.
///
/// # Errors
/// It is over.
pub(crate) fn status(socket: &impl AsFd) -> io::Result<Status> {
    get(socket, STATUS)
}

/// The counts of an association.
///
/// # Errors
/// It is over.
pub(crate) fn counts(socket: &impl AsFd) -> io::Result<AssociationCounts> {
    get(socket, ASSOCIATION_COUNTS)
}

/// A structure of integers alone, without padding.
trait Plain: Copy {}
impl Plain for InitMessage {}
impl Plain for Status {}
impl Plain for AssociationCounts {}

fn set<T: Plain>(socket: &impl AsFd, option: libc::c_int, value: &T) -> io::Result<()> {
    let length = libc::socklen_t::try_from(size_of::<T>()).map_err(io::Error::other)?;
    // SAFETY: the kernel reads `length` bytes of `value`, all of which are initialized.
    let status =
        unsafe { libc::setsockopt(socket.as_fd().as_raw_fd(), libc::IPPROTO_SCTP, option, std::ptr::from_ref(value).cast(), length) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn get<T: Plain>(socket: &impl AsFd, option: libc::c_int) -> io::Result<T> {
    // SAFETY: all bits zero are valid integers. Zero is the association of a one-to-one socket.
    let mut value: T = unsafe { std::mem::zeroed() };
    let mut length = libc::socklen_t::try_from(size_of::<T>()).map_err(io::Error::other)?;
    // SAFETY: the kernel writes at most `length` bytes of `value`, for which any bits are valid.
    let status = unsafe {
        libc::getsockopt(socket.as_fd().as_raw_fd(), libc::IPPROTO_SCTP, option, std::ptr::from_mut(&mut value).cast(), &raw mut length)
    };
    if status == 0 { Ok(value) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_are_as_long_as_the_kernels() {
        // include/uapi/linux/sctp.h on a machine with 8-byte pointers.
        assert_eq!((size_of::<InitMessage>(), size_of::<Path>(), size_of::<Status>(), size_of::<AssociationCounts>()), (8, 152, 176, 256));
    }
}
