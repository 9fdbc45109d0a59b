//! Connections of UDT (Gu and Grossman, Computer Networks 51, 2007; draft-gg-udt-03) by the packaged UDT 4
//! library, and of SRT (draft-sharabayko-srt-01), which grew out of it, by libsrt; each where it was
//! present when this was built.
//!
//! [`Socket`] is a socket of one [`Library`]: it opens, moves bytes and tells what the library knows of
//! it ([`Facts`]). The libraries have threads of their own, two a UDP port and one beside; they take
//! the CPUs of the thread that opens a socket, and UDT's its name. With unsafe code in [`socket`].

mod facts;
mod ffi;
mod library;
mod socket;

pub use facts::Facts;
pub use library::Library;
pub use socket::{Socket, State};
