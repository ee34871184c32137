//! `#[cfg(..)]` and `#[cfg_attr(..)]` inside of a network: items that are configured out are removed before anything
//! else looks at them.
//!
//! Whether a predicate holds is the caller's answer: rustc's for the macros, [`Options`](crate::Options) at run time.

use std::collections::{BTreeMap, VecDeque};

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::parse::{ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::visit_mut::{self, VisitMut};

use crate::parse::Syntax;

/// An item that is configured out.
#[derive(Clone, Debug)]
pub struct ConfiguredOut {
    pub ident: Ident,
    pub public: bool,
    /// The predicate that does not hold.
    pub predicate: TokenStream,
}

/// Whether an invocation may have predicates. Most have none, and need no walk to find them.
pub fn may_ask(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Group(group) => may_ask(group.stream()),
        TokenTree::Ident(ident) => ident == "cfg" || ident == "cfg_attr",
        TokenTree::Punct(_) | TokenTree::Literal(_) => false,
    })
}

/// The predicates of an invocation, without duplicates, in the order in which they are asked.
pub fn predicates(syntax: &Syntax) -> Vec<TokenStream> {
    let mut asking = Configuration::default();
    asking.syntax(&mut syntax.clone());
    asking.asked
}

/// Removes the items that are configured out from an invocation, and returns them. `answers` are the answers to its
/// [`predicates`].
pub fn configure(
    syntax: &mut Syntax,
    predicates: &[TokenStream],
    answers: impl Iterator<Item = bool>,
) -> Vec<ConfiguredOut> {
    let answers = predicates.iter().map(ToString::to_string).zip(answers).collect();
    let mut configuration = Configuration { answers, ..Configuration::default() };
    configuration.syntax(syntax);
    configuration.removed
}

/// The walk over an invocation that removes what is configured out.
#[derive(Default)]
struct Configuration {
    answers: BTreeMap<String, bool>,
    /// The predicates without an answer. They are taken to hold.
    asked: Vec<TokenStream>,
    removed: Vec<ConfiguredOut>,
}

impl Configuration {
    fn syntax(&mut self, syntax: &mut Syntax) {
        match syntax {
            Syntax::Expression(closure) => self.visit_expr_closure_mut(closure),
            Syntax::Module { items, .. } => {
                for item in std::mem::take(items) {
                    let named = named(&item);
                    match self.part(item, syn::parse2) {
                        Ok(mut item) => {
                            self.visit_item_mut(&mut item);
                            items.push(item);
                        }
                        Err(predicate) => {
                            let out = |(ident, public)| ConfiguredOut { ident, public, predicate };
                            self.removed.extend(named.map(out));
                        }
                    }
                }
            }
        }
    }

    fn holds(&mut self, predicate: &TokenStream) -> bool {
        let text = predicate.to_string();
        if let Some(&answer) = self.answers.get(&text) {
            return answer;
        }
        if !self.asked.iter().any(|asked| asked.to_string() == text) {
            self.asked.push(predicate.clone());
        }
        true
    }

    /// The attributes without `cfg` and `cfg_attr`; or, as the error, the predicate that configures out the item.
    fn attributes(&mut self, attributes: Vec<syn::Attribute>) -> Result<Vec<syn::Attribute>, TokenStream> {
        let (mut left, mut kept) = (VecDeque::from(attributes), Vec::new());
        while let Some(attribute) = left.pop_front() {
            if let Some(predicate) = list(&attribute, "cfg") {
                if !self.holds(&predicate) {
                    return Err(predicate);
                }
            } else if let Some((predicate, metas)) = list(&attribute, "cfg_attr").and_then(conditional) {
                if self.holds(&predicate) {
                    let given =
                        metas.into_iter().rev().map(|meta| syn::Attribute { meta, ..attribute.clone() });
                    given.for_each(|attribute| left.push_front(attribute));
                }
            } else {
                kept.push(attribute);
            }
        }
        Ok(kept)
    }

    /// Parses a part with attributes and decides these. `Err` is the predicate that configures out the part.
    fn part<T: ToTokens>(
        &mut self,
        part: T,
        parse: impl Fn(TokenStream) -> syn::Result<T>,
    ) -> Result<T, TokenStream> {
        let tokens = part.to_token_stream();
        let begins = |token: TokenTree| matches!(token, TokenTree::Punct(punct) if punct.as_char() == '#');
        if !tokens.clone().into_iter().next().is_some_and(begins) {
            return Ok(part);
        }
        let split = |input: ParseStream<'_>| {
            Ok((input.call(syn::Attribute::parse_outer)?, input.parse::<TokenStream>()?))
        };
        let Ok((attributes, rest)) = split.parse2(tokens) else { return Ok(part) };
        let decides = |attribute: &syn::Attribute| {
            ["cfg", "cfg_attr"].iter().any(|name| list(attribute, name).is_some())
        };
        if !attributes.iter().any(decides) {
            return Ok(part);
        }
        let kept = self.attributes(attributes)?;
        Ok(parse(quote!(#(#kept)* #rest)).unwrap_or(part))
    }

    fn list<T: ToTokens, P: Default>(
        &mut self,
        list: &mut Punctuated<T, P>,
        parse: impl Fn(TokenStream) -> syn::Result<T>,
    ) {
        let (mut kept, count) = (Punctuated::new(), list.len());
        let trailing = list.trailing_punct();
        for part in std::mem::take(list) {
            if let Ok(part) = self.part(part, &parse) {
                kept.push(part);
            }
        }
        // A tuple of one keeps its comma.
        if trailing || (count > 1 && kept.len() == 1) {
            kept.push_punct(P::default());
        }
        *list = kept;
    }
}

impl VisitMut for Configuration {
    fn visit_item_mut(&mut self, item: &mut syn::Item) {
        match item {
            // An operator has no body, which syn does not parse as a function.
            syn::Item::Verbatim(tokens) => {
                let end = tokens.clone().into_iter().last();
                if let Some(mut item) = crate::parse::with_empty_body(tokens) {
                    self.visit_signature_mut(&mut item.sig);
                    let syn::ItemFn { attrs, vis, sig, .. } = item;
                    *tokens = quote!(#(#attrs)* #vis #sig #end);
                }
            }
            other => visit_mut::visit_item_mut(self, other),
        }
    }

    fn visit_signature_mut(&mut self, signature: &mut syn::Signature) {
        self.list(&mut signature.inputs, syn::parse2);
        self.list(&mut signature.generics.params, syn::parse2);
        visit_mut::visit_signature_mut(self, signature);
    }

    fn visit_block_mut(&mut self, block: &mut syn::Block) {
        let statement = |tokens| {
            let mut statements = syn::Block::parse_within.parse2(tokens)?;
            statements.pop().ok_or_else(|| syn::Error::new(Span::call_site(), "no statement"))
        };
        let statements = std::mem::take(&mut block.stmts);
        block.stmts.extend(statements.into_iter().filter_map(|stmt| self.part(stmt, statement).ok()));
        visit_mut::visit_block_mut(self, block);
    }

    fn visit_expr_closure_mut(&mut self, closure: &mut syn::ExprClosure) {
        self.list(&mut closure.inputs, |tokens| parameter.parse2(tokens));
        visit_mut::visit_expr_closure_mut(self, closure);
    }

    fn visit_expr_match_mut(&mut self, choice: &mut syn::ExprMatch) {
        let arms = std::mem::take(&mut choice.arms);
        choice.arms.extend(arms.into_iter().filter_map(|arm| self.part(arm, syn::parse2).ok()));
        visit_mut::visit_expr_match_mut(self, choice);
    }

    fn visit_expr_call_mut(&mut self, call: &mut syn::ExprCall) {
        self.list(&mut call.args, syn::parse2);
        visit_mut::visit_expr_call_mut(self, call);
    }

    fn visit_expr_array_mut(&mut self, array: &mut syn::ExprArray) {
        self.list(&mut array.elems, syn::parse2);
        visit_mut::visit_expr_array_mut(self, array);
    }

    fn visit_expr_tuple_mut(&mut self, tuple: &mut syn::ExprTuple) {
        self.list(&mut tuple.elems, syn::parse2);
        visit_mut::visit_expr_tuple_mut(self, tuple);
    }
}

/// A parameter of a closure, which may have a type.
fn parameter(input: ParseStream<'_>) -> syn::Result<syn::Pat> {
    let attrs = input.call(syn::Attribute::parse_outer)?;
    let pat = Box::new(syn::Pat::parse_single(input)?);
    match input.parse::<Option<syn::Token![:]>>()? {
        Some(colon_token) => Ok(syn::Pat::Type(syn::PatType { attrs, pat, colon_token, ty: input.parse()? })),
        None => Ok(*pat),
    }
}

/// The tokens in the parentheses of an attribute of this name.
fn list(attribute: &syn::Attribute, name: &str) -> Option<TokenStream> {
    let list = attribute.meta.require_list().ok()?;
    list.path.is_ident(name).then(|| list.tokens.clone())
}

/// The predicate of a `cfg_attr`, and the attributes behind it.
fn conditional(tokens: TokenStream) -> Option<(TokenStream, Punctuated<syn::Meta, syn::Token![,]>)> {
    let is_comma = |token: &TokenTree| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ',');
    let mut tokens = tokens.into_iter();
    let predicate = tokens.by_ref().take_while(|token| !is_comma(token)).collect();
    Some((predicate, Punctuated::parse_terminated.parse2(tokens.collect()).ok()?))
}

/// The name of an item, and whether it is `pub`.
pub(crate) fn named(item: &syn::Item) -> Option<(Ident, bool)> {
    let is_public = |vis: &syn::Visibility| !matches!(vis, syn::Visibility::Inherited);
    match item {
        syn::Item::Fn(item) => Some((item.sig.ident.clone(), is_public(&item.vis))),
        syn::Item::Const(item) => Some((item.ident.clone(), is_public(&item.vis))),
        syn::Item::Use(item) => match &item.tree {
            syn::UseTree::Path(path) => last(&path.tree).map(|ident| (ident, false)),
            _ => None,
        },
        syn::Item::Verbatim(tokens) => {
            let tokens: Vec<TokenTree> = tokens.clone().into_iter().collect();
            let word =
                |token: &TokenTree, word: &str| matches!(token, TokenTree::Ident(ident) if ident == word);
            let keyword = tokens.iter().position(|token| word(token, "fn") || word(token, "const"))?;
            let Some(TokenTree::Ident(ident)) = tokens.get(keyword + 1) else { return None };
            Some((ident.clone(), tokens[..keyword].iter().any(|token| word(token, "pub"))))
        }
        _ => None,
    }
}

/// The name that a `use` of a single name imports.
fn last(tree: &syn::UseTree) -> Option<Ident> {
    match tree {
        syn::UseTree::Path(path) => last(&path.tree),
        syn::UseTree::Name(name) => Some(name.ident.clone()),
        syn::UseTree::Rename(rename) => Some(rename.rename.clone()),
        _ => None,
    }
}
