//! The segment log as a Parquet file that grows while the trial runs.

use arrow_array::ArrayRef;
use arrow_array::builder::{BooleanBuilder, PrimitiveBuilder, UInt32Builder, UInt64Builder};
use arrow_array::types::UInt8Type;
use probe::evidence::Record;
use schema::table::{ACK_REASONS, CONTEXTS, RETRANSMISSIONS, SEGMENTS};
use schema::trial::Role;
use std::fs::File;
use std::sync::Arc;

use crate::log_file::{Batch, EndLog, constant, words};
use crate::record::RecordError;

const DIRECTIONS: [&str; 2] = ["out", "in"];

/// A segment log being written.
pub struct SegmentFile {
    log: EndLog<Columns>,
}

/// A batch of rows, as columns in the order of [`SEGMENTS`].
#[derive(Default)]
struct Columns {
    numbers: [UInt32Builder; 17],
    mono_ns: UInt64Builder,
    pacing_rate: UInt64Builder,
    ksoftirqd: BooleanBuilder,
    direction: PrimitiveBuilder<UInt8Type>,
    context: PrimitiveBuilder<UInt8Type>,
    retransmission: PrimitiveBuilder<UInt8Type>,
    reason: PrimitiveBuilder<UInt8Type>,
    rows: usize,
}

impl SegmentFile {
    /// An empty file of an end in the folder for temporary files, `TMPDIR` or /var/tmp.
    ///
    /// # Errors
    /// It cannot be made there.
    pub fn create(host: &str, role: Role) -> Result<Self, RecordError> {
        // Counters that go up: differences are small.
        let growing = ["segment_mono_ns", "sequence", "acknowledgment"];
        Ok(Self { log: EndLog::create(&SEGMENTS, &growing, host, role)? })
    }

    /// Appends a segment of a connection.
    ///
    /// # Errors
    /// The file cannot grow.
    pub fn push(&mut self, connection: u32, cpu: u32, record: &Record) -> Result<(), RecordError> {
        self.push_row(&Row::logged(connection, cpu, record))
    }

    /// Appends a row.
    ///
    /// # Errors
    /// The file cannot grow.
    pub fn push_row(&mut self, row: &Row) -> Result<(), RecordError> {
        self.log.push(|columns| columns.push(row))
    }

    /// Ends the file; it is read from its beginning.
    ///
    /// # Errors
    /// The file cannot grow.
    pub fn finish(self) -> Result<File, RecordError> {
        self.log.finish()
    }
}

/// A segment as a row; words by their position in the lists of the table.
#[derive(Debug, Default, Clone, Copy)]
pub struct Row {
    /// When.
    pub mono_ns: u64,
    /// 0 out, 1 in.
    pub direction: u8,
    /// Who sent it.
    pub context: u8,
    /// Whether that ran in ksoftirqd.
    pub is_ksoftirqd: bool,
    /// Kind of retransmission.
    pub retransmission: Option<u8>,
    /// Reason of a pure ACK.
    pub reason: Option<u8>,
    /// Pacing rate in bytes a second.
    pub pacing_rate: Option<u64>,
    /// The other numbers in the order of the table: connection, sequence, acknowledgment, payload, GSO size, wire
    /// segments, flags, window field, window, unacknowledged, unsent, cwnd, ssthresh, srtt, send window, receive
    /// queue, CPU.
    pub numbers: [Option<u32>; 17],
}

impl Row {
    fn logged(connection: u32, cpu: u32, record: &Record) -> Self {
        let state = |value: u32| (record.has_state != 0).then_some(value);
        let coded = |code: u8, words: usize| (usize::from(code) < words).then_some(code);
        Self {
            mono_ns: record.mono_ns,
            direction: record.direction.min(1),
            context: record.context,
            is_ksoftirqd: record.ksoftirqd != 0,
            retransmission: coded(record.retransmission, RETRANSMISSIONS.len()),
            reason: coded(record.reason, ACK_REASONS.len()),
            pacing_rate: (record.has_state != 0).then_some(record.pacing_rate),
            numbers: [
                Some(connection),
                Some(record.sequence),
                Some(record.acknowledgment),
                Some(record.payload_bytes),
                Some(u32::from(record.gso_size)),
                Some(u32::from(record.wire_segments)),
                Some(u32::from(record.flags)),
                Some(u32::from(record.window_field)),
                Some(record.window_bytes),
                state(record.unacked_bytes),
                state(record.unsent_bytes),
                state(record.cwnd),
                state(record.ssthresh),
                // From eighths of a microsecond.
                state(record.srtt.saturating_mul(125)),
                state(record.send_window_bytes),
                state(record.receive_queue_bytes),
                Some(cpu),
            ],
        }
    }
}

impl Columns {
    fn push(&mut self, row: &Row) {
        self.direction.append_value(row.direction);
        self.mono_ns.append_value(row.mono_ns);
        self.pacing_rate.append_option(row.pacing_rate);
        self.context.append_value(row.context);
        self.ksoftirqd.append_value(row.is_ksoftirqd);
        self.retransmission.append_option(row.retransmission);
        self.reason.append_option(row.reason);
        for (builder, number) in self.numbers.iter_mut().zip(row.numbers) {
            builder.append_option(number);
        }
        self.rows += 1;
    }
}

impl Batch for Columns {
    fn rows(&self) -> usize {
        self.rows
    }

    fn take(&mut self, host: &str, role: &str) -> Result<Vec<ArrayRef>, RecordError> {
        let rows = std::mem::take(&mut self.rows);
        let mut numbers = self.numbers.iter_mut();
        SEGMENTS
            .columns
            .iter()
            .map(|column| -> Result<ArrayRef, RecordError> {
                Ok(match column.name {
                    "host" => constant(host, rows)?,
                    "role" => constant(role, rows)?,
                    "direction" => words(&mut self.direction, &DIRECTIONS)?,
                    "context" => words(&mut self.context, &CONTEXTS)?,
                    "retransmission" => words(&mut self.retransmission, &RETRANSMISSIONS)?,
                    "ack_reason" => words(&mut self.reason, &ACK_REASONS)?,
                    "segment_mono_ns" => Arc::new(self.mono_ns.finish()),
                    "pacing_rate_bytes_per_second" => Arc::new(self.pacing_rate.finish()),
                    "ksoftirqd" => Arc::new(self.ksoftirqd.finish()),
                    _ => Arc::new(numbers.next().map_or_else(|| UInt32Builder::new().finish(), UInt32Builder::finish)),
                })
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schema::table::ColumnType;

    #[test]
    fn the_numbers_are_as_many_as_the_table_has() {
        let named = ["segment_mono_ns", "pacing_rate_bytes_per_second"];
        let numbers = SEGMENTS.columns.iter().filter(|column| matches!(column.column_type, ColumnType::U32 | ColumnType::U64));
        assert_eq!(numbers.filter(|column| !named.contains(&column.name)).count(), Columns::default().numbers.len());
    }
}
