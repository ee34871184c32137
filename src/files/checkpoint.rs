//! What a checkpoint says beside its tensors: a text in JSON in the header of the file.

use std::path::Path;

use serde_json::{Value, json};

use super::error::{FileError, FileFault};
use super::safetensors::TensorFile;
use crate::metrics::Mean;
use crate::position::Position;

/// The name of the text in the header.
pub(crate) const TEXT: &str = "paddle.checkpoint";

/// The form of the text that is written and read.
const VERSION: u64 = 1;

/// Numbers of steps, passes and batches are smaller.
const MAX: u64 = 1 << 62;

/// How far a training was.
#[derive(Debug, PartialEq)]
pub(crate) struct Checkpoint {
    pub(crate) steps: u64,
    pub(crate) seed: u64,
    pub(crate) position: Position,
    /// Parameter and slot of each state.
    pub(crate) states: Vec<(String, String)>,
}

impl Checkpoint {
    pub(crate) fn text(&self) -> String {
        let Checkpoint { steps, seed, position, states } = self;
        let Position { first, pass, batches, means } = position;
        // As bits: a number in JSON may be rounded, and none of them is NaN.
        let means: Vec<_> = means.iter().map(|mean| mean.parts().map(f64::to_bits)).collect();
        json!({
            "version": VERSION, "steps": steps, "seed": seed, "first": first, "pass": pass, "batches": batches,
            "means": means, "states": states,
        })
        .to_string()
    }

    /// What the header of a file says.
    pub(crate) fn of(file: &TensorFile, path: &Path) -> Result<Self, FileError> {
        let read = file.text(TEXT).ok_or("it has parameters only").and_then(Self::parse);
        read.map_err(|why| FileFault::NoCheckpoint { why }.of(path))
    }

    fn parse(text: &str) -> Result<Self, &'static str> {
        let value: Value = serde_json::from_str(text).map_err(|_| "its text is no JSON")?;
        let number = |name: &str| {
            let number = value[name].as_u64().ok_or("a number of its text is missing")?;
            // They are counted on.
            if number < MAX { Ok(number) } else { Err("a number of its text is too large") }
        };
        if number("version")? != VERSION {
            return Err("it was written by another version");
        }
        let place =
            |name: &str| usize::try_from(number(name)?).map_err(|_| "a number of its text is too large");
        let list = |name: &str| value[name].as_array().ok_or("a list of its text is missing");
        let mean =
            |value: &Value| Some(Mean::of([value[0].as_u64()?, value[1].as_u64()?].map(f64::from_bits)));
        let state = |value: &Value| Some((value[0].as_str()?.to_string(), value[1].as_str()?.to_string()));
        let (first, pass, batches) = (place("first")?, place("pass")?, place("batches")?);
        if first > pass {
            return Err("it was taken before its reader began");
        }
        let means = list("means")?.iter().map(mean).collect::<Option<_>>().ok_or("a mean is none")?;
        Ok(Checkpoint {
            steps: number("steps")?,
            seed: value["seed"].as_u64().ok_or("its seed is missing")?,
            position: Position { first, pass, batches, means },
            states: list("states")?.iter().map(state).collect::<Option<_>>().ok_or("a state is none")?,
        })
    }
}
