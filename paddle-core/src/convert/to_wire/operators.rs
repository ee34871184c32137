//! Writes operators.
//!
//! An operator is written as it is [defined](crate::convert::derived). This file has the exceptions: operators whose
//! form in PaddlePaddle depends on the types of their inputs, has sizes or types in it, or comes from several
//! attributes.

use super::constants::{assign_value, fill, gaussian, range, truncated_gaussian, uniform};
use super::foreign::describe_foreign;
use super::images::{batch_norm_grad, conv2d, conv2d_transpose, pool2d};
use super::interpolation::interpolate;
use super::sizes::{one_hot, reshape, slice, split, tile};
use super::updates;
use crate::convert::derived::{self, wholes};
use crate::convert::dialect::OURS;
use crate::convert::types::element;
use crate::ops::{InterpolateGrad, Op, Pool2dGrad, Reduce, ReduceKind, SliceGrad};
use crate::program::{DType, Type};
use crate::wire::{OpAttr, OpDesc};

/// Describes an operator with all of its attributes, but without its blocks. Its slots hold the variables with these
/// names. `types` are the types of its inputs.
pub(in crate::convert) fn describe(
    op: &Op,
    inputs: &[String],
    outputs: &[String],
    types: &[&Type],
) -> OpDesc {
    let mut desc = OpDesc::new(derived::name(op));
    derived::slots(op, inputs, outputs, &mut desc);
    let x = types.first().copied();
    desc.attrs = match op {
        // A foreign operator is written as it came.
        Op::Foreign(foreign) => return describe_foreign(foreign, inputs, outputs),

        // Some attributes are types of the inputs.
        Op::Cast(_) => {
            let from = x.map(|x| OpAttr::int("in_dtype", element(x.dtype).into()));
            from.into_iter().chain(derived::attributes(op)).collect()
        }
        Op::Reduce(op) => reduce(op, types),
        Op::Reshape(op) => reshape(op, x),
        Op::Tile(op) => tile(op, x),
        // The name says whether PaddlePaddle gathers in the same way.
        Op::Gather(_) | Op::GatherGrad(_) => {
            if !matches!(types, [x, index, ..] if is_plain_gather(x, index)) {
                desc.r#type.insert_str(0, OURS);
            }
            derived::attributes(op)
        }

        // Sizes that are no numbers are added as text.
        Op::OneHot(op) => one_hot(op),
        Op::Split(op) => split(op),
        Op::Interpolate(op) | Op::InterpolateGrad(InterpolateGrad(op)) => interpolate(op),

        // A type has two attributes, and a third one if these do not determine it.
        Op::AssignValue(op) => assign_value(op),
        Op::Fill(op) => fill(op),
        Op::Range(op) => range(op),
        Op::TruncatedGaussianRandom(op) => truncated_gaussian(op),
        Op::UniformRandom(op) => uniform(op),
        Op::GaussianRandom(op) => gaussian(op),

        // Padding has two attributes.
        Op::Conv2d(op) => conv2d(op),
        Op::Conv2dTranspose(op) => conv2d_transpose(op),
        Op::Pool2d(op) | Op::Pool2dGrad(Pool2dGrad(op)) => pool2d(op),
        // PaddlePaddle has one operator for both gradients; this one leaves out the other gradient.
        Op::Conv2dGrad(op) => {
            desc.r#type = "conv2d_grad".into();
            conv2d(&op.conv)
        }

        // PaddlePaddle has more attributes, whose values follow from ours.
        Op::Slice(op) | Op::SliceGrad(SliceGrad(op)) => slice(op),
        Op::BatchNormGrad(op) => batch_norm_grad(op),
        Op::Update(op) => updates::describe(op, &mut desc),
        _ => derived::attributes(op),
    };
    match op {
        // PaddlePaddle lacks the slot for rows, so it is left out if it is empty.
        Op::Dropout(_) | Op::UniformRandom(_) | Op::GaussianRandom(_) => {
            desc.inputs.retain(|slot| !slot.arguments.is_empty());
        }
        // PaddlePaddle has these slots even if the statistics do not change.
        Op::BatchNorm(op) if op.keeps_statistics() => {
            for slot in ["Mean", "Variance"] {
                let statistics = desc.input(slot).to_vec();
                desc = desc.with_output(derived::changed_slot(slot), statistics);
            }
        }
        _ => {}
    }
    desc
}

/// Whether PaddlePaddle's `gather` does the same: the indices are a list. They may have rows, with one index each,
/// unless both inputs have rows.
pub(in crate::convert) fn is_plain_gather(x: &Type, index: &Type) -> bool {
    index.rank() == 1 && (x.rows.is_none() || index.rows.is_none())
}

fn reduce(op: &Reduce, types: &[&Type]) -> Vec<OpAttr> {
    // PaddlePaddle sums small integers in i64, unless an attribute says otherwise.
    let is_small = op.kind == ReduceKind::Sum && types[0].dtype == DType::I32;
    let dtype = if is_small { element(DType::I32).into() } else { -1 };
    vec![
        wholes("dim", &op.axes),
        OpAttr::bool("keep_dim", op.keep_dim),
        OpAttr::bool("reduce_all", op.axes.is_empty()),
        OpAttr::int("in_dtype", dtype),
        OpAttr::int("out_dtype", dtype),
    ]
}
