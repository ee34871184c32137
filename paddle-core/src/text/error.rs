//! The error for a text that cannot be read as a program.

use std::fmt;

use super::lex::At;

/// A text that is not a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// What was found and what was expected.
    pub message: String,
}

impl ParseError {
    pub(super) fn new(at: At, message: impl Into<String>) -> Self {
        ParseError { line: at.line, column: at.column, message: message.into() }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for ParseError {}
