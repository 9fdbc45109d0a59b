//! Parquet files of the record, built from rows. Unit, meaning and source of each column ride in
//! the file's own metadata.

use arrow_array::builder::{ArrayBuilder, BooleanBuilder, StringBuilder, UInt32Builder, UInt64Builder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use schema::RECORD_VERSION;
use schema::table::{Column, ColumnType, Table, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// Why rows do not make a table.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// A row does not fit its table; a defect of the probe that made it.
    #[error("row of table {table} has {have} cells, not {want}")]
    Cells {
        /// Name of the table.
        table: &'static str,
        /// Cells of the row.
        have: usize,
        /// Columns of the table.
        want: usize,
    },
    /// A cell does not fit its column.
    #[error("{table}.{column} cannot hold {value:?}")]
    Type {
        /// Name of the table.
        table: &'static str,
        /// Name of the column.
        column: &'static str,
        /// The cell.
        value: Value,
    },
    /// The columns do not make a batch.
    #[error("columns: {0}")]
    Arrow(#[from] ArrowError),
    /// The file cannot be written.
    #[error("Parquet: {0}")]
    Parquet(#[from] ParquetError),
    /// The file cannot be made.
    #[error("{0}")]
    File(#[from] std::io::Error),
}

/// A table being filled.
pub struct TableBuilder {
    table: &'static Table,
    columns: Vec<ColumnBuilder>,
    /// Of a table of the model: any column may be absent.
    is_simulated: bool,
    /// The trial of each row, where the table is of several.
    trials: Option<StringBuilder>,
}

enum ColumnBuilder {
    U32(UInt32Builder),
    U64(UInt64Builder),
    Bool(BooleanBuilder),
    Text(StringBuilder),
}

impl ColumnBuilder {
    fn new(column: &Column) -> Self {
        match column.column_type {
            ColumnType::U32 => Self::U32(UInt32Builder::new()),
            ColumnType::U64 => Self::U64(UInt64Builder::new()),
            ColumnType::Bool => Self::Bool(BooleanBuilder::new()),
            ColumnType::Text => Self::Text(StringBuilder::new()),
        }
    }

    /// Appends a cell; gives it back when it is of another type.
    fn push(&mut self, value: Value) -> Result<(), Value> {
        match (self, value) {
            (Self::U32(builder), Value::U32(value)) => builder.append_value(value),
            (Self::U32(builder), Value::None) => builder.append_null(),
            (Self::U64(builder), Value::U64(value)) => builder.append_value(value),
            (Self::U64(builder), Value::None) => builder.append_null(),
            (Self::Bool(builder), Value::Bool(value)) => builder.append_value(value),
            (Self::Bool(builder), Value::None) => builder.append_null(),
            (Self::Text(builder), Value::Text(value)) => builder.append_value(value),
            (Self::Text(builder), Value::None) => builder.append_null(),
            (_, value) => return Err(value),
        }
        Ok(())
    }

    fn is_empty(&self) -> bool {
        match self {
            Self::U32(builder) => builder.is_empty(),
            Self::U64(builder) => builder.is_empty(),
            Self::Bool(builder) => builder.is_empty(),
            Self::Text(builder) => builder.is_empty(),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Self::U32(builder) => ArrayBuilder::finish(builder),
            Self::U64(builder) => ArrayBuilder::finish(builder),
            Self::Bool(builder) => ArrayBuilder::finish(builder),
            Self::Text(builder) => ArrayBuilder::finish(builder),
        }
    }
}

impl TableBuilder {
    /// An empty table.
    pub fn new(table: &'static Table) -> Self {
        Self { table, columns: table.columns.iter().map(ColumnBuilder::new).collect(), is_simulated: false, trials: None }
    }

    /// An empty table of the model, which has no value for some columns; with a column for the trial in front
    /// where it is of several.
    pub fn simulated(table: &'static Table, is_of_several: bool) -> Self {
        Self { is_simulated: true, trials: is_of_several.then(StringBuilder::new), ..Self::new(table) }
    }

    /// Appends a row of a trial; only a table of several trials keeps its name.
    ///
    /// # Errors
    /// The row does not fit the table.
    pub fn push_of(&mut self, trial: &str, row: Vec<Value>) -> Result<(), RecordError> {
        self.push(row)?;
        if let Some(trials) = &mut self.trials {
            trials.append_value(trial);
        }
        Ok(())
    }

    /// Appends a row.
    ///
    /// # Errors
    /// The row does not fit the table.
    pub fn push(&mut self, row: Vec<Value>) -> Result<(), RecordError> {
        let table = self.table.name;
        if row.len() != self.columns.len() {
            return Err(RecordError::Cells { table, have: row.len(), want: self.columns.len() });
        }
        for ((builder, column), value) in self.columns.iter_mut().zip(self.table.columns).zip(row) {
            if value == Value::None && !column.optional && !self.is_simulated {
                return Err(RecordError::Type { table, column: column.name, value });
            }
            builder.push(value).map_err(|value| RecordError::Type { table, column: column.name, value })?;
        }
        Ok(())
    }

    /// The Parquet file as bytes.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(mut self) -> Result<Vec<u8>, RecordError> {
        let mut arrays: Vec<ArrayRef> = self.columns.iter_mut().map(ColumnBuilder::finish).collect();
        let plain = arrow_schema(self.table);
        let mut fields: Vec<Field> = plain.fields().iter().map(|field| field.as_ref().clone()).collect();
        if self.is_simulated {
            fields = fields.into_iter().map(|field| field.with_nullable(true)).collect();
        }
        if let Some(trials) = &mut self.trials {
            arrays.insert(0, ArrayBuilder::finish(trials));
            fields.insert(0, Field::new("trial", DataType::Utf8, false));
        }
        let schema = Arc::new(Schema::new_with_metadata(fields, plain.metadata().clone()));
        let batch = RecordBatch::try_new(Arc::clone(&schema), arrays)?;
        let properties = WriterProperties::builder().set_compression(Compression::ZSTD(parquet::basic::ZstdLevel::default())).build();
        let mut bytes = Vec::new();
        let mut writer = ArrowWriter::try_new(&mut bytes, schema, Some(properties))?;
        writer.write(&batch)?;
        writer.close()?;
        Ok(bytes)
    }

    /// Whether it has no row.
    pub fn is_empty(&self) -> bool {
        self.columns.first().is_none_or(ColumnBuilder::is_empty)
    }

    /// Name of the table.
    pub fn name(&self) -> &'static str {
        self.table.name
    }
}

/// The Arrow schema of a table, with what its columns mean.
pub fn arrow_schema(table: &Table) -> Schema {
    let fields: Vec<Field> = table.columns.iter().map(arrow_field).collect();
    let metadata = [
        ("whyperf.table", table.name.to_owned()),
        ("whyperf.row", table.row.to_owned()),
        ("whyperf.record_version", RECORD_VERSION.to_string()),
    ];
    Schema::new_with_metadata(fields, HashMap::from(metadata.map(|(key, value)| (key.to_owned(), value))))
}

fn arrow_field(column: &Column) -> Field {
    let data_type = match column.column_type {
        ColumnType::U32 => DataType::UInt32,
        ColumnType::U64 => DataType::UInt64,
        ColumnType::Bool => DataType::Boolean,
        ColumnType::Text => DataType::Utf8,
    };
    let metadata: HashMap<String, String> = [("unit", column.unit), ("meaning", column.meaning), ("source", column.source)]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into();
    Field::new(column.name, data_type, column.optional).with_metadata(metadata)
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    use schema::table::INTERVALS;

    fn row(bytes: u64) -> Vec<Value> {
        vec![
            "near".into(),
            0u32.into(),
            "sender".into(),
            0u32.into(),
            "measure".into(),
            1u64.into(),
            2u64.into(),
            bytes.into(),
            3u64.into(),
        ]
    }

    #[test]
    fn rows_and_the_columns_meaning_survive_the_file() {
        let mut builder = TableBuilder::new(&INTERVALS);
        builder.push(row(77)).expect("fits");
        let file = tempfile(builder.finish().expect("Parquet"));
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).expect("Parquet");
        let field = reader.schema().field_with_name("payload_bytes").expect("column").clone();
        assert_eq!(field.metadata()["unit"], "bytes");
        let rows: usize = reader.build().expect("reader").map(|batch| batch.expect("batch").num_rows()).sum();
        assert_eq!(rows, 1);
    }

    #[test]
    fn a_row_that_does_not_fit_is_refused() {
        let mut builder = TableBuilder::new(&INTERVALS);
        assert!(matches!(builder.push(row(1)[1..].to_vec()), Err(RecordError::Cells { .. })));
        let mut wrong = row(1);
        wrong[7] = Value::None;
        assert!(matches!(builder.push(wrong), Err(RecordError::Type { column: "payload_bytes", .. })));
    }

    fn tempfile(bytes: Vec<u8>) -> std::fs::File {
        let path = std::env::temp_dir().join(format!("whyperf-record-{}.parquet", std::process::id()));
        std::fs::write(&path, bytes).expect("temporary file");
        let file = std::fs::File::open(&path).expect("temporary file");
        std::fs::remove_file(path).expect("temporary file");
        file
    }
}
