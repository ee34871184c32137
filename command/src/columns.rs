//! Text in columns.

use std::fmt;

use paddle::columns::write_columns;

/// Lines in columns, of which the first `numbers` end at one place, and the others begin at one.
pub(crate) struct Columns {
    pub(crate) lines: Vec<Vec<String>>,
    pub(crate) numbers: usize,
}

impl fmt::Display for Columns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_columns(f, &self.lines, self.numbers)
    }
}
