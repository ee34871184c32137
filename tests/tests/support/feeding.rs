//! Tensors as what networks are fed with, and as what they give.

use ndarray::{Array, IxDyn};
use paddle::{Batch, BatchError, Element, OutputError, Outputs, Spec};

use super::tensor::{Tensor, Values};

pub(crate) fn feed<S: Spec>(batch: &mut Batch<S>, name: &str, tensor: &Tensor) -> Result<(), BatchError> {
    fn array<T: Clone>(shape: &[usize], elements: &[T]) -> Array<T, IxDyn> {
        Array::from_shape_vec(IxDyn(shape), elements.to_vec()).unwrap()
    }
    match &tensor.values {
        Values::Bool(elements) => batch.set(name, &array(&tensor.shape, elements)),
        Values::I32(elements) => batch.set(name, &array(&tensor.shape, elements)),
        Values::I64(elements) => batch.set(name, &array(&tensor.shape, elements)),
        Values::F32(elements) => batch.set(name, &array(&tensor.shape, elements)),
        Values::F64(elements) => batch.set(name, &array(&tensor.shape, elements)),
    }
}

/// An output, which has to be of the type that is expected.
pub(crate) fn fetched(outputs: &Outputs, k: usize, expected: &Tensor) -> Result<Tensor, String> {
    fn of<T: Element>(
        outputs: &Outputs,
        k: usize,
        values: fn(Vec<T>) -> Values,
    ) -> Result<Tensor, OutputError> {
        let found = outputs.at::<T>(k)?;
        let elements = found.iter().copied().collect();
        Ok(Tensor { shape: found.shape().to_vec(), values: values(elements), offsets: Vec::new() })
    }
    match &expected.values {
        Values::Bool(_) => of(outputs, k, Values::Bool),
        Values::I32(_) => of(outputs, k, Values::I32),
        Values::I64(_) => of(outputs, k, Values::I64),
        Values::F32(_) => of(outputs, k, Values::F32),
        Values::F64(_) => of(outputs, k, Values::F64),
    }
    .map_err(|error| error.to_string())
}
