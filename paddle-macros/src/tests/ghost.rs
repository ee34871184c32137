//! Tests that the ghost has each of the user's tokens once, with its place.

use std::ops::Range;

use proc_macro2::{TokenStream, TokenTree};

use super::analyse;
use super::mutations::MODELS;
use crate::expand::expand;
use crate::ghost::{ghost, quiet};

/// Words of Rust's grammar, of types, and of the language's own grammar. Editors have nothing to show for them.
const GRAMMAR: [&str; 13] =
    ["pub", "mod", "fn", "in", "Tensor", "bool", "f32", "i64", "K", "T", "param", "line", "_"];

/// Collects the names, numbers and texts with their byte ranges in the source.
fn words(tokens: TokenStream, found: &mut Vec<(Range<usize>, String)>) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => words(group.stream(), found),
            TokenTree::Ident(_) | TokenTree::Literal(_) => {
                found.push((token.span().byte_range(), token.to_string()));
            }
            TokenTree::Punct(_) => {}
        }
    }
}

#[test]
fn each_token_of_the_user_stands_once_in_its_place() {
    for model in MODELS {
        let tokens: TokenStream = model.parse().unwrap();
        let mut written = Vec::new();
        words(tokens.clone(), &mut written);
        let source = analyse(tokens).source.unwrap();
        let mut stands = Vec::new();
        words(ghost(&source.network), &mut stands);
        // The `const`s of a module are emitted in the module, not in the ghost.
        let is_constant = |at: &Range<usize>| {
            let of_module = source.network.constants.iter();
            of_module.map(|constant| constant.tokens.clone()).any(|tokens| {
                let mut of_constant = Vec::new();
                words(tokens, &mut of_constant);
                of_constant.iter().any(|(place, _)| place == at)
            })
        };
        for (at, word) in written {
            let times = stands.iter().filter(|(place, stands)| *place == at && *stands == word).count();
            if !GRAMMAR.contains(&word.as_str()) && !is_constant(&at) && !is_size(model, &at) {
                assert_eq!(times, 1, "`{word}` at {at:?} of {model}");
            }
        }
    }
}

/// Whether the token is a number in a type, or the `if` of a guard.
fn is_size(model: &str, at: &Range<usize>) -> bool {
    let line = model[..at.start].rfind('\n').map_or(0, |end| end + 1);
    let before = &model[line..at.start];
    let in_type = before.rfind("Tensor<").is_some_and(|from| !before[from..].contains('>'));
    in_type || (&model[at.clone()] == "if" && model[at.end..].split('\n').next().unwrap().contains("=>"))
}

#[test]
fn an_editor_sees_the_ghost_of_a_broken_network() {
    let source = "|x: Tensor<f32, _, 4>| { let hidden = tahn(x); mean(hidden + undefined) }";
    let expanded = expand(source.parse().unwrap());
    let text = expanded.to_string();
    assert!(text.contains("compile_error") && text.contains("# [cfg (rust_analyzer)]"), "{text}");
    let mut stands = Vec::new();
    words(expanded, &mut stands);
    for word in ["x", "hidden", "mean"] {
        let from = source.find(word).unwrap();
        let place = (from..from + word.len(), word.to_string());
        assert!(stands.contains(&place), "{word}");
    }
}

/// rustc gets a ghost that it may warn about, and does not get one that it cannot warn about.
#[test]
fn rustc_sees_a_ghost_that_it_may_speak_of() {
    let reads = |source: &str| {
        let source = analyse(source.parse().unwrap()).source.unwrap();
        quiet(&source.network)
            .map(|names| names.iter().map(|name| name.to_string()).collect::<Vec<_>>().join(" "))
    };
    let closure = |body: &str| reads(&format!("|x: Tensor<f32, _, 4>, c: Tensor<bool, _>| {{ {body} }}"));
    for quiet in [
        "let mut h = select(c, x, -x); h = h + 1.0; h += 2.0; h",
        "let (a, _b) = if c { let y = x; (y, 1) } else { (-x, 2) }; let _ = tanh(a); a",
        "let (mut a, mut b) = (x, x); if c { a = b; } else { b = a; } (a, b)",
        "let (mut a, mut b) = (x, x); while c { b = a; a = tanh(b); } (a, b)",
        "let mut h = x; for i in 0..3 { h = fc(h, 4, param = \"block{i}\"); } (h, c)",
        "let mut n = 0; while c { if n > 4 { break; } n += 1; } mean(x) + n",
    ] {
        assert_eq!(closure(quiet), Some(String::new()), "{quiet}");
    }
    for loud in [
        "let y = tanh(x); (x, c)",
        "mean(x)",
        "let mut y = select(c, x, x); y",
        "let y = select(c, x, x); y = tanh(y); y",
        "let mut y = select(c, x, x); let z = y; y = x; z",
        "let mut y = x; y = select(c, x, x); y",
        "let mut y = x; if c { y = tanh(x); } x",
        "let (mut a, mut b) = (x, x); while c { b = tanh(a); b = a; a = b; } a",
        "for i in 0..3 { let _ = fc(x, 4, param = \"shared\"); } (x, c)",
        "let aB = select(c, x, x); aB",
        "x + 1.0; (x, c)",
        "let y; if c { y = x; } else { y = -x; } y",
        "let f = |y| y + x; select(c, f(x), x)",
        "const TWO: i32 = 2; select(c, x, TWO)",
    ] {
        assert_eq!(closure(loud), None, "{loud}");
    }
    let nested = |loops: usize| {
        format!("let mut n = 0; {} n += 1; {} mean(x) + n", "while c {".repeat(loops), "}".repeat(loops))
    };
    assert_eq!(closure(&nested(3)), Some(String::new()));
    assert_eq!(closure(&nested(30)), None);
    let module = |items: &str| {
        let network = "pub fn cost(x: Tensor<f32, _, 4>) -> _ { let y: Tensor<f32, _, N> = part(x); y }";
        reads(&format!("pub mod line {{ const N: usize = 4; const M: i32 = 3; {items} {network} }}"))
    };
    assert_eq!(module("fn part(x: _) -> _ { x * M }").as_deref(), Some("N M"));
    assert_eq!(module("fn part(x: _) -> _ { x }").as_deref(), Some("N"));
    assert_eq!(module("fn part(x: _) -> _ { x } fn other(x: _) -> _ { x }"), None);
    assert_eq!(module("#[allow(unused_variables)] fn part(x: _) -> _ { x }"), None);
}
