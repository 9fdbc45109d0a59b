//! Lets the thread that samples a load run before the load's own threads. With unsafe code.
//!
//! Both share the CPUs whose time is measured. Among dozens of busy threads of equal priority a
//! sampler comes up to half a second late, and each host's window is then another.

use std::mem::zeroed;

/// The lowest real-time priority: above every ordinary thread, below everything that has its own.
const PRIORITY: libc::c_int = 1;

/// The calling thread runs first while this lives.
pub struct Urgent {
    raised: bool,
}

impl Urgent {
    /// Raises the calling thread's priority where the host allows it; nothing is lost but
    /// punctuality where it does not. Threads made from it are ordinary ones.
    pub fn this_thread() -> Self {
        Self { raised: set_policy(libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, PRIORITY) }
    }
}

impl Drop for Urgent {
    fn drop(&mut self) {
        if self.raised {
            set_policy(libc::SCHED_OTHER | libc::SCHED_RESET_ON_FORK, 0);
        }
    }
}

/// Sets the calling thread's policy; says whether it was allowed.
fn set_policy(policy: libc::c_int, priority: libc::c_int) -> bool {
    // SAFETY: all bits zero are a valid sched_param of any C library.
    let mut parameters: libc::sched_param = unsafe { zeroed() };
    parameters.sched_priority = priority;
    // SAFETY: the kernel reads `parameters`, which lives through the call; 0 is the calling thread.
    unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy() -> libc::c_int {
        // SAFETY: no memory is passed; 0 is the calling thread.
        unsafe { libc::sched_getscheduler(0) }
    }

    #[test]
    fn a_thread_is_urgent_only_while_it_asks() {
        let urgent = Urgent::this_thread();
        if urgent.raised {
            assert_eq!(policy(), libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK);
            assert_eq!(std::thread::spawn(policy).join().expect("policy"), libc::SCHED_OTHER);
        }
        drop(urgent);
        assert_eq!(policy() & !libc::SCHED_RESET_ON_FORK, libc::SCHED_OTHER);
    }
}
