//! The line between the adapters, a direction at a time.

use crate::end_system::{Arrival, Departure};
use crate::time::Ps;

/// How a segment becomes cells on a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkSpec {
    /// Bytes of headers of TCP and IP, and what the adaptation layer adds to a packet.
    pub around_bytes: u32,
    /// Bytes of a packet in a cell.
    pub in_cell_bytes: u32,
    /// Time of a cell on the line.
    pub cell: Ps,
    /// From one end of the line to the other.
    pub propagation: Ps,
}

/// One direction.
#[derive(Debug, Clone)]
pub struct Line {
    spec: LinkSpec,
    free_at: Ps,
}

impl Line {
    /// An idle line.
    pub fn new(spec: LinkSpec) -> Self {
        Self { spec, free_at: 0 }
    }

    /// Takes a segment on: cells leave while it is handed over, and the slower of both sets the pace.
    /// Returns when the line is done with it, and when it comes to the other end.
    pub fn send(&mut self, departure: &Departure) -> (Ps, Arrival) {
        let Departure { at, pace, segment, .. } = *departure;
        let cells = Ps::from((segment.bytes + self.spec.around_bytes).div_ceil(self.spec.in_cell_bytes));
        let begin = at.max(self.free_at);
        self.free_at = (begin + cells * self.spec.cell).max(at + pace);
        let first = begin + self.spec.cell + self.spec.propagation;
        (self.free_at, Arrival { first, last: self.free_at + self.spec.propagation, segment })
    }
}
