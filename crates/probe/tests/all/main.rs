//! Evidence of real connections, held against what their sockets say.

mod chosen;
mod evidence;
mod sockets;
mod stacks;
mod stages;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// One test at a time: programs of two would be in each other's counts, and a sampler sees all threads of the process.
fn guard() -> MutexGuard<'static, ()> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}
