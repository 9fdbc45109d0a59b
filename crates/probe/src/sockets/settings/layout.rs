//! Generated from `bpf/layout.h` by `make schemas`; a test compares the two.

use {u8 as __u8, u16 as __u16, u32 as __u32, u64 as __u64};

pub const SEND_BUFFER_LOCK: u8 = 1;
pub const RECEIVE_BUFFER_LOCK: u8 = 2;
pub const NAGLE_OFF: u8 = 1;
/// The settings of a socket that a program has made.
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct SocketSettings {
    /// the kernel's number of the socket
    pub cookie: __u64,
    /// upper bound of the window that it announces
    pub window_clamp_bytes: __u32,
    /// which buffers it has fixed
    pub buffer_locks: __u16,
    pub nagle: __u16,
}
