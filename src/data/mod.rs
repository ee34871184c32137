//! Small real data sets, and tools for regression on them.
//!
//! ```
//! use paddle::data::{Standardizer, diabetes, least_squares, split};
//!
//! let (train, test) = split(diabetes::samples(), 5);
//! assert_eq!((train.len(), test.len()), (354, 88));
//!
//! // Features fit for training by gradients. The statistics are those of the training rows only.
//! let standard = Standardizer::fit(&train);
//! let [age, ..] = standard.apply(train[0].features);
//! assert!(age.abs() < 2.0);
//!
//! // The least error that a linear model can have on the training rows.
//! let best = least_squares(&train)?;
//! assert!(best.mse(&train) < best.mse(&test));
//! # Ok::<(), paddle::data::LeastSquaresError>(())
//! ```

pub mod diabetes;
pub mod digits;
mod error;
pub mod glosses;
mod gzip;
pub mod housing;
mod image;
pub mod inflections;
mod lbfgs;
mod least_squares;
pub mod mnist;
mod split;
mod standardize;
mod table;
pub mod text;
pub mod wordnet;

pub use error::DataError;
pub use image::Image;
pub use least_squares::{LeastSquaresError, Linear, least_squares};
pub use split::{is_held_out, split};
pub use standardize::Standardizer;

/// One row of a regression: `N` features and the target. [`least_squares`] has an example.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample<const N: usize> {
    /// The features, in the order of the data set's columns.
    pub features: [f32; N],
    /// The value to predict.
    pub target: f32,
}
