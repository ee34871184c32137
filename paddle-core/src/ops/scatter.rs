//! `scatter`: replaces slices along the first axis.

use super::{
    AccuracyClass, Binary, BinaryKind, Cast, Compare, CompareKind, Effects, Fill, Gather, Gradient,
    GradientError, Infer, Mismatch, MismatchKind, Number, Operation, Range, Reshape, Sample, Schema, Slot,
};
use crate::program::{DType, Dim, Type, VarId};

/// `X` with some of its slices along axis 0 replaced: `Out[Ids[i]] = Updates[i]`. If an id occurs several times, its
/// last slice stays.
///
/// None of the values has rows. `Ids`: i64 `[n]`; `Updates`: `[n]`, then the dimensions of `X` behind its first. An id
/// out of range is an error at run time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scatter;

attributes!(Scatter {});

impl Operation for Scatter {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "scatter",
                doc: "x with other parts along its first axis.",
                inputs: &[Slot::of("X"), Slot::of("Ids"), Slot::of("Updates")],
                outputs: &[Slot::of("Out")],
                accuracy: AccuracyClass::MOVED,
                effects: Effects::PURE,
            }
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        cx.need_dtype(1, DType::I64)?;
        for (k, ty) in cx.types.iter().enumerate() {
            if ty.rows.is_some() {
                let message = format!("{}, and `{}` does not go along rows", cx.is(k), cx.operator);
                return Err(cx.wrong(k, MismatchKind::Rows, message));
            }
        }
        cx.need_dims(0, 1)?;
        let (x, ids) = (cx.ty(0), cx.ty(1));
        if ids.dims.len() != 1 {
            let message = format!("{}, but `{}` needs a list of ids: [n]", cx.is(1), cx.operator);
            return Err(cx.wrong(1, MismatchKind::Shape, message));
        }
        let dims = [&ids.dims, &x.dims[1..]].concat();
        cx.need_type(2, &Type { dims, ..x.clone() })?;
        Ok(vec![x.clone()])
    }

    /// The gradient goes to `X` where nothing was replaced, and to those `Updates` that no later one replaced.
    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let (ids, grad) = (g.input(1), g.grad(0)?);
        let updates = g.ty(g.input(2)).clone();
        let mut grads = vec![None; 3];
        if g.wants(0) {
            let zeros = g.emit(Fill { value: Number::Float(0.0), ty: updates.clone() }, &[])?;
            grads[0] = Some(g.emit(Scatter, &[grad, ids, zeros])?);
        }
        if g.wants(2) {
            let taken = g.emit(Gather { axis: 0 }, &[grad, ids])?;
            let numbers = Type { dtype: DType::I64, rows: None, dims: updates.dims[..1].to_vec() };
            let ty = Type { dims: g.ty(g.input(0)).dims[..1].to_vec(), ..numbers.clone() };
            let own = g.emit(Range { start: Number::Int(0), step: Number::Int(1), ty: numbers }, &[])?;
            let last = g.emit(Fill { value: Number::Int(0), ty }, &[])?;
            let last = g.emit(Scatter, &[last, ids, own])?;
            let last = g.emit(Gather { axis: 0 }, &[last, ids])?;
            let stays = g.emit(Compare { kind: CompareKind::Equal }, &[own, last])?;
            let stays = g.emit(Cast { dtype: updates.dtype }, &[stays])?;
            let mut dims = vec![Dim::from(1); updates.dims.len()];
            dims[..1].clone_from_slice(&updates.dims[..1]);
            let stays = g.emit(Reshape { dims }, &[stays])?;
            grads[2] = Some(g.emit(Binary { kind: BinaryKind::Mul }, &[taken, stays])?);
        }
        Ok(grads)
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let case = |x: &[i64], ids: i64| {
            let sample =
                Sample::of(Scatter).dense(x).dense(&[ids]).dtype(DType::I64).within(0.0, x[0] as f64);
            sample.dense(&[&[ids], &x[1..]].concat())
        };
        vec![case(&[5, 3], 2), case(&[3, 2, 2], 7), case(&[4], 3), case(&[3, 2], 0), case(&[1, 2], 2)]
    }
}
