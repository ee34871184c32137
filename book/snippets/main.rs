//! Programs that pages of the book show, each a test.

mod language;
mod projects;
mod recipes;
mod translated;
