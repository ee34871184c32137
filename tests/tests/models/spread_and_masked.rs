//! Reductions that are made of others, triangles of matrices, a softmax along an axis, and noise, in models that train.

use paddle::network;

pub(crate) fn networks() -> Vec<crate::Model> {
    vec![standardised(), causal(), noisy()]
}

/// By hand, what a layer norm computes; along the rows, what a batch norm does.
fn standardised() -> crate::Model {
    crate::model(network!(|x: Tensor<f32, _, 6>, y: Tensor<f32, _, 1>| {
        let of_row = (x - mean(x, axis = 1, keep_dim = true)) / (std(x, axis = 1, keep_dim = true) + 0.01);
        let of_batch = x / sqrt(var(x, axis = 0, unbiased = false) + 0.1);
        let energy = logsumexp(fc([of_row, of_batch], 4), axis = 1, keep_dim = true);
        mean(square(energy - y)) + 0.1 * var(energy)
    }))
}

/// Attention of each place to those before it, and to places of all kinds along another axis.
fn causal() -> crate::Model {
    crate::model(network!(|x: Tensor<f32, _, 5, 4>, y: Tensor<f32, _, 5, 4>| {
        let scores = matmul(x, x, transpose_y = true) * 0.5;
        let seen = exp(tril(scores)) - triu(scores, diagonal = 1);
        let shares = tril(softmax(scores, axis = 1)) + softmax(seen, axis = -1);
        mean(square(fc(flatten(matmul(shares, x)), 20) - flatten(y)))
    }))
}

/// Noise of each row, drawn anew in each step.
fn noisy() -> crate::Model {
    crate::model(network!(|image: Tensor<f32, _, 6>| {
        let noise = gaussian_random(image, 4);
        let fake = fc(concat([noise, uniform_random(image, 2, min = 0.0)]), 6, act = tanh);
        let kept = bernoulli(sigmoid(image)) + cast(randint(image, 6, 3), f32);
        mean(square(fake - image) * kept)
    }))
}
