//! A training that goes on from files that nobody meant.

use std::path::PathBuf;

use paddle::attribute::network;
use paddle::{Adam, Error, Load, Network, Parameters, Trainer, checkpoint};

/// With moving statistics, so with parameters that no gradient changes.
#[network]
mod model {
    pub fn cost(x: Tensor<f32, _, 3>, y: Tensor<f32, _, 1>) -> Tensor<f32> {
        let hidden = fc(x, 4, act = tanh);
        let seen = batch_norm(hidden);
        mean(square(fc(seen, 1) - y))
    }
}

/// A training of a few steps, and where its file is.
pub struct Training {
    net: Network<model::cost::Spec>,
    parameters: Parameters,
    trainer: Trainer<Adam>,
    path: PathBuf,
}

impl Training {
    /// A training that has not begun. Its file is one of this process.
    pub fn new() -> Result<Self, Error> {
        let net = model::cost();
        let parameters = Parameters::create(&net)?;
        let path = std::env::temp_dir().join(format!("paddle-fuzz-{}.safetensors", std::process::id()));
        Ok(Training { net, parameters, trainer: Trainer::new(Adam::new(0.01)), path })
    }

    /// Trains for a step.
    pub fn step(&mut self) -> Result<(), Error> {
        let rows = [self.net.row([0.5, -1.0, 2.0], 1.0), self.net.row([1.5, 0.0, -0.5], -1.0)];
        self.trainer.step(&self.net, &mut self.parameters, rows).map(drop)
    }

    /// A file of the parameters, PaddlePaddle's file of them, and a checkpoint.
    pub fn files(&mut self) -> Result<[Vec<u8>; 3], Error> {
        self.parameters.save(&self.path)?;
        let parameters = self.take();
        self.parameters.save_pdiparams(&self.path)?;
        let pdiparams = self.take();
        self.trainer.save_checkpoint(&self.net, &self.parameters, &self.path)?;
        Ok([parameters, pdiparams, self.take()])
    }

    fn take(&self) -> Vec<u8> {
        let bytes = std::fs::read(&self.path).expect("it was written");
        std::fs::remove_file(&self.path).expect("it can be removed");
        bytes
    }

    /// Goes on from a checkpoint of these bytes, or says why not.
    pub fn resume(&mut self, bytes: &[u8]) {
        self.write(bytes);
        say(checkpoint::verify(&self.path).map(drop).map_err(Error::from));
        match self.trainer.resume(&self.net, &mut self.parameters, &self.path) {
            Ok(_) => say(self.step()),
            Err(error) => say(Err(error)),
        }
    }

    /// Takes parameters from a file of these bytes, or says why not.
    pub fn load(&mut self, bytes: &[u8]) {
        self.write(bytes);
        say(checkpoint::verify(&self.path).map(drop).map_err(Error::from));
        say(self.parameters.load(&self.path, Load::Strict).map(drop));
        say(self.parameters.load(&self.path, Load::Intersect).map(drop));
        say(self.parameters.load_pdiparams(&self.path));
        say(self.step());
    }

    fn write(&self, bytes: &[u8]) {
        std::fs::write(&self.path, bytes).expect("the folder of temporary files is writable");
    }
}

/// An error has words.
pub(crate) fn say(result: Result<(), Error>) {
    if let Err(error) = result {
        assert!(!error.to_string().is_empty());
    }
}
