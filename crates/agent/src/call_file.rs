//! The log of calls as a Parquet file that grows while the trial runs.

use arrow_array::ArrayRef;
use arrow_array::builder::{PrimitiveBuilder, UInt32Builder, UInt64Builder};
use arrow_array::types::UInt8Type;
use probe::evidence::Call;
use schema::table::{CALL_WORDS, CALLS, OUTCOMES};
use schema::trial::Role;
use std::fs::File;
use std::sync::Arc;

use crate::log_file::{Batch, EndLog, constant, words};
use crate::record::RecordError;

/// A log of calls being written.
pub struct CallFile {
    log: EndLog<Columns>,
    times_softirqs: bool,
}

/// A batch of rows, as columns in the order of [`CALLS`].
#[derive(Default)]
struct Columns {
    /// Connection, thread, bytes, CPU.
    numbers: [UInt32Builder; 4],
    /// Start, end, the durations.
    times: [UInt64Builder; 8],
    kind: PrimitiveBuilder<UInt8Type>,
    outcome: PrimitiveBuilder<UInt8Type>,
    rows: usize,
}

impl CallFile {
    /// An empty file of an end, as [`EndLog::create`]. Whether `times_softirqs`, the hooks say.
    ///
    /// # Errors
    /// It cannot be made there.
    pub fn create(host: &str, role: Role, times_softirqs: bool) -> Result<Self, RecordError> {
        Ok(Self { log: EndLog::create(&CALLS, &["start_mono_ns", "end_mono_ns"], host, role)?, times_softirqs })
    }

    /// Appends a call of a connection.
    ///
    /// # Errors
    /// The file cannot grow.
    pub fn push(&mut self, connection: u32, cpu: u32, call: &Call) -> Result<(), RecordError> {
        let times_softirqs = self.times_softirqs;
        self.log.push(|columns| columns.push(connection, cpu, call, times_softirqs))
    }

    /// Ends the file; it is read from its beginning.
    ///
    /// # Errors
    /// The file cannot grow.
    pub fn finish(self) -> Result<File, RecordError> {
        self.log.finish()
    }
}

impl Columns {
    fn push(&mut self, connection: u32, cpu: u32, call: &Call, times_softirqs: bool) {
        let known = |time: u64| (call.start_ns != 0).then_some(time);
        let softirqs = |time: u64| known(time).filter(|_| times_softirqs);
        let times = [
            known(call.start_ns),
            Some(call.end_ns),
            known(call.asleep_ns),
            known(call.runnable_ns),
            softirqs(call.softirq_ns),
            known(call.asleep_before_ns),
            known(call.runnable_before_ns),
            softirqs(call.softirq_before_ns),
        ];
        for (builder, time) in self.times.iter_mut().zip(times) {
            builder.append_option(time);
        }
        for (builder, number) in self.numbers.iter_mut().zip([connection, call.thread, call.moved_bytes, cpu]) {
            builder.append_value(number);
        }
        self.kind.append_value(call.kind);
        self.outcome.append_value(call.outcome);
        self.rows += 1;
    }
}

impl Batch for Columns {
    fn rows(&self) -> usize {
        self.rows
    }

    fn take(&mut self, host: &str, role: &str) -> Result<Vec<ArrayRef>, RecordError> {
        let rows = std::mem::take(&mut self.rows);
        let (mut numbers, mut times) = (self.numbers.iter_mut(), self.times.iter_mut());
        CALLS
            .columns
            .iter()
            .map(|column| -> Result<ArrayRef, RecordError> {
                Ok(match column.name {
                    "host" => constant(host, rows)?,
                    "role" => constant(role, rows)?,
                    "call" => words(&mut self.kind, &CALL_WORDS)?,
                    "outcome" => words(&mut self.outcome, &OUTCOMES)?,
                    name if name.ends_with("_ns") => {
                        Arc::new(times.next().map_or_else(|| UInt64Builder::new().finish(), UInt64Builder::finish))
                    }
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
    fn there_is_a_builder_for_each_of_the_tables_numbers() {
        let of = |wanted: ColumnType| CALLS.columns.iter().filter(|column| column.column_type == wanted).count();
        let columns = Columns::default();
        assert_eq!((of(ColumnType::U32), of(ColumnType::U64)), (columns.numbers.len(), columns.times.len()));
    }
}
