//! What makes sequences of others, for layers and for rules of the wire alike: an operator that makes their tokens, and
//! others that bring values to these.
//!
//! `rows` are the tokens that are made, which are there and of the right rows, but of no other operator.

use crate::ops::{
    Binary, BinaryKind, Cast, Fill, Number, Op, PoolType, SequenceConcat, SequenceExpandAs, SequenceGather,
    SequenceLength, SequencePool, SequenceRange, SequenceReshape, SequenceUnpad, SequenceWhere,
};
use crate::program::{DType, Dim, RowsId, Type, VarId};

/// Of each sequence of `x`, the tokens from `offset` on, as many as `length` says. Both are of the rows of the sequences,
/// i64.
pub fn slice<E>(
    (x, rows): (VarId, RowsId),
    [offset, length]: [VarId; 2],
    mut emit: impl FnMut(Op, &[VarId]) -> Result<VarId, E>,
) -> Result<VarId, E> {
    let position = emit(SequenceRange { rows }.into(), &[length])?;
    let offset = emit(SequenceExpandAs.into(), &[offset, position])?;
    let position = emit(Binary { kind: BinaryKind::Add }.into(), &[position, offset])?;
    emit(SequenceGather.into(), &[x, position])
}

/// The sequences of `x`, and behind them those of `y`.
pub fn concat<E>(
    [x, y]: [VarId; 2],
    rows: RowsId,
    mut emit: impl FnMut(Op, &[VarId]) -> Result<VarId, E>,
) -> Result<VarId, E> {
    let lengths = [emit(SequenceLength.into(), &[x])?, emit(SequenceLength.into(), &[y])?];
    let length = emit(Binary { kind: BinaryKind::Add }.into(), &lengths)?;
    let both = emit(SequenceRange { rows }.into(), &[length])?;
    emit(SequenceConcat.into(), &[x, y, both])
}

/// The first places of each row of `x`, as many as `length`, i64 of the same rows, says.
pub fn unpad<E>(
    (x, rows): (VarId, RowsId),
    length: VarId,
    mut emit: impl FnMut(Op, &[VarId]) -> Result<VarId, E>,
) -> Result<VarId, E> {
    let tokens = emit(SequenceRange { rows }.into(), &[length])?;
    emit(SequenceUnpad.into(), &[x, tokens])
}

/// The elements of the sequences of `x`, whose tokens have `width[0]` of them, as tokens of `width[1]`.
pub fn reshape<E>(
    (x, rows): (VarId, RowsId),
    width: [i64; 2],
    mut emit: impl FnMut(Op, &[VarId]) -> Result<VarId, E>,
) -> Result<VarId, E> {
    let mut length = emit(SequenceLength.into(), &[x])?;
    for (kind, width) in [BinaryKind::Mul, BinaryKind::FloorDiv].into_iter().zip(width) {
        let width = Fill { value: Number::Int(width), ty: Type::scalar(DType::I64) };
        let width = emit(width.into(), &[])?;
        length = emit(Binary { kind }.into(), &[length, width])?;
    }
    let tokens = emit(SequenceRange { rows }.into(), &[length])?;
    emit(SequenceReshape { dims: vec![Dim::from(width[1])] }.into(), &[x, tokens])
}

/// The tokens of `x` of which `keep`, a truth value for each, holds.
pub fn filter<E>(
    (x, rows): (VarId, RowsId),
    keep: VarId,
    mut emit: impl FnMut(Op, &[VarId]) -> Result<VarId, E>,
) -> Result<VarId, E> {
    // Sums of ones are exact in double precision.
    let ones = emit(Cast { dtype: DType::F64 }.into(), &[keep])?;
    let sum = SequencePool { pooltype: PoolType::Sum, pad_value: 0.0 };
    let count = emit(sum.into(), &[ones])?;
    let count = emit(Cast { dtype: DType::I64 }.into(), &[count])?;
    let tokens = emit(SequenceRange { rows }.into(), &[count])?;
    let positions = emit(SequenceWhere.into(), &[keep, tokens])?;
    emit(SequenceGather.into(), &[x, positions])
}
