//! `paddle decompile`: a model as Rust source.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use paddle::language::decompile;

use crate::failure::{Failure, Verdict};
use crate::model::Model;

/// Prints a model as a Rust file: a network that computes the same, with the names of the model's parameters.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Decompile {
    #[command(flatten)]
    model: Model,
    /// The name of the module. Without this, it has that of the file.
    #[arg(long)]
    name: Option<String>,
    /// Writes a file, and prints nothing.
    #[arg(short, value_name = "FILE")]
    output: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  paddle decompile resnet                      # resnet.pdmodel, as a module `resnet`
  paddle decompile resnet -o src/resnet.rs
  paddle decompile model.pdmodel --name digits

The network takes the values that were saved with the model: `parameters.load_pdiparams(\"resnet.pdiparams\")`.";

impl Decompile {
    pub(crate) fn run(&self, out: &mut dyn Write) -> Result<Verdict, Failure> {
        let file = self.model.file()?;
        let stem = || file.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let name = self.name.clone().or_else(stem).unwrap_or_default();
        let source = decompile(&self.model.program()?, &name).map_err(|error| Failure::of(&file, error))?;
        match &self.output {
            Some(path) => fs::write(path, source).map_err(|error| Failure::of(path, error))?,
            None => out.write_all(source.as_bytes())?,
        }
        Ok(Verdict::Fine)
    }
}
