//! How unsure a model of texts is.

use ndarray::ArrayViewD;

use super::error::finite;
use super::{Measure, MeasureError};

/// `e` to the mean loss over all tokens: as unsure as a choice among so many that are equally probable. It is 1 before the
/// first token.
///
/// A batch is the losses of its tokens, `-ln p` of what is right, as `softmax_with_cross_entropy` gives them. So a text counts
/// as much as it has tokens, which it would not in a mean of the perplexities of batches.
///
/// ```
/// use ndarray::arr1;
/// use paddle::metrics::{Measure, Perplexity};
///
/// let mut perplexity = Perplexity::default();
/// perplexity.add(arr1(&[0.5_f32.ln(), 0.25_f32.ln()]).map(|ln| -ln).view().into_dyn())?;
/// assert!((perplexity.value() - 8.0_f64.sqrt()).abs() < 1e-6);
/// # Ok::<(), paddle::metrics::MeasureError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Perplexity {
    sum: f64,
    tokens: u64,
}

impl Measure for Perplexity {
    type Batch<'a> = ArrayViewD<'a, f32>;

    fn add(&mut self, losses: Self::Batch<'_>) -> Result<(), MeasureError> {
        losses.iter().enumerate().try_for_each(|(token, &loss)| finite(token, loss))?;
        self.sum += losses.iter().map(|&loss| f64::from(loss)).sum::<f64>();
        self.tokens += losses.len() as u64;
        Ok(())
    }

    fn merge(&mut self, other: &Self) -> Result<(), MeasureError> {
        (self.sum, self.tokens) = (self.sum + other.sum, self.tokens + other.tokens);
        Ok(())
    }

    fn value(&self) -> f64 {
        (self.sum / self.tokens.max(1) as f64).exp()
    }
}
