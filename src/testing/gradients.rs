//! The check of a network's gradients against differences.

use std::sync::Arc;

use paddle_core::ops::Program;
use paddle_core::passes::backward::backward;
use paddle_core::plan::{Arithmetic, HostSliceMut, Part, Storage};
use paddle_core::program::{DType, VarId};
use paddle_kernels::differences::{Compared, DifferenceError, STEP};
use paddle_kernels::reference::Reference;

use super::CheckError;
use crate::Error;
use crate::batch::{Rows, RowsOf};
use crate::model::Model;
use crate::network::{Network, Spec};
use crate::parameters::Parameters;
use crate::random::SplitMix64;
use crate::session::Session;

/// The most elements of a parameter that are compared.
const ELEMENTS: usize = 32;

/// Compares the gradient of a network's cost with respect to its `f32` parameters with the central difference in `f64`,
/// for these rows and the parameters of seed 0. They may differ by at most 10⁻⁶ · max(1, |gradient|, |difference|).
///
/// At most 32 elements of a parameter are compared. Each takes two runs of the network on the slow reference backend,
/// so use a few small rows; convolutions with many channels take too long. The caller gives the rows, since only the
/// caller knows which class ids, words or lengths the network expects.
///
/// ```
/// use paddle::network;
/// use paddle::testing::check_gradients;
///
/// let net = network!(|x: Tensor<f32, _, 2>, label: Tensor<i64, _, 1>| {
///     mean(softmax_with_cross_entropy(fc(tanh(fc(x, 4)), 3), label))
/// });
/// let compared = check_gradients(&net, [([0.5, -1.0], 0), ([1.5, 0.25], 2)])?;
/// assert_eq!(compared.elements, 2 * 4 + 4 + 4 * 3 + 3);
/// # Ok::<(), paddle::testing::CheckError>(())
/// ```
///
/// # Errors
/// [`CheckError::Parameter`] if a gradient differs from the difference; [`CheckError::Network`] if the network has no
/// gradient, the rows do not fit it, or it cannot be run.
pub fn check_gradients<S: Spec>(net: &Network<S>, rows: impl Rows<S>) -> Result<Compared, CheckError> {
    let model = net.model()?;
    let mut parameters = Parameters::create_on(Reference::double(), net, 0)?;
    let mut program = model.program.clone();
    backward(&mut program).map_err(Error::from)?;
    let pairs = program.gradients().to_vec();
    let outputs =
        [&program.outputs()[..1], &pairs.iter().map(|pair| pair.gradient).collect::<Vec<_>>()].concat();
    let gradients = Outputs::new(model, &mut program, &outputs, &parameters)?.of(&rows, &mut parameters)?;
    // The gradients are computed once, the cost many times.
    let mut cost = Outputs::new(model, &mut program, &outputs[..1], &parameters)?;
    let mut cost_of = |parameters: &mut _| Ok::<_, Error>(cost.of(&rows, parameters)?[0][0]);
    let at_start = cost_of(&mut parameters)?;
    let mut compared = Compared::default();
    for (pair, gradient) in pairs.iter().zip(&gradients[1..]) {
        let parameter = program.var(pair.parameter);
        if parameter.ty.dtype != DType::F32 {
            continue;
        }
        let name = &parameter.name;
        let values = parameters.get::<f32>(name)?;
        let mut moved = values.clone();
        let chosen: Vec<usize> = if values.len() <= ELEMENTS {
            (0..values.len()).collect()
        } else {
            let mut random = SplitMix64::new(0);
            (0..ELEMENTS).map(|_| random.below(values.len() as u64) as usize).collect()
        };
        for element in chosen {
            let (Some(&value), gradient) = (values.iter().nth(element), gradient[element]) else { continue };
            let mut slope = |step: f32| -> Result<f64, Error> {
                // The step that rounding leaves is known exactly.
                let there = value + step;
                moved.iter_mut().nth(element).into_iter().for_each(|moved| *moved = there);
                parameters.set(name, &moved)?;
                let beside = cost_of(&mut parameters)?;
                moved.iter_mut().nth(element).into_iter().for_each(|moved| *moved = value);
                Ok((beside - at_start) / (f64::from(there) - f64::from(value)))
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

/// Some values of a program, and the executor that computes them. Its functions are compiled where gradients are checked, as those of
/// [`Differentiated`](super::Differentiated) are.
struct Outputs {
    count: usize,
    session: Session<Reference>,
}

impl Outputs {
    #[inline]
    fn new(
        model: &Arc<Model>,
        program: &mut Program,
        outputs: &[VarId],
        parameters: &Parameters<Reference>,
    ) -> Result<Self, Error> {
        program.set_outputs(outputs)?;
        let session = Session::new(model, program, parameters, &Storage::new(), Arithmetic::default())?;
        Ok(Outputs { count: outputs.len(), session })
    }

    fn of<S: Spec>(
        &mut self,
        rows: &impl Rows<S>,
        parameters: &mut Parameters<Reference>,
    ) -> Result<Vec<Vec<f64>>, Error> {
        self.session.feed(&RowsOf::<S, _>::new(rows), &[])?;
        self.session.executor.run(Part::Compute, parameters.buffers_mut()?)?;
        let executor = &self.session.executor;
        let fetch = |output: usize| {
            let mut values = vec![0.0; executor.output_shape(output).iter().product()];
            executor.fetch(output, HostSliceMut::F64(&mut values));
            values
        };
        Ok((0..self.count).map(fetch).collect())
    }
}
