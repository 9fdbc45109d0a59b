//! The folder to which the tables of trials on the model go.

use anyhow::Context;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::run::{HOSTS, RunOutput};
use super::tables::Tables;
use super::{executions, logs, rows, stages};

/// The tables of all trials of one call, in a folder.
pub struct Folder {
    path: PathBuf,
    is_of_several: bool,
    hosts: [Tables; 2],
}

impl Folder {
    /// Of one trial, or of several, whose names stand in a column of their own.
    pub fn new(path: &Path, is_of_several: bool) -> Self {
        Self { path: path.to_owned(), is_of_several, hosts: [0, 1].map(|_| Tables::new(is_of_several)) }
    }

    /// Takes the rows of a trial.
    pub fn push(&mut self, run: &RunOutput) {
        let spans = run.spans();
        rows::push(run, &spans, &mut self.hosts);
        if !run.names.is_empty() {
            executions::push(run, &spans, &mut self.hosts);
        }
    }

    /// Takes the calls of a trial, and writes its log of segments; returns how many rows of the log each side has.
    ///
    /// # Errors
    /// The log cannot be written, or the folder is of several trials.
    pub fn push_logs(&mut self, run: &RunOutput) -> anyhow::Result<[u64; 2]> {
        anyhow::ensure!(!self.is_of_several, "a trial with the segment log is simulated by itself");
        logs::push_calls(run, &mut self.hosts);
        let mut counts = [0, 0];
        for (who, count) in counts.iter_mut().enumerate() {
            let path = self.path.join(format!("segments.{}.parquet", HOSTS[who]));
            let (mut log, rows) = logs::write_segments(run, who)?;
            let mut file = File::create(&path).with_context(|| format!("making {}", path.display()))?;
            io::Seek::rewind(&mut log)?;
            io::copy(&mut log, &mut file).with_context(|| format!("writing {}", path.display()))?;
            *count = rows;
        }
        Ok(counts)
    }

    /// Takes the stages of a trial's segments; returns how many rows each side has.
    pub fn push_stages(&mut self, run: &RunOutput) -> [u64; 2] {
        stages::push(run, &mut self.hosts)
    }

    /// Writes the tables that have a row.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn finish(self) -> anyhow::Result<()> {
        for (host, tables) in HOSTS.into_iter().zip(self.hosts) {
            for columns in tables.into_columns().into_iter().filter(|columns| !columns.is_empty()) {
                let file = self.path.join(format!("{}.{host}.parquet", columns.name()));
                fs::write(&file, columns.finish()?).with_context(|| format!("writing {}", file.display()))?;
            }
        }
        Ok(())
    }
}
