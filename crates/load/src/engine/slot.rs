//! A strand and what its thread keeps of it.

use workload::strand::Strand;

use super::orders::Arrival;

/// A strand and what the thread keeps of it.
pub(crate) struct Slot {
    pub strand: Strand,
    pub first_link: u32,
    /// Whether it is in the queue of those that can go on.
    pub(super) is_queued: bool,
    /// Whether it has not ended the transaction yet.
    pub(super) is_running: bool,
    /// When it wants to be woken; the timer that is not for this instant is stale.
    pub(super) wake_ns: u64,
    pub(super) first_call_ns: u64,
    pub(super) last_call_ns: u64,
    pub(super) short_calls_count: u64,
    pub(super) other_calls_count: u64,
    /// Executions that had begun after its last turn; wraps.
    pub(super) begun_before: u32,
    /// Whether a sentence says why it goes on no more.
    pub(super) has_failed: bool,
    /// When the connection was begun that is opening.
    pub(super) opening_ns: u64,
    /// Whether the preamble of that connection is still to be taken.
    pub(super) is_greeting: bool,
    /// Connections opened by the workload so far.
    pub(super) connects_count: u32,
    /// Those that came before the strand asked for them.
    pub(super) arrivals: Vec<Arrival>,
}

impl Slot {
    /// A strand that has not begun.
    pub fn new(strand: Strand, first_link: u32) -> Self {
        Self {
            strand,
            first_link,
            is_queued: false,
            is_running: false,
            wake_ns: u64::MAX,
            first_call_ns: u64::MAX,
            last_call_ns: 0,
            short_calls_count: 0,
            other_calls_count: 0,
            begun_before: 0,
            has_failed: false,
            opening_ns: 0,
            is_greeting: false,
            connects_count: 0,
            arrivals: Vec::new(),
        }
    }
}
