//! Weights that are computed: weight normalisation, norms whose scale a network computes, changes of low rank, in loops too.

use crate::model::Model;

#[paddle::attribute::network]
mod model {
    /// Directions and lengths of filters, each a parameter. Salimans and Kingma (2016).
    fn filters() -> _ {
        let direction = parameter([4, 2, 3, 3], param = "direction", init = normal(0.0, 0.5));
        let length = parameter([4, 1, 1, 1], param = "length", init = constant(1.5));
        length * direction / sqrt(sum(square(direction), axis = [1, 2, 3], keep_dim = true) + 0.1)
    }

    /// A matrix, and a change of low rank. Hu et al. (2021).
    fn adapted() -> _ {
        let low = matmul(parameter([8, 2], param = "down"), parameter([2, 8], param = "up"));
        parameter([8, 8], param = "whole", lr = 0.0) + 0.5 * low
    }

    pub fn cost(picture: Tensor<f32, _, 2, 5, 5>, style: Tensor<f32, 4>, y: Tensor<f32, _, 1>) -> Tensor<f32> {
        let seen = conv2d(picture, 4, 3, w = filters(), b = 0.1 * style, act = tanh);
        let normed = group_norm(seen, 2, scale = 1.0 + 0.2 * style, bias_init = constant(0.1));
        let apart = instance_norm(conv2d(normed, 4, 2, bias = false), shift = style);
        let mut h = fc(apart, 8, act = tanh);
        let weights = adapted();
        let mut i = 0;
        while i < 3 {
            h = layer_norm(tanh(fc(h, 8, w = weights, bias = false)) + h, scale = sum(weights, axis = 1), param = "norm");
            i += 1;
        }
        let slopes = prelu(h, mode = element, w = 0.1 * sum(weights, axis = 0));
        mean(square(fc(slopes, 1) - y))
    }
}

#[paddle::attribute::network]
mod statistics {
    /// Whitened by statistics of another batch, then turned. It has no parameters, so it may be called again.
    fn whitened(x: _, centre: _, spread: _) -> _ {
        let normed = batch_norm(x, mean = centre, variance = square(spread) + 0.5, scale = spread, shift = 0.1 * centre);
        fc(normed, 3, w = reshape(spread, [1, 3]) * reshape(centre, [3, 1]), b = centre)
    }

    pub fn cost(x: Tensor<f32, _, 3>, centre: Tensor<f32, 3>) -> Tensor<f32> {
        let spread = parameter(3, param = "spread");
        let h = whitened(x, centre, spread);
        mean(square(fc(whitened(h, 0.5 * centre, spread), 2)))
    }
}

pub(crate) fn networks() -> Vec<Model> {
    vec![crate::model(model::cost()), crate::model(statistics::cost())]
}
