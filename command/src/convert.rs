//! `paddle convert`: models and parameters in other formats.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use paddle::Parameters;
use paddle::core::convert::{legalise, to_wire};
use paddle::core::passes::test_mode::test_mode;

use crate::failure::{Failure, Verdict};
use crate::model::Model;

/// Writes a model, or the values of its parameters, in another format.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Convert {
    #[command(flatten)]
    model: Model,
    /// Where it goes. The extension says what is written: `.pdmodel`, the model for PaddlePaddle, with its parameters in the
    /// `.pdiparams` beside it; `.onnx`, the model in ONNX; `.txt`, the program as text, with its parameters in the `.safetensors` beside it;
    /// `.safetensors` or `.pdiparams`, the parameters alone.
    #[arg(value_name = "OUT")]
    out: PathBuf,
    /// Writes a `.pdmodel` of the operators of this library, which PaddlePaddle lacks some of: any program can be written so.
    #[arg(long)]
    own: bool,
    /// Writes no values of parameters.
    #[arg(long)]
    program_only: bool,
}

const EXAMPLES: &str = "\
Examples:
  paddle convert resnet resnet.txt                # and resnet.safetensors
  paddle convert edited.txt edited.pdmodel        # and edited.pdiparams
  paddle convert edited.txt edited.pdmodel --own  # if PaddlePaddle has nothing that computes an operator
  paddle convert resnet resnet.onnx
  paddle convert resnet resnet.safetensors        # the parameters alone
  paddle convert resnet.pdparams resnet.safetensors  # what paddle.save wrote
  paddle convert resnet.txt new.pdmodel --parameters trained.safetensors";

impl Convert {
    pub(crate) fn run(&self) -> Result<Verdict, Failure> {
        let out = &self.out;
        let is_itself = |path: &Path| fs::canonicalize(path).ok() == fs::canonicalize(out).ok();
        if out.exists() && is_itself(&self.model.file()?) {
            return Err(Failure::of(out, "the model itself would be overwritten; name another file"));
        }
        if let Some(saved) = self.model.saved_values() {
            return match out.extension().is_some_and(|extension| extension == "safetensors") {
                true => Ok(Parameters::of_saved(saved)?.save(out).map(|()| Verdict::Fine)?),
                false => Err(Failure::of(out, "values without a program become a .safetensors")),
            };
        }
        match out.extension().and_then(|extension| extension.to_str()) {
            Some("pdmodel") => self.pdmodel()?,
            Some("onnx") if self.own || self.program_only => {
                return Err(Failure::of(
                    out,
                    "a model in ONNX has operators of ONNX, and values of parameters",
                ));
            }
            Some("onnx") => {
                let (net, parameters) = self.model.load()?;
                net.save(out, &parameters)?;
            }
            Some("txt") => {
                let text = self.model.program()?.to_string();
                if !self.program_only {
                    let (_, parameters) = self.model.load()?;
                    if !parameters.is_empty() {
                        parameters.save(out.with_extension("safetensors"))?;
                    }
                }
                write(out, text.as_bytes())?;
            }
            Some("safetensors" | "pdiparams") if self.program_only => {
                return Err(Failure::of(
                    out,
                    "this has values of parameters, but `--program-only` wants none",
                ));
            }
            Some("safetensors") => self.model.load()?.1.save(out)?,
            Some("pdiparams") => self.model.load()?.1.save_pdiparams(out)?,
            _ => {
                let why = "expected the extension .pdmodel, .onnx, .txt, .safetensors or .pdiparams";
                return Err(Failure::of(out, why));
            }
        }
        Ok(Verdict::Fine)
    }
}

impl Convert {
    /// Writes a `.pdmodel`, and its parameters.
    fn pdmodel(&self) -> Result<(), Failure> {
        let out = &self.out;
        if !self.own && !self.program_only {
            let (net, parameters) = self.model.load()?;
            return Ok(net.save(out, &parameters)?);
        }
        let mut program = self.model.program()?;
        if !self.program_only {
            let (_, parameters) = self.model.load()?;
            if !parameters.is_empty() {
                parameters.save_pdiparams(out.with_extension("pdiparams"))?;
            }
        }
        let desc = match self.own {
            true => to_wire(&program).main,
            false => {
                test_mode(&mut program);
                legalise(&program).map_err(paddle::Error::from)?
            }
        };
        write(out, &desc.encode_to_vec())
    }
}

fn write(path: &Path, content: &[u8]) -> Result<(), Failure> {
    fs::write(path, content).map_err(|error| Failure::of(path, error))
}
