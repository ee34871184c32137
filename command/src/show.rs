//! `paddle show`: a program as text or as a graph.

use std::io::Write;

use clap::Args;
use paddle::core::text;

use crate::failure::{Failure, Verdict};
use crate::graph;
use crate::model::Model;

/// Shows a model's program as text, which `paddle` and `paddle::core::text` read back, or as a graph.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Show {
    #[command(flatten)]
    model: Model,
    /// Shows where each operator was written.
    #[arg(long)]
    places: bool,
    /// Draws the operators as a graph, in SVG.
    #[arg(long, conflicts_with = "places")]
    svg: bool,
}

const EXAMPLES: &str = "\
Examples:
  paddle show resnet                      # resnet.pdmodel, or the only model of the folder
  paddle show resnet.pdmodel | head       # its parameters
  paddle show --places digits.pdmodel     # with lines of the source
  paddle show resnet --svg > resnet.svg";

impl Show {
    pub(crate) fn run(&self, out: &mut dyn Write) -> Result<Verdict, Failure> {
        let program = self.model.program()?;
        match (self.svg, self.places) {
            (true, _) => out.write_all(graph::svg(&program).as_bytes())?,
            (_, true) => write!(out, "{}", text::with_places(&program))?,
            (_, false) => write!(out, "{program}")?,
        }
        Ok(Verdict::Fine)
    }
}
