//! The record's tables from trials on the model: the columns of a live run, null where the model has no value.
//!
//! Instants are the model's own, from 0. What the model's levels are in the table `cpu`: `system_ns` is the process in
//! its calls, copies included; `softirq_ns` protocol code, whoever runs it; `irq_ns` interrupts and drivers. Its
//! processes spend no time outside of calls, so `user_ns` is 0, and nobody else runs there, so `steal_ns` is.

use anyhow::Context;
use schema::table::{CALLS, CPU, FLOWS, INTERVALS, LATENCIES, PATH, TCP_INFO, TRANSACTIONS, Table, Value};
use schema::trial::Role;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::record::TableBuilder;
use crate::segment_file::SegmentFile;

/// The two ends, in the order of the model's.
pub const LABELS: [&str; 2] = ["near", "far"];

/// A trial's rows of one table and end.
pub struct Rows {
    /// Of which table.
    pub table: &'static Table,
    /// Of which end.
    pub who: usize,
    /// The rows.
    pub of_end: Vec<Vec<Value>>,
}

/// Values of named columns as a row; the others are null.
pub fn row<const N: usize>(table: &'static Table, values: [(&str, Value); N]) -> Vec<Value> {
    let mut row = vec![Value::None; table.columns.len()];
    for (column, value) in values {
        if let Some(position) = table.position(column) {
            row[position] = value;
        }
    }
    row
}

/// The tables of all trials of one call, in a folder.
pub struct Folder {
    path: PathBuf,
    is_of_several: bool,
    builders: Vec<(usize, TableBuilder)>,
}

/// The tables that a trial may have beside the log of segments.
const TABLES: [&Table; 8] = [&FLOWS, &INTERVALS, &TCP_INFO, &CPU, &TRANSACTIONS, &LATENCIES, &CALLS, &PATH];

impl Folder {
    /// Of one trial, or of several, whose names stand in a column of their own.
    pub fn new(path: &Path, is_of_several: bool) -> Self {
        let each = TABLES.into_iter().flat_map(|table| [0, 1].map(|who| (who, TableBuilder::simulated(table, is_of_several))));
        Self { path: path.to_owned(), is_of_several, builders: each.collect() }
    }

    /// Takes a trial's rows.
    pub fn push(&mut self, trial: &str, tables: Vec<Rows>) -> anyhow::Result<()> {
        for Rows { table, who, of_end } in tables {
            for row in of_end {
                self.push_row(trial, table, who, row)?;
            }
        }
        Ok(())
    }

    /// Takes one row of a trial: of tables that are too long to be held as rows.
    pub fn push_row(&mut self, trial: &str, table: &'static Table, who: usize, row: Vec<Value>) -> anyhow::Result<()> {
        let found = self.builders.iter_mut().find(|(of, builder)| *of == who && builder.name() == table.name);
        if let Some((_, builder)) = found {
            builder.push_of(trial, row).with_context(|| format!("trial {trial}"))?;
        }
        Ok(())
    }

    /// Writes the tables that have a row.
    pub fn finish(self) -> anyhow::Result<()> {
        for (who, builder) in self.builders {
            if builder.is_empty() {
                continue;
            }
            let file = self.path.join(format!("{}.{}.parquet", builder.name(), LABELS[who]));
            fs::write(&file, builder.finish()?).with_context(|| format!("writing {}", file.display()))?;
        }
        Ok(())
    }

    /// Where the log of an end goes; none of several trials.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn log(&self, who: usize, role: Role) -> anyhow::Result<SegmentFile> {
        anyhow::ensure!(!self.is_of_several, "a trial with the segment log is simulated by itself");
        Ok(SegmentFile::create(LABELS[who], role)?)
    }

    /// Puts a log that is whole into the folder.
    pub fn keep_log(&self, who: usize, log: SegmentFile) -> anyhow::Result<()> {
        let path = self.path.join(format!("segments.{}.parquet", LABELS[who]));
        let mut log = log.finish()?;
        io::Seek::rewind(&mut log)?;
        let mut file = File::create(&path).with_context(|| format!("making {}", path.display()))?;
        io::copy(&mut log, &mut file).with_context(|| format!("writing {}", path.display()))?;
        Ok(())
    }
}
