//! Compositions that make new sequences from given ones, for layers and for rules of the wire. One operator makes the
//! tokens of the new sequences, and others bring values to these tokens.
//!
//! The parameter `rows` is the row space of the new tokens. It exists already and has the right parent, and no other
//! operator makes it.

use crate::ops::{
    Binary, BinaryKind, Cast, Fill, Number, Op, PoolType, SequenceConcat, SequenceExpandAs, SequenceGather,
    SequenceLength, SequencePool, SequenceRange, SequenceReshape, SequenceUnpad, SequenceWhere,
};
use crate::program::{DType, Dim, RowsId, Type, VarId};

/// A part of each sequence of `x`: `length` tokens from the token `offset` on. `length` and `offset` are i64 and have a
/// row for each sequence.
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

/// The sequences of `x`, each followed by that of `y`.
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

/// Sequences of the first places of each row of `x`. `length` is i64, has the same rows, and says how many places.
pub fn unpad<E>(
    (x, rows): (VarId, RowsId),
    length: VarId,
    mut emit: impl FnMut(Op, &[VarId]) -> Result<VarId, E>,
) -> Result<VarId, E> {
    let tokens = emit(SequenceRange { rows }.into(), &[length])?;
    emit(SequenceUnpad.into(), &[x, tokens])
}

/// The elements of each sequence of `x` in tokens of another width: `width[0]` is the number of elements in a token of
/// `x`, and `width[1]` that in a new token.
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

/// The tokens of `x` for which `keep` is true. `keep` has a truth value for each token.
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
