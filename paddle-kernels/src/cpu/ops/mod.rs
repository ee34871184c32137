//! The kernels of the operators, a file each, and which is whose.

mod accuracy;
mod assign_value;
mod auc;
mod batch_norm;
mod concat;
mod conv2d;
mod crf_decoding;
mod cross_entropy;
mod cumsum;
mod custom;
mod dropout;
mod elementwise;
mod expand;
mod fill;
mod gather;
mod interpolate;
mod linear_chain_crf;
mod lookup_table;
mod normalise;
mod one_hot;
mod pool2d;
mod product;
mod random;
mod reduce;
mod reshape;
mod row_numbers;
mod scatter;
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
mod store;
mod take_along_axis;
mod tile;
mod top_k;
mod transpose;
mod update;
mod update_rows;
mod warpctc;

use paddle_core::ops::Op;
use paddle_core::plan::{Group, Unsupported};

use super::kernel::{Compiled, Single};
use crate::custom::linked;

/// Compiles a group of one operator.
type Compile<'a> = dyn Fn(&Single<'_>) -> Result<Compiled, Unsupported> + 'a;

/// What compiles an operator.
enum Compiler<'a> {
    /// That of chains of element-wise operators.
    Fused,
    /// One that compiles it in a group of its own.
    Alone(Box<Compile<'a>>),
    /// Nothing, and why.
    None(&'static str),
}

fn alone<'a>(compile: impl Fn(&Single<'_>) -> Result<Compiled, Unsupported> + 'a) -> Compiler<'a> {
    Compiler::Alone(Box::new(compile))
}

/// Whether there is a kernel for the operator, of some types.
pub(super) fn supports(op: &Op) -> bool {
    match op {
        Op::Custom(op) => linked(op).is_some(),
        op => !matches!(compiler(op), Compiler::None(_)),
    }
}

pub(super) fn compile(group: &Group) -> Result<Compiled, Unsupported> {
    let mut operators = group.operators();
    let (Some(op), None) = (operators.next(), operators.next()) else {
        return elementwise::compile(group);
    };
    let single = Single::new(group, op);
    match compiler(&op.op) {
        Compiler::Fused => elementwise::compile(group),
        Compiler::Alone(compile) => compile(&single),
        Compiler::None(why) => single.refuse(why),
    }
}

fn compiler(op: &Op) -> Compiler<'_> {
    match op {
        Op::Assign(_)
        | Op::Binary(_)
        | Op::Cast(_)
        | Op::Compare(_)
        | Op::Fill(_)
        | Op::Logical(_)
        | Op::Loss(_)
        | Op::LossGrad(_)
        | Op::Not(_)
        | Op::Predicate(_)
        | Op::RankLoss(_)
        | Op::Scale(_)
        | Op::Select(_)
        | Op::StopGradient(_)
        | Op::Unary(_)
        | Op::UnaryGrad(_) => Compiler::Fused,
        Op::Accuracy(_) => alone(accuracy::compile),
        Op::AssignValue(op) => alone(move |single| assign_value::compile(single, op)),
        Op::Auc(op) => alone(move |single| auc::compile(single, *op)),
        Op::Concat(op) => alone(move |single| concat::compile(single, *op)),
        Op::BatchNorm(op) => alone(move |single| batch_norm::compile(single, op)),
        Op::BatchNormGrad(op) => alone(move |single| batch_norm::compile_grad(single, op)),
        Op::Custom(op) => alone(move |single| custom::compile(single, op)),
        Op::Dropout(op) => alone(move |single| dropout::compile(single, op)),
        Op::DropoutGrad(op) => alone(move |single| dropout::compile_grad(single, op)),
        Op::RowNumbers(_) => alone(row_numbers::compile),
        Op::Conv2d(op) => alone(move |single| conv2d::compile(single, op)),
        Op::Conv2dGrad(op) => alone(move |single| conv2d::compile_grad(single, op)),
        Op::Conv2dTranspose(op) => alone(move |single| conv2d::compile_transpose(single, op)),
        Op::CrfDecoding(_) => alone(crf_decoding::compile),
        Op::CrossEntropyGrad(op) => alone(move |single| cross_entropy::compile_grad(single, *op)),
        Op::CrossEntropy(op) => alone(move |single| cross_entropy::compile(single, *op)),
        Op::CumSum(op) => alone(move |single| cumsum::compile(single, *op)),
        Op::Expand(op) => alone(move |single| expand::compile_expand(single, op)),
        Op::Gather(op) => alone(move |single| gather::compile(single, *op)),
        Op::GatherGrad(op) => alone(move |single| scatter::compile_gather_grad(single, *op)),
        Op::GatherNd(_) => alone(gather::compile_nd),
        Op::GaussianRandom(op) => alone(move |single| random::compile_gaussian(single, op)),
        Op::GroupNorm(op) => alone(move |single| normalise::compile_groups(single, op)),
        Op::GroupNormGrad(op) => alone(move |single| normalise::compile_groups_grad(single, op)),
        Op::LayerNorm(op) => alone(move |single| normalise::compile_layers(single, op)),
        Op::LayerNormGrad(op) => alone(move |single| normalise::compile_layers_grad(single, op)),
        Op::TruncatedGaussianRandom(op) => {
            alone(move |single| random::compile_truncated_gaussian(single, op))
        }
        Op::LinearChainCrf(_) => alone(linear_chain_crf::compile),
        Op::LinearChainCrfGrad(_) => alone(linear_chain_crf::compile_grad),
        Op::LookupTable(op) => alone(move |single| lookup_table::compile(single, *op)),
        Op::LookupTableGrad(op) => alone(move |single| lookup_table::compile_grad(single, *op)),
        Op::Contract(_) => alone(product::compile_contract),
        Op::Matmul(op) => alone(move |single| product::compile(single, op)),
        Op::OneHot(op) => alone(move |single| one_hot::compile(single, op)),
        Op::Pad(op) => alone(move |single| slice::compile_pad(single, op)),
        Op::MaxPool2dWithIndex(op) => alone(move |single| pool2d::compile_with_index(single, op)),
        Op::Interpolate(op) => alone(move |single| interpolate::compile(single, op)),
        Op::InterpolateGrad(op) => alone(move |single| interpolate::compile_grad(single, op)),
        Op::Pool2d(op) => alone(move |single| pool2d::compile(single, op)),
        Op::Pool2dGrad(op) => alone(move |single| pool2d::compile_grad(single, op)),
        Op::Range(op) => alone(move |single| assign_value::compile_range(single, op)),
        Op::Reduce(op) => alone(move |single| reduce::compile(single, op)),
        Op::AxisToRows(_) | Op::Reshape(_) | Op::RowsToAxis(_) => alone(reshape::compile),
        Op::Scatter(_) => alone(scatter::compile),
        Op::ScatterNdAdd(_) => alone(scatter::compile_nd_add),
        Op::SequenceAlign(_) => alone(sequence_align::compile),
        Op::SequenceConcat(_) => alone(sequence_concat::compile),
        Op::SequenceConcatGrad(_) => alone(sequence_concat::compile_grad),
        Op::SequenceExpandAs(_) => alone(sequence_expand_as::compile),
        Op::SequenceGather(_) => alone(sequence_gather::compile),
        Op::SequenceGatherGrad(_) => alone(sequence_gather::compile_grad),
        Op::SequenceLength(_) => alone(sequence_length::compile),
        Op::SequencePad(op) => alone(move |single| sequence_pad::compile(single, op)),
        Op::SequencePool(op) => alone(move |single| sequence_pool::compile(single, op)),
        Op::SequencePoolGrad(op) => alone(move |single| sequence_pool::compile_grad(single, op)),
        Op::SequenceProduct(_) => {
            alone(move |single| sequence_product::compile(single, sequence_product::Form::Product))
        }
        Op::SequenceSpread(_) => {
            alone(move |single| sequence_product::compile(single, sequence_product::Form::Spread))
        }
        Op::SequenceWeigh(_) => {
            alone(move |single| sequence_product::compile(single, sequence_product::Form::Weigh))
        }
        Op::SequenceRange(_) => alone(sequence_range::compile),
        Op::SequenceReshape(_) => alone(sequence_reshape::compile),
        Op::SequenceReverse(_) => alone(sequence_reverse::compile),
        Op::SequenceSoftmax(_) => alone(sequence_softmax::compile),
        Op::SequenceUnpad(_) => alone(sequence_pad::compile_unpad),
        Op::SequenceWhere(_) => alone(sequence_where::compile),
        Op::SequenceWindow(op) => alone(move |single| sequence_window::compile(single, op)),
        Op::SequenceWindowGrad(op) => alone(move |single| sequence_window::compile_grad(single, op)),
        Op::Size(op) => alone(move |single| expand::compile_size(single, op)),
        Op::Slice(op) => alone(move |single| slice::compile(single, op)),
        Op::SliceGrad(op) => alone(move |single| slice::compile_grad(single, op)),
        Op::Softmax(_) => alone(softmax::compile),
        Op::SoftmaxGrad(_) => alone(softmax::compile_grad),
        Op::SoftmaxWithCrossEntropy(op) => {
            alone(move |single| softmax_with_cross_entropy::compile(single, *op))
        }
        Op::SoftmaxWithCrossEntropyGrad(op) => {
            alone(move |single| softmax_with_cross_entropy::compile_grad(single, *op))
        }
        Op::Split(op) => alone(move |single| concat::compile_split(single, op)),
        Op::TakeAlongAxis(op) => alone(move |single| take_along_axis::compile(single, op.axis)),
        Op::TakeAlongAxisGrad(op) => alone(move |single| take_along_axis::compile_grad(single, op.0.axis)),
        Op::Tile(_) => alone(tile::compile),
        Op::Store(_) => alone(store::compile),
        Op::TopK(op) => alone(move |single| top_k::compile(single, *op)),
        Op::Transpose(op) => alone(move |single| transpose::compile(single, op)),
        Op::UniformRandom(op) => alone(move |single| random::compile_uniform(single, op)),
        Op::Update(op) => alone(move |single| update::compile(single, op)),
        Op::UpdateRows(op) => alone(move |single| update_rows::compile(single, op)),
        Op::WarpCtc(op) => alone(move |single| warpctc::compile(single, op)),
        Op::For(_) | Op::GatherRows(_) | Op::If(_) | Op::LoopGrad(_) | Op::ScatterRows(_) | Op::While(_) => {
            Compiler::None("of its own: the runtime runs it")
        }
        Op::Outside(_) => Compiler::None("of a value that is bound when the network is made"),
        Op::Foreign(_) => Compiler::None("of another system: it can be shown and converted, not run"),
    }
}
