//! Builds the book, and checks that its pages show what is there.

use std::path::Path;

use mdbook_driver::MDBook;
use mdbook_driver::book::{Book, BookItem};
use mdbook_driver::errors::{Error, Result};
use mdbook_preprocessor::{Preprocessor, PreprocessorContext};

mod check;

/// Builds the book of a folder, the one with `book.toml`, into `destination`.
///
/// # Errors
///
/// All that is wrong with its pages, a line each with file and line; or else what `mdBook` says.
pub fn build(folder: &Path, destination: &Path) -> Result<()> {
    let problems = check::problems(folder)?;
    if !problems.is_empty() {
        return Err(Error::msg(problems.join("\n")));
    }
    let mut book = MDBook::load(folder)?;
    book.config.build.build_dir = destination.to_path_buf();
    book.with_preprocessor(WithoutMarkers).build()
}

/// Leaves out the lines of wrong models that say for the tests where the message points, `//~ ^`.
struct WithoutMarkers;

impl Preprocessor for WithoutMarkers {
    fn name(&self) -> &str {
        "without-markers"
    }

    fn run(&self, _: &PreprocessorContext, mut book: Book) -> Result<Book> {
        book.for_each_mut(|item| {
            if let BookItem::Chapter(chapter) = item {
                let is_shown = |line: &&str| !line.trim_start().starts_with("//~");
                chapter.content = chapter.content.lines().filter(is_shown).collect::<Vec<_>>().join("\n");
            }
        });
        Ok(book)
    }
}
