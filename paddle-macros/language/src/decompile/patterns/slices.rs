//! Parts of values: bounds behind the end of an axis are cut, and what is written by brackets is.

use paddle_core::ops::{Op, Operator};
use paddle_core::program::BlockId;

use super::{Blocks, Made};
use crate::decompile::tree::{Call, Expr};

pub(super) fn slice(blocks: &Blocks<'_>, _: BlockId, operator: &Operator) -> Option<Made> {
    let Op::Slice(op) = &operator.op else { return None };
    let ty = blocks.program().ty(operator.inputs[0]);
    let mut bounds = [op.starts.clone(), op.ends.clone()];
    for (at, axis) in op.axes.iter().enumerate() {
        let axis = usize::try_from(*axis).ok()?.checked_sub(usize::from(ty.rows.is_some()))?;
        let Some(size) = ty.dims.get(axis)?.constant() else { continue };
        let is_backward = op.strides.get(at).is_some_and(|stride| *stride < 0);
        let lowest = [-size, if is_backward { -1 - size } else { -size }];
        for (bound, lowest) in bounds.iter_mut().zip(lowest) {
            let bound = bound.get_mut(at)?;
            *bound = (*bound).clamp(lowest, size);
        }
    }
    let list = |numbers: &[i64]| match numbers {
        [only] => Expr::word(only),
        numbers => Expr::List(numbers.iter().map(Expr::word).collect()),
    };
    let mut positional = vec![blocks.value(operator.inputs[0]), list(&op.axes)];
    positional.extend(bounds.iter().map(|bounds| list(bounds)));
    let mut call = Call::of("slice", positional);
    if !op.strides.is_empty() {
        call = call.named("strides", list(&op.strides));
    }
    Some(Made::of(operator, call, Vec::new()))
}
