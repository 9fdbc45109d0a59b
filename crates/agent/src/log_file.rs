//! A log as a Parquet file that grows while the trial runs, in constant memory. It lies in a file
//! without a name, so that nothing is left of it whatever ends the agent.

use arrow_array::builder::PrimitiveBuilder;
use arrow_array::types::UInt8Type;
use arrow_array::{ArrayRef, DictionaryArray, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::properties::WriterProperties;
use parquet::schema::types::ColumnPath;
use schema::table::{ColumnType, Table};
use schema::trial::Role;
use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::record::{self, RecordError};

/// Rows that are encoded together.
const BATCH_ROWS: usize = 65_536;
/// Rows of a row group: what a reader has to hold at least, and what is in memory here.
const GROUP_ROWS: usize = 1 << 20;

/// Rows of a log that are not written yet.
pub trait Batch: Default {
    /// How many.
    fn rows(&self) -> usize;

    /// Their columns, in the order of the table; the batch is empty then.
    ///
    /// # Errors
    /// A word that the table does not have.
    fn take(&mut self, host: &str, role: &str) -> Result<Vec<ArrayRef>, RecordError>;
}

/// The log of an end, being written a batch at a time.
pub struct EndLog<B> {
    file: LogFile,
    host: String,
    role: &'static str,
    batch: B,
}

impl<B: Batch> EndLog<B> {
    /// An empty log of a table; columns of `growing` are numbers that go up from row to row.
    ///
    /// # Errors
    /// It cannot be made in the folder for temporary files, `TMPDIR` or /var/tmp.
    pub fn create(table: &Table, growing: &[&str], host: &str, role: Role) -> Result<Self, RecordError> {
        let file = LogFile::create(table, growing)?;
        Ok(Self { file, host: host.to_owned(), role: role.name(), batch: B::default() })
    }

    /// Appends a row: `add` puts it into the batch.
    ///
    /// # Errors
    /// The file cannot grow.
    pub fn push(&mut self, add: impl FnOnce(&mut B)) -> Result<(), RecordError> {
        add(&mut self.batch);
        if self.batch.rows() == BATCH_ROWS { self.write_batch() } else { Ok(()) }
    }

    /// Ends the log; it is read from its beginning.
    ///
    /// # Errors
    /// The file cannot grow.
    pub fn finish(mut self) -> Result<File, RecordError> {
        self.write_batch()?;
        self.file.finish()
    }

    fn write_batch(&mut self) -> Result<(), RecordError> {
        self.file.write(self.batch.take(&self.host, self.role)?)
    }
}

struct LogFile {
    writer: ArrowWriter<File>,
    schema: Arc<Schema>,
}

impl LogFile {
    /// An empty file of a table in the folder for temporary files, `TMPDIR` or /var/tmp. Columns of
    /// `growing` are written as differences from row to row.
    fn create(table: &Table, growing: &[&str]) -> Result<Self, RecordError> {
        let schema = Arc::new(arrow_schema(table));
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
            .set_max_row_group_row_count(Some(GROUP_ROWS))
            .set_dictionary_enabled(false);
        let properties = growing.iter().fold(properties, |properties, column| {
            properties.set_column_encoding(ColumnPath::from(*column), Encoding::DELTA_BINARY_PACKED)
        });
        let properties = table
            .columns
            .iter()
            .filter(|column| column.column_type == ColumnType::Text)
            .fold(properties, |properties, column| properties.set_column_dictionary_enabled(ColumnPath::from(column.name), true));
        let writer = ArrowWriter::try_new(nameless_file()?, Arc::clone(&schema), Some(properties.build()))?;
        Ok(Self { writer, schema })
    }

    /// Appends rows, as columns in the order of the table.
    fn write(&mut self, columns: Vec<ArrayRef>) -> Result<(), RecordError> {
        self.writer.write(&RecordBatch::try_new(Arc::clone(&self.schema), columns)?)?;
        Ok(())
    }

    fn finish(self) -> Result<File, RecordError> {
        Ok(self.writer.into_inner()?)
    }
}

/// The same word in every row.
pub fn constant(word: &str, rows: usize) -> Result<ArrayRef, RecordError> {
    let keys = vec![0u8; rows].into();
    Ok(Arc::new(DictionaryArray::<UInt8Type>::try_new(keys, Arc::new(StringArray::from(vec![word])))?))
}

/// Codes with their words.
pub fn words(codes: &mut PrimitiveBuilder<UInt8Type>, words: &[&str]) -> Result<ArrayRef, RecordError> {
    Ok(Arc::new(DictionaryArray::<UInt8Type>::try_new(codes.finish(), Arc::new(StringArray::from(words.to_vec())))?))
}

/// The table's schema, with words as dictionaries.
fn arrow_schema(table: &Table) -> Schema {
    let plain = record::arrow_schema(table);
    let fields: Vec<Field> = plain
        .fields()
        .iter()
        .map(|field| match field.data_type() {
            DataType::Utf8 => {
                let words = DataType::Dictionary(Box::new(DataType::UInt8), Box::new(DataType::Utf8));
                field.as_ref().clone().with_data_type(words)
            }
            _ => field.as_ref().clone(),
        })
        .collect();
    Schema::new_with_metadata(fields, plain.metadata().clone())
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
