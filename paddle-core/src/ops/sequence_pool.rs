//! `sequence_pool`: reduces the tokens of each sequence to one row.

use super::{
    AccuracyClass, Attribute, AttributeValue, Effects, Gradient, GradientError, Infer, Mismatch,
    MismatchKind, Operation, Sample, Schema, Slot,
};
use crate::program::{Type, VarId};

/// How the tokens of a sequence are reduced to one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PoolType {
    /// Σ x / n.
    Average,
    /// Σ x.
    Sum,
    /// Σ x / √n.
    Sqrt,
    /// The largest element of each column. Among equal ones, the gradient goes to the first.
    Max,
    /// The first token.
    First,
    /// The last token.
    Last,
}

impl PoolType {
    /// Every one, in declaration order.
    pub const ALL: [PoolType; 6] =
        [PoolType::Average, PoolType::Sum, PoolType::Sqrt, PoolType::Max, PoolType::First, PoolType::Last];

    /// PaddlePaddle's name.
    pub fn name(self) -> &'static str {
        match self {
            PoolType::Average => "AVERAGE",
            PoolType::Sum => "SUM",
            PoolType::Sqrt => "SQRT",
            PoolType::Max => "MAX",
            PoolType::First => "FIRST",
            PoolType::Last => "LAST",
        }
    }

    /// The type with this name.
    pub fn from_name(name: &str) -> Option<PoolType> {
        PoolType::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

impl AttributeValue for PoolType {
    fn to_attribute(&self) -> Attribute {
        Attribute::Text(self.name().to_string())
    }

    fn from_attribute(attribute: &Attribute) -> Option<Self> {
        match attribute {
            Attribute::Text(name) => PoolType::from_name(name),
            _ => None,
        }
    }
}

/// One row for each sequence of `X`, floating point: the average, sum, … of its tokens. A sequence without tokens gives
/// `pad_value`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SequencePool {
    /// How tokens are reduced to a row.
    pub pooltype: PoolType,
    /// The value for a sequence without tokens.
    pub pad_value: f64,
}

/// Gradient of [`SequencePool`] with respect to `X`, whose elements are read for [`PoolType::Max`] only.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SequencePoolGrad {
    /// How tokens were reduced to a row.
    pub pooltype: PoolType,
}

attributes!(SequencePool { pooltype: PoolType::Average, pad_value = 0.0 });
attributes!(SequencePoolGrad { pooltype: PoolType::Average });

impl Operation for SequencePool {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "sequence_pool",
                doc: "One row for each sequence, made of its tokens.",
                inputs: &[Slot::of("X").with_offsets()],
                outputs: &[Slot::of("Out")],
                accuracy: AccuracyClass::Accumulating("a sum over a sequence"),
                effects: Effects::OF_SEQUENCES,
            }
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        let rows = cx.need_sequences(0)?;
        cx.need_float(0)?;
        Ok(vec![Type { rows: Some(rows), ..cx.ty(0).clone() }])
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let (x, grad) = (g.input(0), g.grad(0)?);
        Ok(vec![Some(g.emit(SequencePoolGrad { pooltype: self.pooltype }, &[x, grad])?)])
    }

    /// Only sums round; the other types move elements.
    fn accuracy(&self) -> AccuracyClass {
        match self.pooltype {
            PoolType::Max | PoolType::First | PoolType::Last => AccuracyClass::MOVED,
            PoolType::Sum | PoolType::Average | PoolType::Sqrt => self.schema().accuracy,
        }
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let cases = |pooltype| {
            let op = move |pad_value| Sample::of(SequencePool { pooltype, pad_value });
            [
                op(0.0).sequences(&[2, 1, 4], &[3]),
                op(0.0).sequences(&[0, 3, 0, 0, 1, 0], &[2]),
                op(0.5).sequences(&[0, 0], &[2]),
                op(0.0).sequences(&[], &[4]),
                op(0.0).sequences(&[5], &[]),
                op(-1.0).sequences(&[1, 0, 2], &[2, 3]),
            ]
        };
        PoolType::ALL.into_iter().flat_map(cases).collect()
    }
}

impl Operation for SequencePoolGrad {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "sequence_pool_grad",
                doc: "Gradient of `sequence_pool`.",
                inputs: &[Slot::of("X").with_offsets(), Slot::of("Out@GRAD")],
                outputs: &[Slot::of("X@GRAD")],
                accuracy: AccuracyClass::Exact("one quotient at most"),
                effects: Effects::PURE,
            }
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        let rows = cx.need_sequences(0)?;
        cx.need_float(0)?;
        cx.same_dtype(0, 1)?;
        if *cx.ty(1) != (Type { rows: Some(rows), ..cx.ty(0).clone() }) {
            let message = format!("{}, which is no gradient of pooled sequences; {}", cx.is(1), cx.is(0));
            return Err(cx.wrong(1, MismatchKind::Shape, message));
        }
        Ok(vec![cx.ty(0).clone()])
    }

    /// The gradient looks for the largest elements again.
    fn input(&self, k: usize) -> Slot {
        let slot = self.schema().input(k);
        Slot { is_read: k != 0 || self.pooltype == PoolType::Max, ..slot }
    }

    /// The root is rounded before it divides.
    fn accuracy(&self) -> AccuracyClass {
        match self.pooltype {
            PoolType::Sqrt => AccuracyClass::Rounding("a rounded root, and a quotient"),
            PoolType::Sum | PoolType::Average | PoolType::Max | PoolType::First | PoolType::Last => {
                self.schema().accuracy
            }
        }
    }
}
