//! The line between the adapters, a direction at a time.

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

/// When a segment comes to the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// Its first cell.
    pub first: Ps,
    /// Its last one.
    pub last: Ps,
}

impl Line {
    /// An idle line.
    pub fn new(spec: LinkSpec) -> Self {
        Self { spec, free_at: 0 }
    }

    /// A driver begins at `now` to put a segment of `bytes` on the line, for which it needs `driver`: with
    /// programmed I/O cells leave while it writes, and the slower of both sets the pace.
    pub fn send(&mut self, now: Ps, bytes: u32, driver: Ps) -> Arrival {
        let cells = Ps::from((bytes + self.spec.around_bytes).div_ceil(self.spec.in_cell_bytes));
        let begin = now.max(self.free_at);
        self.free_at = (begin + cells * self.spec.cell).max(now + driver);
        Arrival { first: begin + self.spec.cell + self.spec.propagation, last: self.free_at + self.spec.propagation }
    }
}
