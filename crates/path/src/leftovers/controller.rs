//! Whether an agent's controller lives.
//!
//! A controller holds the other end of its agent's standard input, or its parent does on its
//! behalf (ssh). An agent whose controller was killed is adopted by process 1 or by a subreaper,
//! and nobody holds the writing end of its pipe. Where the two do not both hold, or cannot be
//! seen, the controller counts as living: ending a good run is worse than missing a leftover.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::process;

/// Programs that adopt orphans and never control an agent.
const ADOPTERS: [&str; 9] = ["systemd", "init", "tini", "dumb-init", "catatonit", "docker-init", "s6-svscan", "runit", "runsvdir"];

/// Who controls an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Controller {
    /// This process does, as far as can be seen.
    Lives {
        /// Its process id.
        pid: u32,
    },
    /// Nobody does any more, or the agent itself has ended.
    Gone,
}

impl Controller {
    /// Whether nobody controls the agent.
    pub fn is_gone(&self) -> bool {
        *self == Controller::Gone
    }
}

/// The controller of process `pid`.
pub(super) fn of(pid: u32) -> Controller {
    let Some(stat) = process::stat(pid) else { return Controller::Gone };
    let parent_lives = Controller::Lives { pid: stat.parent };
    let input = fs::read_link(format!("/proc/{pid}/fd/0")).unwrap_or_default();
    if !input.as_os_str().as_encoded_bytes().starts_with(b"pipe:[") {
        // The other end of a socket cannot be seen; only a well-known adopter says enough.
        return if is_adopter(stat.parent) { Controller::Gone } else { parent_lives };
    }
    if let Some(writer) = process::all().into_iter().find(|&other| other != pid && writes_to(other, &input)) {
        return Controller::Lives { pid: writer };
    }
    if stat.parent == 1 || is_adopter(stat.parent) || has_nothing_of(stat.parent, pid) { Controller::Gone } else { parent_lives }
}

fn is_adopter(pid: u32) -> bool {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    ADOPTERS.contains(&name.trim())
}

/// Whether process `pid` holds `file`, a pipe, open for writing.
fn writes_to(pid: u32, file: &Path) -> bool {
    let writable = |number: &OsStr| {
        let flags = fs::read_to_string(Path::new(&format!("/proc/{pid}/fdinfo")).join(number)).unwrap_or_default();
        flags.lines().find_map(|line| line.strip_prefix("flags:")).is_some_and(is_open_for_writing)
    };
    descriptors(pid).unwrap_or_default().iter().any(|(number, target)| target == file && writable(number))
}

/// Whether the octal flags of open(2) allow writing.
fn is_open_for_writing(flags: &str) -> bool {
    const ACCESS_MODE: u32 = 0o3;
    u32::from_str_radix(flags.trim(), 8).is_ok_and(|flags| flags & ACCESS_MODE != 0)
}

/// Whether `parent` shares none of the standard files of `child`, so that it cannot be what
/// started it with them. A parent whose files cannot be seen may.
fn has_nothing_of(parent: u32, child: u32) -> bool {
    let Some(of_parent) = descriptors(parent) else { return false };
    let standard: Vec<PathBuf> = (0..=1).filter_map(|number| fs::read_link(format!("/proc/{child}/fd/{number}")).ok()).collect();
    !of_parent.iter().any(|(_, target)| standard.contains(target))
}

/// Numbers and targets of a process's open files; `None` where they cannot all be seen.
fn descriptors(pid: u32) -> Option<Vec<(OsString, PathBuf)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(format!("/proc/{pid}/fd")).ok()?.filter_map(Result::ok) {
        match fs::read_link(entry.path()) {
            Ok(target) => found.push((entry.file_name(), target)),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return None,
            // Closed since it was listed.
            Err(_) => {}
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn access_modes_are_read_as_the_kernel_writes_them() {
        assert!(!is_open_for_writing("\t0100000"));
        assert!(is_open_for_writing("\t02000001"));
        assert!(is_open_for_writing("\t0100002"));
    }

    #[test]
    fn whoever_holds_the_pipe_is_the_controller() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("cat");
        assert_eq!(of(child.id()), Controller::Lives { pid: std::process::id() });
        drop(child.stdin.take());
        child.wait().expect("end");
        assert_eq!(of(child.id()), Controller::Gone);
    }
}
