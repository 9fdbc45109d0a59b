//! Finds out whether threads may run under real-time scheduling.

use super::privileges::{Verdict, on_own_thread};

/// Tries `SCHED_FIFO` at the lowest priority on a thread that ends at once.
pub(super) fn verdict() -> Verdict {
    on_own_thread(|| {
        // SAFETY: `sched_param` consists of integers, for which all zero is a value.
        let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
        parameters.sched_priority = 1;
        // SAFETY: process id 0 means the calling thread; `parameters` is a live local value.
        let done = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) };
        if done == 0 {
            return Ok("a thread ran under SCHED_FIFO".to_owned());
        }
        let error = std::io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EPERM) => {
                Err("SCHED_FIFO needs CAP_SYS_NICE or a limit for rtprio (ulimit -r); in a container also CPU real-time runtime".to_owned())
            }
            _ => Err(format!("the kernel refuses SCHED_FIFO: {error}")),
        }
    })
}
