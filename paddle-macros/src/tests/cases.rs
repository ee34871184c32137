//! The cases of `tests/tests/compile_fail/`, and of `doubts/` beside it: which message, at exactly which tokens.
//!
//! A marker, `//~`, is a comment on the line below the tokens to blame: carets under them, then the id.

use std::collections::BTreeSet;
use std::path::Path;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::emit::export;
use crate::expand::analyse;
use crate::messages::Message;
use crate::parse::Invocation;
use crate::report::{Extent, Sink};

/// Tokens on one line: line, columns from and to, and the id of the message about them.
type Mark = (usize, usize, usize, String);

#[test]
fn every_case_blames_its_tokens() {
    let (mut covered, mut wrong) = (BTreeSet::new(), Vec::new());
    for (name, text) in cases() {
        let (mut found, expected) = (Vec::new(), marks(&text));
        let all = invocations(text.parse().unwrap());
        for tokens in &all {
            let analysis = analyse(tokens.clone(), imported(tokens, &all));
            for report in analysis.reports.iter().chain(&analysis.doubts) {
                covered.insert(report.message.id());
                found.push(mark(report.blame.at, report.message.id()));
            }
        }
        found.sort();
        if found != expected {
            wrong.push(format!("{name}\n   found: {found:?}\nexpected: {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let missing: Vec<_> = Message::IDS.iter().filter(|id| !covered.contains(*id)).collect();
    assert!(missing.is_empty(), "messages without a case: {missing:?}");
}

fn cases() -> Vec<(String, String)> {
    let folders = ["compile_fail", "doubts"].map(|name| format!("../tests/tests/{name}"));
    let files = folders
        .iter()
        .flat_map(|folder| std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)).unwrap());
    let files = files.map(|entry| entry.unwrap().path());
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

/// The tokens of each `network!(..)` and of each module behind `#[network]`.
fn invocations(tokens: TokenStream) -> Vec<TokenStream> {
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
            found.push(group.stream());
        } else if is_attribute {
            let rest = tokens[at + 1..].iter();
            let end = rest.clone().position(|token| matches!(token, TokenTree::Group(_))).unwrap();
            found.push(rest.take(end + 1).cloned().collect());
        } else {
            found.extend(invocations(group.stream()));
        }
    }
    found
}

/// The sources of what an invocation imports from other modules of the file.
fn imported(tokens: &TokenStream, all: &[TokenStream]) -> TokenStream {
    let mut sink = Sink::default();
    let invocation = Invocation::read(tokens.clone(), &TokenStream::new(), &mut sink);
    sink.finish();
    let uses = invocation.map(|invocation| invocation.uses).unwrap_or_default();
    let sources = uses.iter().map(|import| {
        let path: Vec<String> =
            import.path.to_string().split("::").map(|part| part.trim().to_string()).collect();
        let [.., module, name] = &path[..] else { panic!("{path:?}") };
        let is_it = |tokens: &&TokenStream| {
            syn::parse2::<syn::ItemMod>((*tokens).clone()).is_ok_and(|item| item.ident == module)
        };
        let module = all.iter().find(is_it).unwrap();
        let inner = imported(module, all);
        let analysis = analyse(module.clone(), inner.clone());
        let broken = !analysis.reports.is_empty();
        export::source(&analysis.source.unwrap().network, &inner, name, broken)
    });
    sources.collect()
}

fn mark(extent: Extent, id: &str) -> Mark {
    let (start, end) = (extent.start.start(), extent.end.end());
    // Of tokens on several lines, a marker is under the first.
    let to = if start.line == end.line { end.column } else { start.column + 1 };
    (start.line, start.column, to, id.to_string())
}
