//! The models, exported to ONNX, in onnxruntime. Runs with `PADDLE_ORACLE=1`, and `PADDLE_ONNX_PYTHON` set to a Python
//! interpreter that has `onnxruntime`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use paddle::core::convert::to_onnx;
use paddle::core::ops::Program;
use paddle::core::passes::test_mode::test_mode;
use paddle::core::program::RowsId;
use paddle::core::wire::onnx::ModelProto;

use crate::MODELS;
use crate::model::Model;
use crate::process::{Case, run_in, write_onnx};
use crate::support::tensor::{Tensor, Values};

/// The lengths of sequences with these offsets.
fn lengths(offsets: &[i64]) -> Tensor {
    let lengths: Vec<i64> = offsets.windows(2).map(|pair| pair[1] - pair[0]).collect();
    Tensor::i64(&[lengths.len()], &lengths)
}

/// The inputs of the model in ONNX: the tokens of sequences, then lengths that are not those of others.
fn inputs(model: &Model, batch: &[Tensor]) -> Vec<Tensor> {
    let program: &Program = model;
    let mut inputs: Vec<Tensor> =
        batch.iter().map(|tensor| Tensor { offsets: Vec::new(), ..tensor.clone() }).collect();
    let mut known: BTreeSet<RowsId> = BTreeSet::new();
    for (&input, tensor) in program.inputs().iter().zip(batch) {
        for (rows, offsets) in program.levels(program.ty(input)).into_iter().zip(&tensor.offsets) {
            if known.insert(rows) {
                inputs.push(lengths(offsets));
            }
        }
    }
    inputs
}

/// The outputs as ours: those with lengths are sequences.
fn outputs(proto: &ModelProto, found: Vec<Tensor>) -> Vec<Tensor> {
    let mut outputs: Vec<Tensor> = Vec::new();
    for (info, tensor) in proto.graph.output.iter().zip(found) {
        match outputs.last_mut() {
            Some(tokens) if info.name.contains(".lengths") => {
                let Values::I64(lengths) = &tensor.values else { panic!("{}", info.name) };
                let ends = lengths.iter().scan(0, |sum, length| {
                    *sum += length;
                    Some(*sum)
                });
                tokens.offsets.push(std::iter::once(0).chain(ends).collect());
            }
            _ => outputs.push(tensor),
        }
    }
    outputs
}

#[test]
fn models_in_onnx_compute_the_same() {
    if std::env::var("PADDLE_ORACLE").as_deref() != Ok("1") {
        eprintln!("skipped: PADDLE_ORACLE is not 1");
        return;
    }
    let Some(python) = std::env::var_os("PADDLE_ONNX_PYTHON").map(PathBuf::from) else {
        eprintln!("skipped: PADDLE_ONNX_PYTHON is no interpreter with onnxruntime");
        return;
    };
    let (mut cases, mut all) = (Vec::new(), Vec::new());
    let mut refused: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, networks) in MODELS {
        for (k, network) in networks().iter().enumerate() {
            let mut program = Program::clone(network);
            test_mode(&mut program);
            let mut operators = program.blocks().iter().flat_map(|block| &block.ops);
            if operators.any(|operator| operator.op.effects().random) {
                continue;
            }
            let what = format!("{name}, network {k}");
            for (rows, fewest) in [(6, 1), (5, 0)] {
                let (batch, expected, parameters) = network.computed(rows, fewest);
                match to_onnx(network, &parameters) {
                    Ok(proto) => {
                        let file = write_onnx(&format!("onnx-{name}{k}-{rows}"), &proto.encode_to_vec());
                        cases.push(Case::new(file, &[inputs(network, &batch)]));
                        all.push((format!("{what}, {rows} rows"), proto, expected));
                    }
                    Err(error) => refused.entry(error.to_string()).or_default().push(what.clone()),
                }
            }
        }
    }
    let found = run_in(&python, "onnxruntime", &cases);
    let mut wrong = Vec::new();
    for ((what, proto, expected), found) in all.iter().zip(found) {
        match found {
            Err(error) => wrong.push(format!("{what}: {error}")),
            Ok(found) => {
                let found = outputs(proto, found);
                assert_eq!(found.len(), expected.len(), "{what}");
                let differs = |(k, (found, expected)): (usize, (&Tensor, &Tensor))| {
                    let difference = found.compare(expected, 1e-4, 1e-5).err()?;
                    Some(format!("{what}, output {k}: {difference}"))
                };
                wrong.extend(found.iter().zip(expected).enumerate().find_map(differs));
            }
        }
    }
    for (error, which) in &refused {
        println!("{} not exported: {error}: {which:?}", which.len());
    }
    println!("{} of {} are the same in onnxruntime", all.len() - wrong.len(), all.len());
    assert!(wrong.is_empty(), "{wrong:#?}");
}
