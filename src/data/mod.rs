//! Files of data, how rows are prepared, small real data sets, and tools for regression on them.
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
//!
//! | to | there is |
//! | --- | --- |
//! | read files | [`Delimited`] (CSV, TSV), [`JsonLines`]; image folders with the feature `images`, Parquet with `parquet` |
//! | split rows | [`split`](split()), [`random_split`], [`stratified_split`], [`folds`], [`is_held_out`] |
//! | make numbers of them | [`Standardizer`], [`Categories`], [`text`] |
//! | change images at random | [`augment`] |

pub mod augment;
mod categories;
pub mod cifar;
mod delimited;
pub mod diabetes;
pub mod digits;
mod error;
pub mod evaluations;
mod factorisation;
pub mod glosses;
mod gzip;
pub mod housing;
mod image;
#[cfg(feature = "images")]
mod image_folder;
pub mod inflections;
mod json_lines;
mod lbfgs;
mod least_squares;
mod logistic_regression;
pub mod mnist;
pub mod movielens;
#[cfg(feature = "parquet")]
mod parquet;
mod picture;
pub mod pictures;
pub mod pronunciations;
mod random_split;
pub mod ratings;
mod split;
mod standardize;
mod table;
pub mod text;
pub mod wordnet;

pub use categories::Categories;
pub use delimited::Delimited;
pub use error::DataError;
pub use factorisation::{Factorisation, Factors};
pub use image::Image;
#[cfg(feature = "images")]
pub use image_folder::{ImageFolder, read_image};
pub use json_lines::JsonLines;
pub use least_squares::{LeastSquaresError, Linear, least_squares};
pub use logistic_regression::{LogisticRegression, LogisticRegressionError};
#[cfg(feature = "parquet")]
pub use parquet::Parquet;
pub use picture::Picture;
pub use random_split::{folds, random_split, stratified_split};
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
