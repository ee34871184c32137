//! What rustc prints for wrong models: one error for each mistake, at its place.
//!
//! The cases mark the tokens to blame; see `paddle-macros/src/tests/cases.rs`, which tests the messages without rustc.
//! After a change of a message, `TRYBUILD=overwrite cargo test --test compile_fail` writes what is printed.

use std::path::{Path, PathBuf};

/// Messages of ours, lints of rustc on a model's tokens, what rustc finds when it knows the sizes, and wrong rows.
const FOLDERS: [&str; 4] = ["tests/compile_fail", "tests/lints", "tests/evaluated", "tests/rows"];

#[test]
fn rustc_prints_what_is_expected() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/evaluated/valid/*.rs");
    cases.pass("tests/build_fail/right.rs");
    // What rustc finds in functions when it builds them has no place of the case's own.
    cases.compile_fail("tests/build_fail/wrong_*.rs");
    FOLDERS.iter().for_each(|folder| cases.compile_fail(format!("{folder}/*.rs")));
}

/// The expected output cannot rot: it has one error for each marked mistake, on its line and at its column.
#[test]
fn each_mistake_is_one_error() {
    let mut wrong = Vec::new();
    for case in cases() {
        let printed = std::fs::read_to_string(case.with_extension("stderr")).unwrap();
        let mut found = errors(&printed);
        let mut expected = marks(&std::fs::read_to_string(&case).unwrap());
        found.sort();
        expected.sort();
        if found != expected {
            wrong.push(format!("{}: found {found:?}, expected {expected:?}", case.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn cases() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = FOLDERS.iter().flat_map(|folder| std::fs::read_dir(root.join(folder)).unwrap());
    let files = files.map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|extension| extension == "rs")).collect()
}

/// Line and column, from 1, of each error and warning that rustc printed.
fn errors(printed: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut in_error = false;
    for line in printed.lines() {
        if line.starts_with("error") || line.starts_with("warning") {
            in_error = true;
        } else if let Some(place) = line.trim_start().strip_prefix("--> ").filter(|_| in_error) {
            let mut numbers = place.rsplit(':').map(|number| number.parse::<usize>().unwrap());
            let column = numbers.next().unwrap();
            found.push((numbers.next().unwrap(), column));
            in_error = false;
        }
    }
    found
}

/// Line and column of the marked tokens; those of a `note` are no error of their own.
fn marks(source: &str) -> Vec<(usize, usize)> {
    let mut marks = Vec::new();
    let mut marked = 0;
    for (at, line) in source.lines().enumerate() {
        let comment = line.trim_start().strip_prefix("//~").unwrap_or("").trim_start();
        if !comment.starts_with('^') {
            marked = at + 1;
        } else if !comment.ends_with("note") {
            marks.push((marked, line.chars().position(|c| c == '^').unwrap() + 1));
        }
    }
    marks
}
