//! W6: a generator and a discriminator, trained in turn.

use ndarray::Array2;
use paddle::attribute::network;
use paddle::core::plan::Backend;
use paddle::{Adam, Batch, Error, Network, Options, Parameters, Precision, Profile, Trainer};

use crate::random::{field, symmetric, weights};
use crate::workload::{POOL, Workload};

#[network]
mod gan {
    fn generate(noise: Tensor<f32, _, 100>) -> Tensor<f32, _, 784> {
        let hidden = fc(noise, 128, act = relu, param = "G.hidden");
        fc(hidden, 784, act = tanh, param = "G.image")
    }

    fn judge(image: Tensor<f32, _, 784>) -> Tensor<f32, _, 1> {
        let hidden = leaky_relu(fc(image, 128, param = "D.hidden"), alpha = 0.2);
        fc(hidden, 1, param = "D.real")
    }

    /// How badly images and what is generated are told apart.
    pub fn d_cost(real: Tensor<f32, _, 784>, noise: Tensor<f32, _, 100>) -> Tensor<f32> {
        mean(softplus(-judge(real))) + mean(softplus(judge(generate(noise))))
    }

    /// How badly what is generated passes for images.
    pub fn g_cost(noise: Tensor<f32, _, 100>) -> Tensor<f32> {
        mean(softplus(-judge(generate(noise))))
    }
}

/// Two trainers on one set of parameters.
struct Gan<B: Backend> {
    d: (Network<gan::d_cost::Spec>, Trainer<Adam, B>, Options),
    g: (Network<gan::g_cost::Spec>, Trainer<Adam, B>, Options),
    parameters: Parameters<B>,
    pool: Vec<(Batch<gan::d_cost::Spec>, Batch<gan::g_cost::Spec>)>,
}

impl<B: Backend + Clone> Workload for Gan<B> {
    fn step(&mut self, at: usize) -> Result<f32, Error> {
        let (for_d, for_g) = &self.pool[at];
        let (net, trainer, options) = &mut self.d;
        let d_cost = trainer.step_with(net, &mut self.parameters, for_d, options)?.cost();
        let (net, trainer, options) = &mut self.g;
        let g_cost = trainer.step_with(net, &mut self.parameters, for_g, options)?.cost();
        Ok(d_cost + g_cost)
    }

    fn compute_in(&mut self, precision: Precision) {
        for options in [&mut self.d.2, &mut self.g.2] {
            *options = options.clone().precision(precision);
        }
    }

    fn profile(&mut self, steps: usize) -> Result<Vec<Profile>, Error> {
        let (net, trainer, options) = &mut self.d;
        let batches = self.pool.iter().map(|(for_d, _)| for_d).cycle().take(steps);
        let of_d = trainer.profile(net, &mut self.parameters, batches, options)?;
        let (net, trainer, options) = &mut self.g;
        let batches = self.pool.iter().map(|(_, for_g)| for_g).cycle().take(steps);
        Ok(vec![of_d, trainer.profile(net, &mut self.parameters, batches, options)?])
    }
}

pub(crate) fn workload<B: Backend + Clone + 'static>(
    backend: B,
    rows: usize,
) -> Result<Box<dyn Workload>, Error> {
    let (d, g) = (gan::d_cost(), gan::g_cost());
    let mut parameters = Parameters::create_on(backend, (&d, &g), 0)?;
    let layers =
        [("G.hidden.w", 100, 128), ("G.image.w", 128, 784), ("D.hidden.w", 784, 128), ("D.real.w", 128, 1)];
    for (k, (name, fan_in, fan_out)) in layers.into_iter().enumerate() {
        let w = Array2::from_shape_vec((fan_in, fan_out), weights(6, k as u64, fan_in, fan_out));
        parameters.set(name, &w.expect("as many numbers as weights"))?;
    }
    let batch = |p: usize| {
        let numbers = |k: u64, width: usize| {
            let numbers = symmetric(field(6, p as u64, k), rows * width);
            Array2::from_shape_vec((rows, width), numbers).expect("as many numbers as elements")
        };
        let for_d = Batch::new(&d)?.with("real", &numbers(0, 784))?.with("noise", &numbers(1, 100))?;
        Ok((for_d, Batch::new(&g)?.with("noise", &numbers(2, 100))?))
    };
    let pool = (0..POOL).map(batch).collect::<Result<_, Error>>()?;
    let trainer = || Trainer::new(Adam::new(2e-4).betas(0.5, 0.999));
    let (frozen_g, frozen_d) =
        (Options::default().freeze(gan::params::G), Options::default().freeze(gan::params::D));
    Ok(Box::new(Gan { d: (d, trainer(), frozen_g), g: (g, trainer(), frozen_d), parameters, pool }))
}
