//! Long number literals, which are shortened: syn takes time quadratic in their digits.

use proc_macro2::{Group, Literal, TokenStream, TokenTree};

use crate::messages::Message;
use crate::report::Sink;

/// A literal with more characters than this is shortened. Few numbers are that long.
const LONG: usize = 80;

/// Shortens the long numbers among the tokens. A number that is too large is reported, and becomes 0.
pub(super) fn shortened(tokens: TokenStream, sink: &mut Sink) -> TokenStream {
    changed(&tokens, sink).unwrap_or(tokens)
}

/// `None` if nothing changes. A group is rebuilt only if it has to be, because that loses the places of its delimiters.
fn changed(tokens: &TokenStream, sink: &mut Sink) -> Option<TokenStream> {
    let mut is_changed = false;
    let mut token = |token: TokenTree| {
        let new = match &token {
            TokenTree::Group(group) => changed(&group.stream(), sink).map(|inner| {
                let mut inner = Group::new(group.delimiter(), inner);
                inner.set_span(group.span());
                TokenTree::Group(inner)
            }),
            TokenTree::Literal(literal) => short(literal, sink).map(TokenTree::Literal),
            _ => None,
        };
        is_changed |= new.is_some();
        new.unwrap_or(token)
    };
    let tokens: Vec<TokenTree> = tokens.clone().into_iter().map(&mut token).collect();
    is_changed.then(|| tokens.into_iter().collect())
}

/// `None` if the literal is not a long number.
fn short(literal: &Literal, sink: &mut Sink) -> Option<Literal> {
    let text = literal.to_string();
    if text.len() <= LONG || !text.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let (number, suffix) = split(&text);
    let value = value(&number);
    if value.is_none() {
        let digits = number.len();
        let text = format!(
            "a number of {digits} digits is too large: whole numbers have 64 bits, others go to 1.8e308"
        );
        sink.error(literal.span(), Message::Constant { text });
    }
    let text = value.unwrap_or_else(|| "0".to_string()) + suffix;
    // An unknown suffix stays, so that syn reports it.
    let mut short = text.parse::<Literal>().ok()?;
    short.set_span(literal.span());
    Some(short)
}

/// The digits without `_`, and the suffix.
fn split(text: &str) -> (String, &str) {
    let begins = |c: char| matches!(c, 'u' | 'i') || (c == 'f' && !text.starts_with("0x"));
    let end = text.find(begins).unwrap_or(text.len());
    (text[..end].replace('_', ""), &text[end..])
}

/// The same number in few characters; `None` if it is too large.
fn value(number: &str) -> Option<String> {
    let radix = match number.get(..2) {
        Some("0x") => 16,
        Some("0o") => 8,
        Some("0b") => 2,
        _ if number.contains(['.', 'e', 'E']) => {
            let value: f64 = number.parse().ok()?;
            return value.is_finite().then(|| format!("{value:?}"));
        }
        _ => 10,
    };
    let digits = if radix == 10 { number } else { &number[2..] };
    let digits = digits.trim_start_matches('0');
    // A number has at most 64 binary digits.
    let is_short = digits.len() <= 64;
    match digits {
        "" => Some("0".to_string()),
        digits if is_short => u64::from_str_radix(digits, radix).ok().map(|value| value.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(source: &str) -> (String, Vec<String>) {
        let mut sink = Sink::default();
        let tokens = shortened(source.parse().unwrap(), &mut sink).to_string();
        (tokens, sink.finish().iter().map(|report| report.message.to_string()).collect())
    }

    #[test]
    fn numbers_stay_the_same() {
        let zeros = "0".repeat(100_000);
        for (source, short) in [
            (format!("{zeros}12usize"), "12usize"),
            (format!("0x{zeros}fF"), "255"),
            (format!("0b1{}", "_".repeat(1000)), "1"),
            (format!("f(1{zeros}.5e-100000)"), "f (1.0)"),
            (format!("0.{zeros}1"), "0.0"),
            (format!("2.5{zeros}f32"), "2.5f32"),
            (format!("\"{zeros}\""), &format!("\"{zeros}\"")),
            (zeros.clone(), "0"),
            ("1_000".to_string(), "1_000"),
        ] {
            assert_eq!(shown(&source), (short.to_string(), vec![]));
        }
    }

    #[test]
    fn what_is_too_large_is_said_once_and_no_longer_there() {
        let nines = "9".repeat(20_000);
        for source in [nines.clone(), format!("{nines}usize"), format!("{nines}.0f32"), format!("0x{nines}")]
        {
            let (tokens, said) = shown(&source);
            assert!(tokens.len() < 10 && said.len() == 1, "{tokens} {said:?}");
            assert!(said[0].contains("digits is too large"), "{said:?}");
        }
    }
}
