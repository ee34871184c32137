//! Values that are put at places along an axis: the inverse of `take_along_axis`.

use super::{Emit, Tried};
use crate::ops::{
    Cast, Compare, CompareKind, Fill, Logical, LogicalKind, Not, Number, Range, Reduce, ReduceKind, Reshape,
    Select, TakeAlongAxis, TakeAlongAxisGrad, Transpose,
};
use crate::program::{DType, Dim, Type, VarId};

/// The most elements along an axis for each pair of which a comparison is made.
const MOST_COMPARED: i64 = 1 << 11;

/// Zeros of this type, to which values are added at indices along an axis: one for each element of `index`. Indices that occur
/// several times get the sum.
pub(crate) fn added<A: Emit>(
    at: &mut A,
    of: &Type,
    axis: i64,
    index: VarId,
    values: VarId,
) -> Result<VarId, A::Error> {
    // A gradient has the element types of numbers with derivatives.
    let float = match of.dtype {
        DType::F32 | DType::F64 => of.dtype,
        DType::Bool => DType::F32,
        DType::I32 | DType::I64 => DType::F64,
    };
    let mut values = values;
    if at.ty(values).dtype != float {
        values = at.emit(Cast { dtype: float }.into(), &[values])?;
    }
    let zeros = at.emit(Fill::zeros(of.with_dtype(float)).into(), &[])?;
    let sum = at.emit(TakeAlongAxisGrad(TakeAlongAxis { axis }).into(), &[zeros, index, values])?;
    if float == of.dtype { Ok(sum) } else { at.emit(Cast { dtype: of.dtype }.into(), &[sum]) }
}

/// `x` with other values at indices along an axis. Of an index that occurs several times, the last value stays.
pub(crate) fn put<A: Emit>(at: &mut A, x: VarId, axis: i64, index: VarId, values: VarId) -> Tried<A::Error> {
    let ty = at.ty(x).clone();
    let rows = i64::from(ty.rows.is_some());
    let Some(count) = at.ty(index).dims.get((axis - rows) as usize).cloned() else {
        return Ok(Err("it goes along rows"));
    };
    let mut values = values;
    let counted = if count.constant() == Some(1) {
        let ones = at.ty(index).with_dtype(DType::F32);
        at.emit(Fill { value: Number::Float(1.0), ty: ones }.into(), &[])?
    } else {
        if count.constant().is_none_or(|count| count > MOST_COMPARED) {
            return Ok(Err("it has too many indices, or a number that is not known"));
        }
        let stays = stays(at, axis, index, count)?;
        let zero = at.emit(Fill::zeros(Type::scalar(ty.dtype)).into(), &[])?;
        values = at.emit(Select.into(), &[stays, values, zero])?;
        at.emit(Cast { dtype: DType::F32 }.into(), &[stays])?
    };
    let put = added(at, &ty, axis, index, values)?;
    let is_put = added(at, &ty.with_dtype(DType::F32), axis, index, counted)?;
    let is_put = at.emit(Cast { dtype: DType::Bool }.into(), &[is_put])?;
    at.emit(Select.into(), &[is_put, put, x]).map(Ok)
}

/// Which elements stay: those of whose index there is no later one among so many along the axis.
fn stays<A: Emit>(at: &mut A, axis: i64, index: VarId, count: Dim) -> Result<VarId, A::Error> {
    let turn = Transpose::to_last(axis as usize, at.ty(index).rank());
    let last = at.emit(turn.clone().into(), &[index])?;
    let dims = at.ty(last).dims.clone();
    let (mut own, mut other) = (dims.clone(), dims);
    own.push(Dim::from(1));
    other.insert(other.len() - 1, Dim::from(1));
    let [own, other] = [own, other].map(|dims| at.emit(Reshape { dims }.into(), &[last]));
    let same = at.emit(Compare { kind: CompareKind::Equal }.into(), &[own?, other?])?;
    let ty = Type { dtype: DType::I64, rows: None, dims: vec![count.clone()] };
    let numbers = at.emit(Range { start: Number::Int(0), step: Number::Int(1), ty }.into(), &[])?;
    let column = at.emit(Reshape { dims: vec![count, Dim::from(1)] }.into(), &[numbers])?;
    let is_later = at.emit(Compare { kind: CompareKind::LessThan }.into(), &[column, numbers])?;
    let replaced = at.emit(Logical { kind: LogicalKind::And }.into(), &[same, is_later])?;
    let axes = vec![at.ty(replaced).rank() as i64 - 1];
    let replaced = at.emit(Reduce { kind: ReduceKind::Any, axes, keep_dim: false }.into(), &[replaced])?;
    let replaced = at.emit(turn.into(), &[replaced])?;
    at.emit(Not.into(), &[replaced])
}
