//! Checkpoints: a training in one file, to go on from.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use paddle_core::passes::Pipeline;
use paddle_core::plan::{Backend, state_name};
use paddle_core::program::Type;

use super::Trainer;
use crate::Error;
use crate::files::checkpoint::{Checkpoint, TEXT};
use crate::files::safetensors::{self, Tensor, TensorFile, shown};
use crate::files::{FileFault, Load, LoadReport, Mismatch};
use crate::model::Model;
use crate::network::{Network, Spec};
use crate::parameters::Parameters;
use crate::position::Position;
use crate::updater::Updater;
use crate::updater::states::States;

impl<U: Updater, B: Backend + Clone> Trainer<U, B> {
    /// Writes a checkpoint of the training of a network: the parameters, what the updater keeps of them, the numbers of
    /// passes and steps, the seed. It is one safetensors file, written as a whole or not at all.
    ///
    /// [`Options::checkpoint`](crate::Options::checkpoint) does it within [`train`](Self::train), and keeps the place
    /// within the pass, too.
    pub fn save_checkpoint<S: Spec>(
        &mut self,
        net: &Network<S>,
        parameters: &Parameters<B>,
        path: impl AsRef<Path>,
    ) -> Result<(), Error> {
        let model = net.model()?;
        let progress = self.progress(model);
        let position = progress.resumed.clone().unwrap_or_else(|| Position::before(progress.passes));
        self.write_checkpoint(model, parameters, &position, path.as_ref())
    }

    /// Goes back to a checkpoint: what follows is, bit for bit, what followed when it was taken. Nothing is changed by an
    /// error.
    ///
    /// The trainer has to be made as it was, with the same updater. The next [`train`](Self::train) of the network needs
    /// the reader that was being read: it reads again, without training, what was read before the checkpoint, so
    /// that it goes on in the middle of a pass.
    ///
    /// ```
    /// use paddle::reader::{DataSet, Reader};
    /// use paddle::{Adam, Options, Parameters, Trainer, network};
    ///
    /// let cost = network!(|x: Tensor<f32, _, 1>| { mean(square(fc(x, 1))) });
    /// let rows = [1.0_f32, 2.0, 3.0, 4.0, 5.0].map(|x| cost.row(x));
    /// # let path = std::env::temp_dir().join(format!("paddle-checkpoint-{}.safetensors", std::process::id()));
    /// let mut parameters = Parameters::create(&cost)?;
    /// let mut trainer = Trainer::new(Adam::new(0.1));
    /// if path.exists() {
    ///     trainer.resume(&cost, &mut parameters, &path)?;
    /// }
    /// let reader = rows.iter().passes(3).shuffle(5).batch(2);
    /// let options = Options::default().checkpoint(&path).checkpoint_every(2);
    /// trainer.train(&cost, &mut parameters, reader, options, |_| Ok(()))?;
    /// assert_eq!(trainer.steps(&cost)?, 9);
    /// # assert!(path.exists());
    /// # std::fs::remove_file(&path).unwrap();
    /// # Ok::<(), paddle::Error>(())
    /// ```
    pub fn resume<S: Spec>(
        &mut self,
        net: &Network<S>,
        parameters: &mut Parameters<B>,
        path: impl AsRef<Path>,
    ) -> Result<(), Error> {
        let (model, path) = (net.model()?, path.as_ref());
        let mut file = TensorFile::open(path)?;
        let checkpoint = Checkpoint::of(&file, path)?;
        self.check_slots(model, &checkpoint, path)?;
        let (_, values) = parameters.read(&mut file, path, Load::Strict)?;
        let states = read_states(parameters, &mut file, &checkpoint, path)?;
        parameters.upload(&values);
        self.plans.retain(|plan| !plan.session.is_of(parameters.identity()));
        self.states.retain(|states| !states.is_of(parameters));
        self.states.push(states);
        let Checkpoint { steps, seed, position, .. } = checkpoint;
        self.seed = seed;
        let progress = self.progress(model);
        (progress.steps, progress.passes) = (steps, position.pass);
        progress.resumed = Some(position);
        Ok(())
    }

    /// The number of steps that a network was trained by.
    pub fn steps<S: Spec>(&mut self, net: &Network<S>) -> Result<u64, Error> {
        Ok(self.progress(net.model()?).steps)
    }

    pub(super) fn write_checkpoint(
        &mut self,
        model: &Arc<Model>,
        parameters: &Parameters<B>,
        position: &Position,
        path: &Path,
    ) -> Result<(), Error> {
        let (seed, steps) = (self.seed, self.progress(model).steps);
        let states = self.states.iter().find(|states| states.is_of(parameters));
        let keys = states.into_iter().flat_map(States::keys);
        let keys = keys.map(|(parameter, slot)| (parameter.to_string(), slot.to_string()));
        let checkpoint = Checkpoint { steps, seed, position: position.clone(), states: keys.collect() };
        let backend = parameters.backend();
        Ok(parameters.with(|state| {
            let of_parameters = parameters.iter();
            let of_parameters =
                of_parameters.map(|stored| Tensor::new(&stored.name, stored, backend, &state.values));
            let mut tensors: Vec<_> = of_parameters.collect();
            if let Some(states) = states {
                tensors.extend(states.iter().map(|((parameter, slot), stored)| {
                    Tensor::new(&state_name(parameter, slot), stored, backend, &states.buffer)
                }));
            }
            safetensors::write(path, Some((TEXT, checkpoint.text())), &tensors)
        })?)
    }

    /// Compares the slots of a checkpoint with those that the updater has. Parameters that were frozen have none.
    fn check_slots(&self, model: &Model, checkpoint: &Checkpoint, path: &Path) -> Result<(), Error> {
        let mut program = model.program.clone();
        Pipeline::training(&self.settings, &|_| false, &|update| self.updater.update(update))
            .run(&mut program)?;
        let mut expected: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for state in program.states() {
            expected.entry(&program.var(state.parameter).name).or_default().insert(&state.slot);
        }
        let trained = model.program.parameters().map(|var| model.program.var(var).name.as_str());
        for parameter in trained {
            let expected = expected.remove(parameter).unwrap_or_default();
            let slots = checkpoint.states.iter().filter(|(of, _)| of == parameter);
            let found: BTreeSet<_> = slots.map(|(_, slot)| slot.as_str()).collect();
            let frozen = found.is_empty() && (checkpoint.steps == 0 || !checkpoint.states.is_empty());
            if found != expected && !frozen {
                let list = |slots: BTreeSet<&str>| slots.into_iter().map(str::to_string).collect();
                let (parameter, found, expected) = (parameter.to_string(), list(found), list(expected));
                return Err(FileFault::Updater { parameter, found, expected }.of(path).into());
            }
        }
        Ok(())
    }
}

/// What the updater kept of the parameters, with its values. Each is of its parameter's shape, or one element.
fn read_states<B: Backend>(
    parameters: &Parameters<B>,
    file: &mut TensorFile,
    checkpoint: &Checkpoint,
    path: &Path,
) -> Result<States<B>, Error> {
    let (mut states, mut report) = (States::new(parameters)?, LoadReport::default());
    let mut found = Vec::new();
    for (parameter, slot) in &checkpoint.states {
        let tensor = state_name(parameter, slot);
        let Some(stored) = parameters.storage().find(parameter) else {
            report.extra.push(tensor);
            continue;
        };
        let shapes = [&stored.dims[..], &[1]];
        match shapes.map(|dims| (dims, file.compare(&tensor, stored.dtype, dims))) {
            [(dims, Some(Ok(()))), _] | [_, (dims, Some(Ok(())))] => {
                found.push((parameter, slot, stored.dtype, dims))
            }
            [(_, Some(Err(found))), _] => {
                let (parameter, expected) = (tensor.clone(), shown(stored.dtype, &stored.dims));
                report.mismatched.push(Mismatch { parameter, tensor, found, expected });
            }
            [(_, None), _] => report.missing.push(tensor),
        }
    }
    if (report.missing.len(), report.extra.len(), report.mismatched.len()) != (0, 0, 0) {
        return Err(FileFault::Differs(report).of(path).into());
    }
    for (parameter, slot, dtype, dims) in found {
        let name = state_name(parameter, slot);
        let values = file.read(&name, dtype)?;
        let dims: Vec<_> = dims.iter().map(|&dim| dim as i64).collect();
        states.insert(parameters.backend(), (parameter, slot), &Type::new(dtype, dims), &values)?;
    }
    Ok(states)
}
