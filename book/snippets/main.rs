//! Programs that pages of the book show, each a test.

mod language;
mod recipes;
mod translated;
