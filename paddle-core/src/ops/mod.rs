//! The operators: each in its one home, a file that holds schema, documentation, shape rule, gradient and samples.
//! Its arithmetic is in `paddle-kernels`, under the same file name.
//!
//! To add one: write `ops/<name>.rs` with a struct of its attributes that implements [`Operation`], and add one line
//! to the list `operators!` below. The compiler then asks for the kernels.

// The macro of this module is used by those below it.
#[macro_use]
mod attribute;

mod accuracy;
mod accuracy_class;
mod assign;
mod assign_value;
mod auc;
mod batch_norm;
mod cast;
pub(crate) mod compositions;
mod concat;
mod conditional;
mod contract;
mod contraction;
mod conv2d;
mod conv2d_transpose;
mod crf_decoding;
mod cross_entropy;
mod cumsum;
mod custom;
mod dropout;
mod elementwise;
mod expand;
mod fill;
mod for_loop;
mod foreign;
mod gather;
mod gather_nd;
mod gather_rows;
mod gradient;
mod group_norm;
mod infer;
mod interpolate;
mod labels;
mod layer_norm;
mod linear_chain_crf;
mod lookup_table;
mod loop_grad;
mod loops;
pub mod made_sequences;
mod matmul;
mod max_pool2d_with_index;
mod of_shards;
mod one_hot;
mod outside;
mod pad;
mod pool2d;
mod random;
mod range;
mod rank_loss;
mod reduce;
mod reshape;
mod row_axis;
mod row_numbers;
mod sample;
mod scale;
mod scatter;
mod schema;
mod sequence_align;
mod sequence_concat;
mod sequence_expand_as;
mod sequence_gather;
mod sequence_length;
mod sequence_pad;
mod sequence_pool;
mod sequence_product;
mod sequence_range;
mod sequence_reshape;
mod sequence_reverse;
mod sequence_softmax;
mod sequence_where;
mod sequence_window;
mod slice;
mod softmax;
mod softmax_with_cross_entropy;
mod stop_gradient;
mod store;
mod take_along_axis;
mod tile;
mod top_k;
mod transpose;
mod update;
mod update_rows;
mod warpctc;
mod while_loop;
mod window;

pub use accuracy::Accuracy;
pub use accuracy_class::{AccuracyClass, Terms};
pub use assign::Assign;
pub use assign_value::AssignValue;
pub use attribute::{Attribute, AttributeError, AttributeReader, AttributeValue, Number};
pub use auc::Auc;
pub use batch_norm::{BatchNorm, BatchNormGrad};
pub use cast::Cast;
pub use concat::{Concat, Split};
pub use conditional::{If, Join};
pub use contract::Contract;
pub use contraction::{Contraction, Factor};
pub use conv2d::{Conv2d, Conv2dGrad, Conv2dGradKind};
pub use conv2d_transpose::Conv2dTranspose;
pub use crf_decoding::CrfDecoding;
pub use cross_entropy::{CrossEntropy, CrossEntropyGrad};
pub use cumsum::CumSum;
pub use custom::{Arguments, Custom, Definition, DefinitionError, Kernel};
pub use dropout::{Dropout, DropoutGrad, DropoutImplementation};
pub use elementwise::{
    Binary, BinaryKind, Coefficients, Compare, CompareKind, Logical, LogicalKind, Loss, LossGrad, LossKind,
    Not, Predicate, PredicateKind, Real, Select, Unary, UnaryGrad, UnaryKind,
};
pub use expand::{Expand, Size};
pub use fill::Fill;
pub use for_loop::For;
pub use foreign::Foreign;
pub use gather::{Gather, GatherGrad};
pub use gather_nd::{GatherNd, ScatterNdAdd};
pub use gather_rows::{GatherRows, ScatterRows};
pub use gradient::{Gradient, GradientError};
pub use group_norm::{GroupNorm, GroupNormGrad};
pub use infer::{Infer, Mismatch, MismatchKind};
pub use interpolate::{Along, Between, Interpolate, InterpolateGrad, InterpolateKind};
pub use layer_norm::{LayerNorm, LayerNormGrad};
pub use linear_chain_crf::{LinearChainCrf, LinearChainCrfGrad};
pub use lookup_table::{LookupTable, LookupTableGrad};
pub use loop_grad::{Captured, LoopGrad};
pub use loops::Parts;
pub use matmul::Matmul;
pub use max_pool2d_with_index::MaxPool2dWithIndex;
pub use of_shards::OfShards;
pub use one_hot::OneHot;
pub use outside::Outside;
pub use pad::{Pad, PadMode};
pub use pool2d::{Covered, Pool2d, Pool2dGrad, PoolKind};
pub use random::{GaussianRandom, TruncatedGaussianRandom, UniformRandom};
pub use range::Range;
pub use rank_loss::RankLoss;
pub use reduce::{Reduce, ReduceKind};
pub use reshape::Reshape;
pub use row_axis::{AxisToRows, RowsToAxis};
pub use row_numbers::RowNumbers;
pub use sample::{Sample, SampleInput};
pub use scale::Scale;
pub use scatter::Scatter;
pub use schema::{Effects, Schema};
pub use sequence_align::SequenceAlign;
pub use sequence_concat::{SequenceConcat, SequenceConcatGrad};
pub use sequence_expand_as::SequenceExpandAs;
pub use sequence_gather::{SequenceGather, SequenceGatherGrad};
pub use sequence_length::SequenceLength;
pub use sequence_pad::{SequencePad, SequenceUnpad};
pub use sequence_pool::{PoolType, SequencePool, SequencePoolGrad};
pub use sequence_product::{SequenceProduct, SequenceSpread, SequenceWeigh};
pub use sequence_range::SequenceRange;
pub use sequence_reshape::SequenceReshape;
pub use sequence_reverse::SequenceReverse;
pub use sequence_softmax::SequenceSoftmax;
pub use sequence_where::SequenceWhere;
pub use sequence_window::{SequenceWindow, SequenceWindowGrad};
pub use slice::{Bounds, Slice, SliceGrad, Taken};
pub use softmax::{Softmax, SoftmaxGrad};
pub use softmax_with_cross_entropy::{SoftmaxWithCrossEntropy, SoftmaxWithCrossEntropyGrad};
pub use stop_gradient::StopGradient;
pub use store::Store;
pub use take_along_axis::{TakeAlongAxis, TakeAlongAxisGrad};
pub use tile::Tile;
pub use top_k::TopK;
pub use transpose::Transpose;
pub use update::{
    AdaDelta, Adagrad, Adam, AdamW, Adamax, DecayedAdagrad, Ftrl, Lamb, MOST_STATES, Momentum, Once, Power,
    RmsProp, Rule, Sgd, Update, WithRule,
};
pub use update_rows::UpdateRows;
pub use warpctc::WarpCtc;
pub use while_loop::While;
pub use window::{Padding, Window};

use crate::program::{Dim, DimOverflow, Operator, Program, RowsId, SymbolId, Type, VarId};

/// A matrix that is a sum of rows: the sparse form of a gradient. Input `rows` has the rows, input `ids` their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SumOfRows {
    /// The input with the numbers of the rows.
    pub ids: usize,
    /// The input with the rows.
    pub rows: usize,
    /// The number of the row that nothing is added to; -1 for none.
    pub padding_idx: i64,
}

/// Passage of an operator's attributes to and from names and values.
pub trait Attributes: Sized {
    /// The attributes, in declaration order.
    fn to_attributes(&self) -> Vec<(&'static str, Attribute)>;
    /// The same operator with these attributes, and defaults for those left out.
    fn with_attributes(&self, reader: AttributeReader<'_>) -> Result<Self, AttributeError>;
}

/// An operator's definition.
pub trait Operation {
    /// Name, slots, effects.
    fn schema(&self) -> &'static Schema;

    /// What it is called in messages, where that is not its name.
    fn called(&self) -> &str {
        self.schema().name
    }

    /// The shape rule: the types of the outputs from those of the inputs, or what does not fit.
    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch>;

    /// The gradient rule: appends the operators that compute the gradients of the inputs from those of the outputs,
    /// and says where they are. `None` for an input that has none, or is not wanted.
    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError>;

    /// Whether it reads the elements of input `k`, and not its shape only.
    fn reads(&self, _k: usize) -> bool {
        true
    }

    /// The inputs whose sequences it goes along: behind its inputs it reads the offsets of these, in this order. Numbers
    /// behind those of the inputs are of outputs.
    fn sequences(&self) -> &'static [usize] {
        &[]
    }

    /// Whether gradients pass to input `k`: not to labels.
    fn passes_gradient(&self, _k: usize) -> bool {
        true
    }

    /// The inputs that it changes in place, which are parameters: those of an operator whose effects say `state`.
    fn changes(&self) -> &'static [usize] {
        if self.schema().effects.state { &[0] } else { &[] }
    }

    /// Whether an output is there for the gradient of the others, and has none of its own.
    fn is_intermediate(&self, _output: usize) -> bool {
        false
    }

    /// Whether it leaves rows of a table that were not looked up as if the step had not been theirs.
    fn is_lazy(&self) -> bool {
        false
    }

    /// What it is in test runs, where that is something else: an operator of the same first inputs and outputs.
    fn in_test(&self) -> Option<Op> {
        None
    }

    /// What it is where what it changes is frozen: an operator of the same inputs and outputs that changes no bit of it.
    fn frozen(&self) -> Option<Op> {
        None
    }

    /// What tells its random numbers from those of others, where that is not the name of its result.
    fn stream(&self) -> Option<&str> {
        None
    }

    /// Where its only output is a matrix of zeros to which rows are added in order: which.
    fn sum_of_rows(&self) -> Option<SumOfRows> {
        None
    }

    /// Whether the floating-point outputs have derivatives with respect to the floating-point inputs.
    fn is_differentiable(&self) -> bool {
        true
    }

    /// How near to the exact results those of `output` are; behind the outputs, those of the inputs that it
    /// [changes](Operation::changes).
    fn accuracy(&self, output: usize) -> AccuracyClass;

    /// What `output` over all rows is to what the operator gives for shards of them.
    ///
    /// What is row-wise keeps the rows, where its values have one kind of them.
    fn of_shards(&self, program: &Program, operator: &Operator, output: usize) -> OfShards {
        let rows = program.ty(operator.outputs[output]).rows;
        let is_aligned =
            |input: &VarId| program.ty(*input).rows.is_none_or(|of_input| Some(of_input) == rows);
        match self.schema().effects.row_wise && operator.inputs.iter().all(is_aligned) {
            true => OfShards::Rows,
            false => OfShards::Other,
        }
    }

    /// Whether the outputs are a linear function of these inputs, ascending, taken together, whatever the others are.
    fn is_linear(&self, _inputs: &[usize]) -> bool {
        false
    }

    /// Which two inputs it multiplies and sums over which of their axes, if the first output is nothing but that: a matrix
    /// product.
    fn contraction(&self, _program: &Program, _operator: &Operator) -> Option<Contraction> {
        None
    }

    /// The two values that the first output is the quotient of, where means over batches are to add up each of them.
    fn quotient(&self, _operator: &Operator) -> Option<[VarId; 2]> {
        None
    }

    /// Of an operator of one input that is a linear one and a constant added to it: both.
    fn affine(&self) -> Option<(Op, f64)> {
        None
    }

    /// Whether the user says by it that no gradient is wanted.
    fn stops_gradient(&self) -> bool {
        false
    }

    /// The value that decides which of its blocks run, and how often.
    fn decided_by(&self, _program: &Program, _operator: &Operator) -> Option<VarId> {
        None
    }

    /// Of an operator that runs its last block again and again: how its inputs and outputs lie beside those of the block.
    fn iterates(&self, _operator: &Operator) -> Option<Parts> {
        None
    }

    /// The same loop with other numbers of items and of collected values, if it can have them.
    fn with_parts(&self, _parts: Parts) -> Option<Op> {
        None
    }

    /// The axis, that of the rows counted as 0, along which the only output is the inputs one after the other.
    fn concatenates(&self) -> Option<usize> {
        None
    }

    /// The tokens whose sequences it makes: row spaces that are there when it has run.
    fn makes(&self, _program: &Program, _operator: &Operator) -> Vec<RowsId> {
        Vec::new()
    }

    /// Whether its blocks may be the gradients of those of such an operator, where that is not itself.
    fn differentiates(&self, _op: &Op) -> bool {
        false
    }

    /// How values pass between the operator and the blocks it owns: pairs of (from, to). Empty for operators without
    /// blocks, whose outputs depend on all of their inputs.
    fn flow(&self, _program: &Program, _operator: &Operator) -> Vec<(VarId, VarId)> {
        Vec::new()
    }

    /// One operator per name: the members of a family, or one.
    fn prototypes() -> Vec<Self>
    where
        Self: Sized;

    /// Small cases that the generic tests of every backend are driven by.
    fn samples() -> Vec<Sample>
    where
        Self: Sized,
    {
        Vec::new()
    }
}

macro_rules! operators {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// What an operator does: one variant per kind, with its attributes. Matched without `_`.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Op {
            $($(#[$doc])* $name($name),)*
        }

        $(impl From<$name> for Op {
            fn from(op: $name) -> Op {
                Op::$name(op)
            }
        })*

        impl Op {
            /// The definition.
            pub fn operation(&self) -> &dyn Operation {
                match self {
                    $(Op::$name(op) => op,)*
                }
            }

            /// The attributes, in declaration order.
            pub fn attributes(&self) -> Vec<(&'static str, Attribute)> {
                match self {
                    $(Op::$name(op) => op.to_attributes(),)*
                }
            }

            /// The operator of this name with these attributes.
            pub fn from_attributes(
                name: &str,
                attributes: Vec<(String, Attribute)>,
            ) -> Result<Op, AttributeError> {
                match Op::prototypes().into_iter().find(|op| op.name() == name) {
                    Some(op) => op.with_attributes(attributes),
                    None => Err(AttributeError::UnknownOperator(name.into())),
                }
            }

            /// The operator of the same name with these attributes, and defaults for those left out.
            pub fn with_attributes(&self, attributes: Vec<(String, Attribute)>) -> Result<Op, AttributeError> {
                let reader = AttributeReader::new(self.name(), attributes);
                match self {
                    $(Op::$name(op) => op.with_attributes(reader).map(Op::$name),)*
                }
            }

            /// One operator per name, in the order of the list.
            pub fn prototypes() -> Vec<Op> {
                let mut all = Vec::new();
                $(all.extend($name::prototypes().into_iter().map(Op::$name));)*
                all
            }

            /// Every operator's samples.
            pub fn samples() -> Vec<Sample> {
                let mut samples = Vec::new();
                $(samples.extend($name::samples());)*
                samples
            }
        }
    };
}

operators! {
    /// How often the class of a row is among those that were predicted.
    Accuracy,
    /// Copies its input.
    Assign,
    /// A value whose elements are written in the source.
    AssignValue,
    /// How probable it is that a positive row ranks above a negative one.
    Auc,
    /// Parts along the first axis as rows.
    AxisToRows,
    /// Channels normalised by their mean and variance.
    BatchNorm,
    /// Gradient of [`BatchNorm`].
    BatchNormGrad,
    /// Element-wise arithmetic on two values, with broadcasting.
    Binary,
    /// The same numbers as another element type.
    Cast,
    /// Element-wise comparison.
    Compare,
    /// Values one after another along an axis.
    Concat,
    /// Sums of products over all axes but the last.
    Contract,
    /// Filters that slide over images.
    Conv2d,
    /// Gradients of [`Conv2d`].
    Conv2dGrad,
    /// Filters that each element of an image puts into a larger one.
    Conv2dTranspose,
    /// The most probable labels of sequences.
    CrfDecoding,
    /// Cross-entropy of labels and probabilities.
    CrossEntropy,
    /// Gradient of [`CrossEntropy`].
    CrossEntropyGrad,
    /// An operator of the user's own.
    Custom,
    /// Sums along an axis so far.
    CumSum,
    /// Sets elements to zero at random.
    Dropout,
    /// Gradient of [`Dropout`].
    DropoutGrad,
    /// Repeats a reduced value along the axes that were reduced.
    Expand,
    /// A constant.
    Fill,
    /// `for`: along sequences.
    For,
    /// An operator of another system that is kept, shown and converted, not run.
    Foreign,
    /// Elements by their numbers along an axis.
    Gather,
    /// Gradient of [`Gather`].
    GatherGrad,
    /// Parts by their positions.
    GatherNd,
    /// The rows of a value that the block runs on.
    GatherRows,
    /// Normally distributed random numbers.
    GaussianRandom,
    /// Groups of channels normalised by their mean and variance.
    GroupNorm,
    /// Gradients of [`GroupNorm`].
    GroupNormGrad,
    /// `if`: per row, or on a scalar.
    If,
    /// Images of another height and width.
    Interpolate,
    /// Gradient of [`Interpolate`].
    InterpolateGrad,
    /// Elements from an axis on, normalised by their mean and variance.
    LayerNorm,
    /// Gradients of [`LayerNorm`].
    LayerNormGrad,
    /// How improbable the labels of sequences are.
    LinearChainCrf,
    /// Gradients of [`LinearChainCrf`].
    LinearChainCrfGrad,
    /// Element-wise truth functions of two values.
    Logical,
    /// The iterations of [`For`] or [`While`], backward.
    LoopGrad,
    /// Rows of a table by their numbers.
    LookupTable,
    /// Gradient of [`LookupTable`].
    LookupTableGrad,
    /// A loss of a prediction and a label.
    Loss,
    /// Gradient of [`Loss`].
    LossGrad,
    /// Matrix product.
    Matmul,
    /// The maximum of windows that slide over images, and where it is.
    MaxPool2dWithIndex,
    /// Negates truth values.
    Not,
    /// Ids as rows with a single 1.
    OneHot,
    /// A constant that stands around the network.
    Outside,
    /// A value with more elements around it.
    Pad,
    /// The maximum or the average of windows that slide over images.
    Pool2d,
    /// Gradient of [`Pool2d`].
    Pool2dGrad,
    /// Evenly spaced numbers.
    Range,
    /// Whether something holds of numbers.
    Predicate,
    /// How wrong the order of two scores is.
    RankLoss,
    /// Sums and means over axes.
    Reduce,
    /// The same elements in another shape.
    Reshape,
    /// 0, 1, 2, … along rows.
    RowNumbers,
    /// Rows as the first axis.
    RowsToAxis,
    /// `scale · x + bias`.
    Scale,
    /// Other parts along the first axis.
    Scatter,
    /// Sums at positions.
    ScatterNdAdd,
    /// Rows that were put into another order, in the order that they had.
    ScatterRows,
    /// Of two values, one or the other.
    Select,
    /// The tokens of sequences as those of others.
    SequenceAlign,
    /// Sequences one behind the other.
    SequenceConcat,
    /// Gradients of [`SequenceConcat`].
    SequenceConcatGrad,
    /// A row for each token of its sequence.
    SequenceExpandAs,
    /// Tokens by their positions.
    SequenceGather,
    /// Gradient of [`SequenceGather`].
    SequenceGatherGrad,
    /// How many tokens each sequence has.
    SequenceLength,
    /// Sequences as rows of equally many places.
    SequencePad,
    /// One row for each sequence, made of its tokens.
    SequencePool,
    /// Gradient of [`SequencePool`].
    SequencePoolGrad,
    /// The product of two tokens for each pair of them.
    SequenceProduct,
    /// 0, 1, 2, … in new sequences.
    SequenceRange,
    /// The same elements of each sequence as tokens of another width.
    SequenceReshape,
    /// The tokens of each sequence, last first.
    SequenceReverse,
    /// Normalised exponentials along sequences.
    SequenceSoftmax,
    /// For each token of one sequence, the weighted sum of those of another that are paired with it.
    SequenceSpread,
    /// Rows of equally many places as sequences.
    SequenceUnpad,
    /// For each token, the weighted sum of those that it is paired with.
    SequenceWeigh,
    /// The positions of chosen tokens.
    SequenceWhere,
    /// The tokens around each token.
    SequenceWindow,
    /// Gradient of [`SequenceWindow`].
    SequenceWindowGrad,
    /// The number of elements along axes.
    Size,
    /// A part of a value.
    Slice,
    /// Gradient of [`Slice`].
    SliceGrad,
    /// Normalised exponentials.
    Softmax,
    /// Gradient of [`Softmax`].
    SoftmaxGrad,
    /// Cross-entropy of labels and softmax of logits.
    SoftmaxWithCrossEntropy,
    /// Gradient of [`SoftmaxWithCrossEntropy`].
    SoftmaxWithCrossEntropyGrad,
    /// Parts along an axis.
    Split,
    /// For each place, an element from along an axis.
    TakeAlongAxis,
    /// Gradient of [`TakeAlongAxis`].
    TakeAlongAxisGrad,
    /// A value several times over.
    Tile,
    /// Elements along an axis in order, and where they were.
    /// Gives a parameter or a state a value.
    Store,
    /// A value that no gradient passes.
    StopGradient,
    /// The largest elements along the last axis.
    TopK,
    /// The axes in another order.
    Transpose,
    /// Normally distributed random numbers that are not far from the mean.
    TruncatedGaussianRandom,
    /// An element-wise function.
    Unary,
    /// Gradient of an element-wise function.
    UnaryGrad,
    /// Uniformly distributed random numbers.
    UniformRandom,
    /// Updates a parameter, and its states, from its gradient.
    Update,
    /// The same of the rows of a table that were looked up.
    UpdateRows,
    /// How improbable labels are that are shorter than what they are read from.
    WarpCtc,
    /// `while`: per row, or on a scalar.
    While,
}

impl Op {
    /// Name, slots, effects.
    pub fn schema(&self) -> &'static Schema {
        self.operation().schema()
    }

    /// The name.
    pub fn name(&self) -> &'static str {
        self.schema().name
    }

    /// The same operator with each symbol of its attributes' sizes replaced.
    pub fn substitute(&self, with: &dyn Fn(SymbolId) -> Dim) -> Result<Op, DimOverflow> {
        let mut attributes: Vec<(String, Attribute)> = Vec::new();
        let mut has_sizes = false;
        for (name, attribute) in self.attributes() {
            let replaced = attribute.substitute(with)?;
            has_sizes |= replaced.is_some();
            attributes.push((name.to_string(), replaced.unwrap_or(attribute)));
        }
        match has_sizes {
            // The names and kinds of its own attributes always fit.
            true => Ok(self.with_attributes(attributes).unwrap_or_else(|_| self.clone())),
            false => Ok(self.clone()),
        }
    }

    /// Effects.
    pub fn effects(&self) -> Effects {
        self.schema().effects
    }
}
