//! Unregisters on kernels before 6.4, where a registration outlives the process that made it: a child
//! that waits for its parent's end and tidies up then, whatever ended the parent.

use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use crate::registered::Refused;

/// The verb under which a binary that uses this crate calls [`stand_guard`].
pub const GUARD_VERB: &str = "guard-congestion-control";

/// A guard that stands.
pub(crate) struct Guard {
    child: Child,
}

impl Guard {
    /// Starts this very binary to watch over the map of this number.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn set(map_number: u32) -> Result<Self, Refused> {
        let child = std::env::current_exe().and_then(|binary| {
            Command::new(binary)
                .args([GUARD_VERB, &map_number.to_string()])
                // It must hear of our end, not of whatever ends us.
                .process_group(0)
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
        });
        child.map(|child| Self { child }).map_err(|error| Refused {
            reason: format!("the process that would unregister the congestion control cannot be started: {error}"),
        })
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// Waits until standard input ends, and takes the congestion control of that map from the kernel.
///
/// # Errors
/// Standard input cannot be read, or the kernel refuses. That it is gone already is no error.
pub fn stand_guard(map_number: u32) -> io::Result<()> {
    // Held from now on: the number could be another map's by then.
    // SAFETY: the call takes a number, and gives a new file descriptor or a negative error.
    let map = unsafe { libbpf_sys::bpf_map_get_fd_by_id(map_number) };
    if map < 0 {
        return Err(io::Error::from_raw_os_error(-map));
    }
    // SAFETY: the file descriptor is new and nobody else's.
    let map = unsafe { OwnedFd::from_raw_fd(map) };
    io::stdin().lock().read_to_end(&mut Vec::new())?;
    let key = 0_u32;
    // SAFETY: the kernel reads a key of 4 bytes, which such a map has.
    let failed = unsafe { libbpf_sys::bpf_map_delete_elem(map.as_raw_fd(), (&raw const key).cast()) };
    match -failed {
        0 | libc::ENOENT => Ok(()),
        number => Err(io::Error::from_raw_os_error(number)),
    }
}
