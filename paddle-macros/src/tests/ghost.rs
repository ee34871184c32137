//! The ghost has the user's tokens: each once, in its place.

use std::ops::Range;

use proc_macro2::{TokenStream, TokenTree};

use super::mutations::MODELS;
use crate::expand::{analyse, expand};
use crate::ghost::ghost;

/// Words of Rust, of types and of the language's own grammar, which stand for nothing that an editor could show.
const GRAMMAR: [&str; 13] =
    ["pub", "mod", "fn", "in", "Tensor", "bool", "f32", "i64", "K", "T", "param", "line", "_"];

/// The names, numbers and texts with their bytes in the source.
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
        let source = analyse(tokens, TokenStream::new()).source.unwrap();
        let mut stands = Vec::new();
        words(ghost(&source.network), &mut stands);
        // The `const`s of a module stand in the module, not in the ghost.
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

/// Whether it is a number in a type, or the `if` of a guard.
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
