//! Files with a JSON value in each line.

use std::io::{BufRead, BufReader, ErrorKind};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use super::DataError;
use crate::files::disk::{self, File};
use crate::reader::Item;

/// A reader of a file with a JSON value in each line. A row is any type of `serde`. Blank lines are skipped. A line that does
/// not fit is a [`DataError`] with line and column.
///
/// ```
/// use paddle::data::{DataError, JsonLines};
/// use serde::Deserialize;
///
/// #[derive(Deserialize, Debug, PartialEq)]
/// struct Text {
///     words: Vec<i64>,
///     label: Option<i64>,
/// }
///
/// # let path = std::env::temp_dir().join(format!("paddle-json-{}.jsonl", std::process::id()));
/// std::fs::write(&path, "{\"words\": [3, 1], \"label\": 0}\n\n{\"words\": []}\n").unwrap();
/// let texts: Vec<Text> = JsonLines::open(&path)?.rows()?;
/// assert_eq!(texts, [Text { words: vec![3, 1], label: Some(0) }, Text { words: vec![], label: None }]);
///
/// std::fs::write(&path, "{\"words\": [3]}\n{\"words\": [1, \"two\"]}\n").unwrap();
/// let error = JsonLines::<Text>::open(&path)?.rows().unwrap_err();
/// assert!(error.to_string().contains("line 2, column 19: invalid type: string \"two\", expected i64"), "{error}");
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), DataError>(())
/// ```
pub struct JsonLines<T> {
    path: PathBuf,
    file: BufReader<File>,
    text: String,
    /// The number of the line that was read last, from 1.
    line: usize,
    is_broken: bool,
    row: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> JsonLines<T> {
    /// Opens a file.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, DataError> {
        let path = path.as_ref().to_path_buf();
        let file = disk::open(&path).map_err(|source| DataError::Io { path: path.clone(), source })?;
        let file = BufReader::new(file);
        Ok(JsonLines { path, file, text: String::new(), line: 0, is_broken: false, row: PhantomData })
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

    fn read(&mut self) -> Result<Option<T>, DataError> {
        while !self.is_broken {
            self.text.clear();
            self.line += 1;
            let line = self.line;
            match self.file.read_line(&mut self.text) {
                Ok(0) => break,
                Ok(_) if self.text.trim().is_empty() => {}
                Ok(_) => {
                    return serde_json::from_str(&self.text).map(Some).map_err(|error| {
                        // The place is in the line, so its own number says nothing.
                        let why = error.to_string();
                        let why = why.rsplit_once(" at line ").map_or(&*why, |(why, _)| why).to_string();
                        DataError::Value { path: self.path.clone(), line, column: error.column(), why }
                    });
                }
                Err(error) if error.kind() == ErrorKind::InvalidData => {
                    return Err(DataError::NotUtf8 { path: self.path.clone(), line });
                }
                Err(source) => {
                    self.is_broken = true;
                    return Err(DataError::Io { path: self.path.clone(), source });
                }
            }
        }
        Ok(None)
    }
}

impl<T: DeserializeOwned> Iterator for JsonLines<T> {
    type Item = Item<T>;

    fn next(&mut self) -> Option<Item<T>> {
        match self.read() {
            Ok(row) => row.map(Item::Data),
            Err(error) => Some(Item::Failed(error.into())),
        }
    }
}
