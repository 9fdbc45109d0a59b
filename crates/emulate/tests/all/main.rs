//! A direction of a path: laws that hold for any, and traces of single packets.

mod drive;
mod laws;
mod traces;
