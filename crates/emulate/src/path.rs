//! Both directions of a path.

use crate::direction::Direction;
use schema::path::PathSpec;

/// Which direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Way {
    /// From the near host to the far host.
    Forward,
    /// From the far host to the near host.
    Backward,
}

impl Way {
    /// Both, in the order of the record.
    pub const BOTH: [Way; 2] = [Way::Forward, Way::Backward];

    /// The word used in the record.
    pub fn name(self) -> &'static str {
        schema::table::PATH_DIRECTIONS[self as usize]
    }
}

/// A path: two directions that know nothing of each other.
#[derive(Debug, Clone)]
pub struct Path {
    /// From the near host to the far host.
    pub forward: Direction,
    /// From the far host to the near host.
    pub backward: Direction,
}

impl Path {
    /// A path that is valid ([`PathSpec::validate`]). Cross traffic, jitter and intervals begin at
    /// `start_ns` of the clock that stamps arrivals.
    pub fn new(spec: &PathSpec, start_ns: u64) -> Self {
        Self {
            forward: Direction::new(spec, &spec.forward, Way::Forward as u64, start_ns),
            backward: Direction::new(spec, &spec.backward, Way::Backward as u64, start_ns),
        }
    }

    /// One of the directions.
    pub fn direction(&mut self, way: Way) -> &mut Direction {
        match way {
            Way::Forward => &mut self.forward,
            Way::Backward => &mut self.backward,
        }
    }
}
