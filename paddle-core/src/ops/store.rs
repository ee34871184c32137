//! `store`: gives a parameter or a state a new value.

use super::{AccuracyClass, Effects, Infer, Mismatch, Operation, Sample, Schema, Slot};
use crate::program::Type;

/// Writes the elements of `X` to `Param`, in place. Both have one type.
///
/// Updaters that consist of other operators use it, and so do variables that PaddlePaddle's programs overwrite and keep
/// beyond a run. In PaddlePaddle, it is `assign` with an output that is persistable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Store;

attributes!(Store {});

impl Operation for Store {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "store",
                doc: "param = x.",
                inputs: &[Slot::of("Param").changed(), Slot::of("X")],
                outputs: &[],
                accuracy: AccuracyClass::MOVED,
                effects: Effects { differentiable: false, ..Effects::STATE },
            }
        }
    }

    fn is_ours(&self) -> bool {
        true
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        cx.need_type(1, cx.ty(0))?;
        Ok(Vec::new())
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        [&[3, 5][..], &[0, 5], &[1]].map(|dims| Sample::of(Store).dense(dims).dense(dims)).into()
    }
}
