//! `batch_norm` and its gradient.

use paddle_core::ops::{BatchNorm, BatchNormGrad};

use super::Evaluate;
use crate::reference::call::{Call, Results};
use crate::reference::values::Values;

/// The channel of each element.
fn channels(shape: &[usize]) -> Vec<usize> {
    let inner: usize = shape[2..].iter().product();
    (0..shape.iter().product()).map(|element| element / inner % shape[1]).collect()
}

/// The mean of each channel's terms; 0 over no terms.
fn means(channels: &[usize], count: usize, terms: impl Fn(usize) -> f64) -> Vec<f64> {
    let mut sums = vec![0.0; count];
    let mut terms_of = vec![0_usize; count];
    for (element, &channel) in channels.iter().enumerate() {
        sums[channel] += terms(element);
        terms_of[channel] += 1;
    }
    sums.iter().zip(terms_of).map(|(sum, terms)| sum / terms.max(1) as f64).collect()
}

impl Evaluate for BatchNorm {
    /// The outputs, then the new moving statistics.
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let [x, scale, bias, moving_mean, moving_variance] = [0, 1, 2, 3, 4].map(|k| call.read(k).floats());
        let (channels, count) = (channels(&call.shape(0)), scale.len());
        let (mean, variance) = match self.is_test {
            true => (moving_mean.clone(), moving_variance.clone()),
            false => {
                let mean = means(&channels, count, |element| x[element]);
                let variance =
                    means(&channels, count, |element| (x[element] - mean[channels[element]]).powi(2));
                (mean, variance)
            }
        };
        let inverse: Vec<f64> =
            variance.iter().map(|variance| 1.0 / (variance + self.epsilon).sqrt()).collect();
        let y =
            x.iter().zip(&channels).map(|(x, &c)| (x - mean[c]) * inverse[c] * scale[c] + bias[c]).collect();
        let dtype = call.output_dtype(0);
        let advance = |moving: &[f64], now: &[f64]| {
            let pairs = moving.iter().zip(now);
            match x.is_empty() {
                true => moving.to_vec(),
                false => pairs.map(|(m, now)| self.momentum * m + (1.0 - self.momentum) * now).collect(),
            }
        };
        let mut results = vec![y, mean.clone(), inverse];
        if !self.keeps_statistics() {
            results.extend([advance(&moving_mean, &mean), advance(&moving_variance, &variance)]);
        }
        Ok(results.into_iter().map(|values| Values::round(dtype, values)).collect())
    }
}

impl Evaluate for BatchNormGrad {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let [x, scale, mean, inverse, grad] = [0, 1, 2, 3, 4].map(|k| call.read(k).floats());
        let channels = channels(&call.shape(0));
        let normal = |element: usize| {
            let channel = channels[element];
            (x[element] - mean[channel]) * inverse[channel]
        };
        let of_bias = means(&channels, scale.len(), |element| grad[element]);
        let of_scale = means(&channels, scale.len(), |element| grad[element] * normal(element));
        let of_x = (0..x.len()).map(|element| {
            let channel = channels[element];
            let through_statistics = match self.is_test {
                true => 0.0,
                false => of_bias[channel] + normal(element) * of_scale[channel],
            };
            (grad[element] - through_statistics) * scale[channel] * inverse[channel]
        });
        let terms = x.len() as f64 / scale.len() as f64;
        let sums = |means: &[f64]| means.iter().map(|mean| mean * terms).collect();
        let results: [Vec<f64>; 3] = [of_x.collect(), sums(&of_scale), sums(&of_bias)];
        Ok(results.into_iter().map(|values| Values::round(call.output_dtype(0), values)).collect())
    }
}
