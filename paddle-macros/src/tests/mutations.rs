//! Random changes to models. The front end always answers with a well-formed program or at least one message, and
//! expands to valid Rust.

use proc_macro2::{Group, TokenStream, TokenTree};

use super::analyse;
use crate::expand::expand;

/// Models that use all of the language.
pub(super) const MODELS: [&str; 3] = [
    "|x: Tensor<f32, _, 4>, n: Tensor<i64>, c: Tensor<bool, _>| {
        const LIMIT: f32 = 2.5;
        let (mut pair, mut y) = ((x, 0), x);
        let f = |(a, b)| -> _ { tanh(a) * b };
        while !(LIMIT < 1.0 || mean(y) >= 100.0) && true == false {
            let (h, i) = pair;
            let g: Tensor<f32, _, 4>;
            if c { g = fc(h, 4, act = tanh, param = \"step\"); } else if c { g = h; } else { g = -h % 3 }
            (pair, y) = ((f((g, x)), i + 1), h);
        }
        let (h, i) = pair;
        { const TWO: i32 = 2; let _ = fc(h, TWO); let _ = tanh(h); }
        let (a, b) = if i <= n { (h, 1.0) } else { (x, 2) };
        let mut sum = mean(a) / b;
        sum += 1;
        sum
    }",
    "pub mod line {
        const N: usize = 2 * M;
        const M: usize = 3;
        fn predict(x: Tensor<f32, _, K>, y: _) -> (Tensor<f32, _, { K * 1 }>, _) {
            (fc(x, N, param = \"a.b\"), scale(y, 2.0, bias = 1))
        }
        pub fn cost(x: Tensor<f32, _, 6>, y: Tensor<f32, T, 1>) -> Tensor<f32> {
            let (_, p) = predict(x, y, param = \"left\");
            { let z = p; mean(z) }
        }
        pub fn price(x: Tensor<f32, _, 6>) -> _ { let (p, _) = predict(x, x); p }
    }",
    "|x: Tensor<f32, _, 4>| {
        const SIZES: [usize; 2] = [4, 8];
        const MODE: &str = \"deep\";
        let mut h = x;
        for (i, size) in [(0, SIZES[0]), (1, SIZES[1])] {
            for k in 0..=i {
                h = match (i, MODE) {
                    (0 | 9, _) => fc(h, size, param = \"first{i}\"),
                    (n, \"deep\") if n < 3 => tap(fc(h, size, param = \"second{k}\"), \"tap{k}\"),
                    _ => h,
                };
            }
        }
        if MODE == \"deep\" && SIZES[0] > 3 { h += 1.0; } else { h = [h, h][1]; }
        h
    }",
];

#[test]
fn the_models_are_right() {
    for model in MODELS {
        let reports = analyse(model.parse().unwrap()).reports;
        assert!(reports.is_empty(), "{reports:?}");
    }
}

#[test]
fn a_token_removed() {
    each_mutation(&|tokens, at| {
        tokens.remove(at);
    });
}

#[test]
fn a_token_written_twice() {
    each_mutation(&|tokens, at| tokens.insert(at, tokens[at].clone()));
}

#[test]
fn two_tokens_swapped() {
    each_mutation(&|tokens, at| {
        let other = (at + 1) % tokens.len();
        tokens.swap(at, other);
    });
}

#[test]
fn a_name_instead_of_a_token() {
    let name: TokenTree = syn::parse_quote!(h);
    each_mutation(&|tokens, at| tokens[at] = name.clone());
}

fn each_mutation(mutate: &dyn Fn(&mut Vec<TokenTree>, usize)) {
    let mut count = 0;
    for model in MODELS {
        for mutated in mutations(model.parse().unwrap(), mutate) {
            count += 1;
            check(mutated);
        }
    }
    assert!(count > 300, "{count}");
}

/// Every result of `mutate` on one token, at any depth.
fn mutations(tokens: TokenStream, mutate: &dyn Fn(&mut Vec<TokenTree>, usize)) -> Vec<TokenStream> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut all = Vec::new();
    for at in 0..tokens.len() {
        let mut changed = tokens.clone();
        mutate(&mut changed, at);
        all.push(changed.into_iter().collect());
        let TokenTree::Group(group) = &tokens[at] else { continue };
        for inner in mutations(group.stream(), mutate) {
            let mut changed = tokens.clone();
            changed[at] = Group::new(group.delimiter(), inner).into();
            all.push(changed.into_iter().collect());
        }
    }
    all
}

fn check(tokens: TokenStream) {
    let source = tokens.to_string();
    let analysis = analyse(tokens.clone());
    for (_, lowered) in &analysis.lowered {
        match &lowered.program {
            Some(program) => program.verify().unwrap_or_else(|error| panic!("{source}\n{error}")),
            None => assert!(!analysis.reports.is_empty(), "no program and no message: {source}"),
        }
    }
    let expanded = expand(tokens);
    let is_rust =
        syn::parse2::<syn::Expr>(expanded.clone()).is_ok() || syn::parse2::<syn::File>(expanded).is_ok();
    assert!(is_rust, "the expansion is not Rust: {source}");
}
