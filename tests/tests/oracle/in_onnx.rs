//! Programs exported to ONNX, for onnxruntime.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use paddle::core::convert::{ExportError, to_onnx};
use paddle::core::ops::Program;
use paddle::core::program::RowsId;
use paddle::core::wire::TensorRecord;
use paddle::core::wire::onnx::ModelProto;

use crate::process::{Case, is_wanted};
use crate::support::tensor::{Tensor, Values};

/// The interpreter with onnxruntime, which `PADDLE_ONNX_PYTHON` names, if tests are to ask it.
pub(crate) fn python() -> Option<PathBuf> {
    let python = std::env::var_os("PADDLE_ONNX_PYTHON").map(PathBuf::from).filter(|_| is_wanted());
    if python.is_none() {
        eprintln!(
            "skipped: PADDLE_ORACLE is not 1, or PADDLE_ONNX_PYTHON is no interpreter with onnxruntime"
        );
    }
    python
}

/// A program in a file, and what it is fed.
pub(crate) fn case(
    name: &str,
    program: &Program,
    parameters: &BTreeMap<String, TensorRecord>,
    batches: &[Vec<Tensor>],
) -> Result<(Case, ModelProto), ExportError> {
    let proto = to_onnx(program, parameters)?;
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("oracle");
    std::fs::create_dir_all(&directory).expect("it can be made");
    let prefix = directory.join(name);
    std::fs::write(prefix.with_extension("onnx"), proto.encode_to_vec()).expect("it can be written");
    let batches: Vec<Vec<Tensor>> = batches.iter().map(|batch| inputs(program, batch)).collect();
    Ok((Case::new(prefix, &batches), proto))
}

/// The lengths of sequences with these offsets.
fn lengths(offsets: &[i64]) -> Tensor {
    let lengths: Vec<i64> = offsets.windows(2).map(|pair| pair[1] - pair[0]).collect();
    Tensor::i64(&[lengths.len()], &lengths)
}

/// The inputs of the model in ONNX: the tokens of sequences, then lengths that are not those of others.
pub(crate) fn inputs(program: &Program, batch: &[Tensor]) -> Vec<Tensor> {
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
pub(crate) fn outputs(proto: &ModelProto, found: Vec<Tensor>) -> Vec<Tensor> {
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
