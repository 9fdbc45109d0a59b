//! The stages of segments on the model. Every segment is followed, and nothing of a probe is in their times.

use schema::table::{Retransmission, Stage, StageRow};
use sim::stages::Staged;
use sim::time::NS;

use super::run::{HOSTS, RunOutput};
use super::tables::Tables;

/// Appends the stages of both hosts; returns how many each has.
pub fn push(run: &RunOutput, hosts: &mut [Tables; 2]) -> [u64; 2] {
    for (who, (staged, tables)) in run.outcome.stages.iter().zip(hosts).enumerate() {
        for stage in staged {
            tables.stages.push_of(&run.asked.trial, row(run, who, stage));
        }
    }
    [0, 1].map(|who: usize| run.outcome.stages[who].len() as u64)
}

fn row<'a>(run: &RunOutput, who: usize, staged: &Staged) -> StageRow<'a> {
    let is_of_segment = !matches!(staged.stage, Stage::CallEntry | Stage::CopyIn | Stage::CopyOut);
    let is_copy = matches!(staged.stage, Stage::CopyIn | Stage::CopyOut);
    // As in the log: numbers begin at 1, and wrap.
    let sequence = u32::try_from((staged.sequence + 1) & u64::from(u32::MAX)).unwrap_or(u32::MAX);
    StageRow {
        host: HOSTS[who],
        connection: 0,
        role: run.role(who),
        direction: staged.direction,
        stage: staged.stage,
        sequence,
        payload_bytes: staged.bytes,
        wire_segments: u32::from(is_of_segment && staged.stage != Stage::Wakeup),
        start_mono_ns: staged.start / NS,
        wall_ns: staged.wall / NS,
        cpu_ns: staged.cpu / NS,
        probes_count: 0,
        copied_bytes: if is_copy { staged.bytes } else { 0 },
        thread: 0,
        context: staged.context,
        retransmission: staged.is_again.then_some(Retransmission::Other),
        one_in_count: 1,
        cpu: 0,
    }
}
