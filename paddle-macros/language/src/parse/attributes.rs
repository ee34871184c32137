//! Attributes of a network, and inside of one. Each works, or goes to rustc, or is refused where it stands: none is dropped.
//!
//! `cfg` and `cfg_attr` are decided before; see `configure`. In front of a network's `fn` stands what rustc has to do with the
//! function that makes it. Lints are for the user's source, which the ghost has.

use syn::visit::{self, Visit};

use super::Parser;

/// The attributes in a body. A `const` keeps its own; other items are refused as they are. Those of a parameter are
/// for [`Parser::param`].
#[derive(Default)]
struct Attributes(Vec<syn::Attribute>);

impl Visit<'_> for Attributes {
    fn visit_attribute(&mut self, attribute: &syn::Attribute) {
        if !attribute.path().is_ident("doc") {
            self.0.push(attribute.clone());
        }
    }

    fn visit_local(&mut self, local: &syn::Local) {
        // A `let` may be kept from `rustfmt`, as in Rust.
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

/// Whether it is a comment, or for `rustfmt`, which reads the source itself.
fn says_nothing(attribute: &syn::Attribute) -> bool {
    let path = attribute.path();
    path.is_ident("doc") || path.segments.first().is_some_and(|first| first.ident == "rustfmt")
}

fn is_lint(attribute: &syn::Attribute) -> bool {
    ["allow", "warn", "deny", "forbid", "expect"].iter().any(|level| attribute.path().is_ident(level))
}

/// What stands in front of an item.
pub(super) struct ItemAttributes {
    /// What rustc says of the source of the item.
    pub(super) lints: Vec<syn::Attribute>,
    /// What it does with the function that makes a network.
    pub(super) others: Vec<syn::Attribute>,
}

impl Parser<'_> {
    /// Takes the attributes of an item apart.
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

    /// Of what becomes no function of Rust: a part of networks, a layer for others, a size.
    pub(super) fn no_function(&mut self, attributes: &[syn::Attribute]) {
        for attribute in attributes.iter().filter(|attribute| !says_nothing(attribute)) {
            let instead = "what it stands before becomes no function of Rust; write it in front of a `pub fn` that is a network, or remove it";
            self.foreign(attribute, "this attribute", instead);
        }
    }

    /// Of the network in the expression form.
    pub(super) fn no_attributes_in_closure(&mut self, closure: &syn::ExprClosure) {
        let mut found = Attributes::default();
        found.visit_expr_closure(closure);
        self.refuse(found);
    }

    /// Of a `fn`, which keeps those in front of it.
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
