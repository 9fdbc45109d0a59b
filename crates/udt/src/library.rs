//! The two libraries.

use std::sync::OnceLock;

use crate::ffi::{self, Shim};

/// A library that carries streams over UDP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Library {
    /// UDT 4.
    Udt,
    /// SRT's file transmission.
    Srt,
}

impl Library {
    /// The word used in the record.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Udt => "udt",
            Self::Srt => "srt",
        }
    }

    /// The name used in sentences.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Udt => "UDT",
            Self::Srt => "SRT",
        }
    }

    /// The package that has it, by Debian's name.
    pub const fn package(self) -> &'static str {
        match self {
            Self::Udt => "libudt-dev",
            Self::Srt => "libsrt-openssl-dev",
        }
    }

    /// True where it was there when this was built.
    pub const fn is_present(self) -> bool {
        match self {
            Self::Udt => cfg!(udt_present),
            Self::Srt => cfg!(srt_present),
        }
    }

    /// The sentence to say where it was not there.
    pub fn missing(self) -> String {
        let (title, package) = (self.title(), self.package());
        format!(
            "this agent was built without the {title} library; install {package} and build it anew (make clean setup-run), or choose another transport"
        )
    }

    /// True if a thread of this name is one of the library's, where `own` is the name of the thread that opened
    /// its sockets: SRT gives names, UDT's threads inherit theirs.
    pub fn is_thread(self, name: &str, own: &str) -> bool {
        match self {
            Self::Udt => name == own,
            Self::Srt => name.starts_with("SRT:"),
        }
    }

    pub(crate) fn shim(self) -> &'static Shim {
        // SAFETY: a table of functions that nobody writes, with the layout of `struct shim`.
        unsafe {
            match self {
                Self::Udt => &ffi::udt_shim,
                Self::Srt => &ffi::srt_shim,
            }
        }
    }

    /// Starts it, once.
    pub(crate) fn is_started(self) -> bool {
        static STARTED: [OnceLock<bool>; 2] = [const { OnceLock::new() }; 2];
        let started = &STARTED[usize::from(self == Self::Srt)];
        // SAFETY: no arguments; called once.
        *started.get_or_init(|| unsafe { (self.shim().startup)() } == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Socket;

    #[test]
    fn what_is_missing_is_named_with_the_remedy() {
        for library in [Library::Udt, Library::Srt] {
            let sentence = library.missing();
            assert!(sentence.contains(library.package()) && sentence.contains("make clean setup-run"), "{sentence}");
        }
    }

    #[test]
    fn without_the_library_no_socket_opens() {
        for library in [Library::Udt, Library::Srt] {
            let opened = Socket::open(library, socket2::Domain::IPV4);
            assert_eq!(opened.is_ok(), library.is_present());
            if let Err(error) = opened {
                assert_eq!(error.to_string(), library.missing());
            }
        }
    }
}
