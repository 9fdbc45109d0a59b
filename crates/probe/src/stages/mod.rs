//! Stage times of sampled segments, by BPF programs on tracepoints: where the time of a segment goes in a host, from the
//! write call to the driver and from the interrupt to the reader.
//!
//! Hooks: [`hooks::PLACES`]. Columns: [`schema::table::STAGES`], [`schema::table::STAGE_GAPS`]. Needs what the counters need,
//! and Linux 5.11. The programs are an object of their own: without stage times none of them is in the kernel.
//!
//! A CPU is in one stage at a time for the thread that it runs, and in one for the softirq on top of that. A program that
//! runs ends the stage and begins the next. So the stages take all time of sampled segments, and none twice. Interrupts,
//! softirqs, other threads, and what the programs themselves take, stop the clock of what is below them.
//!
//! Which segments are sampled is decided by a hash of connection and sequence number: all stages of a segment at both
//! hosts are, whatever becomes of the segment. Programs take the time only near sampled segments. Elsewhere a
//! run is as short as it can be.
//!
//! Not seen: what lies between two hooks, such as the end of the copy in a write call that transmits; interrupts without a
//! tracepoint, such as timers', which belong to the stage that they interrupt; receive calls that do not copy
//! (`MSG_TRUNC`); drivers that use `napi_gro_frags`, whose GRO counts as the driver's. Programs of other measurements at
//! the same tracepoints, the counters' too, belong to the stage that ends there.

pub mod hooks;
#[rustfmt::skip]
#[allow(missing_docs, dead_code, clippy::doc_markdown, clippy::unreadable_literal, reason = "it is generated")]
mod layout;
pub mod limits;
mod object;
mod watch;

pub use layout::StageRecord;
pub use object::hooks;
pub use watch::{Gap, StageLog, StageWatch, Usage, cpu_of_log};
