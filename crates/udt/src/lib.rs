//! Connections of UDT (Gu and Grossman, Computer Networks 51, 2007; draft-gg-udt-03) by the packaged UDT 4
//! library, and of SRT (draft-sharabayko-srt-01), which grew out of it, by libsrt; each where it was
//! present when this was built.
//!
//! [`Socket`] is a socket of one [`Library`]: it opens, moves bytes and returns what the library reports about
//! it ([`Facts`]). The libraries have threads of their own, two per UDP port and one more; they take
//! the CPUs of the thread that opens a socket, and UDT's its name. With unsafe code in [`socket`].

mod ffi;
mod library;
mod socket;
mod statistics;

pub use library::Library;
pub use socket::{Socket, SocketState};
pub use statistics::Facts;
