//! Finds out whether an agent's controller lives.
//!
//! A controller holds the other end of its agent's standard input, or its parent does on its
//! behalf (ssh). An agent whose controller was killed is adopted by process 1 or by a subreaper,
//! and nobody holds the writing end of its pipe. Where the two do not both hold, or cannot be
//! seen, the controller counts as living: ending a good run is worse than missing a leftover.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::process;

/// Programs that adopt orphans and never control an agent.
const ADOPTERS: [&str; 9] = ["systemd", "init", "tini", "dumb-init", "catatonit", "docker-init", "s6-svscan", "runit", "runsvdir"];

/// Open files that are searched for the name of a controller, at most: any user may have millions.
const MAX_FILES: usize = 100_000;

/// True if nobody controls process `pid` any more, as far as can be seen, or it has ended itself.
pub(super) fn is_gone(pid: u32) -> bool {
    let Some(stat) = process::stat(pid) else { return true };
    match has_writer(pid) {
        Some(true) => false,
        Some(false) => stat.parent == 1 || is_adopter(stat.parent) || has_nothing_of(stat.parent, pid),
        // The other end of a socket cannot be seen; only a well-known adopter says enough.
        None => is_adopter(stat.parent),
    }
}

/// The process that controls process `pid`: one that writes to its input, or otherwise its parent.
pub(super) fn of(pid: u32) -> Option<u32> {
    let input = fs::read_link(format!("/proc/{pid}/fd/0")).unwrap_or_default();
    let files = process::all().into_iter().filter(|&other| other != pid).flat_map(|other| {
        let files = fs::read_dir(format!("/proc/{other}/fd")).into_iter().flatten().flatten();
        files.map(move |file| (other, file))
    });
    let can_write = |other: u32, file: &fs::DirEntry| {
        let about = format!("/proc/{other}/fdinfo/{}", file.file_name().display());
        let flags = fs::read_to_string(about).unwrap_or_default();
        flags.lines().find_map(|line| line.strip_prefix("flags:")).is_some_and(is_open_for_writing)
    };
    let mut some = files.take(MAX_FILES);
    let writer = some.find(|(other, file)| fs::read_link(file.path()).is_ok_and(|target| target == input) && can_write(*other, file));
    writer.map(|(other, _)| other).or_else(|| Some(process::stat(pid)?.parent))
}

/// True if somebody holds the writing end of the pipe that process `pid` reads; `None` where it reads from none, or from
/// one of another user. The kernel counts them: also those of processes that cannot be seen here.
fn has_writer(pid: u32) -> Option<bool> {
    let path = PathBuf::from(format!("/proc/{pid}/fd/0"));
    fs::read_link(&path).ok().filter(|input| input.as_os_str().as_encoded_bytes().starts_with(b"pipe:["))?;
    let input = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path).ok()?;
    let mut asked = [PollFd::new(input.as_fd(), PollFlags::empty())];
    poll(&mut asked, PollTimeout::ZERO).ok()?;
    Some(!asked[0].revents()?.contains(PollFlags::POLLHUP))
}

fn is_adopter(pid: u32) -> bool {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    ADOPTERS.contains(&name.trim())
}

/// True if the octal flags of open(2) allow writing.
fn is_open_for_writing(flags: &str) -> bool {
    const ACCESS_MODE: u32 = 0o3;
    u32::from_str_radix(flags.trim(), 8).is_ok_and(|flags| flags & ACCESS_MODE != 0)
}

/// True if `parent` shares none of the standard files of `child`, so that it cannot be what
/// started it with them. A parent whose files cannot all be seen may.
fn has_nothing_of(parent: u32, child: u32) -> bool {
    let Ok(files) = fs::read_dir(format!("/proc/{parent}/fd")) else { return false };
    let standard: Vec<PathBuf> = (0..=1).filter_map(|number| fs::read_link(format!("/proc/{child}/fd/{number}")).ok()).collect();
    files.flatten().all(|file| match fs::read_link(file.path()) {
        Ok(target) => !standard.contains(&target),
        // Otherwise it was closed since it was listed.
        Err(error) => error.kind() != io::ErrorKind::PermissionDenied,
    })
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
        assert_eq!((is_gone(child.id()), of(child.id())), (false, Some(std::process::id())));
        drop(child.stdin.take());
        child.wait().expect("end");
        assert_eq!((is_gone(child.id()), of(child.id())), (true, None));
    }
}
