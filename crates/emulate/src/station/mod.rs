//! The stations of a direction that stand on their own.

pub mod delay;
pub mod jitter;
pub mod loss;
pub mod server;
pub mod thinning;
