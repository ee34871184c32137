//! The tables of layers and operators that users read, `LAYERS.md` and `OPERATORS.md` beside the crate, and the names of layers
//! in the documentation of `network!`: written from the code, and held to it here. `UPDATE_GOLDEN=1` rewrites them.

mod layers;
mod operators;

use std::path::{Path, PathBuf};

/// Documentation as a line of Markdown.
fn line(doc: &str) -> String {
    doc.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A file of the project.
fn path(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name(file)
}

/// Panics if a file of the project has another text.
fn is_as_written(file: &str, text: &str) {
    let path = path(file);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == text, "{file} is not what the code says; run with UPDATE_GOLDEN=1\n{text}");
}
