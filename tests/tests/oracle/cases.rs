//! What PaddlePaddle wrote, read here and exported again, in PaddlePaddle: the cases of `tests/op_cases.rs`, whose networks run along
//! sequences, among them. `PADDLE_OP_CASES` names another folder of cases.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use paddle::core::convert::export;

use crate::process::{Case, interpreters, is_wanted, run_in, write};
use crate::support::cut::{Arrays, forward};
use crate::support::op_case::{OpCase, cases_of};
use crate::support::tensor::Tensor;

/// Cases that choose among what is equal but for rounding, as PaddlePaddle's kernels do in another way.
const OF_EQUALS: [&str; 3] = ["beam_search_decode", "beam_search_of_probabilities", "grid_sampler_nearest"];

/// A network with an operator that later releases do not have: the cost of a random field.
const NOT_IN_LATER_RELEASES: &str = "labelled_roles";

#[test]
fn exported_cases_compute_the_same() {
    if !is_wanted() {
        return;
    }
    let kept = || Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/op_cases/kept");
    let folder = std::env::var_os("PADDLE_OP_CASES").map_or_else(kept, PathBuf::from);
    let (mut models, mut all) = (Vec::new(), Vec::new());
    let mut refused: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for name in cases_of(&folder) {
        let case = OpCase::read(&folder, &name);
        let (inputs, mut expected) = (case.arrays("in|"), case.arrays("out|"));
        expected.retain(|name, _| !name.ends_with("@GRAD"));
        let names = |arrays: &Arrays| arrays.keys().cloned().collect::<BTreeSet<String>>();
        let part = forward(&case.desc, &names(&inputs), &names(&expected));
        let part = part.unwrap_or_else(|why| panic!("{name}: {why:?}"));
        if part.is_random() {
            continue;
        }
        let params =
            case.arrays("param|").iter().map(|(name, tensor)| (name.clone(), tensor.to_record())).collect();
        let model = match export(&part.program, &params) {
            Ok(model) => model,
            Err(error) => {
                refused.entry(error.to_string()).or_default().push(name);
                continue;
            }
        };
        let fed = part.program.inputs().iter().map(|&input| inputs[&part.program.var(input).name].clone());
        models.push(Case::new(write(&format!("case-{name}"), &model), &[fed.collect()]));
        let expected: Vec<Tensor> = part.outputs.iter().map(|name| expected[name].clone()).collect();
        all.push((name, part.outputs, expected));
    }
    for (error, which) in &refused {
        println!("{} not exported: {error}: {which:?}", which.len());
    }
    let mut wrong = Vec::new();
    for (release, interpreter) in interpreters().into_iter().enumerate() {
        for api in ["executor", "predictor"] {
            let mut found = Vec::new();
            let is_known =
                |name: &str| OF_EQUALS.contains(&name) || (release > 0 && name == NOT_IN_LATER_RELEASES);
            for ((name, outputs, expected), theirs) in all.iter().zip(run_in(&interpreter, api, &models)) {
                let difference = difference(outputs, expected, theirs).map(|why| format!("{name}: {why}"));
                wrong.extend(difference.clone().filter(|_| !is_known(name)));
                found.extend(difference);
            }
            let same = all.len() - found.len();
            println!("{} in the {api}: {same} of {} the same", interpreter.display(), all.len());
            found.iter().for_each(|found| println!("  {found}"));
        }
    }
    assert!(wrong.is_empty(), "{}: {wrong:#?}", wrong.len());
}

/// The first difference from what PaddlePaddle gave itself. What it lost the offsets of may have them again, and sequences of sequences
/// that a program makes are exported with the inner offsets alone.
fn difference(names: &[String], expected: &[Tensor], found: Result<Vec<Tensor>, String>) -> Option<String> {
    let found = match found {
        Ok(found) => found,
        Err(error) => return Some(error),
    };
    let pairs = names.iter().zip(expected.iter().zip(&found));
    let mut differences = pairs.filter_map(|(name, (expected, found))| {
        let levels = found.offsets.len().min(expected.offsets.len());
        let inner = |tensor: &Tensor| {
            let offsets = tensor.offsets[tensor.offsets.len() - levels..].to_vec();
            Tensor { offsets, ..tensor.clone() }
        };
        let difference = inner(found).compare(&inner(expected), 1e-4, 1e-5).err()?;
        Some(format!("`{name}`: {difference}"))
    });
    differences.next()
}
