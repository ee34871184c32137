//! Compares gradients with finite differences, in `f64`.

use std::collections::{BTreeMap, BTreeSet};

use paddle_core::ops::{Op, Program, Sample};
use paddle_core::plan::{Backend, Buffers, Executor, Feed, Part, Storage};
use paddle_core::program::{DType, Type, VarId};
use paddle_kernels::differences::{Compared, Differentiated};
use paddle_kernels::reference::Reference;

use crate::draw::Draw;
use crate::fed::{Fed, on_grid};
use crate::host::Host;
use crate::run::kept_as;

/// The least distance of corners and jumps from the points at which gradients are compared.
const DISTANCE: f32 = 1.0 / 512.0;

/// The shape of a value, if each row space that the caller binds has this many rows.
pub(crate) fn shape(program: &Program, ty: &Type, rows: usize) -> Vec<usize> {
    let sizes = program.shape(ty);
    let size = |dim: &paddle_core::program::Dim| dim.evaluate(&|_| Some(rows as i64));
    sizes.iter().map(|dim| size(dim).expect("the sizes of a test are small") as usize).collect()
}

/// Arbitrary values for the inputs of a program.
pub(crate) fn feeds(
    program: &Program,
    rows: usize,
    draw: &mut Draw,
    mut input: impl FnMut(&mut Draw, &str, &Type, usize) -> Host,
) -> Vec<Fed> {
    let mut feed = |&var: &VarId| {
        let (name, ty) = (&program.var(var).name, program.ty(var));
        let shape = shape(program, ty, rows);
        Fed { values: input(draw, name, ty, shape.iter().product()), shape, offsets: Vec::new() }
    };
    program.inputs().iter().map(&mut feed).collect()
}

/// A planned program without parameters.
pub(crate) struct Run<B: Backend> {
    executor: Executor<B>,
    /// The type of each output, as the backend stores it.
    kept: Vec<DType>,
}

impl<B: Backend> Run<B> {
    pub(crate) fn new(backend: B, program: &Program) -> Self {
        let outputs = program.outputs().iter();
        let kept = outputs.map(|&output| kept_as(&backend, program.ty(output).dtype)).collect();
        let executor = Executor::new(backend, program, &Storage::new());
        Run { executor: executor.unwrap_or_else(|error| panic!("{error}\n{program}")), kept }
    }

    /// The outputs, which are numbers, in the precision in which the backend stores them.
    pub(crate) fn outputs(&mut self, feeds: &[Fed]) -> Vec<Vec<f64>> {
        self.executor.begin(&|i| feeds[i].feed()).unwrap_or_else(|error| panic!("{error}"));
        self.executor.run(Part::Compute, &mut Buffers::default()).unwrap_or_else(|error| panic!("{error}"));
        let fetch = |output: usize| {
            let count = self.executor.output_shape(output).iter().product();
            let mut host = Host::zeros(self.kept[output], count);
            self.executor.fetch(output, host.slice_mut());
            host.floats()
        };
        (0..self.executor.output_count()).map(fetch).collect()
    }

    /// The number of rows of the products that were launched since the previous call, by the line of their place.
    pub(crate) fn take_visits(&mut self) -> BTreeMap<u32, u64> {
        let mut visits = BTreeMap::new();
        for product in self.executor.stats().products() {
            if let Some(place) = &product.place {
                *visits.entry(place.line).or_default() += product.rows;
            }
        }
        self.executor.clear_stats();
        visits
    }

    /// The first output, a scalar, after a change to one element of an input.
    fn cost_beside(&mut self, feeds: &mut [Fed], input: usize, element: usize, step: f32) -> f64 {
        let before = feeds[input].values.clone();
        if let Host::F32(values) = &mut feeds[input].values {
            values[element] += step;
        }
        let cost = self.outputs(feeds)[0][0];
        feeds[input].values = before;
        cost
    }
}

/// Appends the gradients of a program, for a comparison with differences.
pub(crate) fn differentiate(program: Program) -> Differentiated {
    Differentiated::new(program).unwrap_or_else(|error| panic!("{error}"))
}

/// Compares the gradient with respect to every element with the difference.
pub(crate) fn check(differentiated: &Differentiated, feeds: &[Fed]) -> Compared {
    let feeds: Vec<Feed<'_>> = feeds.iter().map(Fed::feed).collect();
    let compared = differentiated.check(&feeds);
    compared.unwrap_or_else(|error| panic!("{error}\n{}", differentiated.program()))
}

/// Panics if a test compares too little: too few elements, or one in a hundred left out.
pub(crate) fn assert_many(compared: Compared, least: usize) {
    let Compared { elements, rough, .. } = compared;
    assert!(elements >= least, "only {elements} elements were compared");
    assert!(rough * 100 <= elements, "{rough} of {elements} elements were left out");
}

/// Draws elements again until the cost has no corner and no jump next to any of them.
fn smoothen(differentiated: &Differentiated, feeds: &mut [Fed], mut draw: impl FnMut(usize) -> f32) {
    let mut run = Run::new(Reference::double(), differentiated.program());
    let mut left = 1000;
    'drawn: loop {
        let cost = run.outputs(feeds)[0][0];
        for input in differentiated.inputs() {
            for element in 0..feeds[input].values.len() {
                let mut slope =
                    |step| (run.cost_beside(feeds, input, element, step) - cost) / f64::from(step);
                if is_smooth(&mut slope) {
                    continue;
                }
                left -= 1;
                assert!(left > 0, "no inputs are away from corners and jumps\n{}", differentiated.program());
                let Host::F32(values) = &mut feeds[input].values else {
                    panic!("inputs with gradients are drawn in single precision");
                };
                values[element] = draw(input);
                continue 'drawn;
            }
        }
        return;
    }
}

/// Whether there is no corner or jump within [`DISTANCE`]. `slope` gives the mean slope on either side up to a
/// distance.
///
/// If the cost is smooth, the difference between both sides halves with the distance. At a corner it does not: it is
/// the same at all distances if the corner is at the point itself, and vanishes at distances below that of another
/// corner.
fn is_smooth(slope: &mut impl FnMut(f32) -> f64) -> bool {
    let [far, nearer, near] = [1.0, 0.5, 0.25].map(|part| {
        let (above, below) = (slope(part * DISTANCE), slope(-part * DISTANCE));
        (above - below, above.abs().max(below.abs()).max(1.0))
    });
    let halves = |(far, size): (f64, f64), (near, _): (f64, f64)| (far - 2.0 * near).abs() <= 1e-3 * size;
    halves(far, nearer) && halves(nearer, near)
}

/// Values for the inputs of a sample, and for the weights of its outputs: numbers on the grid, or whole numbers.
fn of_sample(sample: &Sample, program: &Program, draw: &mut Draw) -> Vec<Fed> {
    // The numbers of rows, indexed by the row spaces of the program.
    let counts = sample.row_counts();
    let offsets = sample.sequences_of_their_own().map(|input| input.offsets());
    let offsets: Vec<_> = std::iter::once(None).chain(offsets).collect();
    let mut inputs = sample.inputs.iter();
    let mut feed = |&var: &VarId| {
        let ty = program.ty(var);
        let rows = ty.rows.map(|rows| rows.0 as usize);
        let known =
            |dim: &paddle_core::program::Dim| dim.constant().expect("samples have known sizes") as usize;
        let shape: Vec<usize> =
            rows.map(|rows| counts[rows]).into_iter().chain(ty.dims.iter().map(known)).collect();
        let (count, range) = (shape.iter().product(), inputs.next().map_or((-2.0, 2.0), |input| input.range));
        let values = match ty.dtype {
            DType::F32 => on_grid(draw, count, range),
            dtype => draw.elements(dtype, count, range),
        };
        let levels = program.levels(ty);
        Fed {
            values,
            shape,
            offsets: levels.iter().filter_map(|rows| offsets[rows.0 as usize].clone()).collect(),
        }
    };
    program.inputs().iter().map(&mut feed).collect()
}

/// The worst relative error of the gradients of a sample. `None` unless gradients pass between floating-point inputs
/// and outputs.
pub(crate) fn gradient_error(sample: &Sample, draw: &mut Draw) -> Option<f64> {
    let program = sample.program().unwrap();
    let is_float = |dtype: DType| dtype == DType::F32;
    let float_out = program.outputs().iter().any(|&output| is_float(program.ty(output).dtype));
    let is_gradient = sample.op.schema().outputs.iter().any(|slot| slot.name.ends_with("@GRAD"));
    if is_gradient || !float_out || !sample.inputs.iter().any(|input| is_float(input.dtype)) {
        return None;
    }
    let differentiated = differentiate(program);
    let mut feeds = of_sample(sample, differentiated.program(), draw);
    smoothen(&differentiated, &mut feeds, |input| match on_grid(draw, 1, sample.inputs[input].range) {
        Host::F32(values) => values[0],
        other => panic!("{other:?} is not on the grid"),
    });
    let checked = check(&differentiated, &feeds);
    assert_eq!(checked.rough, 0, "{sample:?}");
    Some(checked.worst)
}

#[test]
fn gradients_of_every_sample_are_differences() {
    let mut checked = BTreeSet::new();
    for sample in Op::samples() {
        for sample in sample.variants().iter().chain([&sample]) {
            // Each begins anew, so that what it draws does not depend on the others.
            if gradient_error(sample, &mut Draw::new(8)).is_some() {
                checked.insert(sample.op.name());
            }
        }
    }
    assert!(checked.len() > 50, "{checked:?}");
}

#[test]
fn corners_are_noticed_wherever_they_are() {
    let corner_at = |place: f64| {
        let mut slope = |step: f32| {
            let cost = |x: f64| (x - place).abs() + x * x;
            (cost(f64::from(step)) - cost(0.0)) / f64::from(step)
        };
        !is_smooth(&mut slope)
    };
    let distance = f64::from(DISTANCE);
    for i in -99..=99 {
        assert!(corner_at(f64::from(i) / 100.0 * distance), "{i}");
    }
    assert!(!corner_at(1.01 * distance) && !corner_at(-1.01 * distance));
}
