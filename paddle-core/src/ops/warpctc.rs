//! `warpctc`: how improbable labels are that are shorter than what they are read from.

use super::{
    AccuracyClass, Binary, BinaryKind, Effects, Gradient, GradientError, Infer, Mismatch, MismatchKind,
    Operation, Sample, Schema, SequenceExpandAs, Slot, labels,
};
use crate::program::{DType, Dim, Type, VarId};

/// Connectionist temporal classification: the negative logarithm of how probable it is that the tokens of a sequence, each of
/// which is one of the labels or `blank`, read as its labels once equal neighbours are one and blanks are left out. Graves,
/// Fernández, Gomez and Schmidhuber, "Connectionist temporal classification", 2006, equations 5–16.
///
/// `Logits`: floating point `[tokens, C]`, before softmax; `Label`: i64 ids `[_]` or `[_, 1]`, in sequences of their own of the
/// same rows; ids out of range, and `blank` among them, are errors at run time. `Loss`: `[P, 1]`. No gradient passes to labels.
///
/// Tokens that are too few to read as the labels (as many, and one more between equal neighbours) have a loss of 0 without a
/// gradient, as in PaddlePaddle: what cannot be learned is left out, where an infinite loss would end the learning of the rest.
///
/// `WarpCTCGrad`, `[tokens, C]`, is the gradient of the losses with respect to the logits: the softmax, less how probable each
/// label is given what the tokens read as.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WarpCtc {
    /// The id of no label.
    pub blank: i64,
}

attributes!(WarpCtc { blank = 0 });

impl Operation for WarpCtc {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "warpctc",
                doc: "-ln p(labels), of all ways in which the tokens of a sequence read as them.",
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

    fn samples() -> Vec<Sample> {
        let of = |blank: i64, lengths: [&[usize]; 2], classes: i64, dims: &[i64]| {
            let logits = Sample::of(WarpCtc { blank }).sequences(lengths[0], &[classes]);
            // Those above the blank or below it.
            let (low, high) = if blank == 0 { (1, classes) } else { (0, blank) };
            logits.sequences(lengths[1], dims).dtype(DType::I64).within(low as f64, high as f64)
        };
        vec![
            of(0, [&[6, 4, 9], &[2, 1, 3]], 4, &[1]),
            of(2, [&[5, 8], &[2, 4]], 3, &[]),
            // Too short; without labels; neither.
            of(0, [&[2, 3, 0, 0, 5], &[4, 0, 0, 1, 2]], 3, &[]),
            of(0, [&[12], &[5]], 6, &[]),
            of(0, [&[0, 0], &[0, 0]], 2, &[1]),
            of(0, [&[], &[]], 4, &[]),
        ]
    }
}
