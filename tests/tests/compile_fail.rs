//! What rustc says of wrong models: one error for each mistake, at its place.
//!
//! The cases mark the tokens to blame; see `paddle-macros/language/tests/cases.rs`, which tests messages, their ids and places
//! without rustc. Here rustc is asked: on one release, which is pinned, for what it prints to the last character; on every other
//! for the places, and the messages that are ours. After a change of a message,
//! `TRYBUILD=overwrite cargo +1.95 test --test compile_fail` writes what is printed.

use std::io::Write;
use std::path::{Path, PathBuf};

#[path = "support/rustc.rs"]
mod rustc;

use rustc::Diagnostic;

/// The release whose rendering the expected outputs have. Others draw and word their own part differently.
const PINNED: &str = "1.95";

/// Messages of ours, what we only warn of, lints of rustc on a model's tokens, what rustc finds when it knows the sizes, and wrong rows.
const CHECKED: [&str; 5] =
    ["tests/compile_fail", "tests/doubts", "tests/lints", "tests/evaluated", "tests/rows"];

/// What rustc finds when it builds a network for given sizes.
const INSTANTIATED: &str = "tests/instantiated";

/// All folders whose cases mark their mistakes.
fn marked() -> impl Iterator<Item = PathBuf> {
    CHECKED.into_iter().chain([INSTANTIATED]).flat_map(sources)
}

fn is_pinned() -> bool {
    rustc::release() == PINNED
}

/// As long as all are wrong, trybuild checks all of them at once.
#[test]
fn rustc_prints_what_is_expected() {
    if is_pinned() {
        let cases = trybuild::TestCases::new();
        CHECKED.iter().for_each(|folder| cases.compile_fail(format!("{folder}/*.rs")));
    }
}

/// What rustc finds in functions when it builds them has no place of the case's own.
#[test]
fn rustc_prints_what_is_expected_of_what_it_builds() {
    if is_pinned() {
        let cases = trybuild::TestCases::new();
        cases.pass("tests/evaluated/valid/*.rs");
        cases.pass("tests/build_fail/right.rs");
        cases.compile_fail("tests/build_fail/wrong_*.rs");
        cases.compile_fail(format!("{INSTANTIATED}/*.rs"));
    }
}

/// On other releases: each expected error is there, and none of ours that is not expected.
#[test]
fn rustc_blames_the_same_places_on_other_releases() {
    // What it prints is compared whole.
    if is_pinned() {
        return;
    }
    // Not by `eprintln!`, which the test harness would keep to itself.
    let mut stderr = std::io::stderr().lock();
    let text = format!(
        "\n*** SKIPPED: the texts of wrong models are those that Rust {PINNED} prints, and this is {}: places and messages \
         are tested, their rendering is not. To test it: cargo +{PINNED} test --test compile_fail ***\n\n",
        rustc::release()
    );
    stderr.write_all(text.as_bytes()).unwrap();
    let right = ["tests/evaluated/valid", "tests/build_fail"].into_iter().flat_map(sources);
    let cases: Vec<PathBuf> = right.chain(marked()).collect();
    let mut wrong = Vec::new();
    for (case, found) in rustc::diagnostics(&cases) {
        let expected = std::fs::read_to_string(case.with_extension("stderr")).unwrap_or_default();
        let mut expected = errors(&expected);
        for diagnostic in &found {
            let at = expected.iter().position(|error| error.is(diagnostic));
            match at {
                Some(at) => drop(expected.remove(at)),
                // What rustc adds of its own differs between releases.
                None if diagnostic.is_of_rustc() => {}
                None => wrong.push(format!("{}: not expected: {diagnostic:?}", case.display())),
            }
        }
        if !expected.is_empty() {
            wrong.push(format!("{}: not found: {expected:#?}\nfound: {found:#?}", case.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The expected output cannot rot: it has one error for each marked mistake, on its line and at its column.
#[test]
fn each_mistake_is_one_error() {
    let mut wrong = Vec::new();
    for case in marked() {
        let printed = std::fs::read_to_string(case.with_extension("stderr")).unwrap();
        let mut found: Vec<_> = errors(&printed).iter().filter_map(|error| error.place).collect();
        let mut expected = marks(&std::fs::read_to_string(&case).unwrap());
        found.sort();
        expected.sort();
        if found != expected {
            wrong.push(format!("{}: found {found:?}, expected {expected:?}", case.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn sources(folder: &str) -> Vec<PathBuf> {
    let files = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)).unwrap();
    let files = files.map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|extension| extension == "rs")).collect()
}

/// An error or a warning of an expected output.
#[derive(Debug)]
struct Expected {
    code: Option<String>,
    /// The first line of the message, without what rustc puts before it.
    message: String,
    /// Line and column, from 1, in a case; what is outside has none.
    place: Option<(usize, usize)>,
    /// Everything that is printed of it.
    printed: String,
}

impl Expected {
    fn is(&self, found: &Diagnostic) -> bool {
        let says = match &found.code {
            // A printed lint has its name in a note.
            Some(code) if found.is_of_rustc() => {
                self.code.as_ref() == Some(code) || self.printed.contains(code.as_str())
            }
            _ => found.text.contains(&self.message),
        };
        // Of an expression that it blames, rustc marks another part on another release.
        let is_there = |place: (usize, usize)| match found.is_of_rustc() {
            true => place.0 == found.place.0,
            false => place == found.place,
        };
        says && self.place.is_none_or(is_there)
    }
}

impl Diagnostic {
    /// Whether the words are rustc's own: ours are the errors of macros, and of constants that cannot be evaluated.
    fn is_of_rustc(&self) -> bool {
        self.code.as_ref().is_some_and(|code| code != "E0080")
    }
}

/// The errors and warnings that rustc printed.
fn errors(printed: &str) -> Vec<Expected> {
    let mut found: Vec<Expected> = Vec::new();
    let mut is_placed = true;
    for line in printed.lines() {
        let (level, message) = line.split_once(": ").unwrap_or((line, ""));
        let (level, code) = level.split_once('[').unwrap_or((level, ""));
        if level == "error" || level == "warning" {
            let code = code.strip_suffix(']').map(str::to_string);
            let message =
                message.strip_prefix("evaluation panicked: ").unwrap_or(message).replace("$DIR/", "");
            found.push(Expected { code, message, place: None, printed: String::new() });
            is_placed = false;
        }
        let Some(error) = found.last_mut() else { continue };
        error.printed += line;
        if let Some(place) = line.trim_start().strip_prefix("--> ").filter(|_| !is_placed) {
            let mut numbers = place.rsplit(':').map(|number| number.parse().ok());
            let column = numbers.next().flatten();
            error.place = numbers.next().flatten().zip(column);
            is_placed = true;
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
