//! Layers that are one operator, or hardly more.

use super::Call;
use crate::ops::{
    Assign, Binary, BinaryKind, Cast, PoolType, Scale, SequencePool, Softmax, Unary, UnaryKind,
};
use crate::program::{BuildError, DType, VarId};

pub(super) fn unary(call: &mut Call<'_>, kind: UnaryKind) -> Result<VarId, BuildError> {
    let x = call.value("x")?;
    let mut op = Unary::of(kind);
    for (coefficient, (name, _)) in op.coefficients.iter_mut().zip(kind.attributes()) {
        *coefficient = call.number(name).unwrap_or(*coefficient);
    }
    Ok(call.emit(op, &[x])?[0])
}

pub(super) fn binary(call: &mut Call<'_>, kind: BinaryKind) -> Result<VarId, BuildError> {
    let (x, y) = (call.value("x")?, call.value("y")?);
    Ok(call.emit(Binary { kind }, &[x, y])?[0])
}

pub(super) fn softmax(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let x = call.value("x")?;
    Ok(call.emit(Softmax, &[x])?[0])
}

pub(super) fn scale(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let x = call.value("x")?;
    let op = Scale { scale: call.number("factor").unwrap_or(1.0), bias: call.number("bias").unwrap_or(0.0) };
    Ok(call.emit(op, &[x])?[0])
}

pub(super) fn assign(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let x = call.value("x")?;
    Ok(call.emit(Assign, &[x])?[0])
}

pub(super) fn cast(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let x = call.value("x")?;
    let all = [DType::Bool, DType::I32, DType::I64, DType::F32, DType::F64];
    let named = |dtype: &DType| Some(dtype.name()) == call.choice("to");
    let dtype = all.into_iter().find(named).ok_or(BuildError::NoSuch { what: "element type" })?;
    Ok(call.emit(Cast { dtype }, &[x])?[0])
}

pub(super) fn sequence_pool(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let x = call.value("x")?;
    let word = call.choice("kind").unwrap_or_default();
    let pooltype = PoolType::ALL.into_iter().find(|kind| kind.name().eq_ignore_ascii_case(word));
    let pooltype = pooltype.ok_or(BuildError::NoSuch { what: "kind of pooling" })?;
    let pad_value = call.number("pad_value").unwrap_or(0.0);
    Ok(call.emit(SequencePool { pooltype, pad_value }, &[x])?[0])
}
