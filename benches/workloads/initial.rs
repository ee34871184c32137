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

/// Sets the filters of every convolution. Their number `k` counts the filters before them. Returns the number of all.
pub(crate) fn set_filters<B: Backend + Clone>(
    parameters: &mut Parameters<B>,
    workload: u64,
) -> Result<u64, Error> {
    let mut k = 0;
    for (name, shape) in shapes(parameters)? {
        if let [outputs, inputs, height, width] = shape[..] {
            let filters = images::filters(workload, k, [outputs, inputs, height, width]);
            parameters.set(name.as_str(), &filters)?;
            k += 1;
        }
    }
    Ok(k)
}

/// The names and shapes of all parameters, in the order of creation.
fn shapes<B: Backend + Clone>(parameters: &Parameters<B>) -> Result<Vec<(String, Vec<usize>)>, Error> {
    let shape = |name: &str| Ok((name.to_string(), parameters.get::<f32>(name)?.shape().to_vec()));
    parameters.names().map(shape).collect()
}
