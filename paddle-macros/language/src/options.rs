//! What a source is compiled with: all that rustc knows beside it, where it is compiled by rustc.

use std::collections::{BTreeMap, BTreeSet};

/// What a source is compiled with. By itself it has no imports, no sizes of others, and `#[cfg(..)]` holds for nothing.
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
    pub(crate) network: Option<String>,
    pub(crate) sizes: BTreeMap<String, i64>,
    pub(crate) sources: BTreeMap<String, Imported>,
    pub(crate) holds: BTreeSet<String>,
}

/// The source of a module that may be imported from.
#[derive(Clone, Debug)]
pub(crate) struct Imported {
    pub(crate) file: String,
    pub(crate) text: String,
}

impl Options {
    /// Nothing but the source.
    pub fn new() -> Self {
        Options::default()
    }

    /// What the source is called in diagnostics and in programs; without it, `source`.
    pub fn file(mut self, name: impl Into<String>) -> Self {
        self.file = Some(name.into());
        self
    }

    /// The one network to compile, of a source with several: the name of its `pub fn`. Mistakes in the others are errors all the same.
    pub fn network(mut self, name: impl Into<String>) -> Self {
        self.network = Some(name.into());
        self
    }

    /// The value of a size that the source does not say: of `const WORDS: usize;`, of a const parameter, of a variable that a closure
    /// captures by `move`, or of a path, as it is written: `crate::WIDTH`. A number of elements, at least 1; what is not, or is not
    /// what the networks ask for, is an error of [`compile`](crate::compile()).
    pub fn size(mut self, name: impl Into<String>, value: usize) -> Self {
        // What is too large for any memory is refused when it is bound.
        self.sizes.insert(name.into(), i64::try_from(value).unwrap_or(i64::MAX));
        self
    }

    /// The module that paths such as `models::ranking` in a `use` lead to: the name of its file, and its text, which may import from
    /// other modules in turn.
    pub fn source(
        mut self,
        module: impl Into<String>,
        file: impl Into<String>,
        text: impl Into<String>,
    ) -> Self {
        self.sources.insert(module.into(), Imported { file: file.into(), text: text.into() });
        self
    }

    /// A predicate of `#[cfg(..)]` that holds: `unix`, or `feature = "wide"`.
    pub fn cfg(mut self, predicate: impl Into<String>) -> Self {
        self.holds.insert(predicate.into().replace(' ', ""));
        self
    }
}
