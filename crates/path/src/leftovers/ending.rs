//! Ending one process, and no other.

use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::Serialize;

use super::controller;
use super::process::{self, AgentProcess};

/// Time a process has to end by itself.
const GRACE: Duration = Duration::from_secs(2);
/// Time the kernel has to end it.
const KILL_WAIT: Duration = Duration::from_secs(1);

/// The fate of a leftover.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// It ended when asked to (SIGTERM).
    Ended,
    /// It had to be killed (SIGKILL).
    Killed,
    /// It was removed.
    Removed,
    /// It was gone already.
    AlreadyGone,
    /// It is left alone for information only.
    Kept,
    /// It was not touched.
    Refused {
        /// Why, and what to do.
        reason: String,
    },
    /// It is still there.
    Failed {
        /// Why, and what to do.
        reason: String,
    },
}

/// Ends `agent` unless its controller lives.
pub(super) fn end(agent: &AgentProcess) -> Outcome {
    if !is_there(agent) {
        return Outcome::AlreadyGone;
    }
    if !controller::is_gone(agent.pid)
        && let Some(pid) = controller::of(agent.pid)
    {
        return Outcome::Refused { reason: format!("process {pid} controls agent {}; end that one", agent.pid) };
    }
    let attempts = [(Signal::SIGTERM, GRACE, Outcome::Ended), (Signal::SIGKILL, KILL_WAIT, Outcome::Killed)];
    for (which, wait, outcome) in attempts {
        match signal(agent, which) {
            Ok(()) => {}
            Err(Errno::ESRCH) => return outcome,
            Err(error) => return Outcome::Failed { reason: format!("process {} cannot be ended: {}", agent.pid, error.desc()) },
        }
        if is_gone_within(agent, wait) {
            return outcome;
        }
    }
    let reason = format!("process {} does not end even when killed; it waits in the kernel, see /proc/{}/stack", agent.pid, agent.pid);
    Outcome::Failed { reason }
}

/// Sends a signal, and lets a stopped process go on so that it can act on it.
fn signal(agent: &AgentProcess, which: Signal) -> nix::Result<()> {
    // The id could belong to another process by now; its start time shows it.
    if !is_there(agent) {
        return Err(Errno::ESRCH);
    }
    let pid = Pid::from_raw(i32::try_from(agent.pid).map_err(|_| Errno::ESRCH)?);
    kill(pid, which)?;
    kill(pid, Signal::SIGCONT)
}

fn is_there(agent: &AgentProcess) -> bool {
    process::stat(agent.pid).is_some_and(|stat| stat.start_ticks == agent.start_ticks)
}

fn is_gone_within(agent: &AgentProcess, wait: Duration) -> bool {
    let start = Instant::now();
    while is_there(agent) {
        if start.elapsed() > wait {
            return false;
        }
        sleep(Duration::from_millis(10));
    }
    true
}
