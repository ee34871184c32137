//! The report of loading: the parameters that a file has, lacks, or has in another form.

use std::fmt;

/// The result of comparing a file with the parameters that were to be read.
///
/// [The module of files](crate::files) has an example, and [`Mismatch`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadReport {
    /// The number of parameters that were read; after an error, that could have been read.
    pub loaded: usize,
    /// The parameters that the file lacks, in their order.
    pub missing: Vec<String>,
    /// The tensors of the file that were not asked for, sorted.
    pub extra: Vec<String>,
    /// The parameters whose element type or shape differs in the file.
    pub mismatched: Vec<Mismatch>,
}

/// A parameter whose element type or shape differs in a file.
///
/// ```
/// use paddle::files::Load;
/// use paddle::{Parameters, network};
///
/// let model = network!(|x: Tensor<f32, _, 2>| { let line = fc(x, 1); line });
/// let wider = network!(|x: Tensor<f32, _, 3>| { let line = fc(x, 1); line });
/// # let path = std::env::temp_dir().join(format!("paddle-mismatch-{}.safetensors", std::process::id()));
/// Parameters::create(&model)?.save(&path)?;
/// let report = Parameters::create(&wider)?.load(&path, Load::Intersect)?;
/// let [mismatch] = &report.mismatched[..] else { panic!("the bias fits") };
/// assert_eq!((mismatch.found.as_str(), mismatch.expected.as_str()), ("F32[2, 1]", "F32[3, 1]"));
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), paddle::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// Its name.
    pub parameter: String,
    /// The name in the file.
    pub tensor: String,
    /// The type in the file: `F32[128, 64]`.
    pub found: String,
    /// The type of the parameter.
    pub expected: String,
}

impl fmt::Display for LoadReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if !self.missing.is_empty() {
            parts.push(format!("it lacks {}", list(self.missing.iter().map(|name| format!("`{name}`")))));
        }
        if !self.extra.is_empty() {
            let names = list(self.extra.iter().map(|name| format!("`{name}`")));
            parts.push(format!("it has {names}, which are no parameters"));
        }
        if !self.mismatched.is_empty() {
            parts.push(list(self.mismatched.iter().map(Mismatch::to_string)));
        }
        f.write_str(&parts.join("; "))
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Mismatch { parameter, tensor, found, expected } = self;
        match parameter == tensor {
            true => write!(f, "`{parameter}` is {found} there, but {expected} is expected"),
            false => {
                write!(f, "`{tensor}` is {found} there, but {expected} is expected for `{parameter}`")
            }
        }
    }
}

/// The first items, and the number of the others.
fn list(items: impl ExactSizeIterator<Item = String>) -> String {
    const SHOWN: usize = 8;
    let more = items.len().saturating_sub(SHOWN);
    let shown = items.take(SHOWN).collect::<Vec<_>>().join(", ");
    if more == 0 { shown } else { format!("{shown} and {more} more") }
}
