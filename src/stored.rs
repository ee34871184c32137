//! Values that are stored by name on a device: parameters, and the states of updaters.

use ndarray::{ArrayBase, ArrayD, Data, Dimension, IxDyn};
use paddle_core::memory::{OutOfMemory, try_collect, try_vec};
use paddle_core::plan::{Backend, HostSlice, Storage, Stored, StoredValues};
use paddle_core::program::DType;

use crate::batch::Shape;
use crate::element::{Element, Values};
use crate::parameters::ParameterError;

/// The description of a stored value. Errors if there is none of this name and element type.
fn find<'a>(storage: &'a Storage, name: &str, dtype: DType) -> Result<&'a Stored, ParameterError> {
    let Some(stored) = storage.find(name) else {
        return Err(ParameterError::NoSuch { name: name.to_string() });
    };
    if stored.dtype != dtype {
        let (name, expected) = (name.to_string(), stored.dtype);
        return Err(ParameterError::Type { name, found: dtype, expected });
    }
    Ok(stored)
}

/// A copy of a value's elements.
pub(crate) fn values<B: Backend>(
    backend: &B,
    kept: &impl StoredValues<B>,
    stored: &Stored,
) -> Result<Values, OutOfMemory> {
    let values = Values::zeros(stored.dtype, stored.elements());
    let mut values = values.map_err(|error| copy_of(&stored.name, error))?;
    kept.download(backend, stored, 0, values.as_slice_mut());
    Ok(values)
}

fn copy_of(name: &str, error: OutOfMemory) -> OutOfMemory {
    error.wanted_for(format_args!("a copy of `{name}`"))
}

/// A copy of a value as an array.
pub(crate) fn get<T: Element, B: Backend>(
    backend: &B,
    storage: &Storage,
    kept: &impl StoredValues<B>,
    name: &str,
) -> Result<ArrayD<T>, ParameterError> {
    let stored = find(storage, name, T::DTYPE)?;
    let mut elements = try_vec(stored.elements()).map_err(|error| copy_of(name, error))?;
    kept.download(backend, stored, 0, T::host_mut(&mut elements));
    let array = ArrayD::from_shape_vec(IxDyn(&stored.dims), elements);
    Ok(array.expect("there are as many elements as the shape says"))
}

/// Calls `set` with the description of a value and the elements of an array of its shape. The array may have any layout.
pub(crate) fn set<T, A, D>(
    storage: &Storage,
    name: &str,
    array: &ArrayBase<A, D>,
    set: &mut dyn FnMut(&Stored, HostSlice<'_>),
) -> Result<(), ParameterError>
where
    T: Element,
    A: Data<Elem = T>,
    D: Dimension,
{
    let stored = find(storage, name, T::DTYPE)?;
    if array.shape() != stored.dims {
        let (found, expected) = (Shape(array.shape().to_vec()), Shape(stored.dims.clone()));
        return Err(ParameterError::Shape { name: name.to_string(), found, expected });
    }
    match array.as_slice() {
        Some(elements) => set(stored, T::host(elements)),
        None => {
            let elements = try_collect(array.iter().copied()).map_err(|error| copy_of(name, error))?;
            set(stored, T::host(&elements));
        }
    }
    Ok(())
}
