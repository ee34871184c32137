//! Which tensors of a file parameters take, and whether that is what was asked for.

use std::collections::BTreeSet;

use paddle_core::plan::{Backend, Stored};

use super::Load;
use super::error::FileFault;
use super::load_report::{LoadReport, Mismatch};
use super::safetensors::shown;
use crate::parameters::Parameters;

/// Tensors by name.
pub(crate) trait Tensors {
    /// All names.
    fn names(&self) -> BTreeSet<String>;
    /// The name that a parameter has in the file, if it is not asked for by another one.
    fn name_of<'a>(&'a self, parameter: &'a str) -> &'a str;
    /// Compares a tensor with a parameter; `None` if it is not there, and its type if that is another one.
    fn compare(&self, tensor: &str, parameter: &Stored) -> Option<Result<(), String>>;
}

/// The report, and what is to be read: parameters, each with the name of its tensor.
pub(crate) type Matched<'p> = (LoadReport, Vec<(&'p Stored, String)>);

impl<B: Backend> Parameters<B> {
    /// Looks for a tensor for each parameter.
    ///
    /// # Errors
    /// [`FileFault::Differs`] if the tensors are not those that `load` asks for.
    pub(crate) fn matched(&self, tensors: &impl Tensors, load: Load<'_>) -> Result<Matched<'_>, FileFault> {
        let (mut report, mut found, mut extra) = (LoadReport::default(), Vec::new(), tensors.names());
        for stored in self.iter() {
            let tensor = match load {
                Load::Strict | Load::Intersect => tensors.name_of(&stored.name).to_string(),
                Load::Map(map) => match map(&stored.name) {
                    Some(tensor) => tensor,
                    None => continue,
                },
            };
            extra.remove(&tensor);
            match tensors.compare(&tensor, stored) {
                None => report.missing.push(tensor),
                Some(Ok(())) => found.push((stored, tensor)),
                Some(Err(found)) => {
                    let (parameter, expected) = (stored.name.clone(), shown(stored.dtype, &stored.dims));
                    report.mismatched.push(Mismatch { parameter, tensor, found, expected });
                }
            }
        }
        report.loaded = found.len();
        report.extra = extra.into_iter().collect();
        let all = report.missing.is_empty() && report.mismatched.is_empty();
        let fits = match load {
            Load::Strict => all && report.extra.is_empty(),
            Load::Intersect => report.loaded > 0 || self.is_empty(),
            Load::Map(_) => all,
        };
        if fits { Ok((report, found)) } else { Err(FileFault::Differs(report)) }
    }
}
