//! The gradients of a network with respect to its parameters, against differences.

use paddle_core::passes::backward::backward;
use paddle_core::plan::{HostSliceMut, Numbers, Storage};
use paddle_core::program::{DType, VarId};
use paddle_kernels::differences::{Compared, DifferenceError, STEP};
use paddle_kernels::reference::Reference;

use super::CheckError;
use crate::Error;
use crate::batch::Rows;
use crate::network::{Network, Spec};
use crate::parameters::Parameters;
use crate::session::Session;

/// Compares the gradient of the cost of a network for some rows, with respect to every element of its `f32` parameters
/// as they are initialised with this seed, with the central difference in `f64`: apart by at most 10⁻⁶ · max(1,
/// |gradient|, |difference|).
///
/// It runs the network twice for each element, naively: for small networks and few rows.
pub fn check_gradients<S: Spec>(
    net: &Network<S>,
    rows: impl Rows<S>,
    seed: u64,
) -> Result<Compared, CheckError> {
    let model = net.model()?;
    let mut parameters = Parameters::create_on(Reference::double(), net, seed)?;
    let mut program = model.program.clone();
    backward(&mut program).map_err(Error::from)?;
    let pairs = program.gradients().to_vec();
    let cost = program.outputs().iter().copied().take(1);
    let outputs: Vec<VarId> = cost.chain(pairs.iter().map(|pair| pair.gradient)).collect();
    program.set_outputs(&outputs).map_err(Error::from)?;
    let mut session = Session::new(model, &program, &parameters, &Storage::new(), Numbers::Any)?;
    let mut run = |parameters: &mut Parameters<Reference>| -> Result<Vec<Vec<f64>>, Error> {
        session.compute(&rows, &[], parameters.buffer())?;
        let fetch = |output: usize| {
            let mut values = vec![0.0; session.executor.output_shape(output).iter().product()];
            session.executor.fetch(output, HostSliceMut::F64(&mut values));
            values
        };
        Ok((0..outputs.len()).map(fetch).collect())
    };
    let mut gradients = run(&mut parameters)?;
    let cost = gradients.remove(0)[0];
    let mut compared = Compared::default();
    for (pair, gradient) in pairs.iter().zip(gradients) {
        let parameter = program.var(pair.parameter);
        if parameter.ty.dtype != DType::F32 {
            continue;
        }
        let name = &parameter.name;
        let values = parameters.get::<f32>(name)?;
        let mut moved = values.clone();
        for (element, (&value, gradient)) in values.iter().zip(gradient).enumerate() {
            let mut slope = |step: f32| -> Result<f64, Error> {
                // What the step has become is known exactly.
                let there = value + step;
                moved.iter_mut().nth(element).into_iter().for_each(|moved| *moved = there);
                parameters.set(name, &moved)?;
                let beside = run(&mut parameters)?[0][0];
                moved.iter_mut().nth(element).into_iter().for_each(|moved| *moved = value);
                Ok((beside - cost) / (f64::from(there) - f64::from(value)))
            };
            let (above, below) = (slope(STEP)?, slope(-STEP)?);
            compared.compare(gradient, above, below).map_err(|difference| {
                let input = name.clone();
                CheckError::Parameter(DifferenceError::Differs { input, element, gradient, difference })
            })?;
        }
        parameters.set(name, &values)?;
    }
    Ok(compared)
}
