//! Rows of the stage times: tables `stages` and `stage_gaps`.

use probe::stages::{Gap, StageRecord};
use schema::table::{Context, Retransmission, SegmentDirection, Stage, StageGap, StageGapRow, StageRow};
use schema::trial::Role;

use crate::table::{Columns, Rows};

/// The row of a stage; `None` of a code that there is not.
#[inline]
pub fn stage<'a>(host: &'a str, role: Role, connection: u32, cpu: u32, record: &StageRecord) -> Option<StageRow<'a>> {
    Some(StageRow {
        host,
        connection,
        role,
        direction: if record.direction == 0 { SegmentDirection::Out } else { SegmentDirection::In },
        stage: Stage::of_code(record.stage)?,
        sequence: record.sequence,
        payload_bytes: record.payload_bytes,
        wire_segments: u32::from(record.wire_segments),
        start_mono_ns: record.start_ns,
        wall_ns: record.wall_ns,
        cpu_ns: record.cpu_ns,
        probes_count: u32::from(record.probes),
        copied_bytes: record.copied_bytes,
        thread: record.thread,
        context: Context::of_code(record.context).unwrap_or(Context::Other),
        retransmission: Retransmission::of_code(record.retransmission),
        one_in_count: record.sample_mask.saturating_add(1),
        cpu,
    })
}

/// Table of what was not followed, `connection` being what stands for a port; and of the rows that the log lost.
pub fn gaps(host: &str, gaps: &[Gap], lost_rows_count: u64, connection: impl Fn(u16) -> Option<u32>) -> Columns {
    let mut rows = Rows::<StageGapRow<'_>>::new();
    for gap in gaps {
        // A connection of another program that came to the trial's port has no number.
        let Some(number) = connection(gap.port) else { continue };
        rows.push(StageGapRow { host, connection: Some(number), reason: gap.reason, gaps_count: gap.count });
    }
    if lost_rows_count > 0 {
        rows.push(StageGapRow { host, connection: None, reason: StageGap::LostRecord, gaps_count: lost_rows_count });
    }
    rows.into_columns()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_of_an_unknown_stage_is_no_row() {
        let record = StageRecord { stage: 255, ..StageRecord::default() };
        assert!(stage("near", Role::Sender, 0, 0, &record).is_none());
        let record = StageRecord { retransmission: 255, sample_mask: 63, wall_ns: 7, ..StageRecord::default() };
        let row = stage("near", Role::Sender, 0, 0, &record).expect("stage 0 is call_entry");
        assert_eq!((row.stage, row.retransmission, row.one_in_count, row.wall_ns), (Stage::CallEntry, None, 64, 7));
    }
}
