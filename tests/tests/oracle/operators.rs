//! Every operator alone, on its own samples.

use std::collections::{BTreeMap, BTreeSet};

use paddle::core::convert::export;
use paddle::core::ops::{Op, Program, Sample, SampleInput};
use paddle::core::passes::test_mode::test_mode;
use paddle::core::program::DType;
use paddle_kernels::reference::Reference;

use crate::in_onnx::{case, outputs, python};
use crate::process::{Case, is_wanted, run, run_in, write};
use crate::support::runner::Runner;
use crate::support::tensor::{Tensor, Values};

/// Numbers that look random, in the range of an input.
fn values(input: &SampleInput, seed: usize) -> Tensor {
    let shape: Vec<usize> =
        input.rows.into_iter().chain(input.dims.iter().map(|&dim| dim as usize)).collect();
    let (low, high) = input.range;
    let number = |i: usize| low + (high - low) * (((i + 7 * seed) * 389 + 113) % 1009) as f64 / 1009.0;
    let numbers = (0..shape.iter().product()).map(number);
    let values = match input.dtype {
        DType::Bool => Values::Bool(numbers.map(|number| number > 0.0).collect()),
        DType::I32 => Values::I32(numbers.map(|number| number.floor() as i32).collect()),
        DType::I64 => Values::I64(numbers.map(|number| number.floor() as i64).collect()),
        DType::F32 => Values::F32(numbers.map(|number| number as f32).collect()),
        DType::F64 => Values::F64(numbers.collect()),
    };
    Tensor { shape, values, offsets: input.offsets().into_iter().collect() }
}

/// What PaddlePaddle computes as well: not random, some elements, and not what its kernels refuse.
fn is_common(sample: &Sample) -> bool {
    let is_empty = |input: &SampleInput| input.rows == Some(0) || input.dims.contains(&0);
    let has_less_tokens =
        |input: &SampleInput| input.lengths.as_ref().is_some_and(|lengths| input.rows < Some(lengths.len()));
    let refused = match &sample.op {
        // Its state has sums of its other parts, which arbitrary numbers are not.
        Op::Auc(op) => op.slide_steps > 1,
        Op::OneHot(_) => sample.inputs[0].range.0 < 0.0,
        // Its loss of no tokens that read as no labels, which is sure, is infinite.
        Op::WarpCtc(_) => sample.inputs[0].lengths.as_ref().is_some_and(|lengths| lengths.contains(&0)),
        _ => sample.inputs.iter().any(has_less_tokens),
    };
    !refused && !sample.op.effects().random && !sample.inputs.iter().any(is_empty)
}

/// The program of a sample as it is exported.
fn program(sample: &Sample) -> Program {
    let mut program = sample.program().expect("a sample is right");
    test_mode(&mut program);
    let only = match sample.op {
        // In test mode nothing else is computed.
        Op::BatchNorm(_) => Some(0),
        // What its gradient needs is kept in another form.
        Op::LinearChainCrf(_) => Some(1),
        Op::WarpCtc(_) => Some(0),
        _ => None,
    };
    if let Some(only) = only {
        let y = program.outputs()[only];
        program.set_outputs(&[y]).expect("it is an output");
    }
    program
}

#[test]
fn every_operator() {
    if !is_wanted() {
        return;
    }
    let (mut models, mut cases, mut refused) = (Vec::new(), Vec::new(), BTreeMap::new());
    for (k, sample) in Op::samples().into_iter().filter(is_common).enumerate() {
        let program = program(&sample);
        let model = match export(&program, &BTreeMap::new()) {
            Ok(model) => model,
            Err(error) => {
                refused.insert(sample.op.name(), error.to_string());
                continue;
            }
        };
        let batch: Vec<Tensor> =
            sample.inputs.iter().enumerate().map(|(seed, input)| values(input, seed)).collect();
        let ours = Runner::new(Reference::single(), &program).run(&batch);
        models.push(Case::new(write(&format!("operator{k}"), &model), &[batch]));
        cases.push((sample, ours));
    }
    let mut tried = BTreeSet::new();
    for ((sample, ours), theirs) in cases.iter().zip(run("executor", &models)) {
        let theirs = theirs.unwrap_or_else(|error| panic!("{sample:?}: {error}"));
        assert_eq!(theirs.len(), ours.len(), "{sample:?}");
        for (k, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
            theirs.assert_close(ours, 1e-4, 1e-5, &format!("output {k} of {sample:?}"));
        }
        tried.insert(sample.op.name());
    }
    for (name, why) in &refused {
        println!("not exported, or not always: `{name}`: {why}");
    }
    println!("{} samples of {} operators", cases.len(), tried.len());
    assert!(tried.len() > 100, "{tried:?}");
}

#[test]
fn every_operator_in_onnx() {
    let Some(python) = python() else { return };
    let (mut models, mut cases, mut refused) = (Vec::new(), Vec::new(), BTreeMap::new());
    for (k, sample) in Op::samples().into_iter().filter(|sample| !sample.op.effects().random).enumerate() {
        let program = program(&sample);
        // The models have pairs of tokens, which are sequences of sequences.
        if program.inputs().iter().any(|&input| program.levels(program.ty(input)).len() > 1) {
            continue;
        }
        let batch: Vec<Tensor> =
            sample.inputs.iter().enumerate().map(|(seed, input)| values(input, seed)).collect();
        match case(&format!("operator{k}"), &program, &BTreeMap::new(), std::slice::from_ref(&batch)) {
            Ok((model, proto)) => {
                let ours = Runner::new(Reference::single(), &program).run(&batch);
                models.push(model);
                cases.push((sample, proto, ours));
            }
            Err(error) => {
                refused.insert(sample.op.name(), error.to_string());
            }
        }
    }
    let (mut tried, mut wrong) = (BTreeSet::new(), Vec::new());
    for ((sample, proto, ours), theirs) in cases.iter().zip(run_in(&python, "onnxruntime", &models)) {
        match theirs {
            Err(error) => wrong.push(format!("{sample:?}: {error}")),
            Ok(theirs) => {
                let pairs = ours.iter().zip(outputs(proto, theirs)).enumerate();
                let differs = |(k, (ours, theirs)): (usize, (&Tensor, Tensor))| {
                    let difference = theirs.compare(ours, 1e-4, 1e-5).err()?;
                    Some(format!("output {k} of {sample:?}: {difference}"))
                };
                wrong.extend(pairs.into_iter().find_map(differs));
            }
        }
        tried.insert(sample.op.name());
    }
    for (name, why) in &refused {
        println!("not exported, or not always: `{name}`: {why}");
    }
    println!("{} samples of {} operators", cases.len() - wrong.len(), tried.len());
    assert!(wrong.is_empty(), "{} of {}: {wrong:#?}", wrong.len(), cases.len());
}
