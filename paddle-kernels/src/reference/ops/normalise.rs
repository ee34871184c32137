//! `layer_norm`, `group_norm` and their gradients.

use paddle_core::ops::{GroupNorm, GroupNormGrad, LayerNorm, LayerNormGrad};

use super::Evaluate;
use crate::reference::call::{Call, Results};
use crate::reference::values::Values;

impl Evaluate for LayerNorm {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        Ok(Normalisation::of_layers(self, &call.shape(0)).forward(call))
    }
}

impl Evaluate for LayerNormGrad {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        Ok(Normalisation::of_layers(&self.0, &call.shape(0)).grad(call))
    }
}

impl Evaluate for GroupNorm {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        Ok(Normalisation::of_groups(self, &call.shape(0)).forward(call))
    }
}

impl Evaluate for GroupNormGrad {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        Ok(Normalisation::of_groups(&self.0, &call.shape(0)).grad(call))
    }
}

/// How a value is normalised.
struct Normalisation {
    /// The number of elements that are normalised together.
    length: usize,
    /// The number of neighbouring elements that share a scale and a bias.
    inner: usize,
    epsilon: f64,
}

impl Normalisation {
    fn of_layers(op: &LayerNorm, shape: &[usize]) -> Self {
        let length = shape[op.begin_norm_axis as usize..].iter().product();
        Normalisation { length, inner: 1, epsilon: op.epsilon }
    }

    fn of_groups(op: &GroupNorm, shape: &[usize]) -> Self {
        let inner: usize = shape[2..].iter().product();
        Normalisation { length: shape[1] / op.groups as usize * inner, inner, epsilon: op.epsilon }
    }

    /// The index of the scale and bias of an element.
    fn channel(&self, element: usize, channels: usize) -> usize {
        element / self.inner % channels
    }

    fn forward(&self, call: &Call<'_>) -> Vec<Values> {
        let [x, scale, bias] = [0, 1, 2].map(|k| call.read(k).floats());
        let count = call.output_shape(1).iter().product::<usize>();
        let run = |run: usize| &x[run * self.length..][..self.length];
        let divisor = self.length.max(1) as f64;
        let means: Vec<f64> = (0..count).map(|at| run(at).iter().sum::<f64>() / divisor).collect();
        let spread = |at: usize| run(at).iter().map(|x| (x - means[at]).powi(2)).sum::<f64>();
        let variances: Vec<f64> = (0..count).map(|at| spread(at) / divisor).collect();
        let value = |(element, x): (usize, &f64)| {
            let (run, channel) = (element / self.length, self.channel(element, scale.len()));
            (x - means[run]) / (variances[run] + self.epsilon).sqrt() * scale[channel] + bias[channel]
        };
        let y = x.iter().enumerate().map(value).collect();
        [y, means.clone(), variances].map(|values| Values::round(call.output_dtype(0), values)).into()
    }

    fn grad(&self, call: &Call<'_>) -> Vec<Values> {
        let [x, scale, mean, variance, grad] = [0, 1, 2, 3, 4].map(|k| call.read(k).floats());
        let inverse: Vec<f64> =
            variance.iter().map(|variance| 1.0 / (variance + self.epsilon).sqrt()).collect();
        let normal = |element: usize| {
            let run = element / self.length;
            (x[element] - mean[run]) * inverse[run]
        };
        let (mut of_scale, mut of_bias) = (vec![0.0; scale.len()], vec![0.0; scale.len()]);
        // For each run of elements, the sum of the gradients of the normalised elements, and the sum of their products
        // with them.
        let (mut level, mut slope) = (vec![0.0; mean.len()], vec![0.0; mean.len()]);
        for (element, grad) in grad.iter().enumerate() {
            let (run, channel) = (element / self.length, self.channel(element, scale.len()));
            of_scale[channel] += grad * normal(element);
            of_bias[channel] += grad;
            level[run] += grad * scale[channel];
            slope[run] += grad * scale[channel] * normal(element);
        }
        let of_x = |element: usize| {
            let (run, channel) = (element / self.length, self.channel(element, scale.len()));
            let (level, slope) = (level[run] / self.length as f64, slope[run] / self.length as f64);
            (grad[element] * scale[channel] - level - normal(element) * slope) * inverse[run]
        };
        let of_x: Vec<f64> = (0..x.len()).map(of_x).collect();
        [of_x, of_scale, of_bias].map(|values| Values::round(call.output_dtype(0), values)).into()
    }
}
