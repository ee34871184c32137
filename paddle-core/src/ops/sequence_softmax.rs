//! `sequence_softmax`: normalised exponentials along sequences.

use super::{
    AccuracyClass, Binary, BinaryKind, Effects, Gradient, GradientError, Infer, Mismatch, Operation,
    PoolType, Sample, Schema, SequenceExpandAs, SequencePool, Slot,
};
use crate::program::{Type, VarId};

/// `Out[t] = exp X[t] / Σₛ exp X[s]`, with the sum over all tokens `s` of the sequence of token `t`, each column by
/// itself. The maximum is subtracted first. `X` and `Out` have one floating-point type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SequenceSoftmax;

attributes!(SequenceSoftmax {});

impl Operation for SequenceSoftmax {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "sequence_softmax",
                doc: "Normalised exponentials along sequences.",
                inputs: &[Slot::of("X").with_offsets()],
                outputs: &[Slot::of("Out")],
                accuracy: AccuracyClass::Accumulating("a sum of exponentials"),
                effects: Effects::OF_SEQUENCES,
            }
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        cx.need_sequences(0)?;
        cx.need_float(0)?;
        Ok(vec![cx.ty(0).clone()])
    }

    /// The gradient is `Out · (Out@GRAD - Σₛ Out[s] · Out@GRAD[s])`.
    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let (out, grad) = (g.output(0), g.grad(0)?);
        let [mul, sub] = [BinaryKind::Mul, BinaryKind::Sub].map(|kind| Binary { kind });
        let product = g.emit(mul, &[out, grad])?;
        let sum = g.emit(SequencePool { pooltype: PoolType::Sum, pad_value: 0.0 }, &[product])?;
        let sum = g.emit(SequenceExpandAs, &[sum, out])?;
        let difference = g.emit(sub, &[grad, sum])?;
        Ok(vec![Some(g.emit(mul, &[out, difference])?)])
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let op = || Sample::of(SequenceSoftmax);
        vec![
            op().sequences(&[2, 1, 4], &[3]),
            op().sequences(&[0, 3, 0, 0, 1, 0], &[]),
            op().sequences(&[5], &[2, 3]),
            op().sequences(&[0, 0], &[1]),
            op().sequences(&[], &[4]),
            op().sequences(&[2, 3], &[1]).within(80.0, 120.0),
        ]
    }
}
