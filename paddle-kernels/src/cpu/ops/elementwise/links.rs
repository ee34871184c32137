//! The part that each element-wise operator has in a chain.

use paddle_core::ops::{
    Assign, Binary, Cast, Coefficients, Compare, Fill, Logical, Loss, LossGrad, Not, Number, Predicate,
    RankLoss, Scale, Select, StopGradient, Unary, UnaryGrad,
};
use paddle_core::program::DType;

use super::loops::{self, Loop};
use crate::cpu::ops::Compile;

/// An element-wise operator in a chain.
pub(in crate::cpu::ops) enum Link {
    /// A loop for the operator's type, if there is one, and its coefficients.
    Loop(Option<Loop>, Coefficients),
    /// A constant, for which no loop runs.
    Constant(Number),
    /// The number of elements of the first input along these axes, or along all if there are none. No loop runs for it.
    Count(Vec<i64>),
}

impl Link {
    /// The elements of an operand.
    pub(in crate::cpu::ops) fn copy(dtype: DType) -> Link {
        plain(loops::copy(dtype))
    }
}

/// A loop without coefficients.
fn plain(run: impl Into<Option<Loop>>) -> Link {
    Link::Loop(run.into(), [0.0; 3])
}

macro_rules! links {
    ($($name:ident, |$op:pat_param, $dtype:pat_param| $link:expr;)*) => {$(
        impl Compile for $name {
            fn link(&self, $dtype: DType) -> Option<Link> {
                let $op = self;
                Some($link)
            }
        }
    )*};
}

links! {
    Assign, |_, dtype| Link::copy(dtype);
    Binary, |op, dtype| plain(loops::binary(op.kind, dtype));
    Cast, |op, dtype| plain(loops::cast(dtype, op.dtype));
    Compare, |op, dtype| plain(loops::compare(op.kind, dtype));
    Fill, |op, _| Link::Constant(op.value);
    Logical, |op, dtype| plain((dtype == DType::Bool).then(|| loops::logical(op.kind)));
    Loss, |op, dtype| Link::Loop(loops::loss(op.kind, dtype), op.coefficients);
    LossGrad, |op, dtype| Link::Loop(loops::loss_grad(op.kind, dtype), op.coefficients);
    Not, |_, dtype| plain((dtype == DType::Bool).then(loops::not));
    Predicate, |op, dtype| plain(loops::predicate(op.kind, dtype));
    RankLoss, |_, dtype| plain(loops::rank_loss(dtype));
    Scale, |op, dtype| Link::Loop(loops::scale(dtype), [op.scale, op.bias, 0.0]);
    Select, |_, dtype| plain(loops::select(dtype));
    StopGradient, |_, dtype| Link::copy(dtype);
    Unary, |op, dtype| Link::Loop(loops::unary(op.kind, dtype), op.coefficients);
    UnaryGrad, |op, dtype| Link::Loop(loops::unary_grad(op.kind, dtype), op.coefficients);
}
