//! Trainings that PaddlePaddle recorded: programs with gradients and updates, as `minimize` leaves them.
//!
//! The forward part is read as any program is. Written gradients are not: a training computes its own. What follows them is
//! understood, operator by operator: how gradients are clipped, which decay is added, which rule updates what parameter.
//!
//! | file | holds |
//! | --- | --- |
//! | `forward.rs` | the forward part as a program of its own |
//! | `meaning.rs` | what the values between gradients and updates mean |
//! | `settings.rs` | what all updates have in common, as the settings of a training |

mod forward;
mod meaning;
mod settings;

use std::collections::BTreeMap;

use self::meaning::Meanings;
use super::error::{ConvertError, Fault};
use super::from_wire::{Unsupported, load_recorded_forward};
use crate::ops::{Program, Update};
use crate::passes::clip::Clip;
use crate::passes::optimize::Decay;
use crate::wire::ProgramDesc;

/// A training that PaddlePaddle recorded.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The forward part. Its outputs are the cost and what was asked for. Parameters that no operator updates are not trained;
    /// others have the factor on their learning rate, and decay or a bound if theirs differs from that of others.
    pub program: Program,
    /// The update of each trained parameter, by its name.
    pub updates: BTreeMap<String, Update>,
    /// The clipping of all gradients.
    pub clip: Option<Clip>,
    /// The decay that is added to all gradients.
    pub decay: Option<Decay>,
    /// The learning rate at first, if the startup program says it.
    pub rate: Option<f64>,
}

/// Reads a training that PaddlePaddle recorded: its main program, with the gradients and updates that `minimize` appended,
/// and the startup program, which initialises its parameters. `fetch` are variables of the forward part that are wanted
/// beside the cost.
///
/// # Errors
/// Everything that is not supported, each with its place: operators of the forward part, and those between gradients and
/// updates that are none of clipping, decay and updating.
///
/// ```
/// use paddle_core::convert::load_recorded;
/// use paddle_core::wire::{BlockDesc, OpDesc, ProgramDesc};
///
/// let block = BlockDesc { parent_idx: -1, ops: vec![OpDesc::new("relu")], ..BlockDesc::default() };
/// let program = ProgramDesc { blocks: vec![block], ..ProgramDesc::default() };
/// let error = load_recorded(&program, None, &[]).unwrap_err();
/// assert!(error.to_string().contains("no gradients are recorded"), "{error}");
/// ```
pub fn load_recorded(
    main: &ProgramDesc,
    startup: Option<&ProgramDesc>,
    fetch: &[&str],
) -> Result<Recorded, Unsupported> {
    let forward = forward::forward(main, fetch)?;
    let program = load_recorded_forward(&forward, startup);
    let mut meanings = Meanings::new(main);
    meanings.follow(&main.blocks[0], startup);
    let (mut program, mut faults) = match program {
        Ok(program) => (program, Vec::new()),
        Err(unsupported) => (Program::new(), unsupported.faults),
    };
    faults.append(&mut meanings.faults);
    let common = settings::common(&meanings.updates);
    let (clip, decay) = match common {
        Ok(common) if faults.is_empty() => common,
        Ok(_) => return Err(Unsupported { faults }),
        Err(message) => {
            faults.push(form(message));
            return Err(Unsupported { faults });
        }
    };
    settings::set_options(&mut program, &meanings.updates, clip, decay);
    let rate = meanings.rate.and_then(|name| meaning::first_value(startup?, name));
    let updates = meanings.updates.into_iter().map(|(name, updated)| (name.to_string(), updated.update));
    Ok(Recorded { program, updates: updates.collect(), clip, decay, rate })
}

/// A fault of the program as a whole.
fn form(message: impl Into<String>) -> ConvertError {
    Fault::Form { message: message.into() }.into()
}
