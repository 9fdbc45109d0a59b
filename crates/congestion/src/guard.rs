//! Unregisters on kernels before 6.4, where a registration outlives the process that made it: a child
//! that waits for its parent's end and tidies up then, whatever ended the parent.

use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use crate::registration::{Refused, open_map, unregister};

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
        // Not by its path, where another file may lie by now.
        let child = Command::new("/proc/self/exe")
            .args([GUARD_VERB, &map_number.to_string()])
            // It must hear of our end, not of whatever ends us.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
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
    let map = open_map(map_number)?;
    io::stdin().lock().read_to_end(&mut Vec::new())?;
    unregister(&map)
}
