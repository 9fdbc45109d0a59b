//! A log as a Parquet file that grows while the trial runs, in constant memory. It lies in a file without a name, so
//! that nothing is left of it whatever ends the agent.

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::properties::WriterProperties;
use parquet::schema::types::ColumnPath;
use schema::table::{Column, ColumnType, Row, Table};
use std::fs::File;
use std::io;
use std::marker::PhantomData;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::table::{self, Cells, ColumnBuilder, RecordError};

/// Rows that are encoded together.
const BATCH_ROWS: usize = 65_536;
/// Rows of a row group: what a reader has to hold at least, and what is in memory here.
const GROUP_ROWS: usize = 1 << 20;
/// Columns whose numbers grow from row to row: they are written as differences.
const GROWING: [&str; 5] = ["segment_mono_ns", "sequence", "acknowledgment", "start_mono_ns", "end_mono_ns"];

/// A log of rows of the type `R`, being written a batch at a time.
pub struct Log<R> {
    writer: ArrowWriter<File>,
    schema: Arc<Schema>,
    builders: Vec<ColumnBuilder>,
    rows: usize,
    row: PhantomData<R>,
}

impl<R: Row> Log<R> {
    /// An empty log in the folder for temporary files, `TMPDIR` or /var/tmp.
    ///
    /// # Errors
    /// It cannot be made there.
    pub fn create() -> Result<Self, RecordError> {
        Self::create_with(arrow_schema(R::TABLE), ColumnBuilder::coded)
    }

    /// The same of a table that is otherwise kept in memory, whose texts are no codes.
    ///
    /// # Errors
    /// It cannot be made there.
    pub fn create_plain() -> Result<Self, RecordError> {
        Self::create_with(table::arrow_schema(R::TABLE), ColumnBuilder::plain)
    }

    fn create_with(schema: Schema, builder: fn(&Column) -> ColumnBuilder) -> Result<Self, RecordError> {
        let schema = Arc::new(schema);
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
            .set_max_row_group_row_count(Some(GROUP_ROWS))
            .set_dictionary_enabled(false);
        for column in R::TABLE.columns {
            let path = ColumnPath::from(column.name);
            if GROWING.contains(&column.name) {
                properties = properties.set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
            } else if column.column_type == ColumnType::Text {
                properties = properties.set_column_dictionary_enabled(path, true);
            }
        }
        let writer = ArrowWriter::try_new(nameless_file()?, Arc::clone(&schema), Some(properties.build()))?;
        let builders = R::TABLE.columns.iter().map(builder).collect();
        Ok(Self { writer, schema, builders, rows: 0, row: PhantomData })
    }

    /// Appends a row.
    ///
    /// # Errors
    /// The file cannot grow.
    #[inline]
    pub fn push(&mut self, row: R::With<'_>) -> Result<(), RecordError> {
        row.put(&mut Cells(self.builders.iter_mut()));
        self.rows += 1;
        if self.rows == BATCH_ROWS { self.write_batch() } else { Ok(()) }
    }

    /// Bytes of it now, those that are still to be written about as they are in memory.
    pub fn bytes_count(&self) -> u64 {
        (self.writer.bytes_written() + self.writer.in_progress_size()) as u64
    }

    /// Ends the log; it is read from its beginning.
    ///
    /// # Errors
    /// The file cannot grow.
    pub fn finish(mut self) -> Result<File, RecordError> {
        self.write_batch()?;
        Ok(self.writer.into_inner()?)
    }

    fn write_batch(&mut self) -> Result<(), RecordError> {
        self.rows = 0;
        let arrays = self.builders.iter_mut().map(ColumnBuilder::finish).collect::<Result<_, _>>()?;
        Ok(self.writer.write(&RecordBatch::try_new(Arc::clone(&self.schema), arrays)?)?)
    }
}

/// The table's schema, with texts as codes.
fn arrow_schema(table: &Table) -> Schema {
    let plain = table::arrow_schema(table);
    let coded = |field: &Arc<Field>| match field.data_type() {
        DataType::Utf8 => {
            let texts = DataType::Dictionary(Box::new(DataType::UInt8), Box::new(DataType::Utf8));
            field.as_ref().clone().with_data_type(texts)
        }
        _ => field.as_ref().clone(),
    };
    Schema::new_with_metadata(plain.fields().iter().map(coded).collect::<Vec<_>>(), plain.metadata().clone())
}

/// Where the file lies.
pub fn folder() -> PathBuf {
    std::env::var_os("TMPDIR").unwrap_or_else(|| "/var/tmp".into()).into()
}

fn nameless_file() -> io::Result<File> {
    let folder = folder();
    let opened = File::options().read(true).write(true).mode(0o600).custom_flags(nix::libc::O_TMPFILE).open(&folder);
    opened.map_err(|error| io::Error::new(error.kind(), format!("no temporary file in {}: {error}; set TMPDIR", folder.display())))
}
