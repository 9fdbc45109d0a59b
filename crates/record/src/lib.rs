//! The rows of the record's tables, built by column name, and their Parquet files.
//!
//! - [`table`]: tables that are held until they are whole. [`log`]: logs that grow in a file.
//! - [`host`]: rows of a trial on this host. [`emulated`]: of the path between two hosts.
//! - [`model`]: rows of a trial on the model.
//!
//! A row is a value of the type that its table has in [`schema::table`], so that a column that is missing, misspelled or
//! of another type does not compile.

pub mod emulated;
pub mod host;
pub mod log;
pub mod model;
pub mod table;

pub use log::Log;
pub use table::{Columns, RecordError, Rows};
