//! The record in a checkpoint besides its tensors: a JSON text in the header of the file.

use std::path::Path;

use paddle_core::plan::state_name;
use serde_json::{Value, json};

use super::error::{FileError, FileFault};
use super::safetensors::TensorFile;
use crate::metrics::Mean;
use crate::position::Position;

/// The key of the text in the header.
pub(crate) const TEXT: &str = "paddle.checkpoint";

/// The version of the text that is written. Version 1, for one network of one trainer, can be read too.
const VERSION: u64 = 2;

/// The limit on numbers of steps, passes and batches.
const MAX: u64 = 1 << 62;

/// The progress of trainers. Their order is that of their states.
#[derive(Debug, PartialEq)]
pub(crate) struct Checkpoint {
    pub(crate) trainers: Vec<TrainerRecord>,
}

/// The progress of a trainer.
#[derive(Debug, PartialEq)]
pub(crate) struct TrainerRecord {
    pub(crate) seed: u64,
    pub(crate) networks: Vec<NetworkRecord>,
    /// The parameter and the slot of each state.
    pub(crate) states: Vec<(String, String)>,
}

/// The progress of training one network.
#[derive(Debug, PartialEq)]
pub(crate) struct NetworkRecord {
    /// The network's name, if the file has it.
    pub(crate) name: Option<String>,
    pub(crate) steps: u64,
    pub(crate) position: Position,
}

/// The name of the tensor for a state of this trainer.
pub(crate) fn state_tensor(trainer: usize, parameter: &str, slot: &str) -> String {
    let name = state_name(parameter, slot);
    if trainer == 0 { name } else { format!("{trainer}:{name}") }
}

impl Checkpoint {
    pub(crate) fn text(&self) -> String {
        let trainers: Vec<_> = self.trainers.iter().map(TrainerRecord::json).collect();
        json!({ "version": VERSION, "trainers": trainers }).to_string()
    }

    /// The record in the header of a file.
    pub(crate) fn of(file: &TensorFile, path: &Path) -> Result<Self, FileError> {
        let read = file.text(TEXT).ok_or("it has parameters only").and_then(Self::parse);
        read.map_err(|why| FileFault::NoCheckpoint { why }.of(path))
    }

    /// The names of the tensors of states.
    pub(crate) fn state_tensors(&self) -> impl Iterator<Item = String> {
        self.trainers.iter().enumerate().flat_map(|(k, trainer)| {
            trainer.states.iter().map(move |(parameter, slot)| state_tensor(k, parameter, slot))
        })
    }

    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        let value: Value = serde_json::from_str(text).map_err(|_| "its text is no JSON")?;
        let trainers = match number(&value, "version")? {
            1 => vec![TrainerRecord::parse(&value, std::slice::from_ref(&value))?],
            VERSION => {
                let trainer = |value: &Value| TrainerRecord::parse(value, list(value, "networks")?);
                list(&value, "trainers")?.iter().map(trainer).collect::<Result<_, _>>()?
            }
            _ => return Err("it was written by another version"),
        };
        Ok(Checkpoint { trainers })
    }
}

impl TrainerRecord {
    fn json(&self) -> Value {
        let networks: Vec<_> = self.networks.iter().map(NetworkRecord::json).collect();
        json!({ "seed": self.seed, "networks": networks, "states": self.states })
    }

    fn parse(value: &Value, networks: &[Value]) -> Result<Self, &'static str> {
        let state = |value: &Value| Some((value[0].as_str()?.to_string(), value[1].as_str()?.to_string()));
        let states = list(value, "states")?.iter().map(state);
        Ok(TrainerRecord {
            seed: value["seed"].as_u64().ok_or("its seed is missing")?,
            networks: networks.iter().map(NetworkRecord::parse).collect::<Result<_, _>>()?,
            states: states.collect::<Option<_>>().ok_or("a state is none")?,
        })
    }
}

impl NetworkRecord {
    fn json(&self) -> Value {
        let NetworkRecord { name, steps, position: Position { first, pass, batches, means } } = self;
        // Means are stored as bits, since JSON numbers may be rounded. None of them is NaN.
        let means: Vec<_> = means.iter().map(|mean| mean.parts().map(f64::to_bits)).collect();
        json!({
            "name": name, "steps": steps, "first": first, "pass": pass, "batches": batches, "means": means,
        })
    }

    fn parse(value: &Value) -> Result<Self, &'static str> {
        let place =
            |name| usize::try_from(number(value, name)?).map_err(|_| "a number of its text is too large");
        let mean =
            |value: &Value| Some(Mean::of([value[0].as_u64()?, value[1].as_u64()?].map(f64::from_bits)));
        let (first, pass, batches) = (place("first")?, place("pass")?, place("batches")?);
        if first > pass {
            return Err("it was taken before its reader began");
        }
        let means = list(value, "means")?.iter().map(mean).collect::<Option<_>>().ok_or("a mean is none")?;
        Ok(NetworkRecord {
            name: value["name"].as_str().map(str::to_string),
            steps: number(value, "steps")?,
            position: Position { first, pass, batches, means },
        })
    }
}

fn number(value: &Value, name: &str) -> Result<u64, &'static str> {
    let number = value[name].as_u64().ok_or("a number of its text is missing")?;
    // Training goes on counting from these numbers.
    if number < MAX { Ok(number) } else { Err("a number of its text is too large") }
}

fn list<'a>(value: &'a Value, name: &str) -> Result<&'a [Value], &'static str> {
    value[name].as_array().map(Vec::as_slice).ok_or("a list of its text is missing")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let position = Position { first: 1, pass: 2, batches: 3, means: vec![Mean::of([0.1, 4.0])] };
        let network =
            |name: &str| NetworkRecord { name: Some(name.to_string()), steps: 7, position: position.clone() };
        let state = ("w".to_string(), "Moment1".to_string());
        let checkpoint = Checkpoint {
            trainers: vec![
                TrainerRecord { seed: u64::MAX, networks: vec![network("d")], states: vec![state.clone()] },
                TrainerRecord { seed: 0, networks: vec![network("g"), network("h")], states: vec![state] },
            ],
        };
        assert_eq!(Checkpoint::parse(&checkpoint.text()), Ok(checkpoint));
    }

    /// Version 1 of the text.
    #[test]
    fn one_network_of_one_trainer() {
        let text = r#"{"version":1,"steps":5,"seed":3,"first":0,"pass":1,"batches":2,"means":[],"states":[["w","Moment1"]]}"#;
        let read = Checkpoint::parse(text).unwrap();
        let position = Position { first: 0, pass: 1, batches: 2, means: Vec::new() };
        let networks = vec![NetworkRecord { name: None, steps: 5, position }];
        let states = vec![("w".to_string(), "Moment1".to_string())];
        assert_eq!(read, Checkpoint { trainers: vec![TrainerRecord { seed: 3, networks, states }] });
        let later = Checkpoint::parse(r#"{"version":3,"trainers":[]}"#);
        assert_eq!(later, Err("it was written by another version"));
    }
}
