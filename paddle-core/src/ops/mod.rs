//! The operators. Each has one file, which holds its schema, documentation, shape rule, gradient and samples. Its
//! arithmetic is in `paddle-kernels`, under the same file name.
//!
//! To add one, write `ops/<name>.rs` with a struct of its attributes that implements [`Operation`], and add one line to
//! the list `operators!` below. rustc then asks for the kernels, which backends find by the same list.
//!
//! Besides operators, the module holds what they are defined with (`definition/`), the rules that several share
//! (`rules/`), and compositions of several operators (`compositions/`).

// The macro of this module is used by those below it.
#[macro_use]
mod definition;

// Without layers, nothing calls some of them.
#[cfg_attr(not(feature = "layers"), allow(dead_code))]
pub(crate) mod compositions;
mod rules;

mod accuracy;
mod assign;
mod assign_value;
mod attend;
mod auc;
mod batch_norm;
mod cast;
mod chunk_eval;
mod concat;
mod conditional;
mod contract;
mod conv2d;
mod conv2d_transpose;
mod crf_decoding;
mod cross_entropy;
mod cumsum;
mod custom;
mod decayed_scores;
mod dropout;
mod edit_distance;
mod elementwise;
mod expand;
mod fill;
mod for_loop;
mod foreign;
mod gather;
mod gather_nd;
mod gather_rows;
mod group_norm;
mod interpolate;
mod layer_norm;
mod linear_chain_crf;
mod lookup_table;
mod loop_grad;
mod lrn;
mod matmul;
mod max_pool2d_with_index;
mod non_max_suppression;
mod one_hot;
mod outside;
mod pad;
mod pool2d;
mod random;
mod range;
mod rank_loss;
mod receive;
mod reduce;
mod reshape;
mod row_axis;
mod row_numbers;
mod scale;
mod scatter;
mod send;
mod sequence_align;
mod sequence_attend;
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
mod share;
mod slice;
mod softmax;
mod softmax_with_cross_entropy;
mod stop_gradient;
mod store;
mod take_along_axis;
mod tile;
mod to_device;
mod top_k;
mod transpose;
mod unfold;
mod update;
mod update_rows;
mod warpctc;
mod while_loop;

pub(crate) use compositions::initializers;
pub use compositions::initializers::{INITIALIZERS, Initializer};
pub use compositions::made_sequences;
pub use definition::{
    Attribute, AttributeError, AttributeReader, AttributeValue, Attributes, Before, Combination, Composition,
    Contraction, ControlFlow, Factor, Form, Gradient, GradientError, Mode, Number, Operation, Sample,
    SampleInput, Statistics, SumOfRows,
};
pub use rules::loops::Parts;
pub use rules::window::{Padding, Window};

pub use crate::program::{
    AccuracyClass, Effects, Linear, Mismatch, MismatchKind, OfShards, Schema, Slot, Terms,
};

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::program;
use rules::{labels, loops, window};

/// A program of the operators of this crate.
pub type Program = program::Program<Op>;

/// An operator in a block of such a program.
pub type Operator = program::Operator<Op>;

/// A block of such a program.
pub type Block = program::Block<Op>;

/// A parameter as such a program uses it.
pub type Parameter<'a> = program::Parameter<'a, Op>;

/// A use of a parameter, for [`create_parameter`](program::Program::create_parameter).
pub type ParameterUse = program::ParameterUse<Op>;

/// The inputs of an operator, as its shape rule sees them.
pub type Infer<'a> = program::Infer<'a, Op>;

macro_rules! operators {
    ($d:tt $($module:ident::$name:ident $(with $($part:ident),*)?;)*) => {
        $(
            pub use $module::$name;
            $(pub use $module::{$($part),*};)?
        )*

        /// The operators: one variant per kind, with its attributes. Code matches them without `_`.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Op {
            $(
                #[doc = concat!("[`", stringify!($name), "`].")]
                $name($name),
            )*
        }

        /// Passes the names of the variants of [`Op`](crate::ops::Op) to a macro, `with_operators!(callback)`. So a
        /// backend finds the kernels of operators without a list of its own.
        #[macro_export]
        macro_rules! with_operators {
            ($d($d callback:ident)::+) => {
                $d($d callback)::+! { $($name,)* }
            };
        }

        $(
            impl From<$name> for Op {
                fn from(op: $name) -> Op {
                    Op::$name(op)
                }
            }

            /// A parameter with this initialiser and without other options.
            impl From<$name> for ParameterUse {
                fn from(op: $name) -> ParameterUse {
                    ParameterUse::of(Op::from(op))
                }
            }
        )*

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
                match Op::prototype(name) {
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

            /// The prototype with this name. Programs are read operator by operator, so all of them are made once.
            pub(crate) fn prototype(name: &str) -> Option<&'static Op> {
                static ALL: LazyLock<BTreeMap<&'static str, Op>> = LazyLock::new(|| {
                    let mut all = BTreeMap::new();
                    for op in Op::prototypes() {
                        all.entry(op.name()).or_insert(op);
                    }
                    all
                });
                ALL.get(name)
            }

            /// Every operator's samples.
            #[inline]
            pub fn samples() -> Vec<Sample> {
                let mut samples = Vec::new();
                $(samples.extend($name::samples());)*
                samples
            }
        }
    };
}

// The module and the struct of each operator, and what else of the module is public.
operators! { $
    accuracy::Accuracy;
    assign::Assign;
    assign_value::AssignValue;
    attend::Attend;
    attend::AttendGrad;
    auc::Auc;
    row_axis::AxisToRows;
    batch_norm::BatchNorm;
    batch_norm::BatchNormGrad;
    elementwise::Binary with BinaryKind;
    cast::Cast;
    chunk_eval::ChunkEval with ChunkPart, ChunkScheme, ChunkTag;
    elementwise::Compare with CompareKind;
    concat::Concat;
    contract::Contract;
    conv2d::Conv2d with Conv2dGradKind;
    conv2d::Conv2dGrad;
    conv2d_transpose::Conv2dTranspose;
    crf_decoding::CrfDecoding;
    cross_entropy::CrossEntropy;
    cross_entropy::CrossEntropyGrad;
    custom::Custom with Arguments, Definition, DefinitionError, LinkedKernel;
    cumsum::CumSum;
    decayed_scores::DecayedScores;
    dropout::Dropout with DropoutImplementation;
    dropout::DropoutGrad;
    edit_distance::EditDistance;
    expand::Expand;
    fill::Fill;
    receive::FetchBarrier;
    for_loop::For;
    foreign::Foreign;
    gather::Gather;
    gather::GatherGrad;
    gather_nd::GatherNd;
    gather_rows::GatherRows;
    random::GaussianRandom;
    group_norm::GroupNorm;
    group_norm::GroupNormGrad;
    conditional::If with Join;
    interpolate::Interpolate with Along, Between, InterpolateKind;
    interpolate::InterpolateGrad;
    layer_norm::LayerNorm;
    layer_norm::LayerNormGrad;
    linear_chain_crf::LinearChainCrf;
    linear_chain_crf::LinearChainCrfGrad;
    elementwise::Logical with LogicalKind;
    loop_grad::LoopGrad with Captured;
    receive::Listen;
    lookup_table::LookupTable;
    lookup_table::LookupTableGrad;
    elementwise::Loss with LossKind;
    elementwise::LossGrad;
    lrn::Lrn with ImageLayout;
    lrn::LrnGrad;
    matmul::Matmul;
    max_pool2d_with_index::MaxPool2dWithIndex;
    non_max_suppression::NonMaxSuppression;
    elementwise::Not;
    one_hot::OneHot;
    outside::Outside;
    pad::Pad with PadMode;
    pool2d::Pool2d with Covered, PoolKind;
    pool2d::Pool2dGrad;
    receive::Prefetch;
    range::Range;
    elementwise::Predicate with PredicateKind;
    rank_loss::RankLoss;
    receive::Receive;
    reduce::Reduce with ReduceKind;
    reshape::Reshape;
    row_numbers::RowNumbers;
    row_axis::RowsToAxis;
    scale::Scale;
    scatter::Scatter;
    gather_nd::ScatterNdAdd;
    gather_rows::ScatterRows;
    elementwise::Select;
    send::Send;
    send::SendBarrier;
    send::SendRows;
    sequence_align::SequenceAlign;
    sequence_attend::SequenceAttend;
    sequence_attend::SequenceAttendGrad;
    sequence_concat::SequenceConcat;
    sequence_concat::SequenceConcatGrad;
    sequence_expand_as::SequenceExpandAs;
    sequence_gather::SequenceGather;
    sequence_gather::SequenceGatherGrad;
    sequence_length::SequenceLength;
    sequence_pad::SequencePad;
    sequence_pool::SequencePool with PoolType;
    sequence_pool::SequencePoolGrad;
    sequence_product::SequenceProduct;
    sequence_range::SequenceRange;
    sequence_reshape::SequenceReshape;
    sequence_reverse::SequenceReverse;
    sequence_softmax::SequenceSoftmax;
    sequence_product::SequenceSpread;
    sequence_pad::SequenceUnpad;
    sequence_product::SequenceWeigh;
    sequence_where::SequenceWhere;
    sequence_window::SequenceWindow;
    sequence_window::SequenceWindowGrad;
    share::Share;
    share::Shared;
    expand::Size;
    slice::Slice with Bounds, Taken;
    slice::SliceGrad;
    softmax::Softmax;
    softmax::SoftmaxGrad;
    softmax_with_cross_entropy::SoftmaxWithCrossEntropy;
    softmax_with_cross_entropy::SoftmaxWithCrossEntropyGrad;
    concat::Split;
    take_along_axis::TakeAlongAxis;
    take_along_axis::TakeAlongAxisGrad;
    tile::Tile;
    to_device::ReceiveValue;
    to_device::SendValue;
    to_device::ToDevice;
    store::Store;
    stop_gradient::StopGradient;
    top_k::TopK;
    transpose::Transpose;
    random::TruncatedGaussianRandom;
    elementwise::Unary with Coefficients, Real, UnaryKind;
    elementwise::UnaryGrad;
    unfold::Unfold;
    unfold::UnfoldGrad;
    random::UniformRandom;
    update::Update with AdaDelta, Adagrad, Adam, AdamW, Adamax, DecayedAdagrad, Ftrl, Lamb, MOST_STATES, Momentum, Once, Power, RmsProp, Rule, Sgd, WithRule;
    update_rows::UpdateRows;
    warpctc::WarpCtc;
    while_loop::While;
}
