//! Compares gradients with finite differences, in `f64` on the reference backend.
//!
//! The cost of a program is the weighted sum of the elements of its floating-point outputs. Each element has a weight
//! of its own; if only the program knows the number of elements, the weight is the element itself. The gradient of the
//! cost with respect to every element of every floating-point input has to be the central difference: they may differ
//! by at most 10⁻⁶ · max(1, |gradient|, |difference|).

use std::fmt;

use paddle_core::ops::{Binary, BinaryKind, GradientError, Op, Program, Reduce, ReduceKind};
use paddle_core::passes::backward::gradients;
use paddle_core::plan::{
    Buffers, Executor, Feed, HostSlice, HostSliceMut, Part, PlanError, RunError, Storage,
};
use paddle_core::program::{BuildError, RowsId, Site, VarId, VerifyError};

use crate::reference::Reference;

/// The step of a difference to each side. If inputs are multiples of 2⁻¹¹ below 128, `f32` holds both ends exactly.
pub const STEP: f32 = 1.0 / 65536.0;

/// The largest distance between a gradient and the difference, relative to the largest of |gradient|, |difference| and
/// 1.
const TOLERANCE: f64 = 1e-6;

/// A program without parameters whose first output is a cost and whose further outputs are its gradients.
#[derive(Debug)]
pub struct Differentiated {
    program: Program,
    /// The inputs that have a gradient, by position, in the order of the outputs.
    with_gradient: Vec<usize>,
    /// The floating-point inputs on which the cost does not depend.
    without_gradient: Vec<usize>,
}

/// The result of a comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Compared {
    /// The number of elements of inputs.
    pub elements: usize,
    /// The number of elements that were left out, because the cost has a corner or a jump there.
    pub rough: usize,
    /// The largest distance between a gradient and the difference, relative to the largest of both and 1.
    pub worst: f64,
}

impl Compared {
    /// Adds another result.
    pub fn add(&mut self, other: Compared) {
        self.elements += other.elements;
        self.rough += other.rough;
        self.worst = self.worst.max(other.worst);
    }

    /// Compares a gradient with the difference, the mean of the slopes on both sides. The difference is the error if it
    /// is too far away.
    pub fn compare(&mut self, gradient: f64, above: f64, below: f64) -> Result<(), f64> {
        let difference = (above + below) / 2.0;
        let distance = (gradient - difference).abs();
        let error = distance / gradient.abs().max(difference.abs()).max(1.0);
        self.elements += 1;
        if error <= TOLERANCE {
            self.worst = self.worst.max(error);
            return Ok(());
        }
        // At a corner or a jump, the slopes of the two sides differ by more than the gradient differs from their mean.
        if (above - below).abs() <= distance || distance.is_nan() {
            return Err(difference);
        }
        self.rough += 1;
        Ok(())
    }
}

/// Why gradients cannot be compared with differences, or differ from them.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum DifferenceError {
    /// The program has no floating-point output.
    NoCost,
    /// The program has no gradient.
    Gradient(GradientError),
    /// The operators that the comparison adds do not fit the program.
    Build(BuildError),
    /// The gradient is not well-formed.
    Verify(VerifyError),
    /// The program cannot be planned.
    Plan(PlanError),
    /// The program cannot be run.
    Run(RunError),
    /// A gradient differs from the difference.
    Differs {
        /// The input or parameter.
        input: String,
        /// The number of its element.
        element: usize,
        /// The value of the gradient.
        gradient: f64,
        /// The value of the difference.
        difference: f64,
    },
}

impl fmt::Display for DifferenceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DifferenceError::NoCost => f.write_str("there is no floating-point output to differentiate"),
            DifferenceError::Gradient(error) => error.fmt(f),
            DifferenceError::Build(error) => error.fmt(f),
            DifferenceError::Verify(error) => error.fmt(f),
            DifferenceError::Plan(error) => error.fmt(f),
            DifferenceError::Run(error) => error.fmt(f),
            DifferenceError::Differs { input, element, gradient, difference } => {
                write!(
                    f,
                    "the gradient with respect to element {element} of `{input}` is {gradient}, but the difference is \
                     {difference}"
                )
            }
        }
    }
}

impl std::error::Error for DifferenceError {}

macro_rules! from {
    ($($variant:ident $source:ident),*) => {$(
        impl From<$source> for DifferenceError {
            fn from(error: $source) -> Self {
                DifferenceError::$variant(error)
            }
        }
    )*};
}
from!(Gradient GradientError, Build BuildError, Verify VerifyError, Plan PlanError, Run RunError);

impl Differentiated {
    /// Adds weights to the inputs of a program, the cost to its operators, and then the gradients.
    pub fn new(mut program: Program) -> Result<Self, DifferenceError> {
        let operators = || program.blocks().iter().flat_map(|block| &block.ops);
        // Labels have no gradient, even if the cost depends on them.
        let reads =
            operators().flat_map(|op| op.inputs.iter().enumerate().map(move |(k, &var)| (op, k, var)));
        let labels: Vec<VarId> = reads
            .filter(|(operator, k, _)| {
                let slot = operator.op.operation().input(*k);
                slot.is_read && !slot.passes_gradient
            })
            .map(|(_, _, input)| input)
            .collect();
        let writes =
            operators().flat_map(|op| op.outputs.iter().enumerate().map(move |(k, &var)| (op, k, var)));
        let intermediate: Vec<VarId> = writes
            .filter(|(operator, k, _)| operator.op.schema().output(*k).is_intermediate)
            .map(|(_, _, output)| output)
            .collect();
        let is_float = |var: VarId| program.ty(var).dtype.is_float();
        let wanted: Vec<usize> = (0..program.inputs().len())
            .filter(|&i| is_float(program.inputs()[i]) && !labels.contains(&program.inputs()[i]))
            .collect();
        let outputs = program.outputs().iter().copied();
        let outputs: Vec<VarId> =
            outputs.filter(|&output| is_float(output) && !intermediate.contains(&output)).collect();
        // The sizes of made sequences are not known before the program runs.
        let made: Vec<RowsId> = operators().flat_map(|op| op.op.operation().makes(&program, op)).collect();
        let mut cost = None;
        for (i, output) in outputs.into_iter().enumerate() {
            let ty = program.ty(output).clone();
            let weight = match ty.rows.is_some_and(|rows| made.contains(&rows)) {
                true => output,
                false => program.create_input(&format!("weight {i}"), ty)?,
            };
            let mut op = |op: Op, inputs: &[VarId]| {
                Ok::<_, BuildError>(program.append_op(Program::GLOBAL, op, inputs, Site::default())?[0])
            };
            let product = op(Binary { kind: BinaryKind::Mul }.into(), &[output, weight])?;
            let sum = Reduce { kind: ReduceKind::Sum, axes: Vec::new(), keep_dim: false };
            let sum = op(sum.into(), &[product])?;
            cost = Some(match cost {
                Some(cost) => op(Binary { kind: BinaryKind::Add }.into(), &[cost, sum])?,
                None => sum,
            });
        }
        let cost = cost.ok_or(DifferenceError::NoCost)?;
        program.set_outputs(&[cost])?;
        let inputs: Vec<VarId> = wanted.iter().map(|&i| program.inputs()[i]).collect();
        let found = gradients(&mut program, &inputs)?;
        let outputs: Vec<VarId> = std::iter::once(cost).chain(found.iter().flatten().copied()).collect();
        program.set_outputs(&outputs)?;
        program.verify()?;
        let (with, without): (Vec<_>, Vec<_>) =
            wanted.iter().zip(&found).partition(|(_, grad)| grad.is_some());
        let positions = |pairs: Vec<(&usize, &Option<VarId>)>| pairs.into_iter().map(|(&i, _)| i).collect();
        Ok(Differentiated { program, with_gradient: positions(with), without_gradient: positions(without) })
    }

    /// The program. Its inputs are those of the original, followed by the weights: one input for each floating-point
    /// output whose rows are fed, with the output's shape.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The positions of the floating-point inputs that are compared, those with a gradient first.
    pub fn inputs(&self) -> impl Iterator<Item = usize> {
        self.with_gradient.iter().chain(&self.without_gradient).copied()
    }

    /// Compares the gradient with respect to every element of the `f32` inputs with the difference.
    #[inline]
    pub fn check(&self, feeds: &[Feed<'_>]) -> Result<Compared, DifferenceError> {
        let mut run = Run::new(&self.program)?;
        let mut outputs = run.outputs(feeds)?;
        let cost = outputs.remove(0)[0];
        let none = vec![Vec::new(); self.without_gradient.len()];
        let mut compared = Compared::default();
        for (input, gradient) in self.inputs().zip(outputs.into_iter().chain(none)) {
            let HostSlice::F32(values) = feeds[input].values else { continue };
            let mut moved = values.to_vec();
            for element in 0..values.len() {
                let mut slope = |step: f32| {
                    moved[element] = values[element] + step;
                    let mut there = feeds.to_vec();
                    there[input].values = HostSlice::F32(&moved);
                    let there = run.outputs(&there).map(|outputs| outputs[0][0]);
                    moved[element] = values[element];
                    Ok::<_, DifferenceError>((there? - cost) / f64::from(step))
                };
                let gradient = gradient.get(element).copied().unwrap_or(0.0);
                let (above, below) = (slope(STEP)?, slope(-STEP)?);
                compared.compare(gradient, above, below).map_err(|difference| {
                    let input = self.program.var(self.program.inputs()[input]).name.clone();
                    DifferenceError::Differs { input, element, gradient, difference }
                })?;
            }
        }
        Ok(compared)
    }
}

/// A planned program without parameters.
///
/// What runs on the reference is marked `#[inline]`, from here to the functions that users call: so rustc compiles the runtime for the
/// reference where gradients are checked, and not in every program.
struct Run {
    executor: Executor<Reference>,
}

impl Run {
    #[inline]
    fn new(program: &Program) -> Result<Self, DifferenceError> {
        let executor = Executor::new(Reference::double(), program, &Storage::new())?;
        Ok(Run { executor })
    }

    /// Runs the program, and returns its outputs.
    #[inline]
    fn outputs(&mut self, feeds: &[Feed<'_>]) -> Result<Vec<Vec<f64>>, DifferenceError> {
        self.executor.begin(&|i| feeds[i])?;
        self.executor.run(Part::Compute, &mut Buffers::default())?;
        let fetch = |output: usize| {
            let mut values = vec![0.0; self.executor.output_shape(output).iter().product()];
            self.executor.fetch(output, HostSliceMut::F64(&mut values));
            values
        };
        Ok((0..self.executor.output_count()).map(fetch).collect())
    }
}
