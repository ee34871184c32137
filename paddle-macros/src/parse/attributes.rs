//! Attributes inside of a network: they would be dropped, so that they are refused.

use syn::visit::{self, Visit};

use super::Parser;

/// The attributes in a body. A `const` keeps its own; other items are refused as they are. Those of a parameter are
/// for [`Parser::param`].
#[derive(Default)]
struct Attributes(Vec<syn::Attribute>);

impl Visit<'_> for Attributes {
    fn visit_attribute(&mut self, attribute: &syn::Attribute) {
        // A comment, where nothing is documented.
        if !attribute.path().is_ident("doc") {
            self.0.push(attribute.clone());
        }
    }

    fn visit_fn_arg(&mut self, _: &syn::FnArg) {}

    fn visit_item(&mut self, item: &syn::Item) {
        if let syn::Item::Const(constant) = item {
            visit::visit_expr(self, &constant.expr);
        }
    }
}

impl Parser<'_> {
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
