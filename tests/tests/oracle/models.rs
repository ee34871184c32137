//! The models, exported, in the real PaddlePaddle. Runs as `tests/oracle.rs` does.

use std::collections::BTreeMap;

use paddle::core::convert::export;
use paddle::core::ops::Program;
use paddle::core::passes::test_mode::test_mode;

use crate::MODELS;
use crate::process::{Case, interpreters, is_wanted, run_in, write};
use crate::support::tensor::Tensor;

/// Outputs that PaddlePaddle gives in another order: texts of a beam search that are equally impossible, of which its `top_k`
/// takes any.
const OF_EQUALS: &str = "recurrent_layers, network 1, output 0";

/// Whether an operator draws numbers, which are others there.
pub(crate) fn is_random(program: &Program) -> bool {
    let mut program = program.clone();
    test_mode(&mut program);
    program.blocks().iter().flat_map(|block| &block.ops).any(|operator| operator.op.effects().random)
}

#[test]
fn exported_models_compute_the_same() {
    if !is_wanted() {
        return;
    }
    let (mut cases, mut all) = (Vec::new(), Vec::new());
    let mut refused: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, networks) in MODELS {
        for (k, network) in networks().iter().enumerate().filter(|(_, network)| !is_random(network)) {
            let what = format!("{name}, network {k}");
            let (batch, outputs, parameters) = network.computed(6, 1);
            match export(network, &parameters) {
                Ok(model) => {
                    cases.push(Case::new(write(&format!("model-{name}{k}"), &model), &[batch]));
                    all.push((what, outputs));
                }
                Err(error) => refused.entry(error.to_string()).or_default().push(what),
            }
        }
    }
    for (error, which) in &refused {
        println!("{} not exported: {error}: {which:?}", which.len());
    }
    let mut wrong = Vec::new();
    for interpreter in &interpreters() {
        for api in ["executor", "predictor"] {
            let found = differences(&all, run_in(interpreter, api, &cases));
            println!(
                "{} in the {api}: {} of {} the same",
                interpreter.display(),
                all.len() - found.len(),
                all.len()
            );
            for found in &found {
                println!("  {found}");
            }
            wrong.extend(found);
        }
    }
    assert!(wrong.is_empty(), "{} of {}: {wrong:#?}", wrong.len(), all.len());
}

/// What PaddlePaddle computes otherwise, or does not compute.
fn differences(all: &[(String, Vec<Tensor>)], theirs: Vec<Result<Vec<Tensor>, String>>) -> Vec<String> {
    let mut wrong = Vec::new();
    for ((what, ours), theirs) in all.iter().zip(theirs) {
        let theirs = match theirs {
            Ok(theirs) => theirs,
            Err(error) => {
                wrong.push(format!("{what}: {error}"));
                continue;
            }
        };
        assert_eq!(theirs.len(), ours.len(), "{what}");
        let differs = |(k, (ours, theirs)): (usize, (&Tensor, &Tensor))| {
            let what = format!("{what}, output {k}");
            let difference = theirs.compare(ours, 1e-4, 1e-5).err().filter(|_| what != OF_EQUALS);
            difference.map(|difference| format!("{what}: {difference}"))
        };
        wrong.extend(ours.iter().zip(&theirs).enumerate().find_map(differs));
    }
    wrong
}
