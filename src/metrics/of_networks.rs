//! Metrics: their values for one batch, and their means over many.

use paddle_core::ops::{Form, GradientError, Program};
use paddle_core::passes::shard::Sharding;
use paddle_core::plan::Backend;
use paddle_core::program::VarId;

use crate::Error;
use crate::model::Model;
use crate::session::Session;

/// The value of a metric for one batch, and its weight. The weight is the number of rows or, for a ratio, the
/// denominator.
///
/// So a mean over batches is a mean over rows, and numerators and denominators of ratios are added up separately.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Metric {
    /// The value.
    pub value: f32,
    /// The weight.
    pub weight: f64,
}

/// A weighted mean; 0 without any value, as in a network.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Mean {
    sum: f64,
    weight: f64,
}

impl Mean {
    pub(crate) fn add(&mut self, Metric { value, weight }: Metric) {
        // A value of weight 0 may be NaN.
        if weight != 0.0 {
            self.sum += weight * f64::from(value);
            self.weight += weight;
        }
    }

    /// The sum and the weight.
    pub(crate) fn parts(&self) -> [f64; 2] {
        [self.sum, self.weight]
    }

    /// The mean with this sum and weight.
    pub(crate) fn of([sum, weight]: [f64; 2]) -> Self {
        Mean { sum, weight }
    }

    pub(crate) fn value(&self) -> f32 {
        if self.weight == 0.0 { 0.0 } else { (self.sum / self.weight) as f32 }
    }
}

/// The metrics of a planned network, for the last batch.
#[derive(Debug, PartialEq)]
pub(crate) struct Metrics {
    pub(crate) names: Vec<String>,
    pub(crate) values: Vec<f32>,
    pub(crate) weights: Vec<f64>,
    /// For each metric, the index of its output, and of the output that it is divided by, if it is a ratio.
    outputs: Vec<(usize, Option<usize>)>,
}

impl Metrics {
    /// The metrics of a model. `program` is a copy of the model's program; the denominators of ratios are appended to
    /// its outputs.
    pub(crate) fn new(model: &Model, program: &mut Program) -> Result<Self, Error> {
        let mut outputs = program.outputs().to_vec();
        let mut output_of = |(output, _): (usize, _)| {
            let quotient = quotient(&model.program, model.program.outputs()[output]);
            let divisor = quotient.map(|[_, divisor]| {
                outputs.push(divisor);
                outputs.len() - 1
            });
            (output, divisor)
        };
        let of: Vec<_> = model.metrics().map(&mut output_of).collect();
        program.set_outputs(&outputs)?;
        Ok(Metrics::of(model, of))
    }

    /// The metrics of a model, with these outputs.
    pub(crate) fn of(model: &Model, outputs: Vec<(usize, Option<usize>)>) -> Self {
        let names: Vec<_> = model.metrics().map(|(_, spec)| spec.name.clone()).collect();
        Metrics { values: vec![0.0; names.len()], weights: vec![0.0; names.len()], names, outputs }
    }

    /// Reads the metrics of the batch that was just computed. It has `rows` rows.
    pub(crate) fn take<B: Backend>(&mut self, session: &Session<B>, rows: usize) {
        for (k, &(output, divisor)) in self.outputs.iter().enumerate() {
            self.values[k] = session.scalar(output) as f32;
            self.weights[k] = divisor.map_or(rows as f64, |divisor| session.scalar(divisor));
        }
    }

    /// The metrics with their weights.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Metric> {
        self.values.iter().zip(&self.weights).map(|(&value, &weight)| Metric { value, weight })
    }
}

/// The metrics of a network over the shards of a batch. For a quotient, numerators and denominators are added up.
#[derive(Debug)]
pub(crate) struct MetricSums(Vec<MetricSum>);

#[derive(Debug, Default)]
struct MetricSum {
    output: usize,
    /// The outputs that are the numerator and the denominator, if the metric is a quotient.
    quotient: Option<[usize; 2]>,
    sum: f64,
    sums: [f64; 2],
}

impl MetricSums {
    /// The metrics of a model. `program` is a copy of the model's program; numerators and denominators are appended to
    /// its outputs.
    pub(crate) fn new(model: &Model, program: &mut Program) -> Result<Self, Error> {
        let mut outputs = program.outputs().to_vec();
        let mut sum_of = |(output, _): (usize, _)| {
            let quotient = quotient(&model.program, model.program.outputs()[output]);
            let quotient = quotient.map(|parts| {
                outputs.extend(parts);
                [outputs.len() - 2, outputs.len() - 1]
            });
            MetricSum { output, quotient, ..MetricSum::default() }
        };
        let sums = model.metrics().map(&mut sum_of).collect();
        program.set_outputs(&outputs)?;
        Ok(MetricSums(sums))
    }

    /// Errors if the values of shards do not add up to the value of a metric.
    pub(crate) fn check(&self, model: &Model, sharding: &Sharding) -> Result<(), GradientError> {
        for (MetricSum { output, quotient, .. }, (_, spec)) in self.0.iter().zip(model.metrics()) {
            let added: &[usize] = quotient.as_ref().map_or(std::slice::from_ref(output), |parts| parts);
            if let Some(refused) = added.iter().find_map(|&output| sharding.outputs[output].as_ref()) {
                let metric = format!("the metric `{}`", spec.name);
                return Err(refused.error(&metric, "return what it is computed from"));
            }
        }
        Ok(())
    }

    /// Resets the sums before the first shard.
    pub(crate) fn begin(&mut self) {
        self.0.iter_mut().for_each(|metric| (metric.sum, metric.sums) = (0.0, [0.0; 2]));
    }

    /// Adds the metrics of a shard with these scalar outputs.
    pub(crate) fn add(&mut self, scalar: &dyn Fn(usize) -> f64) {
        for MetricSum { output, quotient, sum, sums } in &mut self.0 {
            *sum += scalar(*output);
            for (sum, part) in sums.iter_mut().zip(quotient.iter().flatten()) {
                *sum += scalar(*part);
            }
        }
    }

    /// Writes the metrics of the batch, which has `rows` rows.
    pub(crate) fn finish(&self, rows: usize, metrics: &mut Metrics) {
        for (k, &MetricSum { quotient, sum, sums: [dividend, divisor], .. }) in self.0.iter().enumerate() {
            metrics.weights[k] = if quotient.is_some() { divisor } else { rows as f64 };
            // If the denominator is 0, the quotient is the one that the network computes.
            let is_quotient = quotient.is_some() && divisor != 0.0;
            metrics.values[k] = if is_quotient { dividend / divisor } else { sum } as f32;
        }
    }
}

/// The numerator and the denominator of an output, if it is the quotient of two scalars of a batch.
fn quotient(program: &Program, output: VarId) -> Option<[VarId; 2]> {
    let operators = &program.block(Program::GLOBAL).ops;
    let making = |value| operators.iter().find(|operator| operator.outputs.contains(&value));
    let operator = making(output).filter(|operator| operator.outputs[0] == output)?;
    let Some(Form::Quotient(parts)) = operator.form(program) else { return None };
    // A constant denominator is no weight.
    let divisor = making(parts[1])?;
    let is_constant = divisor.op.effects().pure && divisor.inputs.is_empty();
    (program.ty(parts[1]).is_scalar() && !is_constant).then_some(parts)
}
