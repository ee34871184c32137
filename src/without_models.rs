//! What stands in builds without the feature `models` for the loading and saving of models of others: errors of rustc that name the
//! feature.

use std::convert::Infallible;
use std::path::PathBuf;

use paddle_core::plan::Backend;

use crate::Error;
use crate::files::{Load, LoadReport};
use crate::network::{Dynamic, Network, Spec};
use crate::parameters::Parameters;

/// Holds for no path, so that a call that needs the feature does not compile.
#[diagnostic::on_unimplemented(
    message = "models of PaddlePaddle and in ONNX need the feature `models` of `paddle-rs`",
    label = "this needs the feature `models`",
    note = "cargo add paddle-rs --features models"
)]
#[doc(hidden)]
pub trait FeatureModels {}

/// [`Network::load`] of bytes, which needs the feature `models`.
#[doc(hidden)]
pub fn load_inference_model<P: FeatureModels + ?Sized>(
    _pdmodel: &P,
    _pdiparams: &[u8],
) -> Result<(Network<Dynamic>, Parameters), Error> {
    unreachable!("no type has the trait")
}

/// [`Network::load`] of bytes, which needs the feature `models`.
#[doc(hidden)]
pub fn load_onnx<P: FeatureModels + ?Sized>(_model: &P) -> Result<(Network<Dynamic>, Parameters), Error> {
    unreachable!("no type has the trait")
}

impl Network<Dynamic> {
    /// Needs the feature `models`.
    #[doc(hidden)]
    pub fn file_of<P: FeatureModels>(_path: P) -> Result<PathBuf, Error> {
        unreachable!("no type has the trait")
    }

    /// Needs the feature `models`.
    #[doc(hidden)]
    pub fn load<P: FeatureModels>(_path: P) -> Result<(Self, Parameters), Error> {
        unreachable!("no type has the trait")
    }
}

impl<S: Spec> Network<S> {
    /// Needs the feature `models`.
    #[doc(hidden)]
    pub fn save<P: FeatureModels, B: Backend>(&self, _path: P, _: &Parameters<B>) -> Result<(), Error> {
        unreachable!("no type has the trait")
    }
}

impl<B: Backend> Parameters<B> {
    /// Needs the feature `models`.
    #[doc(hidden)]
    pub fn load_model<P: FeatureModels>(&mut self, _path: P, _: Load<'_>) -> Result<LoadReport, Error> {
        unreachable!("no type has the trait")
    }
}

impl Parameters {
    /// Needs the feature `models`.
    #[doc(hidden)]
    pub fn of_saved<P: FeatureModels>(_path: P) -> Result<Self, Error> {
        unreachable!("no type has the trait")
    }
}

/// Needs the feature `models`.
#[doc(hidden)]
#[derive(Debug)]
pub struct Recorded(Infallible);

impl Recorded {
    /// Needs the feature `models`.
    ///
    /// # Errors
    /// None that a program sees: calls do not compile.
    pub fn load<P: FeatureModels>(_main: P, _startup: Option<P>, _fetch: &[&str]) -> Result<Self, Error> {
        unreachable!("no type has the trait")
    }
}
