//! The single steps of which sending and receiving consist, timed on this host: what a model of it needs
//! to know before anything is fitted.
//!
//! Nothing here judges: every [`sample::Sample`] is a count of calls and the time they took. Rounds over
//! all steps follow each other, so that what else runs on the host does not fall on one step alone.
//!
//! - [`sample`]: what is reported.
//! - [`memory`]: copies. [`calls`]: the way into the kernel. [`wakes`]: from thread to thread.
//! - [`joined`]: two connected sockets in the testbed. [`buffers`]: calls that move bytes between user
//!   and socket and send nothing. [`segments`]: calls that send.
//! - [`rounds`]: all of them, in order.
//!
//! Parts that are not timed: anything below the virtual device, since the testbed has no adapter; interrupts of
//! hardware; memory on other sockets. A model of a host with an adapter needs those from elsewhere.

pub mod buffers;
pub mod calls;
pub mod joined;
pub mod memory;
pub mod rounds;
pub mod sample;
pub mod segments;
pub mod wakes;

/// Why a step could not be timed.
#[derive(Debug, thiserror::Error)]
pub enum StepError {
    /// The testbed could not be built.
    #[error(transparent)]
    Testbed(#[from] path::PathError),
    /// A thread could not be bound to its CPU.
    #[error(transparent)]
    Pin(#[from] load::LoadError),
    /// The kernel refused a call.
    #[error("{0}: {1}")]
    System(&'static str, std::io::Error),
}

/// The kernel refused what `action` says.
fn refused<E: Into<std::io::Error>>(action: &'static str) -> impl FnOnce(E) -> StepError {
    move |error| StepError::System(action, error.into())
}
