//! Socket options that no crate in use wraps. With unsafe code.

use schema::workload::Transport;
use std::io;
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd};

/// An option whose value is an integer.
pub struct IntOption {
    /// Its name in the manual.
    pub name: &'static str,
    level: libc::c_int,
    number: libc::c_int,
}

const fn tcp(name: &'static str, number: libc::c_int) -> IntOption {
    IntOption { name, level: libc::IPPROTO_TCP, number }
}

const fn any(name: &'static str, number: libc::c_int) -> IntOption {
    IntOption { name, level: libc::SOL_SOCKET, number }
}

/// Largest segment.
pub const MAXSEG: IntOption = tcp("TCP_MAXSEG", libc::TCP_MAXSEG);
/// Largest window that is announced.
pub const WINDOW_CLAMP: IntOption = tcp("TCP_WINDOW_CLAMP", libc::TCP_WINDOW_CLAMP);
/// No delayed ACK for now.
pub const QUICK_ACK: IntOption = tcp("TCP_QUICKACK", libc::TCP_QUICKACK);
/// Nagle off.
pub const NO_DELAY: IntOption = tcp("TCP_NODELAY", libc::TCP_NODELAY);
/// Partial segments wait.
pub const CORK: IntOption = tcp("TCP_CORK", libc::TCP_CORK);
/// A read asks the device for packets this long, in microseconds.
pub const BUSY_POLL: IntOption = any("SO_BUSY_POLL", libc::SO_BUSY_POLL);
/// The NAPI instance that the last packet came from; 0: it came from none (Linux 4.12).
pub const INCOMING_NAPI_ID: IntOption = any("SO_INCOMING_NAPI_ID", libc::SO_INCOMING_NAPI_ID);
/// Sends without copying may be asked for.
pub const ZERO_COPY: IntOption = any("SO_ZEROCOPY", libc::SO_ZEROCOPY);
/// A bind to an address alone leaves the port to connect(2), which may then use one that is in use towards another
/// destination (Linux 4.2).
pub const BIND_ADDRESS_NO_PORT: IntOption =
    IntOption { name: "IP_BIND_ADDRESS_NO_PORT", level: libc::IPPROTO_IP, number: libc::IP_BIND_ADDRESS_NO_PORT };
/// DSCP and ECN of IPv4.
pub const TYPE_OF_SERVICE: IntOption = IntOption { name: "IP_TOS", level: libc::IPPROTO_IP, number: libc::IP_TOS };
/// DSCP and ECN of IPv6.
pub const TRAFFIC_CLASS: IntOption = IntOption { name: "IPV6_TCLASS", level: libc::IPPROTO_IPV6, number: libc::IPV6_TCLASS };
/// Largest packet on a connected socket's way.
pub const PATH_MTU: IntOption = IntOption { name: "IP_MTU", level: libc::IPPROTO_IP, number: libc::IP_MTU };
/// The same of IPv6.
pub const PATH_MTU_V6: IntOption = IntOption { name: "IPV6_MTU", level: libc::IPPROTO_IPV6, number: libc::IPV6_MTU };

/// Datagrams of this size are cut from what is handed over at once.
pub const UDP_SEGMENT: IntOption = IntOption { name: "UDP_SEGMENT", level: libc::SOL_UDP, number: libc::UDP_SEGMENT };
/// Datagrams that belong together arrive together.
pub const UDP_GRO: IntOption = IntOption { name: "UDP_GRO", level: libc::SOL_UDP, number: libc::UDP_GRO };

impl IntOption {
    /// Of another protocol.
    pub const fn of(name: &'static str, level: libc::c_int, number: libc::c_int) -> Self {
        Self { name, level, number }
    }

    /// Sets it.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn set(&self, socket: &impl AsFd, value: libc::c_int) -> io::Result<()> {
        // SAFETY: an integer is valid as bytes.
        unsafe { set(socket, self.level, self.number, &value) }
    }

    /// Reads it.
    ///
    /// # Errors
    /// The socket does not have it.
    pub fn get(&self, socket: &impl AsFd) -> io::Result<libc::c_int> {
        let mut value: libc::c_int = 0;
        // SAFETY: any bits are a valid integer.
        unsafe { get(socket, self.level, self.number, &mut value) }?;
        Ok(value)
    }
}

/// Bounds the socket's pacing rate, in bytes a second; TCP paces itself where the queueing
/// discipline does not.
pub(crate) fn pace(socket: &impl AsFd, bytes_per_second: u64) -> io::Result<()> {
    // SAFETY: an integer is valid as bytes.
    unsafe { set(socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, &bytes_per_second) }
}

/// The bound of the socket's pacing rate, in bytes a second.
pub(crate) fn pacing_rate(socket: &impl AsFd) -> io::Result<u64> {
    let mut bytes_per_second = 0u64;
    // SAFETY: any bits are a valid integer.
    unsafe { get(socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, &mut bytes_per_second) }?;
    Ok(bytes_per_second)
}

/// Packets that the socket dropped because its buffer was full since it was opened (`sock_diag(7)`).
pub(crate) fn dropped_count(socket: &impl AsFd) -> io::Result<u32> {
    const SO_MEMINFO: libc::c_int = 55;
    /// `SK_MEMINFO_VARS` and `SK_MEMINFO_DROPS` of `include/uapi/linux/sock_diag.h`.
    const VARIABLES: usize = 9;
    const DROPS: usize = 8;
    let mut variables = [0u32; VARIABLES];
    // SAFETY: any bits are valid integers.
    unsafe { get(socket, libc::SOL_SOCKET, SO_MEMINFO, &mut variables) }?;
    Ok(variables[DROPS])
}

/// First fields of `struct mptcp_info` (include/uapi/linux/mptcp.h).
#[repr(C)]
#[derive(Debug, Default)]
struct MptcpInfo {
    subflows: u8,
    add_addr_signal: u8,
    add_addr_accepted: u8,
    subflows_max: u8,
    add_addr_signal_max: u8,
    add_addr_accepted_max: u8,
    flags: u32,
}

/// The protocol that carries a socket of this transport: the other end of a Multipath TCP connection may know
/// TCP alone, and then it is that (RFC 8684 section 3.7).
pub(crate) fn transport_of(socket: &impl AsFd, transport: Transport) -> Transport {
    const SOL_MPTCP: libc::c_int = 284;
    const MPTCP_INFO: libc::c_int = 1;
    const FLAG_FALLBACK: u32 = 1;
    if transport != Transport::Mptcp {
        return transport;
    }
    let mut info = MptcpInfo::default();
    // SAFETY: the structure is integers alone, for which any bits are valid.
    let outcome = unsafe { get(socket, SOL_MPTCP, MPTCP_INFO, &mut info) };
    // Kernels without a flag for the fallback (before 5.16) have no such option.
    if outcome.is_ok() && info.flags & FLAG_FALLBACK != 0 { Transport::Tcp } else { Transport::Mptcp }
}

/// Sets an option.
///
/// # Safety
/// All bytes of `T` must be initialized: no padding, no pointers.
unsafe fn set<T>(socket: &impl AsFd, level: libc::c_int, number: libc::c_int, value: &T) -> io::Result<()> {
    let length = libc::socklen_t::try_from(size_of::<T>()).map_err(io::Error::other)?;
    // SAFETY: the kernel reads `length` bytes of `value`, which lives through the call.
    let status = unsafe { libc::setsockopt(socket.as_fd().as_raw_fd(), level, number, std::ptr::from_ref(value).cast(), length) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Reads an option.
///
/// # Safety
/// Any bits must be a valid `T`.
unsafe fn get<T>(socket: &impl AsFd, level: libc::c_int, number: libc::c_int, value: &mut T) -> io::Result<()> {
    let mut length = libc::socklen_t::try_from(size_of::<T>()).map_err(io::Error::other)?;
    // SAFETY: the kernel writes at most `length` bytes of `value`, for which the caller answers.
    let status = unsafe { libc::getsockopt(socket.as_fd().as_raw_fd(), level, number, std::ptr::from_mut(value).cast(), &raw mut length) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
