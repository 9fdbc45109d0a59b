//! UDT connections (Gu and Grossman, Computer Networks 51, 2007; draft-gg-udt-03) by the packaged
//! UDT 4 library, where it was present when this was built.
//!
//! [`Socket`] is one UDT socket: it opens, moves bytes and tells what the library knows of it
//! ([`Facts`]). The library has threads of its own, two a UDP port and one beside; they take name and
//! CPUs from the thread that opens a socket. With unsafe code in [`socket`].

mod facts;
mod ffi;
mod socket;

pub use facts::Facts;
pub use socket::{Socket, State};

/// The package that has the library, by Debian's name.
pub const PACKAGE: &str = "libudt-dev";

/// Whether the library was there when this was built.
pub const fn is_present() -> bool {
    cfg!(udt_present)
}

/// What to say where it was not.
pub fn missing() -> String {
    format!(
        "this agent was built without the UDT library; install {PACKAGE} and build it anew (make clean setup-run), or choose another transport"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_with_the_way_out() {
        let sentence = missing();
        assert!(sentence.contains(PACKAGE) && sentence.contains("make clean setup-run"), "{sentence}");
    }

    #[test]
    fn without_the_library_no_socket_opens() {
        let opened = Socket::open(socket2::Domain::IPV4);
        assert_eq!(opened.is_ok(), is_present());
        if let Err(error) = opened {
            assert_eq!(error.to_string(), missing());
        }
    }
}
