//! Predicates of `#[cfg(..)]` at run time: the options say which hold.

use std::collections::BTreeSet;

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::Token;
use syn::punctuated::Punctuated;

/// Whether a predicate holds. One that is not valid Rust does not.
pub(crate) fn holds(predicate: &TokenStream, known: &BTreeSet<String>) -> bool {
    syn::parse2(predicate.clone()).is_ok_and(|meta| meta_holds(&meta, known))
}

fn meta_holds(meta: &syn::Meta, known: &BTreeSet<String>) -> bool {
    let syn::Meta::List(list) = meta else {
        return known.contains(&meta.to_token_stream().to_string().replace(' ', ""));
    };
    let parts = list.parse_args_with(Punctuated::<syn::Meta, Token![,]>::parse_terminated);
    let Ok(parts) = parts else { return false };
    let mut parts = parts.iter().map(|part| meta_holds(part, known));
    match list.path.get_ident().map(ToString::to_string).as_deref() {
        Some("all") => parts.all(|part| part),
        Some("any") => parts.any(|part| part),
        Some("not") => !parts.any(|part| part),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn predicates_are_made_of_those_that_hold() {
        let known = BTreeSet::from(["unix".to_string(), "feature=\"wide\"".to_string()]);
        let holds = |predicate: &str| holds(&predicate.parse().unwrap(), &known);
        for predicate in
            ["unix", "feature = \"wide\"", "all()", "all(unix, not(windows))", "any(windows, unix)"]
        {
            assert!(holds(predicate), "{predicate}");
        }
        for predicate in
            ["windows", "feature = \"deep\"", "any()", "not(unix)", "all(unix, windows)", "some(unix)", "1"]
        {
            assert!(!holds(predicate), "{predicate}");
        }
    }
}
