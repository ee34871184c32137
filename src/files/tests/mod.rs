//! Tests of files on a file system that fails or loses power.

mod faults;
mod power;

use std::fs;
use std::path::PathBuf;

use paddle::reader::{DataSet, Item, Reader};
use paddle::{Adam, Error, Options, Parameters, Trainer};

#[paddle::attribute::network]
pub(super) mod nets {
    pub fn cost(x: Tensor<f32, _, 2>) -> Tensor<f32> {
        mean(square(dropout(fc(x, 3, param = "line"), 0.2)))
    }
}

/// A new folder, which is removed.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("paddle-{test}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        Folder(folder)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn empty(&self) {
        fs::read_dir(&self.0).unwrap().for_each(|entry| fs::remove_file(entry.unwrap().path()).unwrap());
    }

    /// Files that nobody asked for.
    fn left(&self) -> Vec<String> {
        let names = fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().file_name());
        let names = names.map(|name| name.into_string().unwrap());
        names.filter(|name| name.starts_with('.')).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A trainer and its parameters.
struct Run {
    trainer: Trainer<Adam>,
    parameters: Parameters,
}

impl Run {
    fn new() -> Self {
        let parameters = Parameters::create_with_seed(&nets::cost(), 1).unwrap();
        Run { trainer: Trainer::new(Adam::new(0.1)), parameters }
    }

    /// Trains to the end of the reader: two passes of two batches.
    fn train(&mut self, options: Options) -> Result<(), Error> {
        let net = nets::cost();
        let rows: Vec<_> = (0..4).map(|k| net.row([k as f32, 1.0])).collect();
        let reader = rows.iter().passes(2).shuffle(4).batch(2).map(|item| match item {
            Item::Data(rows) => Item::Data(rows.into_iter().cloned().collect::<Vec<_>>()),
            Item::EndPass => Item::EndPass,
            Item::Failed(failure) => Item::Failed(failure),
        });
        self.trainer.train(&net, &mut self.parameters, reader, options, |_| Ok(())).map(drop)
    }

    fn step(&mut self) {
        let net = nets::cost();
        self.trainer.step(&net, &mut self.parameters, [net.row([1.0, 2.0]), net.row([3.0, 4.0])]).unwrap();
    }

    fn steps(&self) -> u64 {
        self.trainer.steps(&nets::cost()).unwrap()
    }

    /// The bits of every parameter and every state.
    fn bits(&self) -> Vec<u32> {
        let names = self.parameters.names().map(|name| self.parameters.get::<f32>(name).unwrap());
        let states = self.trainer.states(&self.parameters);
        let states = states.map(|(name, slot)| self.trainer.state(&self.parameters, name, slot).unwrap());
        names.chain(states).flat_map(|array| array.into_iter().map(f32::to_bits)).collect()
    }
}
