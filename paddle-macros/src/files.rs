//! The names of the files of the crate that is being compiled.

use paddle_language::files::Files;

/// Files keep the names that rustc gives them. In a crate outside of the workspace these are absolute; then they begin
/// with the crate's name instead.
pub(crate) fn files() -> Files {
    let root = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    let name = std::env::var("CARGO_PKG_NAME").unwrap_or_default();
    Files::below(root, name)
}
