//! Settings of TCP sockets by their programs, as far as `sock_diag` does not say them: an iterator program lists the
//! sockets of this network namespace (`iter/tcp`, Linux 5.9). It reads, and changes nothing.
//!
//! Needs `CAP_BPF`, `CAP_PERFMON` and a kernel with BTF. Cost: it goes through the kernel's whole table of connections,
//! a few milliseconds on a large host. Columns: `send_buffer_fixed` and `receive_buffer_fixed` of
//! [`schema::table::WATCHED`]; `no_delay` and `window_clamp_bytes` of [`schema::table::FLOWS`].

#[rustfmt::skip]
#[allow(missing_docs, dead_code, unused_imports, clippy::doc_markdown, clippy::unreadable_literal, reason = "it is generated")]
mod layout;

use libbpf_rs::{Iter, Link, Object, ObjectBuilder};
use std::collections::HashMap;
use std::io::{self, Read};

use crate::evidence::Refused;
use crate::evidence::object::unpacked;
use layout::{NAGLE_OFF, RECEIVE_BUFFER_LOCK, SEND_BUFFER_LOCK, SocketSettings};

static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/settings.bpf.o.z"));

/// The settings of a socket that a program has made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// It has set `SO_SNDBUF`.
    pub send_buffer_fixed: bool,
    /// It has set `SO_RCVBUF`.
    pub receive_buffer_fixed: bool,
    /// It has switched Nagle off.
    pub no_delay: bool,
    /// Upper bound of the window that it announces.
    pub window_clamp_bytes: u32,
}

/// Lists settings until it is dropped, which takes the program out of the kernel.
pub struct SettingsReader {
    link: Link,
    _object: Object,
}

impl SettingsReader {
    /// Loads the program.
    ///
    /// # Errors
    /// The kernel refuses it, with the reason in a sentence.
    pub fn open() -> Result<Self, Refused> {
        crate::evidence::silence();
        let object = ObjectBuilder::default().open_memory(&unpacked(OBJECT))?.load()?;
        let program = object.progs_mut().next().ok_or_else(|| Refused { reason: "the object has no program".to_owned() })?;
        let link = program.attach()?;
        Ok(Self { link, _object: object })
    }

    /// The settings of all sockets of this thread's network namespace, by the kernel's numbers of the sockets. Only those have
    /// one that `sock_diag` has listed.
    ///
    /// # Errors
    /// The kernel does not list them.
    pub fn read(&self) -> io::Result<HashMap<u64, Settings>> {
        let mut bytes = Vec::new();
        Iter::new(&self.link).map_err(io::Error::other)?.read_to_end(&mut bytes)?;
        Ok(bytes.chunks_exact(size_of::<SocketSettings>()).map(settings_of).collect())
    }
}

fn settings_of(bytes: &[u8]) -> (u64, Settings) {
    // SAFETY: there are enough bytes, any of which make valid integers.
    let found = unsafe { std::ptr::read_unaligned(bytes.as_ptr().cast::<SocketSettings>()) };
    let has = |bits: u16, bit: u8| bits & u16::from(bit) != 0;
    let settings = Settings {
        send_buffer_fixed: has(found.buffer_locks, SEND_BUFFER_LOCK),
        receive_buffer_fixed: has(found.buffer_locks, RECEIVE_BUFFER_LOCK),
        no_delay: has(found.nagle, NAGLE_OFF),
        window_clamp_bytes: found.window_clamp_bytes,
    };
    (found.cookie, settings)
}
