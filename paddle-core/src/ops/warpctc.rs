//! `warpctc`: the loss of labels that are shorter than the sequence from which they are read.

use super::{
    AccuracyClass, Binary, BinaryKind, Effects, Gradient, GradientError, Infer, Mismatch, MismatchKind,
    Operation, Sample, Schema, SequenceExpandAs, Slot, labels,
};
use crate::program::{DType, Dim, Type, VarId};

/// Connectionist temporal classification. Each token of a sequence stands for one of the labels or for `blank`. A
/// reading of the tokens merges equal neighbours, then leaves out blanks. The loss is the negative logarithm of the
/// probability that the reading is the labels of the sequence. Graves, Fernández, Gomez and Schmidhuber, "Connectionist
/// temporal classification", 2006, equations 5–16.
///
/// `Logits`: floating point `[tokens, C]`, before softmax; `Label`: i64 ids `[_]` or `[_, 1]`, in sequences of their
/// own of the same rows. An id that is out of range, or is `blank`, is an error at run time. `Loss`: `[P, 1]`. No
/// gradient passes to labels.
///
/// Labels need as many tokens, and one more between equal neighbours. A sequence with fewer tokens has a loss of 0
/// without a gradient, as in PaddlePaddle: an infinite loss would end the learning of all other sequences.
///
/// The gradient of the losses with respect to the logits is `WarpCTCGrad`, `[tokens, C]`: the softmax, less the
/// probability of each label given that the tokens read as the labels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WarpCtc {
    /// The id that stands for no label.
    pub blank: i64,
}

attributes!(WarpCtc { blank = 0 });

impl Operation for WarpCtc {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "warpctc",
                doc: "-ln p(labels), where p adds up all ways to read the tokens of a sequence as the labels.",
                inputs: &[
                    Slot::of("Logits").with_offsets(),
                    Slot::of("Label").with_offsets().without_gradient(),
                ],
                outputs: &[Slot::of("Loss"), Slot::of("WarpCTCGrad").intermediate()],
                accuracy: AccuracyClass::Accumulating("sums of exponentials"),
                effects: Effects::OF_SEQUENCES,
            }
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        let logits = cx.ty(0);
        cx.need_sequences(0)?;
        cx.need_float(0)?;
        let [classes] = &logits.dims[..] else {
            let message =
                format!("{}, but `{}` needs logits, [classes], of each token", cx.is(0), cx.operator);
            return Err(cx.wrong(0, MismatchKind::Shape, message));
        };
        let wrong = || {
            let (blank, classes) = (self.blank, cx.program.show_dim(classes));
            let message = format!(
                "the blank is {blank}, but {}: it has to be at least 0 and below {classes}",
                cx.is(0)
            );
            cx.fail(MismatchKind::Attribute, message)
        };
        if self.blank < 0 {
            return Err(wrong());
        }
        cx.need_positive(&(classes - &Dim::from(self.blank))?, wrong)?;
        let rows = labels::check_sequences(cx, 0, 1)?;
        Ok(vec![Type { rows: Some(rows), ..Type::new(logits.dtype, [1]) }, logits.clone()])
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let (logits, of_losses, grad) = (g.input(0), g.output(1), g.grad(0)?);
        let grad = g.emit(SequenceExpandAs, &[grad, logits])?;
        Ok(vec![Some(g.emit(Binary { kind: BinaryKind::Mul }, &[of_losses, grad])?), None])
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let of = |blank: i64, lengths: [&[usize]; 2], classes: i64, dims: &[i64]| {
            let logits = Sample::of(WarpCtc { blank }).sequences(lengths[0], &[classes]);
            // The labels are the ids above the blank, or those below it.
            let (low, high) = if blank == 0 { (1, classes) } else { (0, blank) };
            logits.sequences(lengths[1], dims).dtype(DType::I64).within(low as f64, high as f64)
        };
        vec![
            of(0, [&[6, 4, 9], &[2, 1, 3]], 4, &[1]),
            of(2, [&[5, 8], &[2, 4]], 3, &[]),
            // Sequences that are too short, without labels, and neither.
            of(0, [&[2, 3, 0, 0, 5], &[4, 0, 0, 1, 2]], 3, &[]),
            of(0, [&[12], &[5]], 6, &[]),
            of(0, [&[0, 0], &[0, 0]], 2, &[1]),
            of(0, [&[], &[]], 4, &[]),
        ]
    }
}
