//! The arithmetic of the operators, a file each, and which is whose.

mod accuracy;
mod assign;
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
pub(super) mod elementwise;
mod expand;
mod fill;
mod gather;
mod interpolate;
mod linear_chain_crf;
mod lookup_table;
mod matmul;
mod normalise;
mod one_hot;
mod pool2d;
mod random;
mod reduce;
mod reshape;
mod row_numbers;
mod scale;
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
mod tile;
mod top_k;
mod transpose;
mod update;
mod update_rows;
mod warpctc;

use paddle_core::ops::Op;

use self::normalise::Normalisation;
use super::call::{Arithmetic, infallible};

/// What an operator computes; `None` for operators that are no kernels.
pub(super) fn arithmetic(op: &Op) -> Option<Arithmetic> {
    Some(match op.clone() {
        Op::Accuracy(_) => Box::new(accuracy::accuracy),
        Op::Auc(op) => Box::new(move |call| auc::auc(op, call)),
        Op::AssignValue(op) => infallible(move |call| assign_value::assign_value(&op, call)),
        Op::Assign(_) | Op::StopGradient(_) => infallible(assign::assign),
        Op::Binary(op) => infallible(move |call| elementwise::binary(op.kind, call)),
        Op::Cast(op) => infallible(move |call| elementwise::cast(op, call)),
        Op::Compare(op) => infallible(move |call| elementwise::compare(op.kind, call)),
        Op::Concat(op) => infallible(move |call| concat::concat(op, call)),
        Op::BatchNorm(op) => Box::new(move |call| Ok(batch_norm::batch_norm(&op, call))),
        Op::BatchNormGrad(op) => Box::new(move |call| Ok(batch_norm::batch_norm_grad(&op, call))),
        Op::Custom(op) => return custom::arithmetic(&op),
        Op::Dropout(op) => Box::new(move |call| Ok(dropout::dropout(&op, call))),
        Op::DropoutGrad(op) => infallible(move |call| dropout::dropout_grad(&op, call)),
        Op::RowNumbers(_) => infallible(row_numbers::row_numbers),
        Op::Conv2d(op) => infallible(move |call| conv2d::conv2d(&op, call)),
        Op::Conv2dGrad(op) => infallible(move |call| conv2d::conv2d_grad(&op, call)),
        Op::Conv2dTranspose(op) => infallible(move |call| conv2d::conv2d_transpose(&op, call)),
        Op::CrfDecoding(_) => infallible(crf_decoding::decode),
        Op::CrossEntropyGrad(op) => Box::new(move |call| cross_entropy::grad(op, call)),
        Op::CrossEntropy(op) => Box::new(move |call| cross_entropy::forward(op, call)),
        Op::CumSum(op) => infallible(move |call| cumsum::cumsum(op, call)),
        Op::Expand(op) => infallible(move |call| expand::expand(&op, call)),
        Op::Fill(op) => infallible(move |call| fill::fill(op.value, call)),
        Op::Gather(op) => Box::new(move |call| gather::gather(op.axis, call)),
        Op::GatherGrad(op) => Box::new(move |call| gather::gather_grad(op.0.axis, call)),
        Op::GatherNd(_) => Box::new(gather::gather_nd),
        Op::TruncatedGaussianRandom(op) => infallible(move |call| random::truncated_gaussian(&op, call)),
        Op::GaussianRandom(op) => infallible(move |call| random::gaussian(&op, call)),
        Op::GroupNorm(op) => Box::new(move |call| {
            Ok(Normalisation::of_groups(&call.shape(0), op.groups, op.epsilon).forward(call))
        }),
        Op::GroupNormGrad(op) => Box::new(move |call| {
            Ok(Normalisation::of_groups(&call.shape(0), op.0.groups, op.0.epsilon).grad(call))
        }),
        Op::LayerNorm(op) => Box::new(move |call| {
            Ok(Normalisation::of_layers(&call.shape(0), op.begin_norm_axis, op.epsilon).forward(call))
        }),
        Op::LayerNormGrad(op) => Box::new(move |call| {
            Ok(Normalisation::of_layers(&call.shape(0), op.0.begin_norm_axis, op.0.epsilon).grad(call))
        }),
        Op::Logical(op) => infallible(move |call| elementwise::logical(op.kind, call)),
        Op::LinearChainCrf(_) => Box::new(linear_chain_crf::cost),
        Op::LinearChainCrfGrad(_) => Box::new(linear_chain_crf::grad),
        Op::LookupTable(op) => Box::new(move |call| lookup_table::forward(op, call)),
        Op::LookupTableGrad(op) => Box::new(move |call| lookup_table::grad(op, call)),
        Op::Contract(_) => infallible(matmul::contract),
        Op::Loss(op) => infallible(move |call| elementwise::loss(op, call)),
        Op::LossGrad(op) => infallible(move |call| elementwise::loss_grad(op, call)),
        Op::Matmul(op) => infallible(move |call| matmul::matmul(op, call)),
        Op::Not(_) => infallible(elementwise::not),
        Op::OneHot(op) => Box::new(move |call| one_hot::one_hot(&op, call)),
        Op::Pad(op) => infallible(move |call| slice::pad(&op, call)),
        Op::Pool2dGrad(op) => infallible(move |call| pool2d::pool2d_grad(&op, call)),
        Op::MaxPool2dWithIndex(op) => Box::new(move |call| Ok(pool2d::max_pool2d_with_index(&op, call))),
        Op::Pool2d(op) => infallible(move |call| pool2d::pool2d(&op, call)),
        Op::Interpolate(op) => infallible(move |call| interpolate::interpolate(&op, call)),
        Op::InterpolateGrad(op) => infallible(move |call| interpolate::interpolate_grad(&op, call)),
        Op::Range(op) => infallible(move |call| assign_value::range(&op, call)),
        Op::Predicate(op) => infallible(move |call| elementwise::predicate(op.kind, call)),
        Op::RankLoss(_) => infallible(elementwise::rank_loss),
        Op::Reduce(op) => infallible(move |call| reduce::reduce(&op, call)),
        Op::AxisToRows(_) | Op::Reshape(_) | Op::RowsToAxis(_) => infallible(reshape::reshape),
        Op::Scale(op) => infallible(move |call| scale::scale(op, call)),
        Op::Scatter(_) => Box::new(gather::scatter),
        Op::ScatterNdAdd(_) => Box::new(gather::scatter_nd_add),
        Op::Select(_) => infallible(elementwise::select),
        Op::SequenceAlign(_) => Box::new(sequence_align::align),
        Op::SequenceConcat(_) => Box::new(sequence_concat::concat),
        Op::SequenceConcatGrad(_) => Box::new(sequence_concat::grad),
        Op::SequenceExpandAs(_) => infallible(sequence_expand_as::expand_as),
        Op::SequenceGather(_) => Box::new(sequence_gather::gather),
        Op::SequenceGatherGrad(_) => Box::new(sequence_gather::grad),
        Op::SequenceLength(_) => infallible(sequence_length::length),
        Op::SequencePad(op) => Box::new(move |call| sequence_pad::pad(&op, call)),
        Op::SequencePool(op) => infallible(move |call| sequence_pool::pool(op, call)),
        Op::SequencePoolGrad(op) => infallible(move |call| sequence_pool::grad(op, call)),
        Op::SequenceProduct(_) => Box::new(sequence_product::product),
        Op::SequenceSpread(_) => Box::new(sequence_product::spread),
        Op::SequenceWeigh(_) => Box::new(sequence_product::weigh),
        Op::SequenceRange(_) => infallible(sequence_range::range),
        Op::SequenceReshape(_) => Box::new(sequence_reshape::reshape),
        Op::SequenceReverse(_) => infallible(sequence_reverse::reverse),
        Op::SequenceSoftmax(_) => infallible(sequence_softmax::softmax),
        Op::SequenceUnpad(_) => Box::new(sequence_pad::unpad),
        Op::SequenceWhere(_) => Box::new(sequence_where::positions),
        Op::SequenceWindow(op) => infallible(move |call| sequence_window::window(op, call)),
        Op::SequenceWindowGrad(op) => infallible(move |call| sequence_window::grad(op, call)),
        Op::Size(op) => infallible(move |call| expand::size(&op, call)),
        Op::Slice(op) => infallible(move |call| slice::forward(&op, call)),
        Op::SliceGrad(op) => infallible(move |call| slice::grad(&op, call)),
        Op::Softmax(_) => infallible(softmax::softmax),
        Op::SoftmaxGrad(_) => infallible(softmax::softmax_grad),
        Op::SoftmaxWithCrossEntropy(op) => {
            Box::new(move |call| softmax_with_cross_entropy::forward(op, call))
        }
        Op::SoftmaxWithCrossEntropyGrad(op) => {
            Box::new(move |call| softmax_with_cross_entropy::grad(op, call))
        }
        Op::Split(op) => Box::new(move |call| concat::split(&op, call)),
        Op::Store(_) => infallible(store::store),
        Op::TopK(op) => Box::new(move |call| top_k::top_k(op, call)),
        Op::TakeAlongAxis(op) => Box::new(move |call| gather::take_along_axis(op.axis, call)),
        Op::TakeAlongAxisGrad(op) => Box::new(move |call| gather::take_along_axis_grad(op.0.axis, call)),
        Op::Tile(_) => infallible(tile::tile),
        Op::Transpose(op) => infallible(move |call| transpose::transpose(&op, call)),
        Op::Unary(op) => infallible(move |call| elementwise::unary(op, call)),
        Op::UnaryGrad(op) => infallible(move |call| elementwise::unary_grad(op, call)),
        Op::UniformRandom(op) => infallible(move |call| random::uniform(&op, call)),
        Op::Update(op) => Box::new(move |call| Ok(update::update(&op, call))),
        Op::UpdateRows(op) => Box::new(move |call| update_rows::update_rows(&op, call)),
        Op::WarpCtc(op) => Box::new(move |call| warpctc::losses(op, call)),
        Op::For(_)
        | Op::Foreign(_)
        | Op::GatherRows(_)
        | Op::If(_)
        | Op::LoopGrad(_)
        | Op::Outside(_)
        | Op::ScatterRows(_)
        | Op::While(_) => return None,
    })
}
