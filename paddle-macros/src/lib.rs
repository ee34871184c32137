//! The procedural macros of `paddle`. Editors show the documentation of [`network!`] from this file; the facade adds
//! links.
//!
//! | module | |
//! | --- | --- |
//! | `expand` | tokens → tokens, by the front end, `paddle_language`, which all of the rest serves |
//! | `protocol` | imports and predicates of `#[cfg(..)]`, which rustc is asked about |
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

/// Compiles a model, which is Rust source, to a portable program, while the crate compiles.
///
/// A closure is one network. Its parameters are the inputs, its value is the cost or the prediction, or a tuple of the
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
/// A module has several networks, which share sub-networks and their parameters. Each `pub fn` is a network, each `fn` a
/// part of others, inlined where it is called. `#[network] pub mod line { .. }`, of `paddle::attribute`, is the same in
/// the form that `rustfmt` formats:
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
/// This page is the reference in short. `paddle::guide::language` is the whole language, with an example of each thing
/// (`LANGUAGE.md`), and `paddle::guide::layers` every layer with its arguments (`LAYERS.md`).
///
/// # Types
/// | type | what it is |
/// | --- | --- |
/// | `Tensor<f32, _, 784>` | the element type (`f32`, `f64`, `i32`, `i64`, `bool`), then the dimensions; `_` is the rows of the batch |
/// | `Tensor<f32>` | a scalar |
/// | `Tensor<f32, _, T, 64>` | `T` is a size that a batch binds, the same wherever it stands; `{ 2 * T }` is computed from it |
/// | `Tensor<f32, ITEMS, 8>` | a name in front is rows of their own, fed for the whole batch |
/// | `Seq<i64>`, `Seq<Tensor<f32, 64>>` | rows of different lengths: tokens packed side by side, never padded |
/// | `Seq<Seq<i64>>` | sequences of sequences |
///
/// Only inputs need types. Elsewhere a type is left out, written as `_`, or written to be checked.
///
/// # Rows
/// What a row has for an input follows from the type of the input:
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
/// Rows and levels of sequences are left out of the type; what is left is an array for each dimension whose size rustc
/// knows, and a `Vec` for each other one. One rule is of its own: where all that is left is one dimension of 1, the row has
/// the element itself, not an array of it. It is so for tokens, and it is not so for a 1 behind other dimensions, or for a
/// name whose value happens to be 1.
///
/// The `Vec`s of a dimension have one length in all rows of a batch; those of a `Seq` have any. An input without rows has one
/// value for the whole batch, so each row has the same.
///
/// Rows of a name, `Tensor<f32, ITEMS, 8>`, are not those of the batch, but are fed for all of it: each row has all of them, or an
/// array of them is set for the whole batch, `Batch::set`.
///
/// `net.row(..)` makes a row, with an argument for each input in their order. The row of a network with one input is its
/// value. Of several inputs it is a tuple; in a module, a struct `cost::Row` with a field for each, which is made `From` such a tuple.
///
/// # Statements
/// | written | what it becomes |
/// | --- | --- |
/// | `let y = ..`, `let mut`, `y = ..`, `y += ..` | names of values; the name of a binding is the name of its parameters |
/// | `if c { .. } else { .. }`, `c` of type `bool`, a value for each row | each branch runs on its rows only, and results are merged in order; a variable that one branch assigns keeps its value on the other rows |
/// | the same, `c` a scalar | one branch runs |
/// | `while c { .. }`, `c` for each row | a row leaves when its condition turns false; the others go on |
/// | the same, `c` a scalar | a loop, whose state is the variables that its body assigns |
/// | `for x in xs { .. }`, `xs` a `Seq` | along the sequences, token by token; a row leaves when it has no token left |
/// | `let ys = for x in xs { ..; y };`, likewise `while` | the values that the body ends with are a `Seq` |
/// | `for (x, y) in (xs, ys)` | sequences of equal lengths in step |
/// | `break`, `continue` | the rows that come there leave the loop, or the iteration |
/// | `if`, `match` and `for` over constants | one branch is compiled; the body is repeated |
/// | `+ - * / %`, comparisons, `&& \|\| !` | element by element; `&&` and `\|\|` compute both sides |
/// | `fc(x, 8, act = relu)` | a layer; named arguments stand behind the others, in any order |
/// | `tap(x, "name")` | `x`, which can be fetched by name |
///
/// All of it nests, has gradients, and is part of the program:
///
/// ```
/// use paddle::{Parameters, infer, network};
///
/// let net = network!(|x: Tensor<f32, _>, words: Seq<i64>| {
///     // Rows take their own ways.
///     let far = if x < 0.0 { -x } else { 2.0 * x };
///     // A row halves its value as often as it has to.
///     let mut left = far;
///     while left > 1.0 {
///         left = left / 2.0;
///     }
///     // And counts its words.
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
/// Hovering over one, in a network, shows what it computes and its arguments.
///
#[doc = include_str!("layers.md")]
///
/// # Parameters
/// `let hidden = fc(x, 128)` makes `hidden.w` and `hidden.b`; within a call of `predict` they are `predict.hidden.w` and
/// `predict.hidden.b`. Without a binding the name is the layer's. A layer in the arguments of another is named after both,
/// `h_layer_norm` in `let h = fc(layer_norm(x), 8)`; a second one of a name takes `_1`.
///
/// | argument | what it is |
/// | --- | --- |
/// | `param = "D"` | the name, `D.w` and `D.b`: every use of it shares, also in other networks and crates |
/// | `param = ".gate"` | below the name of the call that it is in |
/// | `param = "block{i}"` | in a `for` over constants: parameters of their own for each `i` |
/// | `init`, `bias_init` | what they are at first: `xavier()`, `normal(0.0, 0.02)`, `constant(0.1)`, … |
/// | `lr`, `clip`, `decay` | a factor of the learning rate, a bound on each element of the gradient, a factor of decay |
///
/// Names are items of Rust, `line::params::predict::fc::w`, or fields, `net.params.hidden.w`: one that does not exist does not
/// compile.
///
/// # Sub-networks
/// A `fn` of the module, or a closure, is inlined at each call, and its types are bound anew there. A parameter may be a number, an
/// `Activation` or a `Word`, and may have a default, `#[default = relu] act: Activation`, which makes it a named argument; a
/// `pub fn` with such a parameter is a layer for others. `use` imports what is `pub` from other modules and crates of networks.
/// `#[operator] pub fn` declares an operator of your own: see `paddle::operator`. Recursion is an error.
///
/// # Constants
/// Numbers, truth values, texts, arrays and tuples of them are known while the network is compiled, also as a `const`: they may
/// be sizes and arguments, and decide an `if`, a `match`, a `for`. `#[cfg(..)]` may stand wherever Rust takes it.
///
/// # Sizes
/// | written | bound |
/// | --- | --- |
/// | `Tensor<f32, _, T>` | by each batch |
/// | `super::WIDTH`, a path, in types and as a size | by rustc |
/// | `pub fn mlp<const N: usize>(..)` | by the instantiation, `mlp::<256>()` |
/// | `const WORDS: usize;` of a module, without a value | by the caller, `cost::with(cost::Sizes { WORDS: 8 })?` |
///
/// Two sizes are compared as polynomials. What they leave open is checked as soon as they are known: by rustc, by `with`, or when
/// a batch is fed.
///
/// # Errors
/// A mistake is an error of rustc at the expression to change: what was found, what is expected, what to do. Several are
/// reported at once. What a size or a batch makes wrong later is a typed error with the same text, `paddle::Error`.
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
