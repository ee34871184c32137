//! `sequence_pool`: one row for each sequence, made of its tokens.

use super::{
    AccuracyClass, Attribute, AttributeValue, Effects, Gradient, GradientError, Infer, Mismatch,
    MismatchKind, OfShards, Operation, Sample, Schema,
};
use crate::program::{Operator, Program, Type, VarId};

/// How the tokens of a sequence become one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PoolType {
    /// Σ x / n.
    Average,
    /// Σ x.
    Sum,
    /// Σ x / √n.
    Sqrt,
    /// The largest of each column. The gradient goes to the first of those that are equal.
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

    /// The one of this name.
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

/// One row for each sequence of `X`, floating point: the average, sum, … of its tokens; `pad_value` for a sequence
/// without tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SequencePool {
    /// How tokens become a row.
    pub pooltype: PoolType,
    /// What a sequence without tokens gives.
    pub pad_value: f64,
}

/// Gradient of [`SequencePool`] with respect to `X`, of which the elements are read for [`PoolType::Max`] only.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SequencePoolGrad {
    /// How tokens became a row.
    pub pooltype: PoolType,
}

attributes!(SequencePool { pooltype, pad_value = 0.0 });
attributes!(SequencePoolGrad { pooltype });

impl Operation for SequencePool {
    fn schema(&self) -> &'static Schema {
        &Schema {
            name: "sequence_pool",
            doc: "One row for each sequence, made of its tokens.",
            inputs: &["X"],
            outputs: &["Out"],
            effects: Effects::PURE,
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

    fn sequences(&self) -> &'static [usize] {
        &[0]
    }

    /// Sequences are whole in a shard.
    fn of_shards(&self, _: &Program, _: &Operator, _output: usize) -> OfShards {
        OfShards::Rows
    }

    fn accuracy(&self, _output: usize) -> AccuracyClass {
        match self.pooltype {
            PoolType::Max | PoolType::First | PoolType::Last => {
                AccuracyClass::Exact("elements are moved, not changed")
            }
            PoolType::Sum | PoolType::Average | PoolType::Sqrt => {
                AccuracyClass::Accumulating("a sum over a sequence")
            }
        }
    }

    fn prototypes() -> Vec<Self> {
        vec![SequencePool { pooltype: PoolType::Average, pad_value: 0.0 }]
    }

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
        &Schema {
            name: "sequence_pool_grad",
            doc: "Gradient of `sequence_pool`.",
            inputs: &["X", "Out@GRAD"],
            outputs: &["X@GRAD"],
            effects: Effects::PURE,
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

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        Err(g.second_order())
    }

    fn reads(&self, k: usize) -> bool {
        k != 0 || self.pooltype == PoolType::Max
    }

    fn sequences(&self) -> &'static [usize] {
        &[0]
    }

    fn accuracy(&self, _output: usize) -> AccuracyClass {
        match self.pooltype {
            PoolType::Sqrt => AccuracyClass::Rounding("a rounded root, and a quotient"),
            PoolType::Sum | PoolType::Average | PoolType::Max | PoolType::First | PoolType::Last => {
                AccuracyClass::Exact("one quotient at most")
            }
        }
    }

    fn prototypes() -> Vec<Self> {
        vec![SequencePoolGrad { pooltype: PoolType::Average }]
    }
}
