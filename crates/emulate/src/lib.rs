//! The effects of a network path on packets, in virtual time. Sans-IO: no sockets, no clock, no threads.
//!
//! Packets come in with the instant at which they arrived, and leave with the instant at which they
//! are due. Whoever carries them may be late; as long as its arrival times are true, no decision
//! changes. [`Path`] is both directions, [`Direction`] one of them: a row of stations.
//!
//! ```text
//! handle_packet -> thinning -> loss -> duplication -> queue -> bottleneck -> delay line -> poll_release
//!                     |          |                      ^ |
//!                     +-> poll_loss <-------------------|-+
//!                                                cross traffic
//! ```
//!
//! - [`packet`]: what comes in and what goes out.
//! - `station`: thinning, loss, the rate server, the delay line with its jitter.
//! - `queue`: the queue of the bottleneck: drop-tail and RED decide when a packet arrives, `CoDel` when
//!   it is about to be sent; cross traffic fills it.
//! - [`ledger`]: counts of every interval, for the record.
//! - [`rng`]: a random stream for each kind of decision.
//!
//! Not modeled, and who would notice: an access link (the packets of a super-segment arrive at one
//! instant, as they do behind a veth; a queue of few packets overflows earlier than behind a paced
//! sender), framing beyond the Ethernet header (a rate is that of `tc`, 1.6 % above that of the same
//! frames on a cable at 1514 bytes), several queues by flow (no fair queueing), and a processing time of
//! the bottleneck (a real router's first packet takes some µs).

mod direction;
mod flights;
pub mod ledger;
pub mod packet;
mod path;
mod queue;
pub mod rng;
mod station;

pub use direction::Direction;
pub use packet::{Cause, Loss, Packet, PacketKind, Release, Segments};
pub use path::{Path, PathDirection};
