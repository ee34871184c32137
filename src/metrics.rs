//! Metrics: what they are of one batch, and of many.

use paddle_core::ops::{Binary, BinaryKind, Op};
use paddle_core::plan::Backend;
use paddle_core::program::{Program, VarId};

use crate::Error;
use crate::model::Model;
use crate::session::Session;

/// A metric of one batch, and its weight among others: the rows of the batch, or, of a ratio, what it is divided by.
///
/// So a mean over batches is one over rows, and ratios have their numerators added and their denominators.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Metric {
    /// The value.
    pub value: f32,
    /// The weight.
    pub weight: f64,
}

/// A mean by weights; 0 without any, as in a network.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Mean {
    sum: f64,
    weight: f64,
}

impl Mean {
    pub(crate) fn add(&mut self, Metric { value, weight }: Metric) {
        // Without weight the value may be no number.
        if weight != 0.0 {
            self.sum += weight * f64::from(value);
            self.weight += weight;
        }
    }

    /// Sum and weight.
    pub(crate) fn parts(&self) -> [f64; 2] {
        [self.sum, self.weight]
    }

    /// The mean of these.
    pub(crate) fn of([sum, weight]: [f64; 2]) -> Self {
        Mean { sum, weight }
    }

    pub(crate) fn value(&self) -> f32 {
        if self.weight == 0.0 { 0.0 } else { (self.sum / self.weight) as f32 }
    }
}

/// The metrics of a network that is planned, as they were in the batch before.
#[derive(Debug, PartialEq)]
pub(crate) struct Metrics {
    pub(crate) names: Vec<String>,
    pub(crate) values: Vec<f32>,
    pub(crate) weights: Vec<f64>,
    /// The outputs that are metrics, and those that they are divided by.
    outputs: Vec<(usize, Option<usize>)>,
}

impl Metrics {
    /// Those of a model, of whose `program` this is a copy. What ratios are divided by is made an output, behind all others.
    pub(crate) fn new(model: &Model, program: &mut Program) -> Result<Self, Error> {
        let mut outputs = program.outputs().to_vec();
        let mut output_of = |(output, _): (usize, _)| {
            let divisor = divisor(&model.program, model.program.outputs()[output]);
            let divisor = divisor.map(|divisor| {
                outputs.push(divisor);
                outputs.len() - 1
            });
            (output, divisor)
        };
        let of: Vec<_> = model.metrics().map(&mut output_of).collect();
        program.set_outputs(&outputs)?;
        let names = model.metrics().map(|(_, spec)| spec.name.clone()).collect();
        Ok(Metrics { names, values: vec![0.0; of.len()], weights: vec![0.0; of.len()], outputs: of })
    }

    /// Takes them from the batch of `rows` rows that was just computed.
    pub(crate) fn take<B: Backend>(&mut self, session: &Session<B>, rows: usize) {
        for (k, &(output, divisor)) in self.outputs.iter().enumerate() {
            self.values[k] = session.scalar(output) as f32;
            self.weights[k] = divisor.map_or(rows as f64, |divisor| session.scalar(divisor));
        }
    }

    /// Each with its weight.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Metric> {
        self.values.iter().zip(&self.weights).map(|(&value, &weight)| Metric { value, weight })
    }
}

/// What an output is divided by, where it is the quotient of two scalars of a batch.
fn divisor(program: &Program, output: VarId) -> Option<VarId> {
    let operators = &program.block(Program::GLOBAL).ops;
    let making = |value| operators.iter().find(|operator| operator.outputs.contains(&value));
    let operator = making(output)?;
    let divisor = match operator.op {
        Op::Accuracy(_) => operator.outputs[2],
        Op::Binary(Binary { kind: BinaryKind::Div }) => operator.inputs[1],
        _ => return None,
    };
    // A constant weighs nothing.
    let is_constant = matches!(making(divisor)?.op, Op::Fill(_) | Op::AssignValue(_));
    (program.ty(divisor).is_scalar() && !is_constant).then_some(divisor)
}
