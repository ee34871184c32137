//! The models, exported to ONNX, in onnxruntime. Runs with `PADDLE_ORACLE=1`, and `PADDLE_ONNX_PYTHON` set to a Python
//! interpreter that has `onnxruntime`.

use std::collections::BTreeMap;

use crate::MODELS;
use crate::exported::is_random;
use crate::in_onnx::{case, outputs, python};
use crate::process::run_in;
use crate::support::tensor::Tensor;

#[test]
fn models_in_onnx_compute_the_same() {
    let Some(python) = python() else { return };
    let (mut cases, mut all) = (Vec::new(), Vec::new());
    let mut refused: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, networks) in MODELS {
        for (k, network) in networks().iter().enumerate().filter(|(_, network)| !is_random(network)) {
            let what = format!("{name}, network {k}");
            for (rows, fewest) in [(6, 1), (5, 0)] {
                let (batch, expected, parameters) = network.computed(rows, fewest);
                match case(&format!("onnx-{name}{k}-{rows}"), network, &parameters, &[batch]) {
                    Ok((case, proto)) => {
                        cases.push(case);
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
