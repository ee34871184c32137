//! Checkpoints: their files, and checkpoints of several trainers in one file.
//!
//! # Files
//!
//! A checkpoint is a safetensors file. Its header has a checksum of each tensor and one of itself, so [`resume`] and
//! [`verify`] notice any changed bit. Older files, without checksums, can be read too.
//!
//! | name | what |
//! | --- | --- |
//! | `run.checkpoint` | the newest checkpoint |
//! | `run.checkpoint.previous` | the one before it, [`previous`]; used, with a warning, if the newest is damaged or missing |
//! | `.run.checkpoint.lock` | the lock of the writer: one training, or one call of [`save`], at a time; it ends with the process |
//! | `.run.checkpoint.71-0.tmp` | the file that process 71 is writing, which nobody else may read; the next save removes what killed processes left |
//!
//! Once a checkpoint was written, one of the first two files is whole at each moment, even if the process is killed or
//! the power fails. So checkpoints take the room of two files, and of three while one is written. A link is followed,
//! also to a file that does not exist yet, and all of these files are next to its target. In a folder where others may
//! write, their links are followed too. On file systems without locks nobody is kept out, and leftovers are not
//! removed; on those without hard links, the previous checkpoint is a copy. If the folder cannot be synced after the
//! new file has taken its place, the fault [`is_written`](FileFault::is_written): [`train`](crate::Trainer::train)
//! warns and goes on, [`save`] returns it.
//!
//! # Several trainers
//!
//! A GAN is trained by two trainers on one set of parameters. If the process ended between writing two files, they
//! would be of two moments; this one file is written as a whole or not at all.
//! [`Trainer::save_checkpoint`](crate::Trainer::save_checkpoint) and
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
//! # for path in [&path, &checkpoint::previous(&path)] {
//! #     std::fs::remove_file(path).unwrap();
//! # }
//! # Ok(())
//! # }
//! ```

use std::path::{Path, PathBuf};

use paddle_core::plan::Backend;

use self::sealed::Part;
use crate::Error;
use crate::files::checkpoint::{Checkpoint, TEXT, TrainerRecord, state_tensor};
pub use crate::files::keeper::previous;
use crate::files::keeper::{Keeper, warn};
use crate::files::safetensors::{Contents, Tensor, TensorFile};
pub use crate::files::verify::{FilePart, Verification, verify};
use crate::files::{FileError, FileFault, Load};
use crate::parameters::Parameters;
use crate::updater::states::States;

/// Writes a checkpoint of trainers, each with the networks that it trains, as a whole or not at all. It has the
/// parameters, the updaters' states, the numbers of passes and steps of the networks, and the seeds.
///
/// Call it between steps, or between calls of [`train`](crate::Trainer::train). The checkpoint that was there is kept
/// as [`previous`]. If the fault of an error [`is_written`](FileFault::is_written), the new checkpoint is in place
/// nevertheless.
///
/// ```
/// use paddle::{Parameters, Sgd, Trainer, checkpoint, network};
///
/// let net = network!(|x: Tensor<f32, _, 1>| mean(square(fc(x, 1))));
/// let (mut parameters, mut trainer) = (Parameters::create(&net)?, Trainer::new(Sgd::new(0.1)));
/// trainer.step(&net, &mut parameters, [1.0])?;
/// # let path = std::env::temp_dir().join(format!("paddle-save-{}.safetensors", std::process::id()));
/// checkpoint::save(&path, &parameters, ((&mut trainer, &net),))?;
/// assert!(checkpoint::verify(&path)?.is_intact());
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), paddle::Error>(())
/// ```
///
/// # Errors
/// [`Error::File`] if the file cannot be written or another training writes to it, and those of
/// [`Network::program`](crate::Network::program).
pub fn save<'a, B: Backend + 'a>(
    path: impl AsRef<Path>,
    parameters: &Parameters<B>,
    trainings: impl Trainings<'a, B>,
) -> Result<(), Error> {
    save_by(&mut Keeper::of(path.as_ref())?, parameters, trainings)
}

/// Like [`save`], by a keeper that has the lock already.
pub(crate) fn save_by<'a, B: Backend + 'a>(
    keeper: &mut Keeper,
    parameters: &Parameters<B>,
    trainings: impl Trainings<'a, B>,
) -> Result<(), Error> {
    let parts = trainings.parts()?;
    #[cfg(feature = "cluster")]
    parts.iter().try_for_each(|part| part.steps.check_states())?;
    let trainers =
        parts.iter().map(|Part { steps, models, .. }| (steps.record(models), steps.states_of(parameters)));
    write(keeper, parameters, trainers.collect())
}

/// Returns to a checkpoint of the same trainers and networks, given in the same order. The training then continues with
/// the same bits as after the checkpoint was written. An error changes nothing.
///
/// The trainers have to be created as they were, with the same updaters. If the checkpoint is damaged or missing, the
/// one before it is used, see [`previous`]; a warning on the standard error stream, and the result, say so.
///
/// ```
/// use paddle::{Parameters, Sgd, Trainer, checkpoint, network};
///
/// let net = network!(|x: Tensor<f32, _, 1>| mean(square(fc(x, 1))));
/// let (mut parameters, mut trainer) = (Parameters::create(&net)?, Trainer::new(Sgd::new(0.1)));
/// # let path = std::env::temp_dir().join(format!("paddle-resume-{}.safetensors", std::process::id()));
/// checkpoint::save(&path, &parameters, ((&mut trainer, &net),))?;
/// let first = trainer.step(&net, &mut parameters, [1.0])?.cost();
/// checkpoint::resume(&path, &mut parameters, ((&mut trainer, &net),))?;
/// assert_eq!(trainer.steps(&net)?, 0);
/// assert_eq!(trainer.step(&net, &mut parameters, [1.0])?.cost(), first);
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), paddle::Error>(())
/// ```
///
/// # Errors
/// [`Error::File`] if neither checkpoint can be read, or if it has other parameters, networks, trainers or updaters,
/// and those of [`Network::program`](crate::Network::program).
pub fn resume<'a, B: Backend + 'a>(
    path: impl AsRef<Path>,
    parameters: &mut Parameters<B>,
    trainings: impl Trainings<'a, B>,
) -> Result<Resumed, Error> {
    read(path.as_ref(), parameters, &mut trainings.parts()?)
}

/// The checkpoint that a training continues from.
///
/// ```
/// use paddle::checkpoint::{self, Resumed};
/// use paddle::{Parameters, Sgd, Trainer, network};
///
/// let net = network!(|x: Tensor<f32, _, 1>| mean(square(fc(x, 1))));
/// # let path = std::env::temp_dir().join(format!("paddle-resumed-{}.safetensors", std::process::id()));
/// let (mut parameters, mut trainer) = (Parameters::create(&net)?, Trainer::new(Sgd::new(0.1)));
/// for _ in 0..2 {
///     trainer.step(&net, &mut parameters, [1.0])?;
///     trainer.save_checkpoint(&net, &parameters, &path)?;
/// }
/// assert!(matches!(trainer.resume(&net, &mut parameters, &path)?, Resumed::Newest));
/// // The newest is lost.
/// std::fs::remove_file(&path).unwrap();
/// let Resumed::Previous { path: before, .. } = trainer.resume(&net, &mut parameters, &path)? else { panic!() };
/// assert_eq!(before, checkpoint::previous(&path));
/// assert_eq!(trainer.steps(&net)?, 1);
/// # std::fs::remove_file(before).unwrap();
/// # Ok::<(), paddle::Error>(())
/// ```
#[derive(Debug)]
pub enum Resumed {
    /// The newest one.
    Newest,
    /// The one before the newest.
    Previous {
        /// Its path.
        path: PathBuf,
        /// The error of the newest.
        newest: FileError,
    },
}

/// A tuple of trainings, each a trainer and its networks: `((&mut for_d, &d), (&mut for_g, &g))`. One trainer may have
/// several networks: `((&mut trainer, (&a, &b)),)`.
///
/// [The module](crate::checkpoint) has an example.
pub trait Trainings<'a, B: Backend + 'a>: sealed::Parts<'a, B> {}

impl<'a, B: Backend + 'a, T: sealed::Parts<'a, B>> Trainings<'a, B> for T {}

pub(crate) mod sealed {
    use std::sync::Arc;

    use paddle_core::plan::Backend;

    use crate::Error;
    use crate::model::Model;
    use crate::parameters::Networks;
    use crate::trainer::{Steps, Trainer};
    use crate::updater::Updater;

    /// A trainer and its networks.
    pub struct Part<'a, B: Backend> {
        pub(crate) steps: &'a mut Steps<B>,
        pub(crate) updater: &'a dyn Updater,
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
                    Ok(vec![$($updater.part($networks.models()?)),*])
                }
            }
        };
    }
    tuples! { U1 N1 }
    tuples! { U1 N1 U2 N2 }
    tuples! { U1 N1 U2 N2 U3 N3 }
    tuples! { U1 N1 U2 N2 U3 N3 U4 N4 }
}

/// Writes the records of trainers, and the states of their updaters.
#[inline(never)]
pub(crate) fn write<B: Backend>(
    keeper: &mut Keeper,
    parameters: &Parameters<B>,
    trainers: Vec<(TrainerRecord, Option<&States<B>>)>,
) -> Result<(), Error> {
    let values = parameters.values()?;
    let (mut records, mut kept) = (Vec::new(), Vec::new());
    for (k, (mut record, states)) in trainers.into_iter().enumerate() {
        for ((parameter, slot), stored) in states.into_iter().flat_map(States::iter) {
            kept.extend(states.map(|states| (state_tensor(k, parameter, slot), stored, &states.buffers)));
            record.states.push((parameter.to_string(), slot.to_string()));
        }
        records.push(record);
    }
    let (backend, text) = (parameters.backend(), Checkpoint { trainers: records }.text());
    let of_parameters = parameters.iter();
    let of_parameters = of_parameters.map(|stored| Tensor::new(&stored.name, stored, backend, values));
    let of_states = kept.iter().map(|(name, stored, buffers)| Tensor::new(name, stored, backend, *buffers));
    let contents = Contents::new(vec![(TEXT.to_string(), text)], of_parameters.chain(of_states).collect());
    Ok(keeper.write(contents)?)
}

/// Restores these trainers and the parameters from a checkpoint, or from the one before it.
#[inline(never)]
pub(crate) fn read<B: Backend>(
    path: &Path,
    parameters: &mut Parameters<B>,
    parts: &mut [Part<'_, B>],
) -> Result<Resumed, Error> {
    let newest = match read_one(path, parameters, parts) {
        Ok(()) => return Ok(Resumed::Newest),
        Err(Error::File(error)) if error.fault.is_damage() => error,
        Err(error) => return Err(error),
    };
    let previous = previous(path);
    match read_one(&previous, parameters, parts) {
        Ok(()) => {}
        Err(Error::File(error)) if error.fault.is_absence() => return Err(newest.into()),
        Err(Error::File(error)) => {
            let (newest, previous) = (Box::new(newest.fault), Box::new(error));
            return Err(FileFault::NoneIntact { newest, previous }.of(path).into());
        }
        Err(error) => return Err(error),
    }
    warn(format_args!("{newest}; going on from the checkpoint before it, {}", previous.display()));
    Ok(Resumed::Previous { path: previous, newest })
}

/// Restores them from this file.
fn read_one<B: Backend>(
    path: &Path,
    parameters: &mut Parameters<B>,
    parts: &mut [Part<'_, B>],
) -> Result<(), Error> {
    let mut file = TensorFile::open(path)?;
    let Checkpoint { trainers } = Checkpoint::of(&file, path)?;
    check_networks(parts, &trainers).map_err(|fault| fault.of(path))?;
    for (part, record) in parts.iter().zip(&trainers) {
        part.steps.check_record(part.updater, &part.models, record, path)?;
    }
    let (_, values) = parameters.read(&mut file, path, Load::Strict)?;
    let names = parameters.names_in_file(&file);
    let states = trainers.iter().enumerate().map(|(k, record)| {
        let of_state = |(parameter, slot): &(String, String)| {
            (names.of_parameter(parameter), slot.clone(), state_tensor(k, parameter, slot))
        };
        States::read(parameters, &mut file, record.states.iter().map(of_state), path)
    });
    let states = states.collect::<Result<Vec<_>, _>>()?;
    parameters.upload(&values);
    for ((part, record), states) in parts.iter_mut().zip(trainers).zip(states) {
        part.steps.go_back(&part.models, record, states);
    }
    Ok(())
}

/// Compares the trainers and networks of a checkpoint with those that are to continue.
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
