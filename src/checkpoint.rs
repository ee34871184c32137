//! Checkpoints of several trainers: a training that goes on with several networks in turn, in one file.
//!
//! A GAN is trained by two trainers on one set of parameters. Two files would be of two moments if the process ended between
//! them; this one is written as a whole or not at all. [`Trainer::save_checkpoint`](crate::Trainer::save_checkpoint) and
//! [`Options::checkpoint`](crate::Options::checkpoint) are for one network of one trainer.
//!
//! ```
//! use paddle::attribute::network;
//! use paddle::{Adam, Options, Parameters, Trainer, checkpoint};
//!
//! #[network]
//! mod gan {
//!     fn generate(noise: Tensor<f32, _, 2>) -> _ {
//!         fc(dropout(noise, 0.1), 1, param = "G")
//!     }
//!
//!     fn judge(x: Tensor<f32, _, 1>) -> _ {
//!         fc(x, 1, param = "D")
//!     }
//!
//!     pub fn d_cost(x: Tensor<f32, _, 1>, noise: Tensor<f32, _, 2>) -> Tensor<f32> {
//!         mean(softplus(-judge(x))) + mean(softplus(judge(generate(noise))))
//!     }
//!
//!     pub fn g_cost(noise: Tensor<f32, _, 2>) -> Tensor<f32> {
//!         mean(softplus(-judge(generate(noise))))
//!     }
//! }
//!
//! # fn main() -> Result<(), paddle::Error> {
//! # let path = std::env::temp_dir().join(format!("paddle-gan-{}.safetensors", std::process::id()));
//! let (d, g) = (gan::d_cost(), gan::g_cost());
//! let mut parameters = Parameters::create((&d, &g))?;
//! let (mut for_d, mut for_g) = (Trainer::new(Adam::new(0.01)), Trainer::new(Adam::new(0.02)));
//! if path.exists() {
//!     checkpoint::resume(&path, &mut parameters, ((&mut for_d, &d), (&mut for_g, &g)))?;
//! }
//! let (of_d, of_g) = (Options::default().freeze(gan::params::G), Options::default().freeze(gan::params::D));
//! while for_g.steps(&g)? < 10 {
//!     for_d.step_with(&d, &mut parameters, [d.row(1.0, [0.5, 2.0])], &of_d)?;
//!     for_g.step_with(&g, &mut parameters, [g.row([1.5, -1.0])], &of_g)?;
//!     checkpoint::save(&path, &parameters, ((&mut for_d, &d), (&mut for_g, &g)))?;
//! }
//! # assert!(path.exists());
//! # std::fs::remove_file(&path).unwrap();
//! # Ok(())
//! # }
//! ```

use std::path::Path;

use paddle_core::plan::Backend;

use self::sealed::Part;
use crate::Error;
use crate::files::checkpoint::{Checkpoint, TEXT, TrainerRecord, state_tensor};
use crate::files::safetensors::{self, Tensor, TensorFile};
use crate::files::{FileError, FileFault, Load};
use crate::parameters::Parameters;
use crate::updater::states::States;

/// Writes a checkpoint of trainers, each with the networks that it trains, as a whole or not at all: the parameters, what
/// the updaters keep of them, the numbers of passes and steps of these networks, the seeds.
///
/// It is taken between steps, or between calls of [`train`](crate::Trainer::train).
pub fn save<'a, B: Backend + 'a>(
    path: impl AsRef<Path>,
    parameters: &Parameters<B>,
    trainings: impl Trainings<'a, B>,
) -> Result<(), Error> {
    let parts = trainings.parts()?;
    let trainers =
        parts.iter().map(|Part { trainer, models }| (trainer.record(models), trainer.states_of(parameters)));
    Ok(write(path.as_ref(), parameters, trainers.collect())?)
}

/// Goes back to a checkpoint of the same trainers and networks, given in the same order: what follows is, bit for bit, what
/// followed when it was taken. Nothing is changed by an error.
///
/// The trainers have to be made as they were, with the same updaters.
pub fn resume<'a, B: Backend + 'a>(
    path: impl AsRef<Path>,
    parameters: &mut Parameters<B>,
    trainings: impl Trainings<'a, B>,
) -> Result<(), Error> {
    read(path.as_ref(), parameters, &mut trainings.parts()?)
}

/// A tuple of trainings, each a trainer and what it trains: `((&mut for_d, &d), (&mut for_g, &g))`. One trainer may have
/// several networks: `((&mut trainer, (&a, &b)),)`.
pub trait Trainings<'a, B: Backend + 'a>: sealed::Parts<'a, B> {}

impl<'a, B: Backend + 'a, T: sealed::Parts<'a, B>> Trainings<'a, B> for T {}

pub(crate) mod sealed {
    use std::sync::Arc;

    use paddle_core::plan::Backend;

    use crate::Error;
    use crate::model::Model;
    use crate::parameters::Networks;
    use crate::trainer::Trainer;
    use crate::trainer::checkpoint::Resumable;
    use crate::updater::Updater;

    /// A trainer and what it trains.
    pub struct Part<'a, B: Backend> {
        pub(crate) trainer: &'a mut dyn Resumable<B>,
        pub(crate) models: Vec<Arc<Model>>,
    }

    pub trait Parts<'a, B: Backend> {
        fn parts(self) -> Result<Vec<Part<'a, B>>, Error>;
    }

    macro_rules! tuples {
        ($($updater:ident $networks:ident)*) => {
            impl<'a, $($updater: Updater, $networks: Networks,)* B> Parts<'a, B>
                for ($((&'a mut Trainer<$updater, B>, $networks),)*)
            where
                B: Backend + Clone + 'a,
            {
                fn parts(self) -> Result<Vec<Part<'a, B>>, Error> {
                    #[expect(non_snake_case, reason = "the parts are named as their types")]
                    let ($(($updater, $networks),)*) = self;
                    Ok(vec![$(Part { trainer: $updater, models: $networks.models()? }),*])
                }
            }
        };
    }
    tuples! { U1 N1 }
    tuples! { U1 N1 U2 N2 }
    tuples! { U1 N1 U2 N2 U3 N3 }
    tuples! { U1 N1 U2 N2 U3 N3 U4 N4 }
}

/// Writes what there is to say of trainers, and what their updaters keep.
pub(crate) fn write<B: Backend>(
    path: &Path,
    parameters: &Parameters<B>,
    trainers: Vec<(TrainerRecord, Option<&States<B>>)>,
) -> Result<(), FileError> {
    let (mut records, mut kept) = (Vec::new(), Vec::new());
    for (k, (mut record, states)) in trainers.into_iter().enumerate() {
        for ((parameter, slot), stored) in states.into_iter().flat_map(States::iter) {
            kept.extend(states.map(|states| (state_tensor(k, parameter, slot), stored, &states.buffer)));
            record.states.push((parameter.to_string(), slot.to_string()));
        }
        records.push(record);
    }
    let (backend, text) = (parameters.backend(), Checkpoint { trainers: records }.text());
    parameters.read_with(|state| {
        let of_parameters = parameters.iter();
        let of_parameters =
            of_parameters.map(|stored| Tensor::new(&stored.name, stored, backend, &state.values));
        let of_states = kept.iter().map(|(name, stored, buffer)| Tensor::new(name, stored, backend, buffer));
        let tensors: Vec<_> = of_parameters.chain(of_states).collect();
        safetensors::write(path, Some((TEXT, text)), &tensors)
    })
}

/// Takes these trainers and the parameters back to a checkpoint.
pub(crate) fn read<B: Backend>(
    path: &Path,
    parameters: &mut Parameters<B>,
    parts: &mut [Part<'_, B>],
) -> Result<(), Error> {
    let mut file = TensorFile::open(path)?;
    let Checkpoint { trainers } = Checkpoint::of(&file, path)?;
    check_networks(parts, &trainers).map_err(|fault| fault.of(path))?;
    for (part, record) in parts.iter().zip(&trainers) {
        part.trainer.check(&part.models, record, path)?;
    }
    let (_, values) = parameters.read(&mut file, path, Load::Strict)?;
    let states = trainers.iter().enumerate().map(|(k, record)| {
        let names = record.states.iter();
        let names = names.map(|(parameter, slot)| (parameter, slot, state_tensor(k, parameter, slot)));
        States::read(parameters, &mut file, names, path)
    });
    let states = states.collect::<Result<Vec<_>, _>>()?;
    parameters.upload(&values);
    for ((part, record), states) in parts.iter_mut().zip(trainers).zip(states) {
        part.trainer.go_back(&part.models, record, states);
    }
    Ok(())
}

/// Compares the trainers and networks of a checkpoint with those that are to go on.
fn check_networks<B: Backend>(parts: &[Part<'_, B>], trainers: &[TrainerRecord]) -> Result<(), FileFault> {
    let is_same = |part: &Part<'_, B>, record: &TrainerRecord| {
        let mut pairs = part.models.iter().zip(&record.networks);
        let same_names = pairs.all(|(model, network)| {
            network.name.as_ref().is_none_or(|name| *name == model.signature.network)
        });
        part.models.len() == record.networks.len() && same_names
    };
    if parts.len() == trainers.len() && parts.iter().zip(trainers).all(|(part, record)| is_same(part, record))
    {
        return Ok(());
    }
    let found = trainers.iter().map(|record| {
        let names = record.networks.iter().map(|network| network.name.clone());
        names.map(|name| name.unwrap_or_else(|| "a network".to_string())).collect()
    });
    let expected =
        parts.iter().map(|part| part.models.iter().map(|model| model.signature.network.clone()).collect());
    Err(FileFault::Trainings { found: found.collect(), expected: expected.collect() })
}
