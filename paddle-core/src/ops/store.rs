//! `store`: a parameter or a state gets a value.

use super::{AccuracyClass, Effects, Gradient, GradientError, Infer, Mismatch, Operation, Sample, Schema};
use crate::program::{Type, VarId};

/// Gives `Param`, in place, the elements of `X`, which has its type.
///
/// It is what an updater is made of that is written with other operators, and how overwritten variables of
/// PaddlePaddle last beyond a run. There, it is `assign` with an output that is persistable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Store;

attributes!(Store {});

impl Operation for Store {
    fn schema(&self) -> &'static Schema {
        &Schema {
            name: "store",
            doc: "param = x.",
            inputs: &["Param", "X"],
            outputs: &[],
            effects: Effects::STATE,
        }
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        cx.need_type(1, cx.ty(0))?;
        Ok(Vec::new())
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        Err(g.second_order())
    }

    fn is_differentiable(&self) -> bool {
        false
    }

    fn accuracy(&self, _output: usize) -> AccuracyClass {
        AccuracyClass::Exact("elements are moved, not changed")
    }

    fn prototypes() -> Vec<Self> {
        vec![Store]
    }

    fn samples() -> Vec<Sample> {
        [&[3, 5][..], &[0, 5], &[1]].map(|dims| Sample::of(Store).dense(dims).dense(dims)).into()
    }
}
