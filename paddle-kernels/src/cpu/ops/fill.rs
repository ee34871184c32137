//! Constants.
#![allow(unsafe_code, reason = "fills memory whose type is known only when a group is compiled")]

use std::mem::MaybeUninit;
use std::slice::from_raw_parts_mut;

use paddle_core::ops::Number;
use paddle_core::program::DType;

/// The bits of a value as an element type, in the low bytes. `None` if the type cannot hold the value.
pub(super) fn bits(value: Number, dtype: DType) -> Option<u64> {
    match (dtype, value) {
        (DType::F32, Number::Float(_) | Number::Int(_)) => Some((value.as_f64() as f32).to_bits().into()),
        (DType::F64, Number::Float(_) | Number::Int(_)) => Some(value.as_f64().to_bits()),
        (DType::I32, Number::Int(value)) => Some((value as i32 as u32).into()),
        (DType::I64, Number::Int(value)) => Some(value as u64),
        (DType::Bool, Number::Bool(value)) => Some(value.into()),
        _ => None,
    }
}

/// Writes `count` elements of `bytes` bytes.
///
/// # Safety
/// `to` is valid for them, and aligned.
pub(super) unsafe fn fill(bits: u64, bytes: usize, to: *mut u8, count: usize) {
    // SAFETY: as required of the caller; the memory is only written.
    unsafe {
        match bytes {
            1 => to.write_bytes(bits as u8, count),
            4 => from_raw_parts_mut(to.cast::<MaybeUninit<u32>>(), count).fill(MaybeUninit::new(bits as u32)),
            _ => from_raw_parts_mut(to.cast::<MaybeUninit<u64>>(), count).fill(MaybeUninit::new(bits)),
        }
    }
}
