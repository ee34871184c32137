//! The check of a user's operator: its CPU kernel against its reference kernel, and its gradient against differences.

use paddle_core::ops::{AccuracyClass, Operation, Program, Sample, Terms};
use paddle_core::plan::Feed;
use paddle_core::program::DType;
use paddle_kernels::Cpu;
use paddle_kernels::differences::{Compared, Differentiated};
use paddle_kernels::reference::Reference;

use super::draw::Draw;
use super::{CheckError, Fed, run};
use crate::Error;
use crate::element::Values;
use crate::operator::{Operator, OperatorError, link_all};

/// The numbers of threads that have to give the same bits.
const THREADS: [usize; 4] = [1, 2, 3, 7];

/// The relative change of an element by which the terms of a sum are measured.
///
/// Numbers of samples have 12 binary digits, so `f32` holds the changed elements exactly.
const PART: f64 = 1.0 / 1024.0;

/// The most elements that are changed one by one. Those of larger inputs are changed in this many groups.
const GROUPS: usize = 32;

/// The most elements of an input that are compared with differences. Each takes runs of the program.
const MOST_DIFFERENCES: usize = 500;

/// Checks an operator on its [samples](Operator::samples), with the default values of its numbers:
///
/// * the reference kernel writes every element, and a row of a row-wise operator depends only on that row;
/// * the CPU kernel is as close to the reference as its [class](Operator::accuracy) requires, and gives the same bits
///   with 1, 2, 3 and 7 threads;
/// * the gradient, if there is one, agrees with the central difference in `f64` up to 10⁻⁶ · max(1, |gradient|,
///   |difference|), for each element of each floating-point input with at most 500 elements.
///
/// Returns the gradients and differences that were compared. [`Differentiated`] compares those of networks.
///
/// ```
/// use paddle::operator::{Inputs, Operator, Output, Sample};
/// use paddle::testing::check_operator;
///
/// #[paddle::attribute::network]
/// mod halves {
///     /// Half of each number.
///     #[operator(row_wise, gradient = of_half)]
///     pub fn half(x: Tensor<f32, _, D>) -> Tensor<f32, _, D>;
///
///     fn of_half(grad: _) -> _ {
///         half(grad)
///     }
/// }
///
/// impl Operator for halves::half {
///     fn cpu(&self, inputs: &Inputs<'_>, output: &mut Output<'_>) -> Result<(), String> {
///         output.get::<f32>()?.assign(&(&inputs.get::<f32>(0)? / 2.0));
///         Ok(())
///     }
///
///     fn reference(&self, inputs: &Inputs<'_>, output: &mut Output<'_>) -> Result<(), String> {
///         output.get::<f64>()?.assign(&(&inputs.get::<f64>(0)? / 2.0));
///         Ok(())
///     }
///
///     fn samples(&self, op: Sample) -> Vec<Sample> {
///         [0, 1, 20].map(|rows| op.clone().rows(rows, &[3])).into()
///     }
/// }
///
/// # fn main() -> Result<(), paddle::testing::CheckError> {
/// let compared = check_operator(&halves::half)?;
/// assert_eq!(compared.elements, (1 + 20) * 3);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// The first of these that does not hold, with the number of the sample, from 0; [`CheckError::NoSamples`] if there are
/// no samples.
#[inline]
pub fn check_operator(operator: &'static dyn Operator) -> Result<Compared, CheckError> {
    let name = operator.declaration().name.to_string();
    let op = operator.declaration().op();
    let op = op.ok_or(OperatorError::Declaration { name })?;
    let samples = operator.samples(Sample::of(op.clone()));
    if samples.is_empty() {
        return Err(CheckError::NoSamples);
    }
    let cpus = THREADS.map(Cpu::with_threads).into_iter().collect::<Result<Vec<_>, _>>()?;
    let mut compared = Compared::default();
    let mut draw = Draw::new(1);
    for (number, sample) in samples.iter().enumerate() {
        let in_sample = |error: Error| CheckError::Sample { sample: number, error: Box::new(error) };
        let mut program = sample.program().map_err(|error| in_sample(error.into()))?;
        link_all(&mut program, operator.operators().all())?;
        let feeds: Vec<Fed> = sample.inputs.iter().map(|input| draw.input(input)).collect();
        let case = Case { program: &program, class: operator.accuracy(), number };
        case.check_kernels(&cpus, &feeds).map_err(|error| match error {
            Failure::Run(error) => in_sample(error),
            Failure::Check(error) => error,
        })?;
        let floats = feeds.iter().filter(|fed| fed.values.dtype().is_float());
        let elements: usize = floats.map(|fed| fed.shape.iter().product::<usize>()).sum();
        if !op.schema().effects.differentiable || elements > MOST_DIFFERENCES {
            continue;
        }
        let in_gradient = |error| CheckError::Gradient { sample: number, error };
        let differentiated = Differentiated::new(program).map_err(in_gradient)?;
        // The output is multiplied by weights, so that each element has its own.
        let weights = weights(differentiated.program(), &feeds, &mut draw);
        let all: Vec<Feed<'_>> = feeds.iter().chain(&weights).map(Fed::feed).collect();
        compared.add(differentiated.check(&all).map_err(in_gradient)?);
    }
    Ok(compared)
}

/// The weights, for the inputs behind those that are fed. They have the same number of rows.
fn weights(program: &Program, feeds: &[Fed], draw: &mut Draw) -> Vec<Fed> {
    let weights = program.inputs().iter().skip(feeds.len());
    let weights = weights.map(|&input| {
        let ty = program.ty(input);
        let rows = program.inputs().iter().zip(feeds).find(|(other, _)| program.ty(**other).rows.is_some());
        let rows = ty.rows.and(rows).and_then(|(_, fed)| fed.shape.first().copied());
        let offsets =
            program.inputs().iter().zip(feeds).find(|(other, _)| program.ty(**other).rows == ty.rows);
        let offsets = offsets.map(|(_, fed)| fed.offsets.clone()).unwrap_or_default();
        let dims =
            ty.dims.iter().map(|dim| dim.constant().and_then(|dim| usize::try_from(dim).ok()).unwrap_or(0));
        let shape: Vec<usize> = rows.into_iter().chain(dims).collect();
        let values = draw.elements(ty.dtype, shape.iter().product(), (-2.0, 2.0));
        Fed { values, shape, offsets }
    });
    weights.collect()
}

/// One sample.
struct Case<'a> {
    program: &'a Program,
    class: AccuracyClass,
    number: usize,
}

enum Failure {
    Run(Error),
    Check(CheckError),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Run(error)
    }
}

impl Case<'_> {
    #[inline]
    fn check_kernels(&self, cpus: &[Cpu], feeds: &[Fed]) -> Result<(), Failure> {
        let exact = self.exact(feeds)?;
        let mut first: Option<Values> = None;
        for (cpu, threads) in cpus.iter().zip(THREADS) {
            let found = run(cpu.clone(), self.program, feeds, |dtype| dtype)?;
            match &first {
                None => {
                    self.near(&found, &exact, feeds)?;
                    first = Some(found);
                }
                Some(first) => {
                    let expected = floats(first);
                    let same = |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits();
                    let found = floats(&found);
                    if let Some(element) = found.iter().zip(&expected).position(|pair| !same(pair)) {
                        let kernel = format!("the CPU kernel on {threads} threads, not 1,");
                        return Err(self.differs(element, kernel, found[element], expected[element], 0.0));
                    }
                }
            }
        }
        Ok(())
    }

    /// The result of the reference kernel, in `f64` if it is floating-point. This and what calls it is compiled where operators are checked.
    #[inline]
    fn exact(&self, feeds: &[Fed]) -> Result<Values, Error> {
        let kept = |dtype| if dtype == DType::F32 { DType::F64 } else { dtype };
        run(Reference::double(), self.program, feeds, kept)
    }

    #[inline]
    fn near(&self, found: &Values, exact: &Values, feeds: &[Fed]) -> Result<(), Failure> {
        let dtype = found.dtype();
        let (found, exact) = (floats(found), floats(exact));
        let rounded = |value: f64| if dtype == DType::F32 { f64::from(value as f32) } else { value };
        let is_best =
            |(found, exact): (&f64, &f64)| *found == rounded(*exact) || (found.is_nan() && exact.is_nan());
        if found.iter().zip(&exact).all(is_best) {
            return Ok(());
        }
        let terms = match dtype.is_float() && self.class.depends_on_terms() {
            true => self.terms(&exact, feeds)?,
            false => vec![Terms::default(); exact.len()],
        };
        for (element, ((&found, &exact), terms)) in found.iter().zip(&exact).zip(terms).enumerate() {
            let allowed = if dtype.is_float() { self.class.allows(dtype, exact, terms) } else { 0.0 };
            let fits = is_best((&found, &exact)) || (found - exact).abs() <= allowed;
            if !fits {
                return Err(self.differs(element, "the CPU kernel".into(), found, exact, allowed));
            }
        }
        Ok(())
    }

    /// The terms of each element of the output: to first order `x · ∂y/∂x`, measured by a small relative change of
    /// elements of one input.
    #[inline]
    fn terms(&self, exact: &[f64], feeds: &[Fed]) -> Result<Vec<Terms>, Error> {
        let mut all: Vec<Terms> = exact.iter().map(|y| Terms { count: 1, size: y.abs() }).collect();
        for (k, fed) in feeds.iter().enumerate().filter(|(_, fed)| fed.values.dtype().is_float()) {
            let values = floats(&fed.values);
            let mut of_input = vec![Terms::default(); exact.len()];
            for group in 0..values.len().min(GROUPS) {
                let changed = values.iter().enumerate();
                let changed = changed.map(|(i, &x)| if i % GROUPS == group { x + x * PART } else { x });
                let changed: Vec<f64> = changed.collect();
                let changed = match fed.values {
                    Values::F32(_) => Values::F32(changed.into_iter().map(|x| x as f32).collect()),
                    _ => Values::F64(changed),
                };
                let mut there: Vec<Fed> = Vec::with_capacity(feeds.len());
                for (other, fed) in feeds.iter().enumerate() {
                    let values = if other == k { changed.clone() } else { fed.values.clone() };
                    there.push(Fed { values, shape: fed.shape.clone(), offsets: fed.offsets.clone() });
                }
                for ((terms, y), exact) in of_input.iter_mut().zip(floats(&self.exact(&there)?)).zip(exact) {
                    terms.count += usize::from(y != *exact);
                    terms.size += (y - exact).abs() / PART;
                }
            }
            for (most, terms) in all.iter_mut().zip(of_input) {
                most.count = most.count.max(terms.count);
                most.size = most.size.max(terms.size);
            }
        }
        Ok(all)
    }

    fn differs(&self, element: usize, kernel: String, found: f64, expected: f64, allowed: f64) -> Failure {
        let sample = self.number;
        Failure::Check(CheckError::Differs { sample, element, kernel, found, expected, allowed })
    }
}

/// The elements as `f64`, which holds those of samples exactly.
fn floats(values: &Values) -> Vec<f64> {
    match values {
        Values::Bool(values) => values.iter().map(|&value| f64::from(u8::from(value))).collect(),
        Values::I32(values) => values.iter().copied().map(f64::from).collect(),
        Values::I64(values) => values.iter().map(|&value| value as f64).collect(),
        Values::F32(values) => values.iter().copied().map(f64::from).collect(),
        Values::F64(values) => values.clone(),
    }
}
