//! `sequence_reshape`: gives the tokens of sequences another width.

use super::{
    AccuracyClass, Effects, Gradient, GradientError, Infer, Linear, Mismatch, MismatchKind, Operation,
    Sample, Schema, Slot,
};
use crate::program::{DType, Dim, Type, VarId};

/// The elements of each sequence of `X`, of any type, in their order, as tokens of `Like` with other dimensions. The
/// elements of `Like` are not read.
///
/// A sequence that has fewer or more elements than these tokens is an error at run time.
#[derive(Clone, Debug, PartialEq)]
pub struct SequenceReshape {
    /// The dimensions of a token of the result.
    pub dims: Vec<Dim>,
}

attributes!(SequenceReshape { dims: Vec::new() });

impl Operation for SequenceReshape {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "sequence_reshape",
                doc: "The same elements of each sequence as tokens of other dimensions.",
                inputs: &[
                    Slot::of("X").with_offsets(),
                    Slot::of("Like").shape_only().with_offsets().without_gradient(),
                ],
                outputs: &[Slot::of("Out")],
                accuracy: AccuracyClass::MOVED,
                effects: Effects { linear: Linear::In(&[0]), ..Effects::OF_SEQUENCES },
            }
        }
    }

    fn is_ours(&self) -> bool {
        true
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        cx.need_sequences_of_one(0, 1)?;
        for dim in &self.dims {
            let wrong = || {
                let message =
                    format!("tokens of {} elements: there has to be 1 at least", cx.program.show_dim(dim));
                cx.fail(MismatchKind::Attribute, message)
            };
            cx.need_positive(dim, wrong)?;
        }
        Ok(vec![Type { dtype: cx.ty(0).dtype, rows: cx.ty(1).rows, dims: self.dims.clone() }])
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let (x, grad) = (g.input(0), g.grad(0)?);
        let dims = g.ty(x).dims.clone();
        Ok(vec![Some(g.emit(SequenceReshape { dims }, &[grad, x])?), None])
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let of = |dims: &[i64]| {
            Sample::of(SequenceReshape { dims: dims.iter().copied().map(Dim::from).collect() })
        };
        vec![
            of(&[2]).sequences(&[2, 1, 4], &[4]).sequences(&[4, 2, 8], &[]),
            of(&[6]).sequences(&[0, 4, 2], &[3]).sequences(&[0, 2, 1], &[2]),
            of(&[]).sequences(&[3], &[2, 2]).sequences(&[12], &[]),
            of(&[1]).sequences(&[], &[4]).sequences(&[], &[]),
            of(&[2]).sequences(&[2, 4], &[]).dtype(DType::I64).sequences(&[1, 2], &[]),
        ]
    }
}
