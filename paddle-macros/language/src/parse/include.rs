//! `include_model!("resnet.pdmodel");` among the items of a module: the items of the model, at the place of its file's name.

use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
use syn::parse::ParseStream;
use syn::punctuated::Punctuated;

use super::item::{INCLUDE, is_include};
use super::{Parser, Syntax, literals, too_deep};
use crate::ast::{Included, text};
use crate::configure;
use crate::files::Files;
use crate::import::Use;
use crate::include::{Wanted, file_of, items_of};
use crate::messages::Message;
use crate::report::Extent;

/// How it is written.
const FORM: &str = "write `include_model!(\"resnet.pdmodel\")`, or with a name for the network, and values of the model that it gives: `include_model!(\"resnet.pdmodel\", name = trunk, outputs = [\"flatten_0.tmp_0\"])`";

/// What stands in the parentheses.
struct Arguments {
    path: syn::LitStr,
    name: Option<Ident>,
    outputs: Vec<syn::LitStr>,
}

impl syn::parse::Parse for Arguments {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut arguments = Arguments { path: input.parse()?, name: None, outputs: Vec::new() };
        while !input.is_empty() {
            input.parse::<syn::Token![,]>()?;
            if input.is_empty() {
                break;
            }
            let argument: Ident = input.parse()?;
            input.parse::<syn::Token![=]>()?;
            match &*argument.to_string() {
                "name" if arguments.name.is_none() => arguments.name = Some(input.parse()?),
                "outputs" if arguments.outputs.is_empty() => {
                    let inner;
                    syn::bracketed!(inner in input);
                    let outputs = Punctuated::<syn::LitStr, syn::Token![,]>::parse_terminated(&inner)?;
                    arguments.outputs = outputs.into_iter().collect();
                }
                _ => return Err(syn::Error::new(argument.span(), "this is no argument of it")),
            }
        }
        Ok(arguments)
    }
}

impl Parser<'_> {
    /// An invocation with the items of models in the places of their macros.
    pub(super) fn included(
        &mut self,
        mut syntax: Syntax,
        uses: &[Use],
        files: &Files,
        models: &mut Vec<Included>,
    ) -> Syntax {
        let Syntax::Module { items, .. } = &mut syntax else { return syntax };
        let imported = uses.iter().map(|import| text(&import.name));
        let written = items.iter().filter_map(configure::named).map(|(ident, _)| text(&ident));
        let mut names: Vec<String> = written.chain(imported).collect();
        for item in std::mem::take(items) {
            match item {
                syn::Item::Macro(call) if is_include(&call.mac) => {
                    let model = self.model(&call, &names, files, models);
                    names.extend(model.iter().filter_map(configure::named).map(|(ident, _)| text(&ident)));
                    items.extend(model);
                }
                other => items.push(other),
            }
        }
        syntax
    }

    /// The items of a model; none if there is a mistake.
    fn model(
        &mut self,
        call: &syn::ItemMacro,
        names: &[String],
        files: &Files,
        models: &mut Vec<Included>,
    ) -> Vec<syn::Item> {
        let arguments = match syn::parse2::<Arguments>(call.mac.tokens.clone()) {
            Ok(arguments) => arguments,
            Err(error) => {
                let at = if call.mac.tokens.is_empty() { Extent::of(&call.mac) } else { error.span().into() };
                let message = Message::NotOfTheLanguage {
                    what: format!("this form of `{INCLUDE}!`"),
                    instead: FORM.into(),
                };
                self.sink.error(at, message);
                self.lacks_items = true;
                return Vec::new();
            }
        };
        let Arguments { path, name, outputs } = arguments;
        let at = path.span();
        let path = path.value();
        match self.items_of(&path, at, name.as_ref(), &outputs, names, files) {
            Ok((mut items, model)) => {
                models.push(model);
                // What is said of the macro is said of the network.
                let network = items.iter_mut().find_map(|item| match item {
                    syn::Item::Fn(function) if matches!(function.vis, syn::Visibility::Public(_)) => {
                        Some(function)
                    }
                    _ => None,
                });
                if let Some(network) = network {
                    network.attrs.splice(0..0, call.attrs.iter().cloned());
                    if let Some(name) = name {
                        network.sig.ident = name;
                    }
                }
                items
            }
            Err(why) => {
                self.sink.error(at, Message::Model { path, why });
                self.lacks_items = true;
                Vec::new()
            }
        }
    }

    fn items_of(
        &mut self,
        path: &str,
        at: Span,
        name: Option<&Ident>,
        outputs: &[syn::LitStr],
        reserved: &[String],
        files: &Files,
    ) -> Result<(Vec<syn::Item>, Included), String> {
        let folder = files.folder(at).ok_or(
            "it is not known where this source stands; for a source that is compiled by itself give the folder, `Options::folder(\"models\")`",
        )?;
        let file = file_of(&folder.join(path))?;
        let file = std::path::absolute(&file).map_err(|error| error.to_string())?;
        let wanted = Wanted {
            name: name.map(text),
            outputs: outputs.iter().map(syn::LitStr::value).collect(),
            reserved: reserved.to_vec(),
        };
        let source = items_of(&file, &wanted)?;
        let tokens: TokenStream = source.parse().map_err(|error| format!("{error}, in\n{source}"))?;
        let tokens = literals::shortened(located(tokens, Span::call_site().located_at(at)), self.sink);
        if too_deep(tokens.clone(), 0).is_some() {
            return Err("its expressions nest too deep".into());
        }
        let items = syn::parse2::<syn::File>(tokens).map_err(|error| format!("{error}, in\n{source}"))?.items;
        Ok((items, Included { file, at: at.into() }))
    }
}

/// The tokens at another place.
fn located(tokens: TokenStream, at: Span) -> TokenStream {
    let token = |mut token: TokenTree| {
        if let TokenTree::Group(group) = &token {
            token = Group::new(group.delimiter(), located(group.stream(), at)).into();
        }
        token.set_span(at);
        token
    };
    tokens.into_iter().map(token).collect()
}
