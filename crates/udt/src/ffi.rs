//! The shim's functions as C sees them; `src/shim.h` says what they do.

use libc::{c_char, c_int, sockaddr};

/// Options, in the order of `enum udt_shim_option`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub enum Choice {
    Mss,
    FlightPackets,
    SendBuffer,
    ReceiveBuffer,
    UdpSendBuffer,
    UdpReceiveBuffer,
    SendTimeout,
    ReceiveTimeout,
    IsBlocking,
}

pub const CONNECTING: c_int = 0;
pub const CONNECTED: c_int = 1;

/// `struct udt_shim_facts`.
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

unsafe extern "C" {
    pub fn udt_shim_startup() -> c_int;
    pub fn udt_shim_open(family: c_int) -> c_int;
    pub fn udt_shim_set(socket: c_int, option: c_int, value: c_int) -> c_int;
    pub fn udt_shim_get(socket: c_int, option: c_int, value: *mut c_int) -> c_int;
    pub fn udt_shim_bind(socket: c_int, address: *const sockaddr, length: c_int) -> c_int;
    pub fn udt_shim_listen(socket: c_int, backlog: c_int) -> c_int;
    pub fn udt_shim_accept(socket: c_int) -> c_int;
    pub fn udt_shim_connect(socket: c_int, address: *const sockaddr, length: c_int) -> c_int;
    pub fn udt_shim_state_of(socket: c_int) -> c_int;
    pub fn udt_shim_local(socket: c_int, address: *mut sockaddr, length: *mut c_int) -> c_int;
    pub fn udt_shim_remote(socket: c_int, address: *mut sockaddr, length: *mut c_int) -> c_int;
    pub fn udt_shim_send(socket: c_int, bytes: *const c_char, length: c_int) -> c_int;
    pub fn udt_shim_receive(socket: c_int, bytes: *mut c_char, length: c_int) -> c_int;
    pub fn udt_shim_facts_of(socket: c_int, facts: *mut RawFacts) -> c_int;
    pub fn udt_shim_close(socket: c_int);
    pub fn udt_shim_error(text: *mut c_char, length: c_int) -> c_int;
}
