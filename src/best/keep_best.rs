//! The parameters with which a value was best, in a file.

use std::path::{Path, PathBuf};

use paddle_core::plan::Backend;
use serde::Serialize;

use super::Best;
use crate::Error;
use crate::files::{self, Load, Notes};
use crate::parameters::Parameters;

/// The note of the file: the best value as bits, since JSON rounds and has no infinities, and when it was seen.
const NOTE: &str = "best";

/// Keeps the parameters with which a value was best in a file. The file is replaced as a whole or not at all; it is one of
/// [`Parameters::save`], and says how good it is and since when.
///
/// ```
/// use paddle::best::{Best, KeepBest};
/// use paddle::event::EventKind;
/// use paddle::reader::{DataSet, Reader};
/// use paddle::{Options, Parameters, Sgd, Trainer, network, test};
///
/// let net = network!(|x: Tensor<f32, _, 1>, y: Tensor<f32, _, 1>| mean(square(fc(x, 1) - y)));
/// let (rows, held_out) = ([net.row(0.0, 1.0), net.row(1.0, 3.0)], [net.row(1.0, 2.0)]);
/// let (mut parameters, mut trainer) = (Parameters::create(&net)?, Trainer::new(Sgd::new(0.05)));
/// # let path = std::env::temp_dir().join(format!("paddle-best-{}.safetensors", std::process::id()));
/// let mut keep = KeepBest::new(Best::lowest(), &path);
/// let reader = rows.passes(100).batch(2);
/// trainer.train(&net, &mut parameters, reader, Options::default(), |event| {
///     if let EventKind::EndPass { pass, .. } = event.kind() {
///         let cost = event.test(&net, held_out.iter().batch(8))?.cost();
///         keep.see(pass, cost, event.parameters())?;
///     }
///     Ok(())
/// })?;
/// keep.restore(&mut parameters)?;
/// let cost = test(&net, &parameters, held_out.iter().batch(8))?.cost();
/// assert_eq!(Some(f64::from(cost)), keep.best().value());
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), paddle::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct KeepBest {
    best: Best,
    path: PathBuf,
    notes: Notes,
}

impl KeepBest {
    /// Keeps them in this file, from the first value on. A file that is there is replaced then.
    pub fn new(best: Best, path: impl Into<PathBuf>) -> Self {
        KeepBest { best, path: path.into(), notes: Notes::default() }
    }

    /// Goes on from the file, for a training that is resumed: only what is better than its value replaces it. Without a
    /// file it begins anew.
    ///
    /// # Errors
    /// [`Error::File`] if the file cannot be read, is damaged, or was not written by a `KeepBest`.
    pub fn resume(mut best: Best, path: impl Into<PathBuf>) -> Result<Self, Error> {
        let path = path.into();
        match files::note::<(usize, u64)>(&path, NOTE) {
            Ok((at, bits)) => best.seen = Some((at, f64::from_bits(bits))),
            Err(error) if error.fault.is_absence() => {}
            Err(error) => return Err(error.into()),
        }
        Ok(KeepBest::new(best, path))
    }

    /// Adds a note to the file, which [`files::note`] reads: what has to be known to use the parameters, such as how
    /// rows are prepared.
    pub fn note(mut self, name: &str, value: &impl Serialize) -> Self {
        self.notes = self.notes.with(name, value);
        self
    }

    /// Takes a value, and writes the parameters if it is the best so far; returns whether it is. `at` is when it is seen: the
    /// number of a pass or of a step.
    ///
    /// Of ranks that train as equals (`Cluster::all_reduce`) all have to call it at the same place, behind their first step. The value of
    /// the first one counts, and it alone writes; the others hear whether it has.
    ///
    /// # Errors
    /// [`Error::File`] if the file cannot be written. Then the value does not count, and the next one is compared with the
    /// best before it, in all ranks. What `Cluster` says if another rank is gone.
    pub fn see<B: Backend>(
        &mut self,
        at: usize,
        value: impl Into<f64>,
        parameters: &Parameters<B>,
    ) -> Result<bool, Error> {
        let (bits, writes) = parameters.agree(value.into().to_bits())?;
        let mut best = self.best.clone();
        if !best.see(at, f64::from_bits(bits)) {
            return Ok(false);
        }
        // Parts of tables are in other ranks, so all of them read, whoever writes.
        parameters.values()?;
        let notes = || self.notes.clone().with(NOTE, &(at, bits));
        let written = if writes { parameters.save_with(&self.path, &notes()) } else { Ok(()) };
        let (is_kept, _) = parameters.agree(u64::from(written.is_ok()))?;
        written?;
        if is_kept == 0 {
            return Ok(false);
        }
        self.best = best;
        Ok(true)
    }

    /// The best value so far.
    pub fn best(&self) -> &Best {
        &self.best
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Sets the parameters to the best ones. In each rank it reads the file, which the first one has written.
    ///
    /// # Errors
    /// Those of [`Parameters::load`]; among them is that no value has been seen.
    pub fn restore<B: Backend>(&self, parameters: &mut Parameters<B>) -> Result<(), Error> {
        parameters.load(&self.path, Load::Strict).map(drop)
    }
}
