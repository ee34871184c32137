//! `paddle run`: the outputs of a model for inputs in files.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use paddle::network::Variable;
use paddle::{InferOptions, Outputs, Precision, infer_with};

use crate::array::{Array, write_npz};
use crate::failure::{Failure, Verdict};
use crate::inputs::{Inputs, lengths_name};
use crate::model::Model;

/// Runs a model on arrays or pictures, and writes its outputs or shows them.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Run {
    #[command(flatten)]
    model: Model,
    #[command(flatten)]
    inputs: Inputs,
    /// Where the outputs go: a `.npz`, with an array for each output, by its name, and for sequences their lengths,
    /// `NAME.lengths`; or a `.npy`, if there is one output. Without this, they are shown.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// What products and convolutions are computed in: `f32`; `bf16`, which is faster on processors with AMX; or `bf16x3`, between
    /// both.
    #[arg(long, default_value_t)]
    precision: Precision,
    /// The seed of random numbers that the model draws.
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
}

const EXAMPLES: &str = "\
Examples:
  paddle run mlp --input x=x.npy                                   # shows the outputs
  paddle run mlp --input in.npz -o out.npz                         # an array for each input, by its name
  paddle run mlp --input x=a.npz:first --input y=y.npy -o out.npz
  paddle run sentiment --input words=words.npy --lengths words=lengths.npy
  paddle run resnet --input image=cat.png --input image=dog.jpg --mean 0.485,0.456,0.406 --std 0.229,0.224,0.225";

/// The elements of an output that are shown.
const SHOWN: usize = 8;

impl Run {
    pub(crate) fn run(&self, out: &mut dyn Write) -> Result<Verdict, Failure> {
        let (net, parameters) = self.model.load()?;
        let described = net.outputs()?;
        if let Some(path) = &self.output {
            check(path, described.len())?;
        }
        let batch = self.inputs.batch(&net)?;
        let options = InferOptions::default().precision(self.precision);
        let options = self.seed.map_or(options.clone(), |seed| options.seed(seed));
        let outputs = infer_with(&net, &parameters, &batch, options)?;
        match &self.output {
            None => show(out, &outputs, &described)?,
            Some(path) if is_npy(path) => Array::of_output(&outputs, 0, &described[0])?.write_npy(path)?,
            Some(path) => write_npz(path, &arrays(&outputs, &described)?)?,
        }
        Ok(Verdict::Fine)
    }
}

fn is_npy(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "npy")
}

/// Whether so many outputs can be written to a file of this name; before they are computed.
fn check(path: &Path, outputs: usize) -> Result<(), Failure> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("npz") => Ok(()),
        Some("npy") if outputs == 1 => Ok(()),
        Some("npy") => {
            Err(Failure::of(path, format!("a .npy has one array, but there are {outputs} outputs")))
        }
        _ => Err(Failure::of(path, "outputs are written to a .npz or a .npy")),
    }
}

/// The arrays of all outputs, and the lengths of those that are sequences.
fn arrays(outputs: &Outputs, described: &[Variable]) -> Result<Vec<(String, Array)>, Failure> {
    let mut arrays = Vec::new();
    for (k, output) in described.iter().enumerate() {
        arrays.push((output.name.clone(), Array::of_output(outputs, k, output)?));
        let levels = outputs.levels(k);
        for (level, offsets) in levels.iter().enumerate() {
            let name = lengths_name(&output.name, level, levels.len());
            arrays.push((name, Array::of_lengths(offsets)));
        }
    }
    Ok(arrays)
}

fn show(out: &mut dyn Write, outputs: &Outputs, described: &[Variable]) -> Result<(), Failure> {
    for (k, output) in described.iter().enumerate() {
        let array = Array::of_output(outputs, k, output)?;
        let elements: usize = array.shape().iter().product();
        let more = if elements > SHOWN { ", …" } else { "" };
        writeln!(out, "{}: {}", output.name, array.shown())?;
        writeln!(out, "  [{}{more}]", array.first(SHOWN).join(", "))?;
        for offsets in outputs.levels(k) {
            let lengths = Array::of_lengths(offsets);
            let more = if offsets.len() - 1 > SHOWN { ", …" } else { "" };
            writeln!(out, "  of lengths [{}{more}]", lengths.first(SHOWN).join(", "))?;
        }
    }
    Ok(())
}
