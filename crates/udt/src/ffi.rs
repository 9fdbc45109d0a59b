//! The shims as C sees them; `src/shim.h` says what their functions do.

use libc::{c_char, c_int, sockaddr};

/// Options, in the order of `enum shim_option`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub enum Choice {
    Mss,
    FlightPackets,
    SendBuffer,
    ReceiveBuffer,
    SendTimeout,
    ReceiveTimeout,
    IsBlocking,
}

pub const CONNECTING: c_int = 0;
pub const CONNECTED: c_int = 1;

/// `struct shim_facts`.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub struct RawFacts {
    pub sent_packets: i64,
    pub received_packets: i64,
    pub lost_packets: i64,
    pub missed_packets: i64,
    pub retransmitted_packets: i64,
    pub acks_sent: i64,
    pub acks_received: i64,
    pub naks_sent: i64,
    pub naks_received: i64,
    pub sending_period_us: f64,
    pub rtt_ms: f64,
    pub capacity_mbps: f64,
    pub window_packets: i64,
    pub cwnd_packets: i64,
    pub flight_packets: i64,
    pub unacknowledged_packets: i64,
}

/// Reads an address of a socket.
pub type AddressOf = unsafe extern "C" fn(c_int, *mut sockaddr, *mut c_int) -> c_int;

/// `struct shim`.
#[repr(C)]
pub struct Shim {
    pub startup: unsafe extern "C" fn() -> c_int,
    pub open: unsafe extern "C" fn(c_int) -> c_int,
    pub set: unsafe extern "C" fn(c_int, c_int, c_int) -> c_int,
    pub get: unsafe extern "C" fn(c_int, c_int, *mut c_int) -> c_int,
    pub bind: unsafe extern "C" fn(c_int, c_int) -> c_int,
    pub listen: unsafe extern "C" fn(c_int, c_int) -> c_int,
    pub accept: unsafe extern "C" fn(c_int) -> c_int,
    pub connect: unsafe extern "C" fn(c_int, *const sockaddr, c_int) -> c_int,
    pub state_of: unsafe extern "C" fn(c_int) -> c_int,
    pub local: AddressOf,
    pub remote: AddressOf,
    pub send: unsafe extern "C" fn(c_int, *const c_char, c_int) -> c_int,
    pub receive: unsafe extern "C" fn(c_int, *mut c_char, c_int) -> c_int,
    pub facts_of: unsafe extern "C" fn(c_int, *mut RawFacts) -> c_int,
    pub close: unsafe extern "C" fn(c_int),
    pub error: unsafe extern "C" fn(*mut c_char, c_int) -> c_int,
}

unsafe extern "C" {
    pub static udt_shim: Shim;
    pub static srt_shim: Shim;
}
