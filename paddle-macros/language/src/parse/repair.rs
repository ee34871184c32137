//! Tokens that are not valid Rust: better messages, and repairs for editors.

use proc_macro2::{Delimiter, Group, Ident, Punct, Spacing, Span, TokenStream, TokenTree};

/// The message for a syntax error: the Rust parser's, or a better one.
pub(super) fn text(tokens: &TokenStream, at: Span, said: &str) -> String {
    let around = around(tokens.clone(), None, at);
    match around.as_ref().and_then(|around| around.meant()) {
        Some(instead) => format!("{said}; {instead}"),
        None => said.to_string(),
    }
}

/// The most tokens that a repair inserts.
const MOST_REPAIRS: usize = 16;

/// Repairs incomplete source: inserts the tokens that the Rust parser misses, so that editors see the rest. `None` if
/// that does not suffice.
pub fn repaired<T: syn::parse::Parse>(mut tokens: TokenStream) -> Option<T> {
    for _ in 0..MOST_REPAIRS {
        let error = match syn::parse2::<T>(tokens.clone()) {
            Ok(parsed) => return Some(parsed),
            Err(error) => error,
        };
        let (said, at) = (error.to_string(), error.span());
        let missing = |mark: char| TokenTree::from(Punct::new(mark, Spacing::Alone));
        let token = match said.as_str() {
            said if said.contains("`;`") => missing(';'),
            said if said.contains("`,`") => missing(','),
            said if ["expression", "identifier", "end of input"]
                .iter()
                .any(|wanted| said.contains(wanted)) =>
            {
                Ident::new("unfinished", Span::mixed_site().located_at(at)).into()
            }
            _ => return None,
        };
        tokens = with_token(tokens, at, &token)?;
    }
    None
}

/// Inserts a token in front of the token that begins at `at`, or at the end of the group that ends there.
fn with_token(tokens: TokenStream, at: Span, token: &TokenTree) -> Option<TokenStream> {
    let here = printed(at);
    let mut made: Vec<TokenTree> = tokens.into_iter().collect();
    for index in 0..made.len() {
        let (before, inside) = match &made[index] {
            TokenTree::Group(group) if printed(group.span_open()) == here => (true, None),
            TokenTree::Group(group) if printed(group.span_close()) == here => {
                (false, Some(group.stream().into_iter().chain([token.clone()]).collect()))
            }
            TokenTree::Group(group) => (false, with_token(group.stream(), at, token)),
            other => (printed(other.span()) == here, None),
        };
        if before {
            made.insert(index, token.clone());
            return Some(made.into_iter().collect());
        }
        if let (TokenTree::Group(group), Some(inside)) = (&made[index], inside) {
            let mut with = Group::new(group.delimiter(), inside);
            with.set_span(group.span());
            made[index] = with.into();
            return Some(made.into_iter().collect());
        }
    }
    None
}

/// The debug form of a span, which tells tokens apart. Lines and columns do not: in editors all spans have the same.
fn printed(span: Span) -> String {
    format!("{span:?}")
}

/// A token and its neighbours.
struct Around {
    /// The delimiter of the surrounding group.
    inside: Option<Delimiter>,
    before: Option<TokenTree>,
    at: TokenTree,
    next: Option<TokenTree>,
}

impl Around {
    fn meant(&self) -> Option<&'static str> {
        let is = |token: &Option<TokenTree>, mark: char| matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == mark);
        let here = Some(self.at.clone());
        let keyword = matches!(&self.at, TokenTree::Ident(ident) if ["let", "if", "while", "for", "match"].contains(&&*ident.to_string()));
        let colon = is(&here, ':') || is(&self.before, ':');
        match self.inside {
            Some(Delimiter::Bracket) if colon => {
                Some("a part of a value is `x[(.., 0)]` or `x[(.., 1..3)]`: `..` is all of an axis")
            }
            Some(Delimiter::Bracket) if is(&here, ',') => {
                Some("a part along several axes stands in parentheses: `x[(.., 0)]`")
            }
            Some(Delimiter::Parenthesis) if colon => Some("arguments are named by `=`: `act = relu`"),
            _ if is(&here, '@') => Some("the product of matrices is `matmul(a, b)`"),
            _ if is(&here, '^') => Some("a power is `pow(x, 2.0)`"),
            Some(Delimiter::Brace) if keyword => Some("the statement before it ends with `;`"),
            _ if is(&here, '?') || is(&self.next, '?') => Some("a choice is `if c { a } else { b }`"),
            _ => None,
        }
    }
}

/// The token that begins at a place.
fn around(tokens: TokenStream, inside: Option<Delimiter>, at: Span) -> Option<Around> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let start = |span: Span| (span.start().line, span.start().column);
    for (index, token) in tokens.iter().enumerate() {
        if let TokenTree::Group(group) = token
            && let Some(found) = around(group.stream(), Some(group.delimiter()), at)
        {
            return Some(found);
        }
        if start(token.span()) == start(at) {
            let before = index.checked_sub(1).map(|before| tokens[before].clone());
            return Some(Around { inside, before, at: token.clone(), next: tokens.get(index + 1).cloned() });
        }
    }
    None
}
