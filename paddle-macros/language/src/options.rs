//! Options of compilation at run time: what rustc would know about the code around a source.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// The options with which a source is compiled. By default there are no sources to import from and no outside sizes,
/// and no predicate of `#[cfg(..)]` holds.
///
/// ```
/// use paddle_language::{Options, compile};
///
/// let parts = "pub fn twice(x: Tensor<f32, _, N>) -> Tensor<f32, _, N> { x + x }";
/// let source = "
///     use parts::twice;
///     const WORDS: usize;
///     pub fn count(x: Tensor<f32, _, WORDS>) -> Tensor<f32, _> { sum(twice(x), axis = 1) }
/// ";
/// let options = Options::new().file("count.rs").source("parts", "parts.rs", parts).size("WORDS", 8);
/// let compiled = compile(source, &options)?;
/// assert!(compiled.topologies[0].program.to_string().contains("x: f32[_, 8]"));
/// # Ok::<(), paddle_language::Diagnostics>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub(crate) file: Option<String>,
    pub(crate) folder: Option<PathBuf>,
    pub(crate) network: Option<String>,
    pub(crate) sizes: BTreeMap<String, i64>,
    pub(crate) sources: BTreeMap<String, Imported>,
    pub(crate) holds: BTreeSet<String>,
}

/// The source of a module that other sources may import from.
#[derive(Clone, Debug)]
pub(crate) struct Imported {
    pub(crate) file: String,
    pub(crate) text: String,
}

impl Options {
    /// Options for a source that needs nothing from outside.
    pub fn new() -> Self {
        Options::default()
    }

    /// Sets the name of the source in diagnostics and programs. The default is `source`.
    pub fn file(mut self, name: impl Into<String>) -> Self {
        self.file = Some(name.into());
        self
    }

    /// Gives the folder that the source stands in, from which `include_model!` looks for files. Without it a source reads no
    /// files: it may come from anywhere.
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// Selects one network of several by the name of its `pub fn`. Mistakes in the other networks are still errors.
    pub fn network(mut self, name: impl Into<String>) -> Self {
        self.network = Some(name.into());
        self
    }

    /// Gives a size that the source leaves open: `const WORDS: usize;`, a const parameter, a variable that a closure
    /// captures by `move`, or a path as it is written, `crate::WIDTH`. It is a number of elements, at least 1.
    /// [`compile`](crate::compile()) errors if the size does not fit the networks.
    pub fn size(mut self, name: impl Into<String>, value: usize) -> Self {
        // A size too large for any memory is refused when it is bound.
        self.sizes.insert(name.into(), i64::try_from(value).unwrap_or(i64::MAX));
        self
    }

    /// Gives the module that a path such as `models::ranking` in a `use` leads to: the name of its file, and its text.
    /// The module may import from other modules.
    pub fn source(
        mut self,
        module: impl Into<String>,
        file: impl Into<String>,
        text: impl Into<String>,
    ) -> Self {
        self.sources.insert(module.into(), Imported { file: file.into(), text: text.into() });
        self
    }

    /// Sets a predicate of `#[cfg(..)]` to true: `unix`, or `feature = "wide"`.
    pub fn cfg(mut self, predicate: impl Into<String>) -> Self {
        self.holds.insert(predicate.into().replace(' ', ""));
        self
    }
}
