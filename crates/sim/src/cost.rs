//! What each step costs a host, as data.

use crate::time::Ps;

/// Processor time of an operation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cost {
    /// Each time, in ps.
    pub fixed: Ps,
    /// For each byte, in ps.
    pub per_byte: Ps,
}

impl Cost {
    /// Of an operation on `bytes`.
    pub fn of(self, bytes: u32) -> Ps {
        self.fixed + self.per_byte * Ps::from(bytes)
    }
}

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
