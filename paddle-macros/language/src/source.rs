//! Sources at run time: texts → trees, with the imports between the texts.

use std::collections::BTreeMap;

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::quote;

use crate::analysis::{Analysis, analyse};
use crate::export;
use crate::files::Files;
use crate::import::{Payload, Use};
use crate::options::Options;
use crate::parameter_names::identifier;
use crate::parse::Invocation;
use crate::predicates;
use crate::report::{Report, Sink};
use crate::{ast, messages::Message};

/// The name of a source without a name.
const UNNAMED: &str = "source";

/// The sources of one compilation.
pub(crate) struct Sources<'a> {
    options: &'a Options,
    /// The names of the sources.
    pub(crate) files: Files,
    /// The modules that were imported from; `None` for a module that is being read.
    modules: BTreeMap<String, Option<Module>>,
    /// The mistakes and doubts in these modules.
    pub(crate) reports: Vec<Report>,
    pub(crate) doubts: Vec<Report>,
}

/// A module that was imported from, and the sources of its own imports.
struct Module {
    /// `None` if the module has mistakes.
    analysis: Option<Analysis>,
    imported: Vec<Payload>,
}

impl<'a> Sources<'a> {
    pub(crate) fn new(options: &'a Options) -> Self {
        let (files, modules) = (Files::texts_in(options.folder.clone()), BTreeMap::new());
        Sources { options, files, modules, reports: Vec::new(), doubts: Vec::new() }
    }

    /// Analyses the main source.
    pub(crate) fn analyse(&mut self, text: &str) -> Analysis {
        let name = self.options.file.as_deref().unwrap_or(UNNAMED);
        // The call-site span stands for the beginning of the source, where missing things are reported.
        self.files.add(Span::call_site(), name, text);
        self.read(name, text).0
    }

    fn read(&mut self, name: &str, text: &str) -> (Analysis, Vec<Payload>) {
        let mut sink = Sink::default();
        let tokens = self.tokens(name, text, &mut sink);
        let known = &self.options.holds;
        let answers = |predicates: &[TokenStream]| -> Vec<bool> {
            predicates.iter().map(|predicate| predicates::holds(predicate, known)).collect()
        };
        let invocation = tokens.and_then(|tokens| Invocation::read(tokens, answers, &mut sink));
        let uses = invocation.as_ref().map(|invocation| invocation.uses.clone()).unwrap_or_default();
        let imported: Vec<Payload> = uses.iter().map(|import| self.import(import)).collect();
        (analyse(invocation, imported.clone(), self.files.clone(), sink), imported)
    }

    /// The tokens of a text: a closure, or a module. Items without a module become one with the name of the file.
    fn tokens(&mut self, name: &str, text: &str, sink: &mut Sink) -> Option<TokenStream> {
        let tokens: TokenStream = match text.parse() {
            Ok(tokens) => tokens,
            Err(error) => {
                let error: proc_macro2::LexError = error;
                self.files.add(error.span(), name, text);
                let text = "these are no tokens of Rust: what is opened here, or begins here, does not end"
                    .to_string();
                sink.error(error.span(), Message::Syntax { text });
                return None;
            }
        };
        let span = tokens.clone().into_iter().next().map(|token| token.span());
        self.files.add(span.unwrap_or_else(Span::call_site), name, text);
        Some(if is_items(tokens.clone()) { module(name, tokens) } else { tokens })
    }

    /// The source of an imported name.
    fn import(&mut self, import: &Use) -> Payload {
        let path = import.path.to_string().replace(' ', "");
        let Some((module, name)) = path.rsplit_once("::") else {
            return Payload::Refused(format!("`{path}` is the path of no item of a module"));
        };
        let Some(source) = self.options.sources.get(module) else {
            return Payload::Refused(format!(
                "of the code around only `network!` sees `{module}`; for a source that is compiled by itself give its text, `Options::source(\"{module}\", ..)`"
            ));
        };
        match self.modules.get(module) {
            Some(Some(_)) => {}
            Some(None) => return Payload::Refused(format!("`{module}` imports from itself")),
            None => {
                self.modules.insert(module.to_string(), None);
                let (mut analysis, imported) = self.read(&source.file, &source.text);
                let is_right = analysis.reports.is_empty()
                    && analysis.source.as_ref().is_some_and(|source| !source.network.is_incomplete());
                self.reports.append(&mut analysis.reports);
                self.doubts.append(&mut analysis.doubts);
                let analysis = is_right.then_some(analysis);
                self.modules.insert(module.to_string(), Some(Module { analysis, imported }));
            }
        }
        let Some(Some(Module { analysis: Some(analysis), imported })) = self.modules.get(module) else {
            return Payload::Broken;
        };
        let Some(source) = &analysis.source else { return Payload::Broken };
        let exported = export::exported(&source.network);
        match exported.into_iter().find(|ident| ast::text(ident) == name) {
            Some(ident) => export::payload(&source.network, ident, imported),
            None => Payload::Refused(format!("`{module}` has no `pub fn` or `pub const` of that name")),
        }
    }
}

/// Whether these tokens are items, rather than an expression or a module with braces.
fn is_items(tokens: TokenStream) -> bool {
    let is_closure = match tokens.clone().into_iter().next() {
        Some(TokenTree::Punct(punct)) => punct.as_char() == '|',
        Some(TokenTree::Ident(ident)) => ident == "move",
        _ => false,
    };
    let has = |words: &[&str]| {
        tokens
            .clone()
            .into_iter()
            .any(|token| matches!(token, TokenTree::Ident(ident) if words.iter().any(|word| ident == word)))
    };
    !is_closure && !has(&["mod"]) && has(&["fn", "const", "use"])
}

/// Wraps items in a module with the name of the file.
fn module(file: &str, items: TokenStream) -> TokenStream {
    let stem = std::path::Path::new(file).file_stem().and_then(|stem| stem.to_str()).unwrap_or(UNNAMED);
    let word = stem.replace(|c: char| !c.is_alphanumeric(), "_");
    let mut ident: Ident = identifier(if word.is_empty() { UNNAMED } else { &word });
    // The braces take the places of the first and the last token: mistakes about the whole are shown at the beginning,
    // mistakes about a missing end at the end.
    let mut spans = items.clone().into_iter().map(|token| token.span());
    let start = spans.next().unwrap_or_else(Span::call_site);
    let end = spans.last().unwrap_or(start);
    ident.set_span(start);
    let mut body = Group::new(Delimiter::Brace, items);
    body.set_span(end);
    quote!(pub mod #ident #body)
}
