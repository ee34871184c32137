//! Attributes in a network and on it. Each one takes effect, is passed on to rustc, or is refused at its place; none is
//! dropped silently.
//!
//! `configure` has already removed `cfg` and `cfg_attr`. Attributes on the `fn` of a network go to the function that
//! creates the network. Lint attributes are about the user's source, so they go to the ghost.

use syn::visit::{self, Visit};

use super::Parser;

/// Refuses attributes inside of a body. A `const` keeps its own; other items are refused as a whole; [`Parser::param`]
/// handles those of parameters.
#[derive(Default)]
struct Attributes(Vec<syn::Attribute>);

impl Visit<'_> for Attributes {
    fn visit_attribute(&mut self, attribute: &syn::Attribute) {
        if !attribute.path().is_ident("doc") {
            self.0.push(attribute.clone());
        }
    }

    fn visit_local(&mut self, local: &syn::Local) {
        // A `let` may have `#[rustfmt::skip]`.
        let refused = local.attrs.iter().filter(|attribute| !says_nothing(attribute));
        refused.for_each(|attribute| self.visit_attribute(attribute));
        visit::visit_pat(self, &local.pat);
        local.init.iter().for_each(|init| visit::visit_local_init(self, init));
    }

    fn visit_fn_arg(&mut self, _: &syn::FnArg) {}

    fn visit_item(&mut self, item: &syn::Item) {
        if let syn::Item::Const(constant) = item {
            visit::visit_expr(self, &constant.expr);
        }
    }
}

/// Whether an attribute is a comment, or is for `rustfmt`, which reads the source itself.
fn says_nothing(attribute: &syn::Attribute) -> bool {
    let path = attribute.path();
    path.is_ident("doc") || path.segments.first().is_some_and(|first| first.ident == "rustfmt")
}

fn is_lint(attribute: &syn::Attribute) -> bool {
    ["allow", "warn", "deny", "forbid", "expect"].iter().any(|level| attribute.path().is_ident(level))
}

/// The attributes of an item.
pub(super) struct ItemAttributes {
    /// Lint attributes, which apply to the source of the item.
    pub(super) lints: Vec<syn::Attribute>,
    /// Attributes for the function that creates a network.
    pub(super) others: Vec<syn::Attribute>,
}

impl Parser<'_> {
    /// Sorts the attributes of an item.
    pub(super) fn item_attributes(&mut self, attributes: Vec<syn::Attribute>) -> ItemAttributes {
        let (lints, mut others): (Vec<_>, Vec<_>) = attributes.into_iter().partition(is_lint);
        let tests = |attribute: &syn::Attribute| {
            ["test", "bench", "should_panic"].iter().any(|name| attribute.path().is_ident(name))
        };
        for attribute in others.extract_if(.., |attribute| tests(attribute)) {
            let instead = "write a test outside of the network: a `fn` of Rust that calls `assert_learns(&model::cost(), ..)`";
            self.foreign(&attribute, "a test", instead);
        }
        ItemAttributes { lints, others }
    }

    /// Refuses attributes on an item that becomes no function of Rust: a sub-network, a layer, a size.
    pub(super) fn no_function(&mut self, attributes: &[syn::Attribute]) {
        for attribute in attributes.iter().filter(|attribute| !says_nothing(attribute)) {
            let instead = "what it stands before becomes no function of Rust; write it in front of a `pub fn` that is a network, or remove it";
            self.foreign(attribute, "this attribute", instead);
        }
    }

    /// Refuses attributes on the closure of the expression form.
    pub(super) fn no_attributes_in_closure(&mut self, closure: &syn::ExprClosure) {
        let mut found = Attributes::default();
        found.visit_expr_closure(closure);
        self.refuse(found);
    }

    /// Refuses attributes inside of a `fn`. The attributes on it are kept.
    pub(super) fn no_attributes_in_function(&mut self, function: &syn::ItemFn) {
        let mut found = Attributes::default();
        found.visit_signature(&function.sig);
        found.visit_block(&function.block);
        self.refuse(found);
    }

    fn refuse(&mut self, found: Attributes) {
        for attribute in found.0 {
            self.foreign(&attribute, "an attribute in this place", "write it in front of the network");
        }
    }
}
