//! First weights of all layers of a network: Xavier's, number `k` in the order of creation. Biases and shifts stay zero,
//! and scales one.

use paddle::core::plan::Backend;
use paddle::{Error, Parameters};

use crate::images;
use crate::random;
use crate::workload::matrix;

/// Sets every matrix. Its number `k` counts all parameters before it.
pub(crate) fn set_matrices<B: Backend + Clone>(
    parameters: &mut Parameters<B>,
    workload: u64,
) -> Result<(), Error> {
    for (k, (name, shape)) in shapes(parameters)?.into_iter().enumerate() {
        if let [rows, columns] = shape[..] {
            let weights = random::weights(workload, k as u64, rows, columns);
            parameters.set(name.as_str(), &matrix([rows, columns], weights))?;
        }
    }
    Ok(())
}

/// Sets the matrices and filters of every layer: all parameters of two and more dimensions. Their number `k` counts those of
/// them before it.
pub(crate) fn set_weights<B: Backend + Clone>(
    parameters: &mut Parameters<B>,
    workload: u64,
) -> Result<(), Error> {
    let weights = shapes(parameters)?.into_iter().filter(|(_, shape)| shape.len() > 1);
    for (k, (name, shape)) in (0..).zip(weights) {
        parameters.set(name.as_str(), &images::filters(workload, k, &shape))?;
    }
    Ok(())
}

/// The names and shapes of all parameters, in the order of creation.
fn shapes<B: Backend + Clone>(parameters: &Parameters<B>) -> Result<Vec<(String, Vec<usize>)>, Error> {
    let shape = |name: &str| Ok((name.to_string(), parameters.get::<f32>(name)?.shape().to_vec()));
    parameters.names().map(shape).collect()
}
