//! The models, exported, in the real PaddlePaddle. Runs as `tests/oracle.rs` does.

use std::collections::BTreeMap;

use paddle::core::convert::export;
use paddle::core::ops::Program;
use paddle::core::passes::test_mode::test_mode;

use crate::MODELS;
use crate::process::{Case, is_wanted, run, write};

/// Outputs that PaddlePaddle gives in another order: texts of a beam search that are equally impossible, of which its `top_k`
/// takes any.
const OF_EQUALS: &str = "recurrent_layers, network 1, output 0";

/// Whether an operator draws numbers, which are others there.
fn is_random(program: &Program) -> bool {
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
    let mut wrong = Vec::new();
    for ((what, ours), theirs) in all.iter().zip(run("executor", &cases)) {
        let theirs = match theirs {
            Ok(theirs) => theirs,
            Err(error) => {
                wrong.push(format!("{what}: {error}"));
                continue;
            }
        };
        assert_eq!(theirs.len(), ours.len(), "{what}");
        for (k, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
            let what = format!("{what}, output {k}");
            if let Some(difference) = theirs.compare(ours, 1e-4, 1e-5).err().filter(|_| what != OF_EQUALS) {
                wrong.push(format!("{what}: {difference}"));
            }
        }
    }
    for (error, which) in &refused {
        println!("{} not exported: {error}: {which:?}", which.len());
    }
    println!("{} networks", all.len());
    assert!(wrong.is_empty(), "{} of {}: {wrong:#?}", wrong.len(), all.len());
}
