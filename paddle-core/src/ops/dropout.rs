//! `dropout`: sets elements to zero at random.
//!
//! Whether an element is dropped is a function of the seed, the step, the iterations of the loops around the operator,
//! its path, the number of the row in the fed batch, and the position in the row.

use super::{
    AccuracyClass, Assign, Attribute, AttributeValue, Attributes, Effects, Gradient, GradientError, Infer,
    Mismatch, MismatchKind, Mode, OfShards, Op, Operation, Operator, Program, Sample, Scale, Schema, Slot,
    row_numbers,
};
use crate::program::{DType, Type, VarId};

/// The default of the probability.
const PROBABILITY: f64 = 0.5;

/// How the operator makes up for dropped elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DropoutImplementation {
    /// In training, the kept elements are divided by the share that is kept.
    UpscaleInTrain,
    /// In test runs, elements are multiplied by the share that is kept.
    DowngradeInInfer,
}

impl DropoutImplementation {
    /// The default of PaddlePaddle.
    const DEFAULT: Self = DropoutImplementation::DowngradeInInfer;

    /// PaddlePaddle's name.
    pub fn name(self) -> &'static str {
        match self {
            DropoutImplementation::UpscaleInTrain => "upscale_in_train",
            DropoutImplementation::DowngradeInInfer => "downgrade_in_infer",
        }
    }

    /// The implementation with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        let all = [DropoutImplementation::UpscaleInTrain, DropoutImplementation::DowngradeInInfer];
        all.into_iter().find(|implementation| implementation.name() == name)
    }

    /// The number by which kept elements are divided, if each element is dropped with this probability.
    pub fn divisor(self, probability: f64) -> f64 {
        match self {
            // If nothing is kept, there is nothing to divide.
            DropoutImplementation::UpscaleInTrain if probability < 1.0 => 1.0 - probability,
            DropoutImplementation::UpscaleInTrain | DropoutImplementation::DowngradeInInfer => 1.0,
        }
    }
}

impl AttributeValue for DropoutImplementation {
    fn to_attribute(&self) -> Attribute {
        Attribute::Text(self.name().into())
    }

    fn from_attribute(attribute: &Attribute) -> Option<Self> {
        match attribute {
            Attribute::Text(name) => DropoutImplementation::from_name(name),
            _ => None,
        }
    }
}

/// `Out` is `X` where `Mask` is true, and 0 elsewhere.
///
/// `Rows` is optional, and has the number of each row of `X` in the fed batch. On some of the rows, the operator then
/// drops the same elements as on all of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Dropout {
    /// The probability with which an element is dropped.
    pub dropout_prob: f64,
    /// How the operator makes up for dropped elements.
    pub dropout_implementation: DropoutImplementation,
    /// The name of the operator's stream of random numbers. If it is empty, the stream has the name of the result.
    pub path: String,
}

attributes!(Dropout {
    dropout_prob = PROBABILITY,
    dropout_implementation = DropoutImplementation::DEFAULT,
    path = String::new()
});

/// Gradient of [`Dropout`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DropoutGrad {
    /// The probability with which an element is dropped.
    pub dropout_prob: f64,
    /// How the operator makes up for dropped elements.
    pub dropout_implementation: DropoutImplementation,
}

attributes!(DropoutGrad { dropout_prob = PROBABILITY, dropout_implementation = DropoutImplementation::DEFAULT });

impl Operation for Dropout {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "dropout",
                doc: "Sets elements to zero at random.",
                inputs: &[Slot::of("X"), Slot::of("Rows").variadic().without_gradient()],
                outputs: &[Slot::of("Out"), Slot::of("Mask")],
                accuracy: AccuracyClass::Rounding("a quotient of a rounded divisor"),
                effects: Effects::RANDOM,
            }
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        cx.need_float(0)?;
        if !(0.0..=1.0).contains(&self.dropout_prob) {
            let message = format!(
                "`{}` drops elements with a probability of {:?}, which is not from 0 to 1",
                cx.operator, self.dropout_prob
            );
            return Err(cx.fail(MismatchKind::Attribute, message));
        }
        let x = cx.ty(0);
        row_numbers::check(cx, 1, x.rows)?;
        Ok(vec![x.clone(), x.with_dtype(DType::Bool)])
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let Dropout { dropout_prob, dropout_implementation, .. } = *self;
        let inputs = [g.output(1), g.grad(0)?];
        let grad = g.emit(DropoutGrad { dropout_prob, dropout_implementation }, &inputs)?;
        Ok(std::iter::once(Some(grad)).chain(g.operator().inputs[1..].iter().map(|_| None)).collect())
    }

    fn random_stream(&self) -> Option<&str> {
        (!self.path.is_empty()).then_some(&self.path)
    }

    fn in_mode(&self, mode: Mode) -> Option<Op> {
        let in_test = match self.dropout_implementation {
            DropoutImplementation::UpscaleInTrain => Assign.into(),
            DropoutImplementation::DowngradeInInfer => {
                Scale { scale: 1.0 - self.dropout_prob, bias: 0.0 }.into()
            }
        };
        (mode == Mode::Test).then_some(in_test)
    }

    fn of_shards(&self, _: &Program, operator: &Operator, _output: usize) -> OfShards {
        row_numbers::drawn(operator, 1)
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let cases = |dropout_implementation| {
            let op = move |dropout_prob, path: &str| {
                Sample::of(Dropout { dropout_prob, dropout_implementation, path: path.into() })
            };
            [
                op(0.5, "hidden").rows(3, &[4]),
                op(0.25, "").dense(&[2, 7]),
                op(0.75, "a.b").rows(4, &[3]).rows(4, &[]).dtype(DType::I64).within(0.0, 9.0),
                op(0.0, "").rows(2, &[3]),
                op(1.0, "").rows(2, &[3]),
                op(0.5, "").rows(0, &[4]),
            ]
        };
        let all = [DropoutImplementation::UpscaleInTrain, DropoutImplementation::DowngradeInInfer];
        all.into_iter().flat_map(cases).collect()
    }
}

impl Operation for DropoutGrad {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "dropout_grad",
                doc: "Gradient of `dropout`.",
                inputs: &[Slot::of("Mask"), Slot::of("Out@GRAD")],
                outputs: &[Slot::of("X@GRAD")],
                accuracy: AccuracyClass::Rounding("a quotient of a rounded divisor"),
                effects: Effects::ROW_WISE,
            }
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        cx.need_dtype(0, DType::Bool)?;
        cx.need_float(1)?;
        if cx.ty(1).with_dtype(DType::Bool) != *cx.ty(0) {
            let message = format!("{}, but {}: one is needed for each element", cx.is(0), cx.is(1));
            return Err(cx.wrong(0, MismatchKind::Shape, message));
        }
        Ok(vec![cx.ty(1).clone()])
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let op = |dropout_implementation| {
            let op = DropoutGrad { dropout_prob: 0.25, dropout_implementation };
            Sample::of(op).rows(3, &[4]).dtype(DType::Bool).rows(3, &[4])
        };
        let empty = DropoutGrad::prototypes()[0];
        vec![
            op(DropoutImplementation::UpscaleInTrain),
            op(DropoutImplementation::DowngradeInInfer),
            Sample::of(empty).rows(0, &[4]).dtype(DType::Bool).rows(0, &[4]),
        ]
    }
}
