//! The book is built, and its pages have what they include.

use std::fs;
use std::path::Path;

#[test]
fn all_pages_are_built() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let destination = Path::new(env!("CARGO_TARGET_TMPDIR")).join("book");
    paddle_book::build(folder, &destination).unwrap();
    let page = fs::read_to_string(destination.join("fit_a_line.html")).unwrap();
    // The source, the output, and the mistake without the marks of its test.
    for shown in ["mod", "regression", "fit_a_line: test_mse=", "error: "] {
        assert!(page.contains(shown), "{shown}");
    }
    assert!(!page.contains("//~") && !page.contains("{{#"));
}
