//! Operators on values that are large enough for several threads.

use std::collections::BTreeMap;

use paddle_core::ops::{Op, Sample, SampleInput, Terms};
use paddle_kernels::Cpu;
use paddle_kernels::reference::Reference;

use crate::draw::Draw;
use crate::host::Host;
use crate::machines;
use crate::run::Case;
use crate::samples::own_samples;
use crate::tolerance::{self, Distance};

/// More than two of the largest pieces that kernels give to one thread.
const ELEMENTS: usize = 150_000;

/// The number of samples that are tried for each operator.
const SAMPLES: usize = 3;

fn elements(input: &SampleInput) -> usize {
    input.rows.unwrap_or(1) * input.dims.iter().product::<i64>() as usize
}

/// The sample with more rows, or, without rows, with a larger first axis. `None` if nothing can be repeated.
fn grown(sample: &Sample) -> Option<Sample> {
    let mut sample = sample.clone();
    let drawn = match &mut sample.op {
        Op::Fill(op) => Some(&mut op.ty),
        Op::GaussianRandom(op) => Some(&mut op.ty),
        Op::Range(op) => Some(&mut op.ty),
        Op::TruncatedGaussianRandom(op) => Some(&mut op.ty),
        Op::UniformRandom(op) => Some(&mut op.ty),
        _ => None,
    };
    if let Some(ty) = drawn.filter(|ty| ty.rows.is_none()) {
        ty.dims = vec![(ELEMENTS as i64).into()];
        return Some(sample);
    }
    let most = sample.inputs.iter().map(elements).max().filter(|&most| most > 0)?;
    let times = ELEMENTS.div_ceil(most);
    if sample.batch().is_some() {
        for input in &mut sample.inputs {
            input.rows = input.rows.map(|rows| rows * times);
            input.lengths = input.lengths.as_ref().map(|lengths| lengths.repeat(times));
        }
        return Some(sample).filter(|sample| sample.batch() != Some(0));
    }
    // Inputs that are as large as the first one stay so: the states of a parameter.
    let dims = sample.inputs[0].dims.clone();
    for input in sample.inputs.iter_mut().filter(|input| input.dims == dims) {
        *input.dims.first_mut()? *= times as i64;
    }
    sample.program().is_ok().then_some(sample)
}

/// Some samples of each operator.
fn large() -> BTreeMap<&'static str, Vec<Sample>> {
    let mut large: BTreeMap<_, Vec<Sample>> = BTreeMap::new();
    for sample in own_samples() {
        let samples = large.entry(sample.op.name()).or_default();
        samples.extend(grown(&sample).filter(|grown| samples.len() < SAMPLES && !samples.contains(grown)));
    }
    large
}

/// The distance of a result from the exact one. The terms of each element (see `terms`) would take too long to find, so
/// each element counts as a sum of everything, as large as the largest element. Mistakes at the borders of pieces are
/// larger than that allows.
fn distance(case: &Case, found: &Host, exact: &Host) -> Distance {
    let floats = if exact.is_float() { exact.floats() } else { Vec::new() };
    let size = floats.iter().filter(|x| x.is_finite()).fold(0.0, |most: f64, x| most.max(x.abs()));
    let terms = vec![Terms { count: ELEMENTS, size }; exact.len()];
    tolerance::distance(case.op().operation().accuracy(), found, exact, &terms)
}

#[test]
fn large_results_are_right_and_the_same_on_any_number_of_threads() {
    let machines = [1, 3, 7].map(|threads| Cpu::with_threads(threads).unwrap());
    for (name, samples) in large() {
        // `assign_value` has its elements in the operator.
        assert!(!samples.is_empty() || name == "assign_value", "`{name}` has no large sample");
        for sample in samples {
            let case = Case::of(&sample, &mut Draw::new(1));
            let [one, three, seven] = machines.each_ref().map(|cpu| machines::results(&case, cpu, 0xFF));
            assert!(one == three && one == seven, "the number of threads tells: {sample:?}");
            let (found, exact) = (case.run(&machines[0]).unwrap(), case.run(&Reference::double()).unwrap());
            for (k, (found, exact)) in found.iter().zip(&exact).enumerate() {
                let Distance { share, element } = distance(&case, found, exact);
                assert!(share <= 1.0, "element {element} of result {k} is off by {share} times: {sample:?}");
            }
        }
    }
}
