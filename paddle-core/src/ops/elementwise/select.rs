//! `where`: chooses one of two values for each element.

use crate::ops::{
    AccuracyClass, Effects, Fill, Gradient, GradientError, Infer, Mismatch, Number, Operation, Sample,
    Schema, Slot,
};
use crate::program::{DType, Type, VarId};

/// `X` where `Condition` is true, and `Y` elsewhere. `Condition`: bool; `X`, `Y`: of one element type. Their shapes
/// broadcast.
///
/// The gradient goes to the value that was taken; that of the other is 0 there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Select;

attributes!(Select {});

impl Operation for Select {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "where",
                doc: "x where a condition holds, else y.",
                inputs: &[Slot::of("Condition").without_gradient(), Slot::of("X"), Slot::of("Y")],
                outputs: &[Slot::of("Out")],
                accuracy: AccuracyClass::Exact("a copy"),
                effects: Effects::ELEMENT_WISE,
            }
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        cx.need_dtype(0, DType::Bool)?;
        cx.same_dtype(1, 2)?;
        let pairs = [cx.broadcast(1, 2)?, cx.broadcast(0, 1)?, cx.broadcast(0, 2)?];
        // Each two of the types broadcast, so all do: the result has the rows that some have, and along each axis the
        // size that is not 1.
        let rows = pairs.iter().find_map(|ty| ty.rows);
        let whole = pairs.iter().filter(|ty| ty.rows == rows);
        let mut dims = whole.clone().max_by_key(|ty| ty.dims.len()).map_or(Vec::new(), |ty| ty.dims.clone());
        for ty in whole {
            for (dim, other) in dims.iter_mut().rev().zip(ty.dims.iter().rev()) {
                if dim.constant() == Some(1) {
                    *dim = other.clone();
                }
            }
        }
        Ok(vec![Type { dtype: cx.ty(1).dtype, rows, dims }])
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let (condition, grad) = (g.input(0), g.grad(0)?);
        let [dx, dy] = divide(g, condition, grad, [1, 2])?;
        Ok(vec![None, g.sum_to_input(dx, 1)?, g.sum_to_input(dy, 2)?])
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let of = |rows, dims: &[i64]| Sample::of(Select).rows(rows, dims).dtype(DType::Bool);
        vec![
            of(3, &[4]).rows(3, &[4]).rows(3, &[4]),
            of(1, &[1]).rows(1, &[4]).dense(&[]),
            of(3, &[4]).dense(&[1]).dense(&[4]),
            of(0, &[1]).rows(0, &[1]).rows(0, &[1]),
            of(5, &[2]).rows(5, &[2]).dtype(DType::I64).dense(&[2]).dtype(DType::I64),
            Sample::of(Select).dense(&[3, 1]).dtype(DType::Bool).dense(&[2]).dense(&[3, 2]),
        ]
    }
}

/// Divides a gradient among two inputs: the first gets it where the condition is true, the second elsewhere.
pub(super) fn divide(
    g: &mut Gradient<'_>,
    condition: VarId,
    grad: VarId,
    inputs: [usize; 2],
) -> Result<[Option<VarId>; 2], GradientError> {
    let zero = Type::new(g.ty(grad).dtype, []);
    let zero = g.emit(Fill { value: Number::Float(0.0), ty: zero }, &[])?;
    let mut divided = [None; 2];
    for (part, values) in [[grad, zero], [zero, grad]].into_iter().enumerate() {
        if g.wants(inputs[part]) {
            divided[part] = Some(g.emit(Select, &[condition, values[0], values[1]])?);
        }
    }
    Ok(divided)
}
