//! Errors in data files.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// The reason why a data file could not be read. Lines and columns count from 1.
///
/// ```
/// use paddle::data::{DataError, housing};
///
/// let Err(DataError::Io { path, .. }) = housing::read("no/such/file") else { panic!("there is no such file") };
/// assert_eq!(path, std::path::Path::new("no/such/file"));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum DataError {
    /// The file is missing or cannot be read.
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The file is not text.
    NotUtf8 {
        /// The file.
        path: PathBuf,
        /// The first line that is not UTF-8.
        line: usize,
    },
    /// The file has no rows.
    Empty {
        /// The file.
        path: PathBuf,
        /// The number of columns that each row should have.
        expected: usize,
    },
    /// The file has another format.
    Format {
        /// The file.
        path: PathBuf,
        /// What was found.
        found: String,
        /// What was expected.
        expected: String,
    },
    /// A file of bytes has another format. Offsets count from 0.
    Bytes {
        /// The file.
        path: PathBuf,
        /// Where it is wrong.
        offset: u64,
        /// What was found.
        found: String,
        /// What was expected.
        expected: String,
    },
    /// A line has too few or too many columns.
    Columns {
        /// The file.
        path: PathBuf,
        /// The line.
        line: usize,
        /// The number of its columns.
        found: usize,
        /// The expected number of columns.
        expected: usize,
    },
    /// A value is none of the type that the row has there.
    Value {
        /// The file.
        path: PathBuf,
        /// The line.
        line: usize,
        /// The column: of fields, the number of the field; in JSON, that of the byte.
        column: usize,
        /// The mistake.
        why: String,
    },
    /// A row of a file of columns cannot be read, or is none of the type that is asked for.
    Cell {
        /// The file.
        path: PathBuf,
        /// The row group, from 0, as Parquet's tools count them.
        row_group: usize,
        /// The row in the file, from 1.
        row: u64,
        /// The column, if it is one of them.
        column: Option<String>,
        /// The mistake.
        why: String,
    },
    /// An image cannot be read.
    Image {
        /// The file.
        path: PathBuf,
        /// The mistake.
        why: String,
    },
    /// A field is not a finite number within the range of `f32`.
    Number {
        /// The file.
        path: PathBuf,
        /// The line.
        line: usize,
        /// The column.
        column: usize,
        /// The beginning of the field.
        found: String,
    },
}

impl fmt::Display for DataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { path, source } => write!(f, "{}: {source}", path.display()),
            Self::NotUtf8 { path, line } => {
                write!(f, "{}, line {line}: found bytes that are not UTF-8, expected text", path.display())
            }
            Self::Empty { path, expected } => {
                write!(f, "{}: found no rows, expected lines of {expected} numbers", path.display())
            }
            Self::Format { path, found, expected } => {
                write!(f, "{}: found {found}, expected {expected}", path.display())
            }
            Self::Bytes { path, offset, found, expected } => {
                write!(f, "{}, byte {offset}: found {found}, expected {expected}", path.display())
            }
            Self::Columns { path, line, found, expected } => {
                write!(f, "{}, line {line}: found {found} columns, expected {expected}", path.display())
            }
            Self::Value { path, line, column, why } => {
                write!(f, "{}, line {line}, column {column}: {why}", path.display())
            }
            Self::Cell { path, row_group, row, column, why } => {
                write!(f, "{}, row group {row_group}, row {row}", path.display())?;
                column.iter().try_for_each(|column| write!(f, ", column `{column}`"))?;
                write!(f, ": {why}")
            }
            Self::Image { path, why } => write!(f, "{}: this image cannot be read: {why}", path.display()),
            Self::Number { path, line, column, found } => {
                let (path, found) = (path.display(), found.escape_debug());
                write!(f, "{path}, line {line}, column {column}: found `{found}`, expected a finite number")
            }
        }
    }
}

impl Error for DataError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            Self::NotUtf8 { .. }
            | Self::Empty { .. }
            | Self::Format { .. }
            | Self::Bytes { .. }
            | Self::Columns { .. }
            | Self::Value { .. }
            | Self::Cell { .. }
            | Self::Image { .. }
            | Self::Number { .. } => None,
        }
    }
}

/// The beginning of a field, short enough for an error message.
pub(super) fn shortened(field: &str) -> String {
    field.chars().take(40).collect()
}
