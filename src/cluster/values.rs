//! Elements as bytes, little endian, as they go from one machine to another.

use paddle_core::plan::{HostSlice, HostSliceMut};
use paddle_core::program::DType;

use crate::element::Values;

/// The bytes of elements.
pub(super) fn bytes_of(values: HostSlice<'_>) -> Vec<u8> {
    let mut bytes = vec![0; values.len() * size_of(values.dtype())];
    // Loops over chunks of known length become copies.
    macro_rules! write {
        ($values:expr) => {
            bytes.as_chunks_mut().0.iter_mut().zip($values).for_each(|(to, value)| *to = value.to_le_bytes())
        };
    }
    match values {
        HostSlice::Bool(values) => {
            bytes.iter_mut().zip(values).for_each(|(to, truth)| *to = u8::from(*truth))
        }
        HostSlice::I32(values) => write!(values),
        HostSlice::I64(values) => write!(values),
        HostSlice::F32(values) => write!(values),
        HostSlice::F64(values) => write!(values),
    }
    bytes
}

/// Copies elements into room for exactly as many of their type. False if they do not fit.
pub(super) fn copy(into: HostSliceMut<'_>, values: HostSlice<'_>) -> bool {
    match (into, values) {
        (HostSliceMut::F32(into), HostSlice::F32(values)) if into.len() == values.len() => {
            into.copy_from_slice(values);
            true
        }
        (HostSliceMut::F64(into), HostSlice::F64(values)) if into.len() == values.len() => {
            into.copy_from_slice(values);
            true
        }
        _ => false,
    }
}

/// The elements of bytes. `None` if they are no whole number of elements, or there is no memory.
pub(super) fn values_of(dtype: DType, bytes: &[u8]) -> Option<Values> {
    bytes.len().is_multiple_of(size_of(dtype)).then(|| Values::from_le_bytes(dtype, bytes).ok())?
}

/// Writes the elements of bytes into room for exactly as many. False if there are more or fewer.
pub(super) fn fill(into: HostSliceMut<'_>, bytes: &[u8]) -> bool {
    if bytes.len() != into.len() * size_of(into.dtype()) {
        return false;
    }
    match into {
        HostSliceMut::Bool(into) => into.iter_mut().zip(bytes).for_each(|(to, byte)| *to = *byte != 0),
        HostSliceMut::I32(into) => {
            into.iter_mut().zip(bytes.as_chunks().0).for_each(|(to, chunk)| *to = i32::from_le_bytes(*chunk));
        }
        HostSliceMut::I64(into) => {
            into.iter_mut().zip(bytes.as_chunks().0).for_each(|(to, chunk)| *to = i64::from_le_bytes(*chunk));
        }
        HostSliceMut::F32(into) => {
            into.iter_mut().zip(bytes.as_chunks().0).for_each(|(to, chunk)| *to = f32::from_le_bytes(*chunk));
        }
        HostSliceMut::F64(into) => {
            into.iter_mut().zip(bytes.as_chunks().0).for_each(|(to, chunk)| *to = f64::from_le_bytes(*chunk));
        }
    }
    true
}

/// The bytes of an element.
pub(super) fn size_of(dtype: DType) -> usize {
    match dtype {
        DType::Bool => 1,
        DType::I32 | DType::F32 => 4,
        DType::I64 | DType::F64 => 8,
    }
}
