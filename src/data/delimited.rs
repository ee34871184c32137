//! Files of values between commas or tabs, whose rows are structs.

use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use csv::{ErrorKind, Position, StringRecord};
use serde::de::DeserializeOwned;

use super::DataError;
use super::error::shortened;
use crate::files::disk::{self, File};
use crate::reader::Item;

/// A reader of the rows of a file of values between commas, tabs or other bytes: RFC 4180, with quotes.
///
/// A row is any type of `serde`: a struct whose fields are named as the columns, in any order, where further columns are left out;
/// or a tuple. A field that may be empty is an `Option`. A row that does not fit is a [`DataError`] with line and column. The
/// lines of a file without rows give none.
///
/// ```
/// use paddle::data::{Delimited, DataError};
/// use serde::Deserialize;
///
/// #[derive(Deserialize, Debug, PartialEq)]
/// struct House {
///     rooms: f32,
///     street: Option<String>,
/// }
///
/// # let path = std::env::temp_dir().join(format!("paddle-csv-{}.csv", std::process::id()));
/// std::fs::write(&path, "street,price,rooms\n\"Elm, north\",1,5\n,2,4.5\n").unwrap();
/// let houses: Vec<House> = Delimited::csv(&path)?.rows()?;
/// assert_eq!(houses[0], House { rooms: 5.0, street: Some("Elm, north".to_string()) });
/// assert_eq!(houses[1], House { rooms: 4.5, street: None });
///
/// std::fs::write(&path, "street,price,rooms\nElm,1,many\n").unwrap();
/// let error = Delimited::<House>::csv(&path)?.rows().unwrap_err();
/// assert!(error.to_string().ends_with("line 2, column 3: found `many`: invalid float literal"), "{error}");
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), DataError>(())
/// ```
///
/// It is a [reader](crate::reader) that reads a row at a time: `Delimited::<House>::csv(path)?.map_data(..).batch(32)`.
pub struct Delimited<T> {
    path: PathBuf,
    reader: csv::Reader<File>,
    /// The names of the columns, if there are any.
    names: Option<StringRecord>,
    record: StringRecord,
    is_broken: bool,
    row: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> Delimited<T> {
    /// Opens a file of values between commas, whose first line has the names of the columns.
    ///
    /// # Errors
    /// The file cannot be read, or its first line is no text.
    pub fn csv(path: impl AsRef<Path>) -> Result<Self, DataError> {
        Delimited::open(path, b',')
    }

    /// Opens a file of values between tabs, whose first line has the names of the columns.
    ///
    /// # Errors
    /// Those of [`csv`](Self::csv).
    pub fn tsv(path: impl AsRef<Path>) -> Result<Self, DataError> {
        Delimited::open(path, b'\t')
    }

    /// Opens a file of values between any byte, whose first line has the names of the columns.
    ///
    /// # Errors
    /// Those of [`csv`](Self::csv).
    pub fn open(path: impl AsRef<Path>, delimiter: u8) -> Result<Self, DataError> {
        let mut opened = Delimited::without_names(path, delimiter)?;
        if opened.advance()? {
            opened.names = Some(std::mem::take(&mut opened.record));
        }
        Ok(opened)
    }

    /// Opens a file whose first line is a row. Rows are tuples, or structs whose fields are in the order of the columns.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn without_names(path: impl AsRef<Path>, delimiter: u8) -> Result<Self, DataError> {
        let path = path.as_ref().to_path_buf();
        let file = disk::open(&path).map_err(|source| DataError::Io { path: path.clone(), source })?;
        let reader = csv::ReaderBuilder::new().has_headers(false).delimiter(delimiter).from_reader(file);
        let (record, row) = (StringRecord::new(), PhantomData);
        Ok(Delimited { path, reader, names: None, record, is_broken: false, row })
    }

    /// All rows that are left.
    ///
    /// # Errors
    /// The first row that cannot be read.
    pub fn rows(mut self) -> Result<Vec<T>, DataError> {
        let mut rows = Vec::new();
        while let Some(row) = self.read()? {
            rows.push(row);
        }
        Ok(rows)
    }

    /// Reads the next line. Returns whether there is one.
    fn advance(&mut self) -> Result<bool, DataError> {
        self.reader.read_record(&mut self.record).map_err(|error| {
            self.is_broken = matches!(error.kind(), ErrorKind::Io(_));
            let (path, line) = (self.path.clone(), line(error.position()));
            match error.into_kind() {
                ErrorKind::Io(source) => DataError::Io { path, source },
                ErrorKind::UnequalLengths { expected_len, len, .. } => {
                    DataError::Columns { path, line, found: len as usize, expected: expected_len as usize }
                }
                _ => DataError::NotUtf8 { path, line },
            }
        })
    }

    fn read(&mut self) -> Result<Option<T>, DataError> {
        if self.is_broken || !self.advance()? {
            return Ok(None);
        }
        self.record.deserialize(self.names.as_ref()).map(Some).map_err(|error| {
            let (path, line) = (self.path.clone(), line(self.record.position()));
            let ErrorKind::Deserialize { err, .. } = error.kind() else {
                return DataError::Value { path, line, column: 1, why: error.to_string() };
            };
            let column = err.field().map_or(1, |field| field as usize + 1);
            let field = err.field().and_then(|field| self.record.get(field as usize));
            let found = field.map(|field| format!("found `{}`: ", shortened(field))).unwrap_or_default();
            DataError::Value { path, line, column, why: format!("{found}{}", err.kind()) }
        })
    }
}

/// The line at which a row begins.
fn line(position: Option<&Position>) -> usize {
    position.map_or(1, |position| position.line() as usize)
}

impl<T: DeserializeOwned> Iterator for Delimited<T> {
    type Item = Item<T>;

    fn next(&mut self) -> Option<Item<T>> {
        match self.read() {
            Ok(row) => row.map(Item::Data),
            Err(error) => Some(Item::Failed(error.into())),
        }
    }
}
