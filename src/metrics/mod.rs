//! Metrics over a pass: values that are counted batch by batch, on the host, from what a network returns.
//!
//! A network computes metrics of a batch itself: they are the scalars behind its cost, such as `accuracy(..)`, and
//! [`test`](crate::test()) has their means. The ones here are those that are no mean over batches, or that compare
//! sequences. Each is a [`Measure`]: it takes batches, is merged with what others have counted, and has a value.
//! [`infer_each`](crate::infer_each()) brings the batches, also in a handler: [`Event::infer_each`](crate::Event::infer_each).
//!
//! ```
//! use paddle::attribute::network;
//! use paddle::metrics::{AreaUnderCurve, Average, Confusion, Measure};
//! use paddle::reader::Reader;
//! use paddle::{Parameters, infer_each};
//!
//! #[network]
//! mod judge {
//!     pub fn judged(x: Tensor<f32, _, 2>, label: Tensor<i64, _, 1>) -> (_, _, _) {
//!         let score = sigmoid(fc(x, 1, init = constant(1.0)));
//!         let class = cast(score > 0.5, i64);
//!         (score, class, label)
//!     }
//! }
//!
//! let net = judge::judged();
//! let rows = [net.row([1.0, 1.0], 1), net.row([0.5, -1.0], 0), net.row([-1.0, 0.0], 0), net.row([-1.5, 0.75], 1)];
//! let (mut area, mut classes) = (AreaUnderCurve::default(), Confusion::new(2));
//! infer_each(&net, &Parameters::create(&net)?, rows.iter().batch(3), |outputs| {
//!     area.add((outputs.get("score")?, outputs.get("label")?))?;
//!     Ok(classes.add((outputs.get("class")?, outputs.get("label")?))?)
//! })?;
//! assert_eq!(area.value(), 0.75);
//! assert_eq!((classes.precision(Average::Class(1)), classes.recall(Average::Class(1))), (1.0, 0.5));
//! # Ok::<(), paddle::Error>(())
//! ```
//!
//! | of | there is |
//! | --- | --- |
//! | classes | [`Confusion`]: accuracy, precision, recall, F1; [`TopK`] |
//! | scores | [`AreaUnderCurve`] |
//! | numbers | [`MeanAbsoluteError`], [`RSquared`] |
//! | texts | [`Perplexity`], [`Bleu`], [`EditDistance`], [`Chunks`] |

mod area;
mod bleu;
mod chunks;
mod confusion;
mod edit_distance;
mod error;
mod of_networks;
mod perplexity;
mod regression;
mod sequences;
mod top_k;

pub use self::area::AreaUnderCurve;
pub use self::bleu::Bleu;
pub use self::chunks::{Chunks, Scheme};
pub use self::confusion::{Average, Confusion};
pub use self::edit_distance::EditDistance;
pub use self::error::MeasureError;
pub use self::of_networks::Metric;
pub(crate) use self::of_networks::{Mean, MetricSums, Metrics};
pub use self::perplexity::Perplexity;
pub use self::regression::{MeanAbsoluteError, RSquared};
pub use self::sequences::Sequences;
pub use self::top_k::TopK;

/// A value over a pass, to which batches are added.
///
/// [The module](crate::metrics) has an example. A measure of your own is an implementation:
///
/// ```
/// use paddle::metrics::{Measure, MeasureError};
/// use ndarray::ArrayViewD;
///
/// /// The largest prediction.
/// #[derive(Default)]
/// struct Largest(f32);
///
/// impl Measure for Largest {
///     type Batch<'a> = ArrayViewD<'a, f32>;
///
///     fn add(&mut self, predicted: ArrayViewD<'_, f32>) -> Result<(), MeasureError> {
///         self.0 = predicted.iter().fold(self.0, |largest, &number| largest.max(number));
///         Ok(())
///     }
///
///     fn merge(&mut self, other: &Self) -> Result<(), MeasureError> {
///         self.0 = self.0.max(other.0);
///         Ok(())
///     }
///
///     fn value(&self) -> f64 {
///         self.0.into()
///     }
/// }
/// ```
pub trait Measure {
    /// What is added for a batch, in most cases what a network predicts and what is right.
    type Batch<'a>;

    /// Adds a batch. After an error the batch does not count.
    ///
    /// # Errors
    /// What was predicted and what is right do not belong together, or a number is none that can be counted.
    fn add(&mut self, batch: Self::Batch<'_>) -> Result<(), MeasureError>;

    /// Adds what another measure of the same settings has counted, on another thread or machine. The value is the one of a
    /// measure that was given the batches of both, up to rounding.
    ///
    /// # Errors
    /// The settings differ.
    fn merge(&mut self, other: &Self) -> Result<(), MeasureError>;

    /// The value over all batches so far. Each measure says what it is before the first one.
    fn value(&self) -> f64;
}
