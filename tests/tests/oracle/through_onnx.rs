//! The models, exported to ONNX and read again: they compute the same.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use paddle::core::convert::to_onnx;
use paddle::{Batch, Error, infer, load_onnx};

use crate::MODELS;
use crate::exported::is_random;
use crate::in_onnx::{inputs, outputs};
use crate::support::feeding::{feed, fetched};
use crate::support::tensor::Tensor;

/// The least number of networks that can be read again. Others have rows and shapes that follow from values, which the reader
/// refuses.
const READ: usize = 125;

#[test]
fn models_come_back_from_onnx() {
    let (mut read, mut wrong) = (0, Vec::new());
    let mut refused: BTreeMap<String, usize> = BTreeMap::new();
    for (name, networks) in MODELS {
        for (k, network) in networks().iter().enumerate().filter(|(_, network)| !is_random(network)) {
            let what = format!("{name}, network {k}");
            let (batch, expected, parameters) = network.computed(5, 1);
            let Ok(proto) = to_onnx(network, &parameters) else { continue };
            let again = || -> Result<Vec<_>, Error> {
                let (net, values) = load_onnx(&proto.encode_to_vec())?;
                let mut fed = Batch::new(&net)?;
                let inputs = inputs(network, &batch);
                for (info, tensor) in proto.graph.input.iter().zip(&inputs) {
                    if net.inputs()?.iter().any(|input| input.name == info.name) {
                        feed(&mut fed, &info.name, tensor)?;
                    }
                }
                let given = infer(&net, &values, &fed)?;
                let mut like = expected.iter();
                let lengths = Tensor::i64(&[0], &[]);
                let mut found = Vec::new();
                for (k, info) in proto.graph.output.iter().enumerate() {
                    let is_lengths = info.name.contains(".lengths");
                    let like = if is_lengths { &lengths } else { like.next().unwrap() };
                    found.push(fetched(&given, k, like).unwrap_or_else(|why| panic!("{what}: {why}")));
                }
                Ok(outputs(&proto, found))
            };
            match catch_unwind(AssertUnwindSafe(again)) {
                Ok(Ok(found)) => {
                    read += 1;
                    for (k, (found, expected)) in found.iter().zip(&expected).enumerate() {
                        let difference = found.compare(expected, 1e-4, 1e-5);
                        wrong.extend(difference.err().map(|why| format!("{what}, output {k}: {why}")));
                    }
                }
                Ok(Err(error)) => *refused.entry(error.to_string()).or_default() += 1,
                Err(_) => wrong.push(format!("{what}: it panics")),
            }
        }
    }
    println!("{read} networks are read again, {} are refused", refused.values().sum::<usize>());
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(read >= READ, "{read} networks can be read again");
}
