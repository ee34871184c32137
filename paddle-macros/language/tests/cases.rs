//! The cases of `tests/tests/compile_fail/`, and of `doubts/` beside it, compiled by themselves: which message, at exactly which
//! tokens. What rustc prints of mistakes is what is printed here.
//!
//! A marker, `//~`, is a comment on the line below the tokens to blame: carets under them, then the id.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};

use paddle_language::messages::Message;
use paddle_language::{Diagnostic, Options, Severity, compile};
use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// Tokens on one line: line, columns from and to, and the id of the message about them.
type Mark = (usize, usize, usize, String);

/// What is said of sources that are compiled by themselves, of which there are none in those folders.
const BY_ITSELF: [&str; 2] = ["code-around", "which-network"];

/// What the modules of a case are called that others import from.
const IMPORTED: &str = "imported.rs";

#[test]
fn every_case_blames_its_tokens() {
    let (mut covered, mut wrong) = (BTreeSet::from(BY_ITSELF), Vec::new());
    for (name, text) in cases() {
        let said = said(&name, &text, &[]);
        covered.extend(said.iter().map(|diagnostic| diagnostic.id));
        let mut found: Vec<Mark> = said.iter().map(mark).collect();
        let expected = marks(&text);
        found.sort();
        if found != expected {
            wrong.push(format!("{name}\n   found: {found:?}\nexpected: {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let missing: Vec<_> = Message::IDS.iter().filter(|id| !covered.contains(*id)).collect();
    assert!(missing.is_empty(), "messages without a case: {missing:?}");
}

/// Each mistake is printed as rustc prints it.
#[test]
fn it_is_printed_as_rustc_prints_it() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    for (name, text) in cases() {
        let path = folder("compile_fail").join(&name).with_extension("stderr");
        let Ok(printed) = std::fs::read_to_string(path) else { continue };
        let printed = printed.replace("$DIR/tests/compile_fail/", "tests/compile_fail/");
        let file = format!("tests/compile_fail/{name}");
        for mut diagnostic in said(&file, &text, &[]) {
            // Of long lines rustc prints a part.
            if diagnostic.place.start.column > 140 {
                continue;
            }
            count += 1;
            // With what is around the network on its lines.
            let lines = text.lines().skip(diagnostic.place.start.line - 1);
            diagnostic.lines = lines.take(diagnostic.lines.len()).map(str::to_string).collect();
            let ours = diagnostic.to_string().replace(IMPORTED, &file);
            if !printed.contains(ours.as_str()) {
                wrong.push(format!("{name}:\n{ours}"));
            }
        }
    }
    assert!(wrong.is_empty(), "of {count}, {} are not what rustc prints\n{}", wrong.len(), wrong.join("\n"));
    assert!(count > 390, "{count}");
}

/// The models of the tests and of the examples have no mistakes.
#[test]
fn nothing_is_wrong_with_right_models() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (mut wrong, mut count) = (Vec::new(), 0);
    for folder in ["tests/tests/models", "examples"] {
        for (name, text) in sources(&root.join(folder)) {
            count += 1;
            let errors = said(&name, &text, &parts(&root.join(folder), &text))
                .into_iter()
                .filter(|said| said.severity == Severity::Error);
            wrong.extend(errors.map(|error| error.to_string()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 60, "{count}");
}

/// The modules that a source takes from other files, `#[path = "parts/speller.rs"] mod speller;`, with their texts.
fn parts(folder: &Path, text: &str) -> Vec<(String, String)> {
    let paths = text.match_indices("#[path = \"").filter_map(|(at, begin)| {
        let (path, rest) = text[at + begin.len()..].split_once("\"]\nmod ")?;
        let text = std::fs::read_to_string(folder.join(path)).unwrap();
        Some((rest.split(';').next()?.to_string(), text))
    });
    paths.collect()
}

/// All that is said of the networks of a case, which may import from such modules.
fn said(name: &str, text: &str, parts: &[(String, String)]) -> Vec<Diagnostic> {
    let all = invocations(text.parse().unwrap());
    let mut options = Options::new().file(name).folder(folder("compile_fail"));
    for (part, text) in parts {
        for (module, range) in invocations(text.parse().unwrap()) {
            if let Some(module) = module {
                options = options.source(format!("crate::{part}::{module}"), IMPORTED, alone(text, &range));
            }
        }
    }
    for (module, range) in &all {
        let Some(module) = module else { continue };
        let file = name.trim_end_matches(".rs");
        for path in
            [format!("crate::{module}"), format!("crate::{file}::{module}"), format!("super::{module}")]
        {
            // Of its mistakes it is told itself.
            options = options.source(path, IMPORTED, alone(text, range));
        }
    }
    let said = all.iter().flat_map(|(_, range)| match compile(&alone(text, range), &options) {
        Ok(compiled) => compiled.warnings,
        Err(diagnostics) => diagnostics,
    });
    said.filter(|diagnostic| diagnostic.place.file == name && diagnostic.id != "code-around").collect()
}

/// A piece of a text at its place, with nothing else.
fn alone(text: &str, range: &Range<usize>) -> String {
    let kept = |(at, c): (usize, char)| if range.contains(&at) || c == '\n' { c } else { ' ' };
    text.char_indices().map(kept).collect()
}

fn cases() -> Vec<(String, String)> {
    ["compile_fail", "doubts"].iter().flat_map(|name| sources(&folder(name))).collect()
}

/// The sources of a folder, with their names.
fn sources(folder: &Path) -> Vec<(String, String)> {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let sources = files.filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    sources
        .map(|path| {
            (path.file_name().unwrap().to_string_lossy().into(), std::fs::read_to_string(path).unwrap())
        })
        .collect()
}

fn marks(text: &str) -> Vec<Mark> {
    let mut marks = Vec::new();
    let mut line = 0;
    for (at, source) in text.lines().enumerate() {
        let comment = source.trim_start().strip_prefix("//~").unwrap_or("").trim_start();
        let carets = comment.chars().take_while(|c| *c == '^').count();
        if carets == 0 {
            line = at + 1;
            continue;
        }
        let from = source.chars().position(|c| c == '^').unwrap();
        marks.push((line, from, from + carets, comment[carets..].trim().to_string()));
    }
    marks.sort();
    marks
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/tests").join(name)
}

/// Each `network!(..)`, and each module behind `#[network]` with its name: where it is in the text.
fn invocations(tokens: TokenStream) -> Vec<(Option<String>, Range<usize>)> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut found = Vec::new();
    let is_network = |token: &TokenTree| matches!(token, TokenTree::Ident(ident) if ident == "network");
    for (at, token) in tokens.iter().enumerate() {
        let TokenTree::Group(group) = token else { continue };
        let is_macro = at > 1
            && is_network(&tokens[at - 2])
            && matches!(&tokens[at - 1], TokenTree::Punct(p) if p.as_char() == '!');
        let is_attribute = group.delimiter() == Delimiter::Bracket
            && group.stream().into_iter().last().is_some_and(|token| is_network(&token));
        if is_macro {
            let all = group.span().byte_range();
            found.push((None, all.start + 1..all.end - 1));
        } else if is_attribute {
            let rest = &tokens[at + 1..];
            let end = rest.iter().position(|token| matches!(token, TokenTree::Group(_))).unwrap();
            let range = rest[0].span().byte_range().start..rest[end].span().byte_range().end;
            found.push((Some(rest[end - 1].to_string()), range));
        } else {
            found.extend(invocations(group.stream()));
        }
    }
    found
}

fn mark(diagnostic: &Diagnostic) -> Mark {
    let (start, end) = (diagnostic.place.start, diagnostic.place.end);
    // Of tokens on several lines, a marker is under the first.
    let to = if start.line == end.line { end.column - 1 } else { start.column };
    (start.line, start.column - 1, to, diagnostic.id.to_string())
}
