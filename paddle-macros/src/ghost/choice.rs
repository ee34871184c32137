//! `match` in the ghost: an expression whose arms compare.

use paddle_language::ast::{Arm, Case, CaseKind, Expr, Network};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote};

use super::{expr, helper, language, valued, var};

/// The ghost of a `match`. Literals are not patterns of a `Var`, so the comparisons are in guards.
pub(super) fn choice(span: Span, value: &Expr, arms: &[Arm], network: &Network) -> TokenStream {
    let keyword = Ident::new("match", span);
    let statement = arms.iter().all(|arm| arm.body.is_statement());
    let ty = arms.iter().map(|arm| &arm.case).find(|case| matches!(case.kind, CaseKind::Tuple(_)));
    let ty = ty.map_or_else(var, case_type);
    let (bound, value) = (language("bound", Span::mixed_site()), expr(value, network));
    let ghosts = arms.iter().map(|Arm { case, guard, body }| {
        let mut conditions = Vec::new();
        let pattern = self::case(case, network, &mut conditions);
        conditions.extend(guard.as_ref().map(|guard| expr(guard, network)));
        let guard = (!conditions.is_empty()).then(|| {
            let condition = helper("cond", helper("v", quote!((#(#conditions,)*))));
            quote!(if #condition)
        });
        let body = match statement {
            true => {
                let body = expr(body, network);
                quote!({ #body; })
            }
            false => valued(body, network),
        };
        quote!(#pattern #guard => #body,)
    });
    let last = arms.last().is_none_or(|arm| {
        arm.guard.is_some()
            || !matches!(arm.case.kind, CaseKind::Any | CaseKind::Name { constant: false, .. })
    });
    let rest = last.then(|| match statement {
        true => quote!(_ => {}),
        false => {
            let none = helper("v", quote!(()));
            quote!(_ => #none)
        }
    });
    quote!(#keyword #bound::<_, #ty>(#value) { #(#ghosts)* #rest })
}

fn case_type(case: &Case) -> TokenStream {
    match &case.kind {
        CaseKind::Tuple(parts) => {
            let parts = parts.iter().map(case_type);
            quote!((#(#parts,)*))
        }
        _ => var(),
    }
}

/// The pattern of an arm. Its comparisons are added to `conditions`.
fn case(case: &Case, network: &Network, conditions: &mut Vec<TokenStream>) -> TokenStream {
    match &case.kind {
        CaseKind::Name { ident, constant: false, .. } => return ident.to_token_stream(),
        CaseKind::Tuple(parts) => {
            let parts: Vec<TokenStream> =
                parts.iter().map(|part| self::case(part, network, conditions)).collect();
            return quote!((#(#parts,)*));
        }
        CaseKind::Name { ident, .. } => conditions.push(helper("v", ident)),
        CaseKind::Value(value) => conditions.push(expr(value, network)),
        CaseKind::Range { start, end, .. } => {
            conditions.extend(start.iter().chain(end).map(|bound| expr(bound, network)));
        }
        CaseKind::Either(cases) => {
            for part in cases {
                self::case(part, network, conditions);
            }
        }
        CaseKind::Any | CaseKind::Invalid(_) => {}
    }
    quote!(_)
}
