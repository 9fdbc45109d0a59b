//! Entering a namespace for good, with a sysfs that shows it.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::stat::Mode;

use crate::error::PathError;

/// Moves the calling process into the network namespace behind `netns` (such as
/// [`schema::testbed::TestbedEnd::netns`]) and gives it a mount namespace of its own, in which
/// `/sys` shows that network namespace.
///
/// # Errors
/// The process has several threads already, the namespace is gone, or there is no permission. The
/// process may then have moved in part and should end.
pub fn enter(netns: &Path) -> Result<(), PathError> {
    let count = fs::read_dir("/proc/self/task").map_err(|error| PathError::system("count the threads of this process", error))?.count();
    if count != 1 {
        return Err(PathError::SeveralThreads { count });
    }
    let gone = || PathError::NoNamespace { path: netns.display().to_string() };
    let file = File::open(netns).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => gone(),
        _ => PathError::system(format!("open the network namespace {}", netns.display()), error),
    })?;
    setns(file, CloneFlags::CLONE_NEWNET).map_err(|error| match error {
        Errno::EINVAL => gone(),
        _ => PathError::system(format!("enter the network namespace {}", netns.display()), error),
    })?;
    mount_own_sysfs()
}

/// Gives the calling thread a mount namespace of its own whose `/sys` shows the thread's network
/// namespace. What was mounted below `/sys` (cgroups, tracing, BPF) stays where it was.
pub(crate) fn mount_own_sysfs() -> Result<(), PathError> {
    let failed = |action: &'static str| move |error: Errno| PathError::system(action, error);
    unshare(CloneFlags::CLONE_NEWNS).map_err(failed("make a mount namespace"))?;
    // Slave: nothing mounted from here on is seen outside; what the host mounts later is seen here.
    mount(None::<&str>, "/", None::<&str>, MsFlags::MS_SLAVE | MsFlags::MS_REC, None::<&str>)
        .map_err(failed("part from the host's mounts"))?;
    let below = mounts_below_sys();
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    mount(Some("sysfs"), "/sys", Some("sysfs"), flags, None::<&str>).map_err(failed("mount a sysfs of the namespace"))?;
    for (point, directory) in below {
        let from = format!("/proc/thread-self/fd/{}", directory.as_raw_fd());
        // A mount that cannot be carried over is merely not seen by this process.
        let _ = mount(Some(from.as_str()), &point, None::<&str>, MsFlags::MS_BIND, None::<&str>);
    }
    Ok(())
}

/// Mount points below `/sys`, outermost first, each opened before a new `/sys` hides it.
fn mounts_below_sys() -> Vec<(PathBuf, OwnedFd)> {
    let table = fs::read_to_string("/proc/thread-self/mountinfo").unwrap_or_default();
    let points = table.lines().filter_map(|line| line.split(' ').nth(4)).filter(|point| point.starts_with("/sys/"));
    points
        .filter_map(|point| {
            let directory = open(point, OFlag::O_PATH | OFlag::O_CLOEXEC, Mode::empty()).ok()?;
            Some((PathBuf::from(point), directory))
        })
        .collect()
}
