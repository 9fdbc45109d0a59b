//! Messages between controller and agent, and the content of a record.
//!
//! Both sides of the boundary are defined here and nowhere else: the frames and messages of the
//! control protocol ([`frame`], [`message`]), what a trial asks of each side ([`trial`]), when its
//! connections carry payload ([`schedule`]) and what its application does ([`workload`]),
//! which option applies where ([`options`]), what a host
//! is ([`host`]) and offers ([`offer`]), how closely it is watched ([`evidence`]), what a testbed looks
//! like ([`testbed`]) and the path through it does ([`path`]), which connections of other programs are watched ([`watch`]), and the columns of every table with unit,
//! meaning and source ([`table`]). Nothing in this crate does I/O or reads a clock.

pub mod evidence;
pub mod frame;
pub mod host;
pub mod message;
pub mod offer;
pub mod options;
pub mod path;
pub mod schedule;
pub mod simulation;
pub mod table;
pub mod testbed;
pub mod trial;
pub mod watch;
pub mod workload;

/// Version of the control protocol. It changes whenever an old peer would misread a new one.
pub const PROTOCOL_VERSION: u8 = 3;

/// Version of the record's tables and manifest.
pub const RECORD_VERSION: u32 = 1;
