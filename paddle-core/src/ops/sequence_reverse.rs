//! `sequence_reverse`: reverses the tokens of each sequence.

use super::{
    AccuracyClass, Effects, Gradient, GradientError, Infer, Linear, Mismatch, Operation, Sample, Schema, Slot,
};
use crate::program::{DType, Type, VarId};

/// The tokens of each sequence in reverse order. `X` and `Y` have one type, with any elements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SequenceReverse;

attributes!(SequenceReverse {});

impl Operation for SequenceReverse {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "sequence_reverse",
                doc: "The tokens of each sequence in reverse order.",
                inputs: &[Slot::of("X").with_offsets()],
                outputs: &[Slot::of("Y")],
                accuracy: AccuracyClass::MOVED,
                effects: Effects { linear: Linear::In(&[0]), ..Effects::OF_SEQUENCES },
            }
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        cx.need_sequences(0)?;
        Ok(vec![cx.ty(0).clone()])
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let grad = g.grad(0)?;
        Ok(vec![Some(g.emit(SequenceReverse, &[grad])?)])
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let op = || Sample::of(SequenceReverse);
        vec![
            op().sequences(&[2, 1, 4], &[3]),
            op().sequences(&[0, 3, 0, 0, 1, 0], &[]),
            op().sequences(&[5], &[2, 3]),
            op().sequences(&[0, 0], &[1]),
            op().sequences(&[], &[4]),
            op().sequences(&[3, 2], &[]).dtype(DType::I64),
        ]
    }
}
