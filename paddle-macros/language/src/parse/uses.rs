//! `use` declarations in a network.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote};
use syn::ext::IdentExt;

use super::Parser;
use crate::import::Use;

impl Parser<'_> {
    /// All names that a `use` imports.
    pub(super) fn use_item(&mut self, item: &syn::ItemUse) -> Vec<Use> {
        if !matches!(item.vis, syn::Visibility::Inherited) {
            let instead = "write `pub use` outside of the network";
            self.foreign(&item.vis, "exporting again", instead);
        }
        for attribute in &item.attrs {
            self.foreign(attribute, "an attribute of a `use`", "remove it");
        }
        let mut found = Vec::new();
        let start = item.leading_colon.to_token_stream();
        self.use_tree(&item.tree, start, &mut found);
        found
    }

    fn use_tree(&mut self, tree: &syn::UseTree, before: TokenStream, found: &mut Vec<Use>) {
        let mut leaf = |ident: &Ident, name: &Ident| {
            found.push(Use { path: quote!(#before #ident), name: name.clone() });
        };
        match tree {
            syn::UseTree::Path(path) => {
                let (ident, colons) = (&path.ident, &path.colon2_token);
                self.use_tree(&path.tree, quote!(#before #ident #colons), found);
            }
            syn::UseTree::Group(group) => {
                for tree in &group.items {
                    self.use_tree(tree, before.clone(), found);
                }
            }
            syn::UseTree::Name(name) if name.ident.unraw() != "self" => leaf(&name.ident, &name.ident),
            syn::UseTree::Rename(rename) if rename.rename.unraw() != "_" => {
                leaf(&rename.ident, &rename.rename)
            }
            other => {
                let instead =
                    "import `fn`s and `const`s of networks by their names: `use models::ranking::vector;`";
                self.foreign(other, "this import", instead);
                self.has_unknown_imports = true;
            }
        }
    }
}
