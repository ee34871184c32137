//! Checkpoints: files from which a training goes on.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Weak};

use paddle_core::passes::Pipeline;
use paddle_core::plan::Backend;

use super::Trainer;
use super::steps::Steps;
use crate::Error;
use crate::checkpoint::{self, Resumed, sealed::Part};
use crate::files::FileFault;
use crate::files::checkpoint::{NetworkRecord, TrainerRecord};
use crate::files::keeper::Keeper;
use crate::model::Model;
use crate::network::{Network, Spec};
use crate::parameters::Parameters;
use crate::position::Position;
use crate::updater::Updater;
use crate::updater::states::States;

impl<U: Updater, B: Backend + Clone> Trainer<U, B> {
    /// Writes a checkpoint of the training of a network: the parameters, the updater's states, the numbers of passes
    /// and steps, and the seed. It is one safetensors file with [checksums](checkpoint), written as a whole or not at
    /// all. The checkpoint that was there is kept as [`checkpoint::previous`].
    ///
    /// [`Options::checkpoint`](crate::Options::checkpoint) writes checkpoints within [`train`](Self::train), with the
    /// position within the pass. [`checkpoint::save`] writes one of several networks and trainers.
    ///
    /// # Errors
    /// [`Error::File`](crate::Error::File) if the checkpoint cannot be written, or another training writes to it.
    /// After a fault that [`is_written`](FileFault::is_written), the new checkpoint is in its place; after any other,
    /// the old one is.
    pub fn save_checkpoint<S: Spec>(
        &self,
        net: &Network<S>,
        parameters: &Parameters<B>,
        path: impl AsRef<Path>,
    ) -> Result<(), Error> {
        #[cfg(feature = "cluster")]
        self.steps.check_states()?;
        let record = self.steps.record(std::slice::from_ref(net.model()?));
        let mut keeper = Keeper::of(path.as_ref())?;
        let states = self.steps.states_of(parameters);
        checkpoint::write(&mut keeper, parameters, vec![(record, states)])
    }

    /// Goes back to a checkpoint. The training then continues bit for bit as it did after the checkpoint. An error
    /// changes nothing. If the checkpoint is damaged or missing, the [one before](checkpoint::previous) is read; a
    /// warning on the standard error stream, and the result, say so.
    ///
    /// The trainer has to be created in the same way, with the same updater. The next [`train`](Self::train) of the
    /// network needs the same reader: it skips what was read before the checkpoint, without training, and goes on in
    /// the middle of a pass.
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
    /// # for path in [&path, &paddle::checkpoint::previous(&path)] {
    /// #     std::fs::remove_file(path).unwrap();
    /// # }
    /// # Ok::<(), paddle::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::File`](crate::Error::File) if neither checkpoint can be read, or the checkpoint is of other
    /// parameters, networks or updaters.
    pub fn resume<S: Spec>(
        &mut self,
        net: &Network<S>,
        parameters: &mut Parameters<B>,
        path: impl AsRef<Path>,
    ) -> Result<Resumed, Error> {
        let part = self.part(vec![Arc::clone(net.model()?)]);
        checkpoint::read(path.as_ref(), parameters, &mut [part])
    }

    /// The number of steps that a network was trained for.
    ///
    /// # Errors
    /// Those of [`Network::program`].
    pub fn steps<S: Spec>(&self, net: &Network<S>) -> Result<u64, Error> {
        Ok(self.steps.known_progress(net.model()?).map_or(0, |progress| progress.steps))
    }

    /// The part of this trainer in a checkpoint of these networks.
    pub(crate) fn part(&mut self, models: Vec<Arc<Model>>) -> Part<'_, B> {
        Part { steps: &mut self.steps, updater: &self.updater, models }
    }
}

impl<B: Backend> Steps<B> {
    /// Writes the checkpoint of one network at a position in its reader.
    pub(super) fn write_checkpoint(
        &self,
        model: &Arc<Model>,
        parameters: &Parameters<B>,
        position: &Position,
        keeper: &mut Keeper,
    ) -> Result<(), Error> {
        let mut record = self.record(std::slice::from_ref(model));
        record.networks.iter_mut().for_each(|network| network.position = position.clone());
        checkpoint::write(keeper, parameters, vec![(record, self.states_of(parameters))])
    }

    /// The trainer's progress with these networks, without the updater's states.
    pub(crate) fn record(&self, models: &[Arc<Model>]) -> TrainerRecord {
        let network = |model: &Arc<Model>| {
            let name = Some(model.signature.network.clone());
            let Some(progress) = self.known_progress(model) else {
                return NetworkRecord { name, steps: 0, position: Position::before(0) };
            };
            let position = progress.resumed.clone().unwrap_or_else(|| Position::before(progress.passes));
            NetworkRecord { name, steps: progress.steps, position }
        };
        TrainerRecord { seed: self.seed, networks: models.iter().map(network).collect(), states: Vec::new() }
    }

    /// The updater's states of the parameters, if there are any.
    pub(crate) fn states_of(&self, parameters: &Parameters<B>) -> Option<&States<B>> {
        self.states.iter().find(|states| states.is_of(parameters))
    }

    /// The updater's states of the parameters, if there are any and no cluster has newer ones.
    pub(super) fn states_here(&self, parameters: &Parameters<B>) -> Option<&States<B>> {
        #[cfg(feature = "cluster")]
        if self.check_states().is_err() {
            return None;
        }
        self.states_of(parameters)
    }

    /// Errors if the slots of a checkpoint are not those of the updater. Frozen parameters have none.
    #[inline(never)]
    pub(crate) fn check_record(
        &self,
        updater: &dyn Updater,
        models: &[Arc<Model>],
        record: &TrainerRecord,
        path: &Path,
    ) -> Result<(), Error> {
        let has_stepped = record.networks.iter().any(|network| network.steps > 0);
        for model in models {
            let mut program = model.program.clone();
            Pipeline::training(&self.settings, &|_| false, &|update| updater.update(update))
                .run(&mut program)?;
            let mut expected: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
            for state in program.states() {
                expected.entry(&program.var(state.parameter).name).or_default().insert(&state.slot);
            }
            let trained = model.program.parameters().map(|var| model.program.var(var).name.as_str());
            for parameter in trained {
                let expected = expected.remove(parameter).unwrap_or_default();
                let slots = record.states.iter().filter(|(of, _)| of == parameter);
                let found: BTreeSet<_> = slots.map(|(_, slot)| slot.as_str()).collect();
                let frozen = found.is_empty() && (!has_stepped || !record.states.is_empty());
                if found != expected && !frozen {
                    let list = |slots: BTreeSet<&str>| slots.into_iter().map(str::to_string).collect();
                    let (parameter, found, expected) = (parameter.to_string(), list(found), list(expected));
                    return Err(FileFault::Updater { parameter, found, expected }.of(path).into());
                }
            }
        }
        Ok(())
    }

    /// Sets progress and states to those of a checkpoint.
    #[inline(never)]
    pub(crate) fn go_back(&mut self, models: &[Arc<Model>], record: TrainerRecord, states: States<B>) {
        let is_of_others = |identity: &Weak<()>| !Weak::ptr_eq(identity, states.identity());
        self.plans.retain(|plan| is_of_others(plan.session.parameters()));
        self.states.retain(|other| is_of_others(other.identity()));
        self.states.push(states);
        self.seed = record.seed;
        for (model, NetworkRecord { steps, position, .. }) in models.iter().zip(record.networks) {
            let progress = self.progress(model);
            (progress.steps, progress.passes) = (steps, position.pass);
            progress.resumed = Some(position);
        }
    }
}
