//! The procedural macros of `paddle`. Editors show the documentation of [`network!`] from this file; the facade adds
//! links.
//!
//! | module | |
//! | --- | --- |
//! | `expand` | tokens → tokens, by the front end `paddle_language`; it calls the other modules |
//! | `protocol` | questions to rustc, about imports and predicates of `#[cfg(..)]` |
//! | `emit` | program → data and types; `ghost` for editors and lints |
//! | `errors` | messages of the front end → tokens that make rustc print them |

mod emit;
mod errors;
mod expand;
mod files;
mod ghost;
mod protocol;

#[cfg(test)]
mod tests;

use proc_macro::TokenStream;

/// Compiles a model, written in the syntax of Rust, to a portable program, while the crate compiles.
///
/// A closure is one network. Its parameters are the inputs. Its value is the cost or the prediction, or a tuple of the
/// cost and metrics. The macro's value is a `paddle::Network`:
///
/// ```
/// use paddle::{Parameters, Sgd, Trainer, network};
///
/// let cost = network!(|x: Tensor<f32, _, 13>, y: Tensor<f32, _, 1>| {
///     let price = fc(x, 1);
///     mean(square(price - y))
/// });
/// let mut parameters = Parameters::create(&cost)?; // `price.w` and `price.b`
/// let rows = [cost.row([0.5; 13], 1.0), cost.row([0.1; 13], 2.0)];
/// let mut trainer = Trainer::new(Sgd::new(0.01));
/// let first = trainer.step(&cost, &mut parameters, &rows)?.cost();
/// assert!(trainer.step(&cost, &mut parameters, &rows)?.cost() < first);
/// # Ok::<(), paddle::Error>(())
/// ```
///
/// A module has several networks that share sub-networks and parameters. Each `pub fn` is a network; each private `fn`
/// is a sub-network, inlined where it is called. `#[network] pub mod line { .. }`, from `paddle::attribute`, is the
/// same in the form that `rustfmt` formats:
///
/// ```
/// use paddle::{infer, network, parameters};
///
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
///
/// let row = line::cost::Row { x: [0.0; 13], y: 1.0 };
/// assert_eq!(line::cost().batch([row])?.rows()?, 1);
/// // One set of parameters for both.
/// let parameters = parameters![line::cost, line::price]?;
/// assert_eq!(parameters.get::<f32>(line::params::predict::fc::w)?.shape(), [13, 8]);
/// assert_eq!(infer(&line::price(), &parameters, [[0.0; 13]])?.at::<f32>(0)?.shape(), [1, 1]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// This page is a short reference. `paddle::guide::language` (`LANGUAGE.md`) has the whole language, with an example of
/// each feature; `paddle::guide::layers` (`LAYERS.md`) has every layer with its arguments.
///
/// # Types
/// | type | meaning |
/// | --- | --- |
/// | `Tensor<f32, _, 784>` | the element type (`f32`, `f64`, `i32`, `i64`, `bool`), then the dimensions; `_` is the batch |
/// | `Tensor<f32>` | a scalar |
/// | `Tensor<f32, _, T, 64>` | `T` is a size that the fed batch determines; it has the same value everywhere; `{ 2 * T }` is computed from it |
/// | `Tensor<f32, ITEMS, 8>` | a name in front: rows of their own, fed once for the whole batch |
/// | `Seq<i64>`, `Seq<Tensor<f32, 64>>` | a sequence in each row, of any length: packed, never padded |
/// | `Seq<Seq<i64>>` | sequences of sequences |
///
/// Only inputs need types. Elsewhere a type may be left out, written as `_`, or written in order to be checked.
///
/// # Rows
/// The type of an input determines the type of its column in a row:
///
/// | input | in a row |
/// | --- | --- |
/// | `Tensor<f32, _>` | `f32` |
/// | `Tensor<f32, _, 1>` | `f32` |
/// | `Tensor<f32, _, 784>` | `[f32; 784]` |
/// | `Tensor<f32, _, 3, 8>` | `[[f32; 8]; 3]` |
/// | `Tensor<f32, _, 8, 1>` | `[[f32; 1]; 8]` |
/// | `Tensor<f32, _, 1, 1>` | `[[f32; 1]; 1]` |
/// | `Tensor<i64, _, T>` | `Vec<i64>` |
/// | `Tensor<f32, _, T, 64>` | `Vec<[f32; 64]>` |
/// | `Tensor<f32, _, 64, T>` | `[Vec<f32>; 64]` |
/// | `Tensor<f32, _, super::WIDTH>`, a size that rustc knows | `[f32; WIDTH]` |
/// | `Tensor<f32, _, WORDS>`, a size of the caller, `const WORDS: usize;`, or a const parameter | `Vec<f32>` |
/// | `Seq<i64>`, tokens | `Vec<i64>` |
/// | `Seq<Tensor<i64, 1>>` | `Vec<i64>` |
/// | `Seq<Tensor<f32, 64>>` | `Vec<[f32; 64]>` |
/// | `Seq<Tensor<f32, 8, 1>>` | `Vec<[[f32; 1]; 8]>` |
/// | `Seq<Seq<i64>>` | `Vec<Vec<i64>>` |
/// | `Tensor<f32>`, without rows | `f32` |
/// | `Tensor<f32, 8>`, without rows | `[f32; 8]` |
/// | `Tensor<f32, ITEMS, 8>`, rows of their own | `Vec<[f32; 8]>` |
///
/// The row space, or the levels of sequences, are left out of the input's type. Each remaining dimension becomes an
/// array if rustc knows its size, and a `Vec` otherwise. There is one exception: if a single dimension of 1 remains,
/// the row has the element itself. The exception holds for tokens, too. It does not hold for a 1 behind other
/// dimensions, or for a named size that happens to be 1.
///
/// The `Vec`s of a dimension have the same length in all rows of a batch; those of a `Seq` may differ. An input without
/// rows has one value for the whole batch, so all rows give the same value.
///
/// An input with rows of its own, `Tensor<f32, ITEMS, 8>`, is fed once for the whole batch: each row gives all of
/// `ITEMS`, or `Batch::set` sets an array for the whole batch.
///
/// `net.row(..)` makes a row from a value for each input, in order. The row of a network with one input is the value of
/// that input. With several inputs it is a tuple; in a module it is a struct, `cost::Row`, with a field for each input,
/// and the tuple converts into it (`From`).
///
/// # Statements
/// | written | meaning |
/// | --- | --- |
/// | `let y = ..`, `let mut`, `y = ..`, `y += ..` | bindings of values; the name of a binding becomes the name of its layer's parameters |
/// | `if c { .. } else { .. }`, `c` a `bool` per row | each branch runs on its rows only, and results are merged in order; a variable that only one branch assigns keeps its value on the other rows |
/// | the same, `c` a scalar | one branch runs |
/// | `while c { .. }`, `c` a `bool` per row | a row leaves when its condition turns false; the others go on |
/// | the same, `c` a scalar | a loop; its state is the variables that its body assigns |
/// | `for x in xs { .. }`, `xs` a `Seq` | a loop along the sequences, token by token; a row leaves when it has no token left |
/// | `let ys = for x in xs { ..; y };`, also with a per-row `while` | the loop collects the values of its body as a `Seq` |
/// | `for (x, y) in (xs, ys)` | a loop along sequences of equal lengths, in step |
/// | `xs.len()`, `xs.rev()`, `xs.enumerate()`, `xs.zip(ys)` | as in Rust, of sequences, arrays and ranges |
/// | `break`, `continue` | the rows that reach it leave the loop, or the iteration |
/// | `if`, `match` and `for` over constants | decided while the network is compiled: one branch is compiled, the body is repeated |
/// | `+ - * / %`, comparisons, `&& \|\| !` | element by element; `&&` and `\|\|` compute both sides |
/// | `pair.0`, `x[(.., 0, 1..3)]` | a part of a tuple, a part of a value: an index for each axis |
/// | `fc(x, 8, act = relu)` | a layer; named arguments follow the others, in any order |
/// | `tap(x, "name")` | `x`, which can be fetched by this name |
///
/// All of these nest, have gradients, and are part of the program:
///
/// ```
/// use paddle::{Parameters, infer, network};
///
/// let net = network!(|x: Tensor<f32, _>, words: Seq<i64>| {
///     // Each row takes its own branch.
///     let far = if x < 0.0 { -x } else { 2.0 * x };
///     // Each row halves its value until it is small.
///     let mut left = far;
///     while left > 1.0 {
///         left = left / 2.0;
///     }
///     // Each row counts its words that are not 0.
///     let mut count = 0;
///     for word in words {
///         count += select(word == 0, 0, 1);
///     }
///     (left, count)
/// });
/// let rows = [net.row(-4.0, vec![7, 0, 9]), net.row(0.25, vec![])];
/// let outputs = infer(&net, &Parameters::create(&net)?, rows)?;
/// assert_eq!(outputs.at::<f32>(0)?.as_slice(), Some(&[1.0, 0.5][..]));
/// assert_eq!(outputs.at::<i64>(1)?.as_slice(), Some(&[2, 0][..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Layers
/// Editors show on hover what a layer computes, and its arguments.
///
#[doc = include_str!("layers.md")]
///
/// # Parameters
/// `let hidden = fc(x, 128)` makes `hidden.w` and `hidden.b`; within a call of `predict` they are `predict.hidden.w`
/// and `predict.hidden.b`. Without a binding, the layer's name takes its place. A layer in the arguments of another one
/// is named after both: `h_layer_norm` in `let h = fc(layer_norm(x), 8)`. A repeated name gets `_1`.
///
/// | argument | meaning |
/// | --- | --- |
/// | `param = "D"` | the absolute name, `D.w` and `D.b`: every use of it shares, also in other networks and crates |
/// | `param = ".gate"` | a name below that of the surrounding call |
/// | `param = "block{i}"` | in a `for` over constants: separate parameters for each `i` |
/// | `init`, `bias_init` | the initialisers: `xavier()`, `normal(0.0, 0.02)`, `constant(0.1)`, … |
/// | `lr`, `clip`, `decay` | a factor on the learning rate, an upper bound on the absolute value of each element of the gradient, a factor of L2 decay |
///
/// Names are items of Rust, `line::params::predict::fc::w`, or fields, `net.params.hidden.w`: a wrong name does not
/// compile.
///
/// # Sub-networks
/// A `fn` of the module, or a closure, is inlined at each call, and its named dimensions are bound anew there. A
/// parameter may also be a number, an `Activation` or a `Word`. A parameter with a default, `#[default = relu] act:
/// Activation`, is a named argument. A `pub fn` that takes numbers, activations or words, or is marked `#[layer]`, is a
/// layer for other networks. `use` imports the `pub fn`s and `pub const`s of networks in other modules and crates.
/// `include_model!("resnet.pdmodel");` is the network of a model in a file, see `paddle::include_model`.
/// `#[operator] pub fn` declares an operator of your own, see `paddle::operator`. Recursion is an error.
///
/// # Constants
/// Numbers, truth values, texts, arrays and tuples of these are known at compile time, also as a `const`. They may be
/// sizes and arguments, and decide an `if`, a `match` or a `for`. A constant of the code around is declared with its
/// type: `const GATE: [f32; 3] = crate::GATE;`. `#[cfg(..)]` may stand wherever Rust allows it.
///
/// # Sizes
/// | written | bound |
/// | --- | --- |
/// | `Tensor<f32, _, T>` | by each batch |
/// | `super::WIDTH`, a path, in types and as a size | by rustc |
/// | `pub fn mlp<const N: usize>(..)` | by the instantiation, `mlp::<256>()` |
/// | `const WORDS: usize;` of a module, without a value | by the caller, `cost::with(cost::Sizes { WORDS: 8 })?` |
/// | `network!(move \|x: ..\| fc(x, width))?`, a captured `usize` | when that line runs |
///
/// Two sizes are compared as polynomials. A comparison that depends on later values is checked as soon as they are
/// known: by rustc, by `with`, or when a batch is fed.
///
/// # Errors
/// A mistake is an error of rustc at the expression to change: what was found, what is expected, what to do. Several
/// mistakes are reported at once. A size or a batch that turns out wrong later gives a typed error with the same text,
/// `paddle::Error`.
///
/// ```compile_fail
/// # use paddle::network;
/// // error: there is no layer or `fn` `linear`; the fully connected layer is `fc(x, 64)`
/// let net = network!(|x: Tensor<f32, _, 13>| linear(x, 1));
/// ```
#[proc_macro]
pub fn network(input: TokenStream) -> TokenStream {
    expand::expand(input.into()).into()
}

/// The library layers as documented functions.
#[doc(hidden)]
#[proc_macro]
pub fn __library(_: TokenStream) -> TokenStream {
    emit::library::functions().into()
}

/// Continues a closure after a question has been answered.
#[doc(hidden)]
#[proc_macro]
pub fn __import(input: TokenStream) -> TokenStream {
    expand::continued(input.into(), quote::quote!(::paddle::__import), true).into()
}

/// Continues a module after a question has been answered.
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
