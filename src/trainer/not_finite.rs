//! Costs that are NaN or infinite, and their origin.

use std::error;
use std::fmt;
use std::sync::Arc;

use paddle_core::plan::{Arithmetic, Backend, Numbers, RunError};

use super::plan::{Moment, Plan};
use super::steps::Steps;
use crate::Error;
use crate::batch::AnyRows;
use crate::model::Model;
use crate::options::Options;
use crate::parameters::Parameters;
use crate::updater::Updater;

/// The cost of a step is NaN or infinite. The step has changed nothing, and does not count.
///
/// ```
/// use paddle::{Error, Parameters, Sgd, Trainer, network};
///
/// let net = network!(|x: Tensor<f32, _, 1>| mean(log(fc(x, 1) * 0.0)));
/// let mut trainer = Trainer::new(Sgd::new(0.1));
/// let stepped = trainer.step(&net, &mut Parameters::create(&net)?, [1.0]);
/// let Err(Error::CostNotFinite(error)) = stepped else { panic!("the logarithm of 0 is infinite") };
/// assert_eq!((error.step, error.cost), (0, f64::NEG_INFINITY));
/// assert!(error.to_string().contains("`log`"), "{error}");
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
pub struct CostNotFinite {
    /// The number of the step.
    pub step: u64,
    /// The cost.
    pub cost: f64,
    /// The origin: the first operator that made numbers worse than those it read ([`RunError::NotFinite`]), a
    /// parameter that was not finite before the step, or a number that was fed ([`RunError::FedNotFinite`]). None if
    /// the repetition of the step, one operator at a time, found none.
    pub cause: Option<Box<Error>>,
}

impl fmt::Display for CostNotFinite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CostNotFinite { step, cost, cause } = self;
        write!(f, "the cost of step {step} is {cost}, and nothing was updated")?;
        if let Some(cause) = cause {
            write!(f, ": {cause}")?;
        }
        f.write_str("; `Options::allow_nan` lets such steps pass")
    }
}

impl error::Error for CostNotFinite {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        self.cause.as_ref().map(|cause| &**cause as _)
    }
}

impl<B: Backend + Clone> Steps<B> {
    /// Finds the origin of a cost that is not finite: repeats the step, and checks every number. Changes nothing.
    #[expect(clippy::too_many_arguments, reason = "all that the step had")]
    pub(super) fn cause(
        &mut self,
        updater: &dyn Updater,
        model: &Arc<Model>,
        parameters: &mut Parameters<B>,
        rows: &dyn AnyRows,
        options: &Options,
        states: usize,
        moment: Moment,
    ) -> Option<Error> {
        if let Err(error) = parameters.check_finite() {
            return Some(error);
        }
        // Infinities may be fed on purpose, as masks are. So an input is the origin only if no operator is.
        [Numbers::Traced, Numbers::Finite].into_iter().find_map(|numbers| {
            let arithmetic = Arithmetic { numbers, ..options.arithmetic };
            let (options, states) = (Options { arithmetic, ..options.clone() }, &mut self.states[states]);
            let plan = Plan::new(model, parameters, &options, states, updater, &self.settings);
            let computed = plan.and_then(|mut plan| {
                plan.begin(moment);
                plan.compute(rows, parameters.buffers_mut()?, &mut states.buffers)?;
                plan.go_back(parameters.buffers_mut()?).map_err(Error::from)
            });
            let is_of_numbers = |error: &Error| {
                matches!(error, Error::Run(RunError::NotFinite { .. } | RunError::FedNotFinite { .. }))
            };
            computed.err().filter(is_of_numbers)
        })
    }
}
