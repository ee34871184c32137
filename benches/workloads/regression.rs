//! W4: linear regression, so small that it measures what a step costs beside its arithmetic.

use ndarray::{Array1, Array2};
use paddle::core::plan::Backend;
use paddle::{Batch, Error, Parameters, Sgd, Trainer, network};

use crate::random::{field, symmetric, weights};
use crate::workload::{POOL, Training, Workload};

pub(crate) fn workload<B: Backend + Clone + 'static>(
    backend: B,
    rows: usize,
) -> Result<Box<dyn Workload>, Error> {
    let net = network!(|x: Tensor<f32, _, 13>, y: Tensor<f32, _, 1>| {
        let price = fc(x, 1);
        mean(square(price - y))
    });
    let mut parameters = Parameters::create_on(backend, &net, 0)?;
    let w = Array2::from_shape_vec((13, 1), weights(4, 0, 13, 1)).expect("as many numbers as weights");
    parameters.set("price.w", &w)?;
    let batch = |p: usize| {
        let x = symmetric(field(4, p as u64, 0), rows * 13);
        let x = Array2::from_shape_vec((rows, 13), x).expect("as many numbers as features");
        let noise = symmetric(field(4, p as u64, 1), rows);
        let y = x.rows().into_iter().zip(noise).map(|(row, noise)| {
            let line: f32 = row.iter().enumerate().map(|(j, x)| x * (0.1 * (j as f32 - 6.0))).sum();
            line + 0.5 + 0.01 * noise
        });
        Ok(Batch::new(&net)?.with("x", &x)?.with("y", &y.collect::<Array1<f32>>())?)
    };
    let pool = (0..POOL).map(batch).collect::<Result<_, Error>>()?;
    Ok(Box::new(Training::new(net, parameters, Trainer::new(Sgd::new(0.01)), pool)))
}
