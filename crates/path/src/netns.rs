//! An anonymous network namespace and how to do something inside it.

use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::thread;

use nix::sched::{CloneFlags, setns, unshare};

use crate::error::PathError;

/// A network namespace that lives as long as this value and whoever entered it.
#[derive(Debug)]
pub(crate) struct Netns {
    /// Close-on-exec, so that no child of the holder keeps the namespace alive.
    file: OwnedFd,
}

impl Netns {
    /// Makes a namespace. Its birth thread ends at once; the caller's threads stay where they are.
    ///
    /// # Errors
    /// [`PathError::NotPermitted`] without `CAP_SYS_ADMIN`.
    pub fn new() -> Result<Self, PathError> {
        let file = on_own_thread(|| {
            unshare(CloneFlags::CLONE_NEWNET).map_err(|error| PathError::system("make a network namespace", error))?;
            File::open("/proc/thread-self/ns/net").map_err(|error| PathError::system("open the new network namespace", error))
        })?;
        Ok(Self { file: file.into() })
    }

    /// Path by which other processes of the user reach the namespace.
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd())
    }

    /// The descriptor, for netlink messages that name a namespace.
    pub fn raw(&self) -> i32 {
        self.file.as_raw_fd()
    }

    /// Runs `work` on a thread of its own inside the namespace. Sockets that `work` returns go on
    /// belonging to the namespace, and keep it alive.
    ///
    /// # Errors
    /// The namespace cannot be entered, or `work` failed.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> Result<T, PathError> + Send) -> Result<T, PathError> {
        on_own_thread(|| {
            setns(&self.file, CloneFlags::CLONE_NEWNET).map_err(|error| PathError::system("enter a network namespace", error))?;
            work()
        })
    }
}

/// Runs `work` on a thread that ends with it, so that changes of the thread's namespaces do too.
fn on_own_thread<T: Send>(work: impl FnOnce() -> Result<T, PathError> + Send) -> Result<T, PathError> {
    thread::scope(|scope| {
        let thread = thread::Builder::new()
            .name("netns".to_owned())
            .spawn_scoped(scope, work)
            .map_err(|error| PathError::system("start a thread", error))?;
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
