//! The kernel's `struct tcp_info` (include/uapi/linux/tcp.h) and the call that fills it.
//!
//! The structure only ever grew at its end; a kernel that knows fewer fields fills fewer bytes.
//! This is the one module of the probe that calls `getsockopt` by hand. With unsafe code.

use std::io;
use std::mem::{offset_of, size_of};
use std::os::fd::{AsRawFd, BorrowedFd};

/// Bits of `options` (`TCPI_OPT_…`): what both hosts agreed on, and whether a packet with ECT arrived.
const OPTION_TIMESTAMPS: u8 = 1;
const OPTION_SACK: u8 = 2;
const OPTION_WINDOW_SCALING: u8 = 4;
const OPTION_ECN: u8 = 8;
const OPTION_ECN_SEEN: u8 = 16;
/// Bit of `flags`: the application had too little to send while the delivery rate was measured.
const FLAG_APPLICATION_LIMITED: u8 = 1;

/// Fields in the kernel's order, types and units (times in µs).
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
#[allow(missing_docs, clippy::missing_docs_in_private_items)]
pub struct RawTcpInfo {
    pub state: u8,
    pub ca_state: u8,
    pub retransmits: u8,
    pub probes: u8,
    pub backoff: u8,
    pub options: u8,
    pub wscale: u8,
    pub flags: u8,
    pub rto: u32,
    pub ato: u32,
    pub snd_mss: u32,
    pub rcv_mss: u32,
    pub unacked: u32,
    pub sacked: u32,
    pub lost: u32,
    pub retrans: u32,
    pub fackets: u32,
    pub last_data_sent: u32,
    pub last_ack_sent: u32,
    pub last_data_recv: u32,
    pub last_ack_recv: u32,
    pub pmtu: u32,
    pub rcv_ssthresh: u32,
    pub rtt: u32,
    pub rttvar: u32,
    pub snd_ssthresh: u32,
    pub snd_cwnd: u32,
    pub advmss: u32,
    pub reordering: u32,
    pub rcv_rtt: u32,
    pub rcv_space: u32,
    pub total_retrans: u32,
    pub pacing_rate: u64,
    pub max_pacing_rate: u64,
    pub bytes_acked: u64,
    pub bytes_received: u64,
    pub segs_out: u32,
    pub segs_in: u32,
    pub notsent_bytes: u32,
    pub min_rtt: u32,
    pub data_segs_in: u32,
    pub data_segs_out: u32,
    pub delivery_rate: u64,
    pub busy_time: u64,
    pub rwnd_limited: u64,
    pub sndbuf_limited: u64,
    pub delivered: u32,
    pub delivered_ce: u32,
    pub bytes_sent: u64,
    pub bytes_retrans: u64,
    pub dsack_dups: u32,
    pub reord_seen: u32,
    pub rcv_ooopack: u32,
    pub snd_wnd: u32,
    pub rcv_wnd: u32,
    pub rehash: u32,
}

/// The fields that the kernel filled in.
#[derive(Debug, Clone, Copy)]
pub struct TcpInfo {
    /// The fields; those beyond `known_bytes` are zero.
    pub raw: RawTcpInfo,
    /// Bytes of the structure that this kernel fills.
    known_bytes: usize,
}

impl TcpInfo {
    /// Asks the kernel for a connection's state.
    ///
    /// # Errors
    /// The socket is no TCP socket.
    pub fn read(socket: BorrowedFd<'_>) -> io::Result<Self> {
        let mut raw = RawTcpInfo::default();
        let mut length = libc::socklen_t::try_from(size_of::<RawTcpInfo>()).map_err(io::Error::other)?;
        // SAFETY: `raw` is plain old data of `length` bytes, valid for any bit pattern, and the
        // kernel writes at most `length` bytes of it and the length back.
        let status = unsafe {
            libc::getsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, (&raw mut raw).cast::<libc::c_void>(), &raw mut length)
        };
        if status != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { raw, known_bytes: length as usize })
    }

    /// Of the bytes that the kernel wrote, as `sock_diag` gives them. More than is known here is left out.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let mut raw = RawTcpInfo::default();
        let known_bytes = bytes.len().min(size_of::<RawTcpInfo>());
        // SAFETY: `raw` is plain old data, valid for any bit pattern; as many bytes are copied as both have, and they do not
        // overlap, because `raw` was made here.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), (&raw mut raw).cast::<u8>(), known_bytes) };
        Self { raw, known_bytes }
    }

    /// True if this kernel fills the structure up to this offset.
    fn knows(&self, end_offset: usize) -> bool {
        self.known_bytes >= end_offset
    }

    /// Sent in bytes, retransmissions included.
    pub fn bytes_sent(&self) -> Option<u64> {
        self.knows(offset_of!(RawTcpInfo, bytes_sent) + 8).then_some(self.raw.bytes_sent)
    }

    /// Retransmitted in bytes.
    pub fn bytes_retransmitted(&self) -> Option<u64> {
        self.knows(offset_of!(RawTcpInfo, bytes_retrans) + 8).then_some(self.raw.bytes_retrans)
    }

    /// Segments received out of order.
    pub fn out_of_order_segments(&self) -> Option<u32> {
        self.knows(offset_of!(RawTcpInfo, rcv_ooopack) + 4).then_some(self.raw.rcv_ooopack)
    }

    /// True if both hosts agreed on ECN.
    pub fn has_ecn(&self) -> bool {
        self.raw.options & OPTION_ECN != 0
    }

    /// True if a packet arrived that the peer had marked as capable of ECN.
    pub fn has_seen_ecn(&self) -> bool {
        self.raw.options & OPTION_ECN_SEEN != 0
    }

    /// True if both hosts agreed on window scaling.
    pub fn has_window_scaling(&self) -> bool {
        self.raw.options & OPTION_WINDOW_SCALING != 0
    }

    /// True if both hosts agreed on selective acknowledgments.
    pub fn has_selective_acks(&self) -> bool {
        self.raw.options & OPTION_SACK != 0
    }

    /// True if both hosts agreed on timestamps.
    pub fn has_timestamps(&self) -> bool {
        self.raw.options & OPTION_TIMESTAMPS != 0
    }

    /// True if the latest delivery rate sample was limited by the application (Linux 4.9).
    pub fn is_application_limited(&self) -> bool {
        self.raw.flags & FLAG_APPLICATION_LIMITED != 0
    }

    /// Segments that the peer acknowledged.
    pub fn delivered_segments(&self) -> Option<u32> {
        self.knows(offset_of!(RawTcpInfo, delivered) + 4).then_some(self.raw.delivered)
    }

    /// Those of them whose acknowledgment said that packets had been marked.
    pub fn delivered_marked_segments(&self) -> Option<u32> {
        self.knows(offset_of!(RawTcpInfo, delivered_ce) + 4).then_some(self.raw.delivered_ce)
    }

    /// Segments whose acknowledgment said that they had arrived twice (RFC 2883).
    pub fn duplicate_sacks(&self) -> Option<u32> {
        self.knows(offset_of!(RawTcpInfo, dsack_dups) + 4).then_some(self.raw.dsack_dups)
    }

    /// Times that the sender saw segments arrive in another order than it had sent them.
    pub fn reordering_events(&self) -> Option<u32> {
        self.knows(offset_of!(RawTcpInfo, reord_seen) + 4).then_some(self.raw.reord_seen)
    }

    /// Window the peer last announced, in bytes.
    pub fn peer_window_bytes(&self) -> Option<u32> {
        self.knows(offset_of!(RawTcpInfo, snd_wnd) + 4).then_some(self.raw.snd_wnd)
    }

    /// Shifts of the windows that this host announces, and of those that the peer does (RFC 7323
    /// section 2.2).
    pub fn window_scales(&self) -> [u8; 2] {
        // Bit-fields of half a byte each; the peer's comes first, in the low half (little endian).
        [self.raw.wscale >> 4, self.raw.wscale & 15]
    }

    /// Window this host last announced, in bytes.
    pub fn own_window_bytes(&self) -> Option<u32> {
        self.knows(offset_of!(RawTcpInfo, rcv_wnd) + 4).then_some(self.raw.rcv_wnd)
    }
}
