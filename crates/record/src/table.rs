//! Tables being filled row by row, and their Parquet files. Unit, meaning and source of each column are in the file's
//! own metadata.

use arrow_array::builder::{ArrayBuilder, BooleanBuilder, PrimitiveBuilder, StringBuilder, UInt32Builder, UInt64Builder};
use arrow_array::types::UInt8Type;
use arrow_array::{ArrayRef, DictionaryArray, RecordBatch, StringArray};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use schema::RECORD_VERSION;
use schema::table::{Column, ColumnType, Row, Sink, Table};
use std::collections::HashMap;
use std::marker::PhantomData;
use std::sync::Arc;

/// Why rows do not make a file.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
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

/// A table of rows of the type `R`.
pub struct Rows<R> {
    columns: Columns,
    row: PhantomData<R>,
}

impl<R: Row> Rows<R> {
    /// An empty table.
    pub fn new() -> Self {
        let builders = R::TABLE.columns.iter().map(ColumnBuilder::plain).collect();
        Self { columns: Columns { table: R::TABLE, builders, is_simulated: R::IS_SIMULATED, trials: None }, row: PhantomData }
    }

    /// An empty table of several trials: their names stand in a column in front.
    pub fn of_several() -> Self {
        let mut rows = Self::new();
        rows.columns.trials = Some(StringBuilder::new());
        rows
    }

    /// Appends a row.
    pub fn push(&mut self, row: R::With<'_>) {
        row.put(&mut Cells(self.columns.builders.iter_mut()));
    }

    /// Appends a row of a trial; only a table of several trials keeps its name.
    pub fn push_of(&mut self, trial: &str, row: R::With<'_>) {
        self.push(row);
        if let Some(trials) = &mut self.columns.trials {
            trials.append_value(trial);
        }
    }

    /// The columns, filled.
    pub fn into_columns(self) -> Columns {
        self.columns
    }
}

impl<R: Row> Default for Rows<R> {
    fn default() -> Self {
        Self::new()
    }
}

/// The columns of a table, as far as they are filled.
pub struct Columns {
    table: &'static Table,
    builders: Vec<ColumnBuilder>,
    /// Of a table of the model: any column may be absent.
    is_simulated: bool,
    /// The trial of each row, where the table is of several.
    trials: Option<StringBuilder>,
}

impl Columns {
    /// Name of the table.
    pub fn name(&self) -> &'static str {
        self.table.name
    }

    /// True if there is no row.
    pub fn is_empty(&self) -> bool {
        self.builders.first().is_none_or(ColumnBuilder::is_empty)
    }

    /// The Parquet file as bytes.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(mut self) -> Result<Vec<u8>, RecordError> {
        let mut arrays = self.builders.iter_mut().map(ColumnBuilder::finish).collect::<Result<Vec<_>, _>>()?;
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
        let properties = WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default())).build();
        let mut bytes = Vec::new();
        let mut writer = ArrowWriter::try_new(&mut bytes, schema, Some(properties))?;
        writer.write(&batch)?;
        writer.close()?;
        Ok(bytes)
    }
}

/// A column being filled.
pub(crate) enum ColumnBuilder {
    U32(UInt32Builder),
    U64(UInt64Builder),
    Bool(BooleanBuilder),
    Text(StringBuilder),
    /// Text of which few different ones occur.
    Coded {
        texts: Vec<String>,
        codes: PrimitiveBuilder<UInt8Type>,
    },
}

impl ColumnBuilder {
    pub(crate) fn plain(column: &Column) -> Self {
        match column.column_type {
            ColumnType::U32 => Self::U32(UInt32Builder::new()),
            ColumnType::U64 => Self::U64(UInt64Builder::new()),
            ColumnType::Bool => Self::Bool(BooleanBuilder::new()),
            ColumnType::Text => Self::Text(StringBuilder::new()),
        }
    }

    /// The same with texts as codes.
    pub(crate) fn coded(column: &Column) -> Self {
        match column.column_type {
            ColumnType::Text => {
                let texts = column.values.iter().copied().map(str::to_owned).collect();
                Self::Coded { texts, codes: PrimitiveBuilder::new() }
            }
            _ => Self::plain(column),
        }
    }

    fn is_empty(&self) -> bool {
        match self {
            Self::U32(builder) => builder.is_empty(),
            Self::U64(builder) => builder.is_empty(),
            Self::Bool(builder) => builder.is_empty(),
            Self::Text(builder) => builder.is_empty(),
            Self::Coded { codes, .. } => codes.is_empty(),
        }
    }

    /// Takes what was filled in; the column is empty then.
    pub(crate) fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        Ok(match self {
            Self::U32(builder) => ArrayBuilder::finish(builder),
            Self::U64(builder) => ArrayBuilder::finish(builder),
            Self::Bool(builder) => ArrayBuilder::finish(builder),
            Self::Text(builder) => ArrayBuilder::finish(builder),
            Self::Coded { texts, codes } => {
                let texts = Arc::new(StringArray::from_iter_values(&*texts));
                Arc::new(DictionaryArray::<UInt8Type>::try_new(codes.finish(), texts)?)
            }
        })
    }
}

/// The columns that still await a value of the row. Columns and row are made from one definition, so that each value
/// finds a builder of its type.
pub(crate) struct Cells<'a>(pub(crate) std::slice::IterMut<'a, ColumnBuilder>);

// A log has millions of rows: a call for each value of each made writing it 15 % slower.
#[allow(clippy::inline_always)]
impl Sink for Cells<'_> {
    #[inline(always)]
    fn u32(&mut self, value: Option<u32>) {
        if let Some(ColumnBuilder::U32(builder)) = self.0.next() {
            match value {
                Some(value) => builder.append_value(value),
                None => builder.append_null(),
            }
        }
    }

    #[inline(always)]
    fn u64(&mut self, value: Option<u64>) {
        if let Some(ColumnBuilder::U64(builder)) = self.0.next() {
            builder.append_option(value);
        }
    }

    #[inline(always)]
    fn bool(&mut self, value: Option<bool>) {
        if let Some(ColumnBuilder::Bool(builder)) = self.0.next() {
            builder.append_option(value);
        }
    }

    #[inline(always)]
    fn text(&mut self, value: Option<&str>) {
        match self.0.next() {
            Some(ColumnBuilder::Text(builder)) => builder.append_option(value),
            Some(ColumnBuilder::Coded { texts, codes }) => {
                let code = value.and_then(|value| {
                    let known = texts.iter().position(|text| text == value).unwrap_or_else(|| {
                        texts.push(value.to_owned());
                        texts.len() - 1
                    });
                    // Of a text too many the code is absent, which the file refuses.
                    u8::try_from(known).ok()
                });
                codes.append_option(code);
            }
            _ => {}
        }
    }

    #[inline(always)]
    fn word(&mut self, known: &'static [&'static str], position: Option<u8>) {
        match self.0.next() {
            Some(ColumnBuilder::Text(builder)) => builder.append_option(position.map(|position| known[usize::from(position)])),
            Some(ColumnBuilder::Coded { codes, .. }) => codes.append_option(position),
            _ => {}
        }
    }
}

/// The Arrow schema of a table, with what its columns mean.
pub(crate) fn arrow_schema(table: &Table) -> Schema {
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
