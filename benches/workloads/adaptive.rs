//! W9: a loop that rows leave one by one, as soon as they are large enough.

use paddle::attribute::network;
use paddle::core::plan::Backend;
use paddle::{Batch, Error, Parameters, Sgd, Trainer};

use crate::random::{field, integers, symmetric, unit, weights};
use crate::workload::{POOL, Training, Workload, matrix};

const WIDTH: usize = 128;

#[network]
mod adaptive {
    pub fn cost(x: Tensor<f32, _, 128>, label: Tensor<i64, _, 1>) -> Tensor<f32> {
        let mut y = x;
        let mut n = 0;
        while sqrt(sum(square(y), axis = 1)) <= 3.0 && n < 32 {
            y = fc(y, 128, act = tanh, param = "step");
            n += 1;
        }
        mean(softmax_with_cross_entropy(fc(y, 10, param = "class"), label))
    }
}

pub(crate) fn workload<B: Backend + Clone + 'static>(
    backend: B,
    rows: usize,
) -> Result<Box<dyn Workload>, Error> {
    let net = adaptive::cost();
    let mut parameters = Parameters::create_on(backend, &net, 0)?;
    let step = symmetric(9000, WIDTH * WIDTH).into_iter().map(|x| 0.2296 * x).collect();
    parameters.set(adaptive::params::step::w, &matrix([WIDTH, WIDTH], step))?;
    parameters.set(adaptive::params::class::w, &matrix([WIDTH, 10], weights(9, 1, WIDTH, 10)))?;
    let batch = |p: usize| {
        let seed = |k| field(9, p as u64, k);
        let scales = unit(seed(0), rows).into_iter().map(|u| 10f32.powf(-3.0 * u));
        let mut x = matrix([rows, WIDTH], symmetric(seed(1), rows * WIDTH));
        for (mut row, scale) in x.rows_mut().into_iter().zip(scales) {
            row *= scale;
        }
        let label = ndarray::Array1::from(integers(seed(2), rows, 10));
        Ok(Batch::new(&net)?.with("x", &x)?.with("label", &label)?)
    };
    let pool = (0..POOL).map(batch).collect::<Result<_, Error>>()?;
    let training = Training::new(net, parameters, Trainer::new(Sgd::new(0.01)), pool);
    // Rows need fewer iterations the longer it is trained.
    Ok(Box::new(training.restarting(50)))
}
