//! Compositions: what layers and rules of the wire alike compute with several operators.

pub(crate) mod along_axis;
pub(crate) mod along_tokens;
pub(crate) mod boxes;
mod emit;
pub(crate) mod initializers;
pub(crate) mod label_chains;
pub mod made_sequences;
#[cfg(feature = "read")]
pub(crate) mod narrow;
pub(crate) mod volumes;

pub(crate) use emit::{Emit, EmitLoops, Tried};

use crate::ops::{
    Binary, BinaryKind, Cast, Compare, CompareKind, Fill, Number, Op, Range, Reduce, ReduceKind, Reshape,
    Scale, Select, SequenceLength, StopGradient, Unary, UnaryKind,
};
use crate::program::{DType, Dim, Type, VarId};

/// `ln Σ exp x` over axes, which are ascending; without any, over everything. The largest element is subtracted first.
pub(crate) fn log_sum_exp<E>(
    x: VarId,
    axes: Vec<i64>,
    keep_dim: bool,
    mut emit: impl FnMut(Op, &[VarId]) -> Result<VarId, E>,
) -> Result<VarId, E> {
    let over = |kind, keep_dim| Op::from(Reduce { kind, axes: axes.clone(), keep_dim });
    let top = emit(over(ReduceKind::Max, true), &[x])?;
    // `top` is subtracted here and added below, so its gradients cancel.
    let top = emit(StopGradient.into(), &[top])?;
    let shifted = emit(Binary { kind: BinaryKind::Sub }.into(), &[x, top])?;
    let exps = emit(Unary::of(UnaryKind::Exp).into(), &[shifted])?;
    let sum = emit(over(ReduceKind::Sum, true), &[exps])?;
    let log = emit(Unary::of(UnaryKind::Log).into(), &[sum])?;
    let out = emit(Binary { kind: BinaryKind::Add }.into(), &[log, top])?;
    // A sum over axes of size 1 only removes these axes.
    if keep_dim { Ok(out) } else { emit(over(ReduceKind::Sum, false), &[out]) }
}

/// One triangle of matrices of type `ty`, which are the last two axes of `x`. The elements of diagonal `d` have a
/// column that is `d` more than their row. With `lower`, the elements on the diagonal and to the left of it are kept;
/// otherwise those on it and to the right of it. All others become 0.
pub(crate) fn triangle<E>(
    (x, ty): (VarId, &Type),
    lower: bool,
    diagonal: i64,
    mut emit: impl FnMut(Op, &[VarId]) -> Result<VarId, E>,
) -> Result<Option<VarId>, E> {
    let [.., rows, columns] = &ty.dims[..] else { return Ok(None) };
    let mut numbers = |from: i64, size: &Dim, dims: [Dim; 2]| {
        let ty = Type { dtype: DType::I64, rows: None, dims: vec![size.clone()] };
        let range = emit(Range { start: Number::Int(from), step: Number::Int(1), ty }.into(), &[])?;
        emit(Reshape { dims: dims.into() }.into(), &[range])
    };
    let row = numbers(diagonal, rows, [rows.clone(), Dim::from(1)])?;
    let column = numbers(0, columns, [Dim::from(1), columns.clone()])?;
    let kind = if lower { CompareKind::GreaterEqual } else { CompareKind::LessEqual };
    let kept = emit(Compare { kind }.into(), &[row, column])?;
    let zero = emit(Fill::zeros(Type::scalar(ty.dtype)).into(), &[])?;
    emit(Select.into(), &[kept, x, zero]).map(Some)
}

/// The mean of the squared distances from the mean over axes. With `unbiased`, the sum is divided by one less than the
/// number of elements, but by at least 1.
pub(crate) fn variance<E>(
    (x, dtype): (VarId, DType),
    axes: Vec<i64>,
    unbiased: bool,
    keep_dim: bool,
    mut emit: impl FnMut(Op, &[VarId]) -> Result<VarId, E>,
) -> Result<VarId, E> {
    let over = |kind, keep_dim| Op::from(Reduce { kind, axes: axes.clone(), keep_dim });
    let mean = emit(over(ReduceKind::Mean, true), &[x])?;
    let distance = emit(Binary { kind: BinaryKind::Sub }.into(), &[x, mean])?;
    let squares = emit(Unary::of(UnaryKind::Square).into(), &[distance])?;
    if !unbiased {
        return emit(over(ReduceKind::Mean, keep_dim), &[squares]);
    }
    let sum = emit(over(ReduceKind::Sum, keep_dim), &[squares])?;
    let count = emit(crate::ops::Size { axes: axes.clone() }.into(), &[x])?;
    let others = emit(Scale { scale: 1.0, bias: -1.0 }.into(), &[count])?;
    let one = Fill { value: Number::Float(1.0), ty: Type::scalar(dtype) };
    let one = emit(one.into(), &[])?;
    let others = emit(Binary { kind: BinaryKind::Max }.into(), &[others, one])?;
    emit(Binary { kind: BinaryKind::Div }.into(), &[sum, others])
}

/// The losses of sequences, `[_, 1]`, with gradients that are divided by the number of tokens. The losses themselves
/// stay as they are. PaddlePaddle's connectionist temporal classification calls this `norm_by_times`.
pub(crate) fn by_times<E>(
    loss: VarId,
    (tokens, dtype): (VarId, DType),
    mut emit: impl FnMut(Op, &[VarId]) -> Result<VarId, E>,
) -> Result<VarId, E> {
    let times = emit(SequenceLength.into(), &[tokens])?;
    let times = emit(Cast { dtype }.into(), &[times])?;
    let times = emit(Reshape { dims: vec![Dim::from(1)] }.into(), &[times])?;
    // A sequence without tokens has a loss of 0.
    let one = emit(Fill { value: Number::Float(1.0), ty: Type::scalar(dtype) }.into(), &[])?;
    let times = emit(Binary { kind: BinaryKind::Max }.into(), &[times, one])?;
    let divided = emit(Binary { kind: BinaryKind::Div }.into(), &[loss, times])?;
    let rest = emit(Binary { kind: BinaryKind::Sub }.into(), &[loss, divided])?;
    let rest = emit(StopGradient.into(), &[rest])?;
    emit(Binary { kind: BinaryKind::Add }.into(), &[divided, rest])
}

/// Whether each of `0..longest` is below the length of a sequence, for lengths of type `ty`: truth values
/// `[.., longest]`.
pub(crate) fn sequence_mask<E>(
    (lengths, ty): (VarId, &Type),
    longest: &Dim,
    mut emit: impl FnMut(Op, &[VarId]) -> Result<VarId, E>,
) -> Result<VarId, E> {
    let places = Type { dtype: ty.dtype, rows: None, dims: vec![longest.clone()] };
    let places = emit(Range { start: Number::Int(0), step: Number::Int(1), ty: places }.into(), &[])?;
    let dims = ty.dims.iter().cloned().chain([Dim::from(1)]).collect();
    let lengths = emit(Reshape { dims }.into(), &[lengths])?;
    emit(Compare { kind: CompareKind::LessThan }.into(), &[places, lengths])
}
