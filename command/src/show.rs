//! `paddle show`: a program as text.

use std::io::Write;

use clap::Args;
use paddle::core::text;

use crate::failure::{Failure, Verdict};
use crate::model::Model;

/// Shows a model's program as text, which `paddle` and `paddle::core::text` read back.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Show {
    #[command(flatten)]
    model: Model,
    /// Shows where each operator was written.
    #[arg(long)]
    places: bool,
}

const EXAMPLES: &str = "\
Examples:
  paddle show resnet                      # resnet.pdmodel, or the only model of the folder
  paddle show resnet.pdmodel | head       # its parameters
  paddle show --places digits.pdmodel     # with lines of the source";

impl Show {
    pub(crate) fn run(&self, out: &mut dyn Write) -> Result<Verdict, Failure> {
        let program = self.model.program()?;
        match self.places {
            true => write!(out, "{}", text::with_places(&program))?,
            false => write!(out, "{program}")?,
        }
        Ok(Verdict::Fine)
    }
}
