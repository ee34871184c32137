//! What a page refers to has to be there: `mdBook` shows nothing for an anchor that is missing, and says nothing.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What is wrong with the pages of a book, a line each.
pub(crate) fn problems(folder: &Path) -> io::Result<Vec<String>> {
    let text = folder.join("src");
    let pages = pages(&text)?;
    let summary = fs::read_to_string(text.join("SUMMARY.md"))?;
    let listed: BTreeSet<PathBuf> = links(&summary).map(|link| text.join(link)).collect();
    let mut problems = Vec::new();
    for page in &pages {
        if !listed.contains(page) && !page.ends_with("SUMMARY.md") {
            problems.push(format!("{}: SUMMARY.md does not list this page", page.display()));
        }
        check(page, &fs::read_to_string(page)?, &mut problems);
    }
    Ok(problems)
}

/// All Markdown files below a folder.
fn pages(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(pages(&path)?);
        } else if path.extension().is_some_and(|it| it == "md") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn check(page: &Path, text: &str, problems: &mut Vec<String>) {
    let folder = page.parent().unwrap_or(page);
    let mut fence: Option<&str> = None;
    for (number, line) in (1..).zip(text.lines()) {
        let mut wrong = |what: String| problems.push(format!("{}:{number}: {what}", page.display()));
        if let Some(begin) = line.trim_start().strip_prefix("```") {
            fence = if fence.is_some() { None } else { Some(begin) };
            continue;
        }
        match included(line) {
            Some(what) => {
                if let Err(missing) = find(folder, what) {
                    wrong(missing);
                }
            }
            // What a page shows is compiled: it stands in an example, a test or a snippet, and is included. What is written with
            // other crates says that it is not: `rust,ignore`.
            None if fence.is_some_and(|it| it.starts_with("rust") && it != "rust,ignore") => {
                wrong("Rust that is not included from a file, so no test compiles it".into());
            }
            None if fence.is_none() => {
                for link in links(line).filter(|link| !link.contains("://") && !link.starts_with('#')) {
                    let file = link.split('#').next().unwrap_or(link);
                    if !folder.join(file).exists() {
                        wrong(format!("`{file}` is not there"));
                    }
                }
            }
            None => {}
        }
    }
}

/// What a line includes, `path` or `path:anchor`.
fn included(line: &str) -> Option<&str> {
    line.trim().strip_prefix("{{#include ")?.strip_suffix("}}").map(str::trim)
}

fn find(folder: &Path, what: &str) -> Result<(), String> {
    let (file, anchor) = match what.split_once(':') {
        Some((file, anchor)) => (file, Some(anchor)),
        None => (what, None),
    };
    let text = fs::read_to_string(folder.join(file)).map_err(|error| format!("`{file}`: {error}"))?;
    let Some(anchor) = anchor else { return Ok(()) };
    // As words, since one anchor's name may begin with another's.
    let has = |mark: &str| {
        text.lines().any(|line| line.split_once(mark).is_some_and(|(_, name)| name.trim() == anchor))
    };
    match has("ANCHOR: ") && has("ANCHOR_END: ") {
        true => Ok(()),
        false => Err(format!("`{file}` has no anchor `{anchor}`")),
    }
}

/// What the links and pictures of a text lead to: `](here)`.
fn links(text: &str) -> impl Iterator<Item = &str> {
    text.split("](").skip(1).filter_map(|rest| rest.split(')').next())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems_of(text: &str) -> Vec<String> {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/introduction.md");
        let mut problems = Vec::new();
        check(&page, text, &mut problems);
        problems.iter().map(|it| it.split_once(".md:").unwrap().1.to_string()).collect()
    }

    #[test]
    fn what_is_there() {
        let text =
            "[all](SUMMARY.md#here)\n\n```rust\n{{#include ../../examples/fit_a_line.rs:model}}\n```\n";
        assert!(problems_of(text).is_empty(), "{:?}", problems_of(text));
    }

    #[test]
    fn what_is_not_there() {
        let text = "```rust\n{{#include ../../examples/fit_a_line.rs:mod}}\nlet x = 1;\n```\n![](no.png)";
        let found = problems_of(text);
        assert_eq!(found[0], "2: `../../examples/fit_a_line.rs` has no anchor `mod`");
        assert!(found[1].starts_with("3: Rust that is not included"), "{found:?}");
        assert_eq!(found[2..], ["5: `no.png` is not there"]);
        assert!(problems_of("{{#include no.txt}}")[0].starts_with("1: `no.txt`: "));
    }
}
