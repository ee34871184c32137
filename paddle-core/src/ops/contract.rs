//! `contract`: sums of products over all axes but the last.

use super::{
    AccuracyClass, Contraction, Effects, Factor, Form, Gradient, GradientError, Infer, Linear, Matmul,
    Mismatch, MismatchKind, OfShards, Operation, Operator, Program, Sample, Schema, Slot,
};
use crate::program::{Type, VarId};

/// `Out[m, n] = Σ X[.., m] · Y[.., n]`, of floating-point values. The sum is over all axes but the last, rows included.
///
/// It computes the gradient of a matrix that is multiplied with many others in a single product.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contract;

attributes!(Contract {});

impl Operation for Contract {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "contract",
                doc: "Σ x[.., m] · y[.., n] over all axes but the last.",
                inputs: &[Slot::of("X"), Slot::of("Y")],
                outputs: &[Slot::of("Out")],
                accuracy: AccuracyClass::Accumulating("a sum of products"),
                effects: Effects {
                    products: true,
                    linear: Linear::InEach(&[0, 1]),
                    of_shards: &[OfShards::Sum],
                    ..Effects::PURE
                },
            }
        }
    }

    fn is_ours(&self) -> bool {
        true
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        cx.need_float(0)?;
        cx.same_dtype(0, 1)?;
        let (x, y) = (cx.ty(0), cx.ty(1));
        let wrong = || {
            let message = format!(
                "{}, but {}: `{}` needs shapes of two axes or more that are equal, but for the last one",
                cx.is(1),
                cx.is(0),
                cx.operator
            );
            cx.wrong(1, MismatchKind::Shape, message)
        };
        if x.rows != y.rows || x.rank() < 2 {
            return Err(wrong());
        }
        let (Some((m, x)), Some((n, y))) = (x.dims.split_last(), y.dims.split_last()) else {
            return Err(wrong());
        };
        cx.need_equal_dims(x, y, wrong)?;
        Ok(vec![Type { dtype: cx.ty(0).dtype, rows: None, dims: vec![m.clone(), n.clone()] }])
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let (x, y, grad) = (g.input(0), g.input(1), g.grad(0)?);
        let dx = g.emit(Matmul { trans_x: false, trans_y: true }, &[y, grad])?;
        let dy = g.emit(Matmul::PLAIN, &[x, grad])?;
        Ok(vec![Some(dx), Some(dy)])
    }

    fn form(&self, program: &Program, operator: &Operator) -> Option<Form> {
        let factor = |input: usize| Factor::all_but_last(input, program.ty(operator.inputs[input]));
        Some(Form::Contraction(Contraction { factors: [0, 1].map(factor) }))
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let op = || Sample::of(Contract);
        vec![
            op().rows(3, &[2, 4]).rows(3, &[2, 5]),
            op().rows(3, &[4]).rows(3, &[1]),
            op().dense(&[2, 3, 2]).dense(&[2, 3, 4]),
            op().rows(0, &[2, 4]).rows(0, &[2, 3]),
        ]
    }
}
