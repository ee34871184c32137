//! Elements as bytes, little endian, as they go from one machine to another.

use paddle_core::memory::OutOfMemory;
use paddle_core::plan::{Backend, HostSlice, HostSliceMut, Stored, StoredValues};
use paddle_core::program::DType;

use crate::element::Values;

/// The elements that are copied from a device at once. Each copy from a card takes its time, however few they are.
const BLOCK: usize = 1 << 16;

/// The elements that become bytes at once, on the stack. All of this memory is zeroed first, however few they are.
const CONVERTED: usize = 512;

/// The bytes of elements.
pub(super) fn bytes_of(values: HostSlice<'_>) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(values.len() * size_of(values.dtype()));
    append(&mut bytes, values);
    bytes
}

/// Adds the bytes of elements.
pub(super) fn append(bytes: &mut Vec<u8>, values: HostSlice<'_>) {
    macro_rules! write {
        ($values:expr, $type:ty) => {
            for values in $values.chunks(CONVERTED) {
                let mut block = [[0; ::std::mem::size_of::<$type>()]; CONVERTED];
                // A loop over chunks of known length becomes a copy.
                block.iter_mut().zip(values).for_each(|(to, value)| *to = value.to_le_bytes());
                bytes.extend_from_slice(block[..values.len()].as_flattened());
            }
        };
    }
    match values {
        HostSlice::Bool(values) => bytes.extend(values.iter().map(|truth| u8::from(*truth))),
        HostSlice::I32(values) => write!(values, i32),
        HostSlice::I64(values) => write!(values, i64),
        HostSlice::F32(values) => write!(values, f32),
        HostSlice::F64(values) => write!(values, f64),
    }
}

/// Adds the bytes of a stored value.
pub(super) fn append_stored<B: Backend>(
    bytes: &mut Vec<u8>,
    backend: &B,
    buffers: &impl StoredValues<B>,
    stored: &Stored,
) -> Result<(), OutOfMemory> {
    let mut block = Values::zeros(stored.dtype, BLOCK.min(stored.elements()))?;
    for begin in (0..stored.elements()).step_by(BLOCK) {
        let count = BLOCK.min(stored.elements() - begin);
        let offset = begin * backend.element_bytes(stored.dtype);
        buffers.download(backend, stored, offset, block.part_mut(0..count));
        append(bytes, block.part(0..count));
    }
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_of_all_types_become_bytes_and_elements_again() {
        for count in [0, 1, CONVERTED - 1, CONVERTED, BLOCK - 1, BLOCK, 2 * BLOCK + 3] {
            let all = [
                Values::Bool((0..count).map(|k| k % 3 == 0).collect()),
                Values::I32((0..count as i32).map(|k| -k).collect()),
                Values::I64((0..count as i64).map(|k| k << 33).collect()),
                Values::F32((0..count).map(|k| k as f32 / 7.0).collect()),
                Values::F64((0..count).map(|k| -(k as f64) / 7.0).collect()),
            ];
            for values in all {
                let dtype = values.as_slice().dtype();
                let bytes = bytes_of(values.as_slice());
                assert_eq!(bytes.len(), count * size_of(dtype));
                let mut again = values_of(dtype, &bytes).unwrap();
                assert_eq!(format!("{again:?}"), format!("{values:?}"));
                again.try_resize(0).unwrap();
                again.try_resize(count).unwrap();
                assert!(fill(again.as_slice_mut(), &bytes));
                assert_eq!(format!("{again:?}"), format!("{values:?}"));
            }
        }
    }
}
