//! Builds the book, and checks that its pages show what is there.

use std::path::Path;

use mdbook_driver::MDBook;
use mdbook_driver::book::{Book, BookItem};
use mdbook_driver::errors::{Error, Result};
use mdbook_preprocessor::{Preprocessor, PreprocessorContext};

mod check;
#[cfg(feature = "page")]
pub mod page;

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
    book.with_preprocessor(Excerpts).build()
}

/// Makes sources that are parts of files ready to be read: without the marks of tests, and without what all their lines are
/// indented by.
struct Excerpts;

impl Preprocessor for Excerpts {
    fn name(&self) -> &str {
        "excerpts"
    }

    fn run(&self, _: &PreprocessorContext, mut book: Book) -> Result<Book> {
        book.for_each_mut(|item| {
            if let BookItem::Chapter(chapter) = item {
                chapter.content = excerpts(&chapter.content);
            }
        });
        Ok(book)
    }
}

fn excerpts(page: &str) -> String {
    let mut shown = String::new();
    // The lines of the block of Rust that is being read.
    let mut source: Option<Vec<&str>> = None;
    for line in page.lines() {
        match &mut source {
            Some(lines) if line != "```" => lines.push(line),
            _ => {
                for line in source.take().iter().flat_map(|lines| excerpt(lines)) {
                    shown.push_str(line);
                    shown.push('\n');
                }
                shown.push_str(line);
                shown.push('\n');
                source = line.starts_with("```rust").then(Vec::new);
            }
        }
    }
    shown
}

/// Lines of a source that show for themselves. `//~` says in a wrong model where its message points.
fn excerpt<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    let indent = |line: &&str| line.len() - line.trim_start().len();
    let common = lines.iter().filter(|line| !line.trim().is_empty()).map(indent).min().unwrap_or(0);
    let is_shown = |line: &&&str| !line.trim_start().starts_with("//~");
    lines.iter().filter(is_shown).map(|line| line.get(common..).unwrap_or("")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_function() {
        let page = "a\n```rust\n    if x {\n        y(z)\n        //~ ^ mark\n\n    }\n```\n    b\n```text\n  c\n```\n";
        let shown = "a\n```rust\nif x {\n    y(z)\n\n}\n```\n    b\n```text\n  c\n```\n";
        assert_eq!(excerpts(page), shown);
    }
}
