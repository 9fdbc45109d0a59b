//! The calls of the model's processes as rows of `calls`, next to the log of segments.
//!
//! Each connection has a process, which is the thread of its number, and a host has no others: `softirq_ns` is protocol
//! work of others on its processor while it was awake, and `preempted_ns` the time from being woken until the
//! process runs. A call that the end of the trial cut
//! ends there, with what it had moved.

use schema::simulation::Simulation;
use schema::table::{CALL_WORDS, CALLS, OUTCOMES, Value};
use sim::calls::Call;
use sim::time::NS;
use sim::world::Outcome;

use super::recorded::{Folder, LABELS, row};
use super::rows::role;

/// Writes both ends' calls.
pub fn write(asked: &Simulation, outcome: &Outcome, folder: &mut Folder) -> anyhow::Result<()> {
    for (who, connections) in outcome.calls.iter().enumerate() {
        let role = role(asked, who).name();
        for (connection, calls) in (0u32..).zip(connections) {
            for call in calls {
                folder.push_row(&asked.trial, &CALLS, who, called(who, connection, role, call))?;
            }
        }
    }
    Ok(())
}

fn called(who: usize, connection: u32, role: &str, call: &Call) -> Vec<Value> {
    row(
        &CALLS,
        [
            ("host", LABELS[who].into()),
            ("connection", connection.into()),
            ("role", role.into()),
            ("thread", connection.into()),
            ("call", CALL_WORDS[call.kind as usize].into()),
            ("start_mono_ns", (call.from / NS).into()),
            ("end_mono_ns", (call.to / NS).into()),
            ("moved_bytes", u32::try_from(call.moved_bytes).unwrap_or(u32::MAX).into()),
            ("outcome", OUTCOMES[0].into()),
            ("blocked_ns", (call.inside.asleep / NS).into()),
            ("preempted_ns", (call.inside.runnable / NS).into()),
            ("softirq_ns", (call.inside.displaced / NS).into()),
            ("waited_before_ns", (call.before.asleep / NS).into()),
            ("runnable_before_ns", (call.before.runnable / NS).into()),
            ("softirq_before_ns", (call.before.displaced / NS).into()),
            ("cpu", 0u32.into()),
        ],
    )
}
