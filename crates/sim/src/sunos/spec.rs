//! What a host with `SunOS` 4.1 is made of, as data.

use crate::cost::Cost;
use crate::sunos::socket::Pieces;
use crate::time::Ps;

/// The costs of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Costs {
    /// Entering and leaving a write call.
    pub write_call: Ps,
    /// From the user into the send buffer, each piece that the socket layer copies.
    pub copy_in: Cost,
    /// TCP and IP of a segment that leaves, checksum included.
    pub output: Cost,
    /// The driver of a segment that leaves; with programmed I/O, every word of it.
    pub driver_send: Cost,
    /// Interrupt and driver of a segment that arrives.
    pub driver_receive: Cost,
    /// IP and TCP of a segment that arrives, checksum included.
    pub input: Cost,
    /// From a process being made ready to its running: scheduler and context switch.
    pub wake_up: Ps,
    /// Entering and leaving a read call.
    pub read_call: Ps,
    /// From the receive buffer to the user, each piece that lies there.
    pub copy_out: Cost,
    /// A run of TCP's fast timer.
    pub timer: Ps,
}

/// What a host is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostSpec {
    /// What its steps cost.
    pub costs: Costs,
    /// In which pieces the driver stores a segment.
    pub pieces: Pieces,
    /// What the adapter holds of segments that the driver has not read, in bytes; `None`: more than ever comes.
    pub fifo_bytes: Option<u32>,
    /// Largest payload of a segment.
    pub mss: u32,
    /// Send buffer and receive buffer: the window.
    pub window_bytes: u32,
    /// Largest deviation of a cost, in thousandths.
    pub jitter_per_mille: u64,
}
