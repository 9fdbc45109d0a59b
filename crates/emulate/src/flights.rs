//! The parts of each packet that are still in flight, so that its owner can release it.

/// A segment of a packet inside the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Item {
    /// Place of the packet in [`Flights`]; [`CROSS`] for cross traffic.
    pub slot: u32,
    /// Which of its segments.
    pub segment: u16,
    /// True where it is the second of the same.
    pub is_duplicate: bool,
}

/// The slot of cross traffic, which belongs to nobody.
pub const CROSS: u32 = u32::MAX;

impl Item {
    /// A packet of cross traffic.
    pub const fn cross() -> Self {
        Self { slot: CROSS, segment: 0, is_duplicate: false }
    }

    /// True if it is a packet of cross traffic.
    pub fn is_cross(self) -> bool {
        self.slot == CROSS
    }
}

#[derive(Debug, Clone, Copy)]
struct Flight {
    key: u64,
    outstanding: u32,
}

/// The packets inside a direction. Places are used again, so that nothing is allocated once as many
/// were there as ever will be.
#[derive(Debug, Clone, Default)]
pub struct Flights {
    flights: Vec<Flight>,
    free: Vec<u32>,
}

impl Flights {
    /// A packet of so many segments came; its place.
    pub fn open(&mut self, key: u64, segments: u32) -> u32 {
        let flight = Flight { key, outstanding: segments };
        if let Some(slot) = self.free.pop() {
            self.flights[slot as usize] = flight;
            return slot;
        }
        self.flights.push(flight);
        // Fewer than 2^32 packets fit into memory.
        u32::try_from(self.flights.len() - 1).unwrap_or(CROSS - 1)
    }

    /// One more than was said: a duplicate.
    pub fn add(&mut self, slot: u32) {
        self.flights[slot as usize].outstanding += 1;
    }

    /// One less; the packet's key, and whether it was the last.
    pub fn settle(&mut self, slot: u32) -> (u64, bool) {
        let flight = &mut self.flights[slot as usize];
        flight.outstanding -= 1;
        let is_last = flight.outstanding == 0;
        if is_last {
            self.free.push(slot);
        }
        (flight.key, is_last)
    }
}
