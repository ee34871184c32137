//! What the files of the crate that is compiled are called.

use paddle_language::files::Files;

/// As rustc names them; of a crate outside of the workspace, whose files have absolute names, beginning with the crate's name.
pub(crate) fn files() -> Files {
    let root = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    let name = std::env::var("CARGO_PKG_NAME").unwrap_or_default();
    Files::below(root, name)
}
