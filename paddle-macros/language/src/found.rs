//! The networks of a Rust file: what its macros compile.

use std::ops::Range;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::compile::compile;
use crate::diagnostic::Diagnostics;
use crate::options::Options;

/// A source that a macro of a Rust file compiles: the closure of a `network!`, or a module below `#[network]`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Found {
    /// The module's name; none for a closure.
    pub module: Option<String>,
    /// The source, at its place in the file: lines and columns are those of the file, and nothing else is there.
    pub source: String,
}

/// Finds the networks of a Rust file, in their order.
///
/// ```
/// use paddle_language::{Options, compile, networks_of};
///
/// let file = "
///     use paddle::attribute::network;
///
///     #[network]
///     mod line {
///         pub fn price(x: Tensor<f32, _, 2>) -> _ { fcc(x, 1) }
///     }
///
///     fn main() { let double = paddle::network!(|x: Tensor<f32, _>| x * 2.0); }
/// ";
/// let [line, double] = &networks_of(file, &Options::new())?[..] else { panic!("two") };
/// assert_eq!((line.module.as_deref(), double.module.as_deref()), (Some("line"), None));
/// let wrong = compile(&line.source, &Options::new().file("line.rs")).unwrap_err();
/// assert!(wrong.to_string().contains(" --> line.rs:6:51\n"), "{wrong}");
/// assert_eq!(compile(&double.source, &Options::new())?.topologies.len(), 1);
/// # Ok::<(), paddle_language::Diagnostics>(())
/// ```
///
/// # Errors
/// The text has no tokens of Rust. [`Options::file`] gives its name.
pub fn networks_of(file: &str, options: &Options) -> Result<Vec<Found>, Diagnostics> {
    let tokens: TokenStream = match file.parse() {
        Ok(tokens) => tokens,
        // The compiler reports what does not end, and where.
        Err(_) => return compile(file, options).map(|_| Vec::new()),
    };
    let mut found = Vec::new();
    search(tokens, file, &mut found);
    Ok(found)
}

/// Adds the networks among these tokens, and in their groups.
fn search(tokens: TokenStream, file: &str, found: &mut Vec<Found>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut at = 0;
    while at < tokens.len() {
        if let Some((closure, next)) = invocation(&tokens, at) {
            found.push(Found { module: None, source: alone(file, closure) });
            at = next;
        } else if let Some((module, range, next)) = attributed(&tokens, at) {
            found.push(Found { module: Some(module), source: alone(file, range) });
            at = next;
        } else {
            if let TokenTree::Group(group) = &tokens[at] {
                search(group.stream(), file, found);
            }
            at += 1;
        }
    }
}

/// The closure of `network!(..)` and the token behind it, if the invocation is at this token.
fn invocation(tokens: &[TokenTree], at: usize) -> Option<(Range<usize>, usize)> {
    let [TokenTree::Ident(name), TokenTree::Punct(bang), TokenTree::Group(group), ..] = &tokens[at..] else {
        return None;
    };
    // An empty group is nothing that can be compiled.
    let (first, last) = (group.stream().into_iter().next()?, group.stream().into_iter().last()?);
    let closure = first.span().byte_range().start..last.span().byte_range().end;
    (name == "network" && bang.as_char() == '!').then_some((closure, at + 3))
}

/// The module below `#[network]` or `#[network::module]` and the token behind it, if the attribute is at this token.
fn attributed(tokens: &[TokenTree], at: usize) -> Option<(String, Range<usize>, usize)> {
    let [TokenTree::Punct(hash), TokenTree::Group(attribute), rest @ ..] = &tokens[at..] else { return None };
    let path: String = attribute.stream().to_string().split_whitespace().collect();
    let is_network = ["network", "network::module"]
        .iter()
        .any(|name| path.strip_suffix(name).is_some_and(|front| front.is_empty() || front.ends_with("::")));
    if hash.as_char() != '#' || attribute.delimiter() != Delimiter::Bracket || !is_network {
        return None;
    }
    // Other attributes and `pub(crate)` may be in between.
    let word = rest.iter().position(|token| matches!(token, TokenTree::Ident(word) if word == "mod"))?;
    let [TokenTree::Ident(name), TokenTree::Group(body), ..] = &rest[word + 1..] else { return None };
    let range = rest[0].span().byte_range().start..body.span().byte_range().end;
    Some((name.to_string(), range, at + 2 + word + 3))
}

/// A piece of a text at its place, with nothing else.
fn alone(text: &str, range: Range<usize>) -> String {
    let kept = |(at, c): (usize, char)| if range.contains(&at) || c == '\n' { c } else { ' ' };
    text.char_indices().map(kept).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modules(file: &str) -> Vec<Option<String>> {
        networks_of(file, &Options::new()).unwrap().into_iter().map(|found| found.module).collect()
    }

    #[test]
    fn forms_of_the_macros() {
        let file = "
            #[paddle::attribute::network] pub(crate) mod a { }
            #[network::module] #[allow(unused)] mod b { }
            #[networks] mod c { #[network] mod d { } }
            #[cfg(feature = \"network\")] mod e { fn f() { g(network!(|x: Tensor<f32>| x)); network!() } }
            mod network { }
        ";
        assert_eq!(modules(file), [Some("a".into()), Some("b".into()), Some("d".into()), None]);
    }

    /// Bytes are counted, but places are columns of characters.
    #[test]
    fn places_are_those_of_the_file() {
        let file = "fn ä() { /* ∂ */ network!(|x: Tensor<f32>| y) }";
        let found = networks_of(file, &Options::new()).unwrap();
        let wrong = compile(&found[0].source, &Options::new().file("f.rs")).unwrap_err();
        let column = file.chars().position(|c| c == 'y').unwrap() + 1;
        assert_eq!(wrong[0].place.start.column, column, "{wrong}");
        assert!(networks_of("fn f() { (", &Options::new()).unwrap_err().to_string().contains("does not end"));
    }
}
