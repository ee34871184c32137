//! The layers of the language: one table, from which come the checks of a call, the suggestions of messages, the
//! lowering to operators, and the documented functions that editors show.
//!
//! To add one: write its function in a file of its own, or a line of `operators.rs` for a single operator, and add a
//! row to [`with_layers!`](crate::with_layers).

mod call;
mod classes;
mod fc;
mod images;
pub(crate) mod initializers;
mod library;
mod operators;
mod parameters;
mod products;
mod regularise;
mod shapes;
mod tap;

pub use call::{Call, Given, Passed};
pub use initializers::{INITIALIZERS, Initializer};
pub use library::{LIBRARY, LibraryLayer};

use crate::ops::{BinaryKind, ReduceKind, UnaryKind};
use crate::program::{BuildError, VarId};

/// What an argument of a layer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A value of the program.
    Value,
    /// One value of the program, or several: `x`, `[a, b]`.
    Values,
    /// A whole number above 0 that is known when the network is compiled.
    Size,
    /// One size, or several: `3`, `[3, 5]`.
    Sizes,
    /// Sizes, of which one may be -1, for what is left: `[3, -1]`.
    Shape,
    /// A whole number that is known when the network is compiled.
    Int,
    /// One whole number, or several: `1`, `[0, 2]`.
    Ints,
    /// A number that is known when the network is compiled.
    Number,
    /// `true` or `false`.
    Flag,
    /// One of these words, without quotes.
    Choice(&'static [&'static str]),
    /// A name: a string.
    Name,
    /// A layer that is marked as an activation, without parentheses: `act = relu`.
    Activation,
    /// What a parameter is at first: `init = uniform(-0.1, 0.1)`.
    Initializer,
}

impl Kind {
    /// What is expected, for messages.
    pub fn describe(self) -> &'static str {
        match self {
            Kind::Value => "a value",
            Kind::Values => "a value, or several in brackets: `[a, b]`",
            Kind::Size => "a size: a whole number above 0, written out or a `const`",
            Kind::Shape => {
                "sizes in brackets, written out or `const`s, of which one may be -1, for what is left"
            }
            Kind::Sizes => "a size, or several in brackets: whole numbers above 0, written out or `const`s",
            Kind::Int => "a whole number, written out or a `const`",
            Kind::Ints => "a whole number, or several in brackets, written out or `const`s",
            Kind::Number => "a number, written out or a `const`",
            Kind::Flag => "`true` or `false`",
            Kind::Choice(_) => "one of its words, without quotes",
            Kind::Name => "a name in quotes",
            Kind::Activation => "the name of an activation",
            Kind::Initializer => "an initialiser, such as `uniform(-0.1, 0.1)`",
        }
    }
}

/// An argument of a layer.
#[derive(Clone, Copy, Debug)]
pub struct Argument {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub kind: Kind,
    /// What it is for.
    pub doc: &'static str,
}

/// A layer: what its calls look like, and the operators that they become.
#[derive(Clone, Copy, Debug)]
pub struct Layer {
    /// The name.
    pub name: &'static str,
    /// What it computes.
    pub doc: &'static str,
    /// Arguments that every call has, in order.
    pub positional: &'static [Argument],
    /// Arguments that a call may name, in any order, after the others.
    pub named: &'static [Argument],
    /// Whether it can stand in an argument such as `act = relu`.
    pub activation: bool,
    /// Appends the operators of a call and returns its value.
    pub build: fn(&mut Call<'_>) -> Result<VarId, BuildError>,
}

impl Layer {
    /// The layer of this name.
    pub fn find(name: &str) -> Option<&'static Layer> {
        LAYERS.iter().find(|layer| layer.name == name)
    }

    /// The argument of this name that a call may name.
    pub fn named(&self, name: &str) -> Option<&'static Argument> {
        self.named.iter().find(|argument| argument.name == name)
    }

    /// Whether it owns parameters, which are named by `param`.
    pub fn has_parameters(&self) -> bool {
        self.named("param").is_some()
    }
}

/// Passes the table of layers to a macro: `with_layers!(callback)`.
///
/// A row: documentation, name, arguments by position and after the `;` by name (each with kind and documentation; a
/// choice with its words: `kind: Choice(average, max) "How to pool."`), a mark, and the function that builds it. The
/// mark is `activation` where the layer is one; `weights` or `weights_and_bias` where it has parameters, and so the
/// arguments of [`with_parameter_arguments!`](crate::with_parameter_arguments).
#[macro_export]
macro_rules! with_layers {
    ($($callback:ident)::+) => {
        $($callback)::+! {
            /// Fully connected: `x · w + b`. Dimensions of `x` behind the first are flattened into one.
            ///
            /// Parameters: `w`, `[inputs, size]`, uniform by Xavier's rule at first; `b`, `[size]`, zero at first.
            ///
            /// Of several inputs, `fc([x, y], size)`, it is the sum of their products: `x · w0 + y · w1 + b`.
            fc(x: Values "What to connect.", size: Size "How many outputs.";
               bias: Flag "Whether to add `b`; it is added if this is left out.",
               act: Activation "What to apply to the result.") weights_and_bias
                => fc::build;

            /// Filters that slide over images: `x` is `[_, channels, height, width]`, the result
            /// `[_, filters, (height + 2 padding - filter_size) / stride + 1, …]`.
            ///
            /// Parameters: `w`, `[filters, channels / groups, height, width]`, normal with deviation `√(2 / inputs)` at
            /// first; `b`, `[filters]`, zero at first.
            conv2d(x: Value "The images.", filters: Size "How many filters.",
                   filter_size: Sizes "Their height and width: `3`, `[3, 5]`.";
                   stride: Sizes "How far a window is from the next; 1 if it is left out.",
                   padding: Ints "Zeros around the images: `1`, `[height, width]` or `[above, below, left, right]`; 0 if it is left out.",
                   dilation: Sizes "How far the elements of a window are from each other; 1 if it is left out.",
                   groups: Size "Filters see the channels of their group only; 1 if it is left out.",
                   bias: Flag "Whether to add `b`; it is added if this is left out.",
                   act: Activation "What to apply to the result.") weights_and_bias
                => images::conv2d;

            /// The maximum or the average of windows that slide over images: `x` is `[_, channels, height, width]`.
            pool2d(x: Value "The images.", size: Sizes "The height and width of a window: `2`, `[2, 3]`.";
                   kind: Choice(max, avg) "What to take of a window; its maximum if it is left out.",
                   stride: Sizes "How far a window is from the next; `size` if it is left out, so that windows lie side by side.",
                   padding: Ints "What is put around the images, which is no maximum: `1`, `[height, width]` or `[above, below, left, right]`; 0 if it is left out.",
                   ceil: Flag "Whether a last window may reach over the end; it may not if this is left out.",
                   exclusive: Flag "Whether an average leaves out the padding; it does if this is left out.")
                => images::pool2d;

            /// The value itself, which can be fetched by the name, though the network does not return it:
            /// `infer_with(&net, &parameters, rows, &["hidden"])`.
            tap(x: Value "The value.", name: Name "The name by which it is fetched.";)
                => tap::build;

            /// Each channel normalised by its mean and variance: of the batch in training, and what was seen in training
            /// otherwise. `x` is `[_, channels]` or `[_, channels, height, width]`.
            ///
            /// Parameters: `scale`, `[channels]`, one at first; `shift`, `[channels]`, zero at first; and the moving
            /// statistics `mean` and `variance`, which are not trained.
            batch_norm(x: Value "What to normalise.";
                       momentum: Number "How much of the moving statistics stays in each step; 0.9 if it is left out.",
                       epsilon: Number "What is added to variances; 0.00001 if it is left out.",
                       act: Activation "What to apply to the result.") weights_and_bias
                => regularise::batch_norm;

            /// In training, sets elements to zero at random; otherwise, nothing. Every step drops other elements.
            dropout(x: Value "Some of whose elements to drop.", rate: Number "The probability with which each is dropped.";
                    mode: Choice(upscale_in_train, downgrade_in_infer) "Whether the elements that are kept are scaled up in training, or all are scaled down otherwise; the former if it is left out.")
                => regularise::dropout;

            /// Products of matrices, which are the last two axes: `Σₖ x[.., m, k] · y[.., k, n]`. The axes before them count
            /// matrices: as many of both, or one that all of the other are multiplied with. A vector, which has one axis,
            /// is a row as `x` and a column as `y`.
            matmul(x: Value "The left matrices.", y: Value "The right matrices.";
                   transpose_x: Flag "Whether the left ones are read as their transposes; they are not if this is left out.",
                   transpose_y: Flag "Whether the right ones are read as their transposes; they are not if this is left out.")
                => products::matmul;

            /// The product of two matrices, of which the first is made by flattening the dimensions of `x` behind the
            /// first. Element by element it is `x * y`.
            mul(x: Value "The left matrix.", y: Value "The right matrix.";)
                => products::mul;

            /// The mean of all elements, a scalar, or along axes; 0 over no elements.
            mean(x: Value "What to reduce.";
                 axis: Ints "Along which axes, that of the rows counted as 0: `1`, `[1, 2]`; all if it is left out.",
                 keep_dim: Flag "Whether the axes stay, with size 1; they go if this is left out.")
                => |call| shapes::reduce(call, ReduceKind::Mean);

            /// The sum of all elements, a scalar, or along axes.
            sum(x: Value "What to reduce.";
                 axis: Ints "Along which axes, that of the rows counted as 0: `1`, `[1, 2]`; all if it is left out.",
                 keep_dim: Flag "Whether the axes stay, with size 1; they go if this is left out.")
                => |call| shapes::reduce(call, ReduceKind::Sum);

            /// The largest of all elements, a scalar, or along axes.
            max(x: Value "What to reduce.";
                 axis: Ints "Along which axes, that of the rows counted as 0: `1`, `[1, 2]`; all if it is left out.",
                 keep_dim: Flag "Whether the axes stay, with size 1; they go if this is left out.")
                => |call| shapes::reduce(call, ReduceKind::Max);

            /// The smallest of all elements, a scalar, or along axes.
            min(x: Value "What to reduce.";
                 axis: Ints "Along which axes, that of the rows counted as 0: `1`, `[1, 2]`; all if it is left out.",
                 keep_dim: Flag "Whether the axes stay, with size 1; they go if this is left out.")
                => |call| shapes::reduce(call, ReduceKind::Min);

            /// `|x|`, element by element.
            abs(x: Value "Its argument.";)
                => |call| operators::unary(call, UnaryKind::Abs);

            /// `x`, but not below `min` and not above `max`, element by element.
            clip(x: Value "Its argument.", min: Number "The least value.", max: Number "The greatest value.";)
                => |call| operators::unary(call, UnaryKind::Clip);

            /// `x`, and `alpha (eˣ - 1)` where `x` is negative, element by element.
            elu(x: Value "Its argument.";
                alpha: Number "1 if it is left out.") activation
                => |call| operators::unary(call, UnaryKind::Elu);

            /// `eˣ`, element by element.
            exp(x: Value "Its argument.";) activation
                => |call| operators::unary(call, UnaryKind::Exp);

            /// `slope · x + offset`, but not below 0 and not above 1, element by element.
            hard_sigmoid(x: Value "Its argument.";
                         slope: Number "0.2 if it is left out.",
                         offset: Number "0.5 if it is left out.") activation
                => |call| operators::unary(call, UnaryKind::HardSigmoid);

            /// `x · min(max(x + offset, 0), threshold) / scale`, element by element.
            hard_swish(x: Value "Its argument.";
                       threshold: Number "6 if it is left out.",
                       scale: Number "6 if it is left out.",
                       offset: Number "3 if it is left out.") activation
                => |call| operators::unary(call, UnaryKind::HardSwish);

            /// `x` itself: no activation.
            identity(x: Value "What to leave as it is.";) activation
                => |call| call.value("x");

            /// `x`, and `alpha · x` where `x` is negative, element by element.
            leaky_relu(x: Value "Its argument.";
                       alpha: Number "0.02 if it is left out.") activation
                => |call| operators::unary(call, UnaryKind::LeakyRelu);

            /// The natural logarithm, element by element.
            log(x: Value "Its argument.";)
                => |call| operators::unary(call, UnaryKind::Log);

            /// The logarithm of `sigmoid(x)`, element by element.
            logsigmoid(x: Value "Its argument.";) activation
                => |call| operators::unary(call, UnaryKind::LogSigmoid);

            /// `x` to the power of a number, element by element. For a power that is a value, see `elementwise_pow`.
            pow(x: Value "Its argument.", factor: Number "The power.";)
                => |call| operators::unary(call, UnaryKind::Pow);

            /// `1 / x`, element by element.
            reciprocal(x: Value "Its argument.";)
                => |call| operators::unary(call, UnaryKind::Reciprocal);

            /// `max(x, 0)`, element by element.
            relu(x: Value "Its argument.";) activation
                => |call| operators::unary(call, UnaryKind::Relu);

            /// `x`, but not below 0 and not above `threshold`, element by element.
            relu6(x: Value "Its argument.";
                  threshold: Number "6 if it is left out.") activation
                => |call| operators::unary(call, UnaryKind::Relu6);

            /// `1 / √x`, element by element.
            rsqrt(x: Value "Its argument.";)
                => |call| operators::unary(call, UnaryKind::Rsqrt);

            /// `1 / (1 + e⁻ˣ)`, element by element.
            sigmoid(x: Value "Its argument.";) activation
                => |call| operators::unary(call, UnaryKind::Sigmoid);

            /// `x · sigmoid(x)`, element by element.
            silu(x: Value "Its argument.";) activation
                => |call| operators::unary(call, UnaryKind::Silu);

            /// `ln(1 + exp(beta · x)) / beta`, element by element; `x` where `beta · x` is above `threshold`.
            softplus(x: Value "Its argument.";
                     beta: Number "1 if it is left out.",
                     threshold: Number "20 if it is left out.") activation
                => |call| operators::unary(call, UnaryKind::Softplus);

            /// `x / (1 + |x|)`, element by element.
            softsign(x: Value "Its argument.";) activation
                => |call| operators::unary(call, UnaryKind::Softsign);

            /// `√x`, element by element.
            sqrt(x: Value "Its argument.";)
                => |call| operators::unary(call, UnaryKind::Sqrt);

            /// `x²`, element by element.
            square(x: Value "Its argument.";) activation
                => |call| operators::unary(call, UnaryKind::Square);

            /// `x · sigmoid(beta · x)`, element by element.
            swish(x: Value "Its argument.";
                  beta: Number "1 if it is left out.") activation
                => |call| operators::unary(call, UnaryKind::Swish);

            /// The hyperbolic tangent, element by element.
            tanh(x: Value "Its argument.";) activation
                => |call| operators::unary(call, UnaryKind::Tanh);

            /// The larger of two values, element by element.
            elementwise_max(x: Value "One value.", y: Value "The other.";)
                => |call| operators::binary(call, BinaryKind::Max);

            /// The smaller of two values, element by element.
            elementwise_min(x: Value "One value.", y: Value "The other.";)
                => |call| operators::binary(call, BinaryKind::Min);

            /// `x` to the power of `y`, element by element.
            elementwise_pow(x: Value "One value.", y: Value "The other.";)
                => |call| operators::binary(call, BinaryKind::Pow);

            /// Normalised exponentials along the last dimension.
            softmax(x: Value "The logits.";) activation
                => operators::softmax;

            /// The cross-entropy of labels under the softmax of logits: `[_, 1]`. Labels get no gradient.
            softmax_with_cross_entropy(logits: Value "Before softmax: `[_, classes]`.",
                                       label: Value "Class ids, i64: `[_, 1]`, or a probability for each class.";
                                       soft_label: Flag "Whether labels are probabilities; they are class ids if it is left out.",
                                       ignore_index: Int "The id of rows without a class, whose loss is 0; -100 if it is left out.")
                => classes::softmax_with_cross_entropy;

            /// The cross-entropy of labels and probabilities: `[_, 1]`. Labels get no gradient.
            cross_entropy(x: Value "Probabilities: `[_, classes]`.",
                          label: Value "Class ids, i64: `[_, 1]`, or a probability for each class.";
                          soft_label: Flag "Whether labels are probabilities; they are class ids if it is left out.",
                          ignore_index: Int "The id of rows without a class, whose loss is 0; -100 if it is left out.")
                => classes::cross_entropy;

            /// How wrong the order of two scores is: `ln(1 + exp o) - label · o` with `o = left - right`.
            rank_loss(label: Value "How probable it is that the left one ranks above the right one: from 0.0 to 1.0.",
                      left: Value "The left score.", right: Value "The right score.";)
                => classes::rank_loss;

            /// The share of rows whose class is among the `k` that have the largest values; 0 over no rows.
            accuracy(x: Value "Values of classes: `[_, classes]`.", label: Value "Class ids, i64: `[_, 1]`.";
                     k: Int "1 if it is left out.")
                => classes::accuracy;

            /// The entries of a table that ids stand for: `[_]` gives `[_, size]`, `[_, 1]` gives `[_, 1, size]`.
            ///
            /// Parameter: `w`, `[entries, size]`, uniform by Xavier's rule at first.
            embedding(ids: Value "Numbers of entries, i64.", size: Sizes "The table: `[entries, size of one]`.";
                      padding_idx: Int "An entry that reads as zeros and is not trained; none if it is left out.") weights
                => classes::embedding;

            /// Values one after another along an axis.
            concat(x: Values "Which values: `[x, y]`.";
                   axis: Ints "Along which axis, that of the rows counted as 0; 1 if it is left out.")
                => shapes::concat;

            /// The same elements of each row in another shape.
            reshape(x: Value "What to shape.", shape: Shape "The sizes behind the rows; one may be -1, for what is left.";)
                => shapes::reshape;

            /// The elements from `starts` to before `ends` along axes. Negative bounds count from the end.
            slice(x: Value "What to take from.", axes: Ints "Along which axes, that of the rows counted as 0.",
                  starts: Ints "The first element along each.", ends: Ints "The one behind the last.";)
                => shapes::slice;

            /// The axes in another order, in which rows stay first.
            transpose(x: Value "What to turn.", axes: Ints "All axes, that of the rows counted as 0: `[0, 2, 1]`.";)
                => shapes::transpose;

            /// The same numbers as another element type.
            cast(x: Value "The numbers.", to: Choice(bool, f32, f64, i32, i64) "Which element type.";)
                => operators::cast;

            /// One row for each sequence, made of its tokens: their average, their sum, their sum divided by the root of
            /// their number, the largest of each column, the first, or the last.
            sequence_pool(x: Value "The sequences.",
                          kind: Choice(average, sum, sqrt, max, first, last) "How tokens become a row.";
                          pad_value: Number "What a sequence without tokens gives; 0 if it is left out.")
                => operators::sequence_pool;

            /// `factor · x + bias`.
            scale(x: Value "What to scale.", factor: Number "The factor.";
                  bias: Number "The summand; 0 if it is left out.")
                => operators::scale;

            /// A copy.
            assign(x: Value "What to copy.";)
                => operators::assign;
        }
    };
}

macro_rules! table {
    ($($(#[doc = $doc:literal])*
       $name:ident($($arg:ident: $kind:ident $(($($word:ident),*))? $arg_doc:literal),*;
                   $($named:ident: $named_kind:ident $(($($named_word:ident),*))? $named_doc:literal),*)
       $($mark:ident)? => $build:expr;)*) => {
        /// Every layer of the language.
        pub const LAYERS: &[Layer] = &[$(Layer {
            name: stringify!($name),
            doc: concat!($($doc, "\n"),*),
            positional: &[$(Argument { name: stringify!($arg), kind: Kind::$kind $((&[$(stringify!($word)),*]))?, doc: $arg_doc }),*],
            named: table!(@named $($mark)? [
                $($named: $named_kind $(($($named_word),*))? $named_doc,)*
            ]),
            activation: table!(@activation $($mark)?),
            build: $build,
        }),*];
    };
    (@activation activation) => { true };
    (@activation $($mark:ident)?) => { false };
    (@named weights [$($named:tt)*]) => {
        crate::with_parameter_arguments!(weights table! (@arguments) [$($named)*])
    };
    (@named weights_and_bias [$($named:tt)*]) => {
        crate::with_parameter_arguments!(weights_and_bias table! (@arguments) [$($named)*])
    };
    (@named $($mark:ident)? [$($named:tt)*]) => { table!(@arguments [$($named)*]) };
    (@arguments [$($name:ident: $kind:ident $(($($word:ident),*))? $doc:literal,)*]) => {
        &[$(Argument {
            name: stringify!($name),
            kind: Kind::$kind $((&[$(stringify!($word)),*]))?,
            doc: $doc,
        }),*]
    };
}

with_layers!(table);
