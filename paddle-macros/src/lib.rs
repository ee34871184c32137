//! The procedural macros of `paddle`. Their documentation for users is in the facade.
//!
//! | module | |
//! | --- | --- |
//! | `parse` | tokens → tree (`ast`), reports what is not of the language |
//! | `configure` | `#[cfg(..)]`, which rustc is asked about |
//! | `import`, `library` | sub-networks of other modules and crates, and those of `paddle` itself |
//! | `resolve` | names, arguments, recursion |
//! | `lower` | tree → program, with all checks of types; sub-networks are inlined |
//! | `emit` | program → data and types; `ghost` for editors and lints |
//! | `report`, `messages`, `errors` | the sink of errors, the catalogue of messages, their tokens |

mod ast;
mod configure;
mod emit;
mod errors;
mod expand;
mod ghost;
mod habits;
mod import;
mod library;
mod lower;
mod messages;
mod names;
mod parse;
mod place;
mod report;
mod resolve;
mod sharing;
mod training;
mod values;

#[cfg(test)]
mod tests;

use proc_macro::TokenStream;

/// Compiles models to programs, while the crate compiles.
///
/// A closure is one network; its parameters are the inputs, with the types of what is fed, its value is the cost or
/// the prediction, or a tuple of the cost and metrics:
///
/// ```text
/// let cost = network!(|x: Tensor<f32, _, 13>, y: Tensor<f32, _, 1>| {
///     let price = fc(x, 1);
///     mean(square(price - y))
/// });
/// cost.row([0.0; 13], 1.0)        // a sample: ([f32; 13], f32)
/// ```
///
/// A module has several, which share sub-networks and their parameters. Each `pub fn` is a network, each `fn` a part
/// of others, inlined where it is called:
///
/// ```text
/// network! {
///     pub mod line {
///         const SIZE: usize = 8;
///
///         fn predict(x: _) -> Tensor<f32, _, 1> {
///             fc(fc(x, SIZE, act = relu), 1)
///         }
///
///         pub fn cost(x: Tensor<f32, _, 13>, y: Tensor<f32, _, 1>) -> Tensor<f32> {
///             mean(square(predict(x) - y))
///         }
///
///         pub fn price(x: Tensor<f32, _, 13>) -> Tensor<f32, _, 1> {
///             predict(x)
///         }
///     }
/// }
/// line::cost::Row { x: [0.0; 13], y: 1.0 }
/// ```
///
/// # Types
/// `Tensor<f32, _, 784>`: the element type (`f32`, `f64`, `i32`, `i64`, `bool`), then the dimensions; `_` is the rows
/// of the batch, a name is a size that is bound at run time and the same wherever it stands, `Tensor<f32>` is a
/// scalar. Elsewhere than in inputs types may be left out, or `_`.
///
/// Sizes may come from outside: a path (`crate::WIDTH`), a const parameter (`pub fn mlp<const N: usize>(..)`, bound by
/// `mlp::<256>()`), a `const WORDS: usize;` of a module, which the caller gives: `cost::with(cost::Sizes { WORDS: 8 })?`.
/// What they leave open is checked by rustc as soon as it knows them, or by `with`.
///
/// # Statements
/// * `let`, tuples, closures, the operators of Rust on numbers and truth values. `&&` and `||` compute both sides.
/// * `if` on one truth value per row: each branch runs on its rows only, and results are merged in order. A variable
///   that one branch assigns keeps its value on the other rows. On a scalar: one branch runs.
/// * `while` on a scalar: the variables that its body assigns are its state.
/// * `for i in 0..3`, `for size in [64, 128]`: unrolled. `if` and `match` on constants: one branch is compiled. Numbers,
///   truth values, texts, arrays and tuples of them are constants, also as `const`.
/// * Layers: `fc`, `matmul`, `mul`, `mean`, `sum`, `square`, `relu`, `tanh`, `softmax`,
///   `softmax_with_cross_entropy`, `scale`, `assign`.
///
/// # Parameters
/// `let hidden = fc(x, 128)` makes `hidden.w` and `hidden.b`; within a call of `predict` they are
/// `predict.hidden.w` and so on. `param = "D"` names them `D.w` and `D.b`: every use of a name shares. In a `for` a
/// layer with parameters has such a name: `param = "block{i}"` makes new ones for each `i`.
#[proc_macro]
pub fn network(input: TokenStream) -> TokenStream {
    expand::expand(input.into()).into()
}

/// The layers of the library as documented functions.
#[doc(hidden)]
#[proc_macro]
pub fn __library(_: TokenStream) -> TokenStream {
    emit::library::functions().into()
}

/// Goes on with a closure of which some names have been imported.
#[doc(hidden)]
#[proc_macro]
pub fn __import(input: TokenStream) -> TokenStream {
    expand::continued(input.into(), quote::quote!(::paddle::__import), true).into()
}

/// Goes on with a module of which some names have been imported.
#[doc(hidden)]
#[proc_macro]
pub fn __import_items(input: TokenStream) -> TokenStream {
    expand::continued(input.into(), quote::quote!(::paddle::__import_items), false).into()
}

/// The attribute form of [`network!`], for a module: `#[network] pub mod line { .. }`. It is the form that `rustfmt`
/// formats.
#[proc_macro_attribute]
pub fn network_module(arguments: TokenStream, item: TokenStream) -> TokenStream {
    expand::attribute(arguments.into(), item.into()).into()
}
