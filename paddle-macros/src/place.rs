//! Names of source files, as they stand in a program.

use std::path::Path;

use proc_macro2::Span;

use crate::report::Extent;

/// Where tokens begin, for messages.
pub(crate) fn place(at: Extent) -> String {
    let start = at.start.start();
    format!("{}:{}:{}", file(at.start), start.line, start.column + 1)
}

/// The file of a span: as rustc names it; for a crate outside of the workspace, whose files have absolute names,
/// beginning with the crate's name.
pub(crate) fn file(span: Span) -> String {
    let root = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    let name = std::env::var("CARGO_PKG_NAME").unwrap_or_default();
    shorten(&span.file(), &root, &name)
}

fn shorten(file: &str, root: &str, name: &str) -> String {
    let path = Path::new(file);
    match path.strip_prefix(root) {
        Ok(inside) if path.is_absolute() && !root.is_empty() => {
            Path::new(name).join(inside).to_string_lossy().replace('\\', "/")
        }
        _ => file.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_absolute_names_are_shortened() {
        assert_eq!(shorten("src/main.rs", "/a/models", "models"), "src/main.rs");
        assert_eq!(shorten("/a/models/src/lib.rs", "/a/models", "models"), "models/src/lib.rs");
        assert_eq!(shorten("/b/lib.rs", "/a/models", "models"), "/b/lib.rs");
    }
}
