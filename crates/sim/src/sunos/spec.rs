//! The makeup of a host with `SunOS` 4.1, as data: its rules, what its steps cost, its adapter.

use crate::cost::Cost;
use crate::link::framing::Framing;
pub use crate::sunos::rules::{Pieces, Rules, WriteRule};
use crate::time::Ps;

/// Buffers of a socket whose size nobody asked for: `tcp_sendspace` and `tcp_recvspace`.
pub const DEFAULT_WINDOW_BYTES: u32 = 4096;

/// The costs of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Costs {
    /// Entering and leaving a write call.
    pub write_call: Ps,
    /// From the user into the send buffer: each buffer that the socket layer fills, and each byte.
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
    /// A run of one of TCP's timers.
    pub timer: Ps,
}

/// The way that segments come from memory to the line and back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Adapter {
    /// The processor writes and reads every word, while cells leave and come.
    ProgrammedIo {
        /// Bytes that the adapter holds of segments that the driver has not read.
        fifo_bytes: u32,
    },
    /// A processor on the adapter moves and segments them, one after the other in each direction.
    Dma {
        /// From the driver's order to the first bit, and the pace at which it hands on.
        send: Cost,
        /// From the last bit to the host's interrupt, and the pace at which it takes in.
        receive: Cost,
        /// Its extra time for each cell that arrives: with AAL3/4 every cell has a header and a trailer to check.
        receive_cell: Ps,
        /// The way that a packet becomes cells.
        framing: Framing,
        /// The host's interrupt when a segment has left, in time of the host's processor; 0: there is none.
        sent_interrupt: Ps,
    },
}

/// The makeup of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostSpec {
    /// Its rules.
    pub rules: Rules,
    /// The costs of its steps.
    pub costs: Costs,
    /// In which pieces the driver stores a segment.
    pub pieces: Pieces,
    /// Its adapter.
    pub adapter: Adapter,
    /// Largest payload of a segment.
    pub mss: u32,
    /// Send buffer and receive buffer: the window.
    pub window_bytes: u32,
    /// Largest deviation of a cost, in thousandths.
    pub jitter_per_mille: u64,
}
