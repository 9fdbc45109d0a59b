//! Both directions of a path.

use crate::direction::Direction;
use schema::path::PathSpec;

pub use schema::table::PathDirection;

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
            forward: Direction::new(spec, &spec.forward, PathDirection::Forward as u64, start_ns),
            backward: Direction::new(spec, &spec.backward, PathDirection::Backward as u64, start_ns),
        }
    }

    /// One of the directions.
    pub fn direction(&mut self, way: PathDirection) -> &mut Direction {
        match way {
            PathDirection::Forward => &mut self.forward,
            PathDirection::Backward => &mut self.backward,
        }
    }
}
