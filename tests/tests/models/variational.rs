//! A variational autoencoder that is fed its noise: two heads of one layer, a sample, and the divergence.

use paddle::attribute::network;

#[network]
pub mod variational {
    const LATENT: usize = 2;

    fn posterior(x: _) -> (Tensor<f32, _, LATENT>, Tensor<f32, _, LATENT>) {
        let hidden = fc(x, 8, act = tanh);
        let mu = fc(hidden, LATENT);
        let log_variance = fc(hidden, LATENT);
        (mu, log_variance)
    }

    fn likelihood(z: _) -> Tensor<f32, _, 10> {
        let hidden = fc(z, 8, act = tanh);
        fc(hidden, 10)
    }

    pub fn cost(x: Tensor<f32, _, 10>, noise: Tensor<f32, _, LATENT>) -> (Tensor<f32>, _, _) {
        let (mu, log_variance) = posterior(x);
        let z = mu + exp(0.5 * log_variance) * noise;
        let reconstruction = mean(square(likelihood(z) - x));
        let divergence = -0.5 * mean(1.0 + log_variance - square(mu) - exp(log_variance));
        (reconstruction + divergence, reconstruction, divergence)
    }

    pub fn sample(noise: Tensor<f32, _, LATENT>) -> _ {
        likelihood(noise)
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    let cost = crate::model(variational::cost());
    assert_eq!(cost.parameter_names()[2], "posterior.mu.w");
    vec![cost, crate::model(variational::sample())]
}
