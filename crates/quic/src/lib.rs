//! QUIC connections (RFC 9000), each driven by the one thread that uses it: quinn's protocol engine
//! (`quinn-proto`), its UDP calls with segmentation and receive offload (`quinn-udp`), and a loop of
//! our own in between ([`QuicConnection`]). Every connection has a connected UDP socket of its own at both hosts,
//! so that no lock and no other thread stands between a call of the application and the wire.
//!
//! Both hosts derive the listening host's key from the trial's secret ([`Identity`]): the connecting host
//! computes the certificate before it receives it.

mod connection;
mod identity;
mod listener;
mod settings;

pub use connection::{Facts, QuicConnection};
pub use identity::Identity;
pub use listener::Listener;
pub use settings::{CONTROLLERS, Settings};
