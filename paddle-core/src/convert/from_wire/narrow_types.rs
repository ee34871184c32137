//! Element types that are narrower than those that are here. Their values are held by wider types: integers of 8 and 16 bits
//! by 32, floating point of 16 bits by single precision. Casts to them give what they have of a number.
//!
//! What computes with integers of 8 or 16 bits is refused, as theirs wrap around. Halves are computed in single precision,
//! without a rounding after each operator.

use super::operator::Reading;
use crate::convert::error::{ConvertError, Fault, VariableFault};
use crate::convert::types::wider;
use crate::memory::{OutOfMemory, TryGrow};
use crate::ops::compositions::narrow::Half;
use crate::wire::{TensorRecord, VarKind};

/// Operators that compute nothing: they move, compare or convert elements.
const KEEPING: [&str; 29] = [
    "assign",
    "cast",
    "concat",
    "dequantize_linear",
    "equal",
    "expand_v2",
    "feed",
    "fetch",
    "flatten2",
    "flatten_contiguous_range",
    "gather",
    "greater_equal",
    "greater_than",
    "less_equal",
    "less_than",
    "not_equal",
    "reshape",
    "reshape2",
    "shape",
    "slice",
    "split",
    "squeeze2",
    "stack",
    "strided_slice",
    "tile",
    "transpose",
    "transpose2",
    "unsqueeze2",
    "where",
];

/// The bits of an integer type that is narrower than ours, and whether it is signed.
pub(in crate::convert) fn bits(kind: VarKind) -> Option<(u32, bool)> {
    match kind {
        VarKind::Uint8 => Some((8, false)),
        VarKind::Int8 => Some((8, true)),
        VarKind::Int16 => Some((16, true)),
        _ => None,
    }
}

pub(in crate::convert) fn half(kind: VarKind) -> Option<Half> {
    match kind {
        VarKind::Fp16 => Some(Half::F16),
        VarKind::Bf16 => Some(Half::Bf16),
        _ => None,
    }
}

impl Reading<'_, '_> {
    /// Refuses an operator that computes with narrow integers.
    pub(super) fn check_narrow(&self) -> Result<(), ConvertError> {
        let name = self.desc.r#type.as_str();
        // `save_inference_model` multiplies each output by 1.
        let is_copy = name == "scale"
            && self.desc.attr_float("scale")?.is_none_or(|scale| scale == 1.0)
            && self.desc.attr_float("bias")?.is_none_or(|bias| bias == 0.0);
        if is_copy || KEEPING.contains(&name) {
            return Ok(());
        }
        for argument in self.desc.inputs.iter().flat_map(|slot| &slot.arguments) {
            let declared = self.reader.declaration(self.block, argument);
            let element =
                declared.and_then(|var| var.r#type.lod_tensor.as_ref()).map(|desc| desc.tensor.data_type);
            let kind = element.and_then(|element| VarKind::try_from(element).ok());
            if let Some(kind) = kind.filter(|&kind| bits(kind).is_some()) {
                let reason = VariableFault::Computed(kind);
                return Err(Fault::Variable { name: argument.clone(), reason }.into());
            }
        }
        Ok(())
    }
}

/// The tensor in the type that holds its values.
pub(in crate::convert) fn widened(record: TensorRecord) -> Result<TensorRecord, OutOfMemory> {
    let Some(wide) = wider(record.element) else { return Ok(record) };
    let mut data = Vec::new();
    let mut all = |bytes: &mut dyn Iterator<Item = [u8; 4]>, count: usize| {
        data.try_grow(count * 4)?;
        bytes.for_each(|bytes| data.extend(bytes));
        Ok(())
    };
    let (bytes, pairs) = (&record.data, record.data.as_chunks::<2>().0);
    match record.element {
        VarKind::Uint8 => all(&mut bytes.iter().map(|&byte| i32::from(byte).to_le_bytes()), bytes.len())?,
        VarKind::Int8 => {
            all(&mut bytes.iter().map(|&byte| i32::from(byte as i8).to_le_bytes()), bytes.len())?;
        }
        VarKind::Int16 => {
            let wide = |&pair| i32::from(i16::from_le_bytes(pair)).to_le_bytes();
            all(&mut pairs.iter().map(wide), pairs.len())?;
        }
        VarKind::Fp16 => {
            let wide = |&pair| single_of_half(u16::from_le_bytes(pair)).to_le_bytes();
            all(&mut pairs.iter().map(wide), pairs.len())?;
        }
        _ => all(&mut pairs.iter().map(|&[low, high]| [0, 0, low, high]), pairs.len())?,
    }
    Ok(TensorRecord { element: crate::convert::element(wide), data, ..record })
}

/// The number with these bits of half precision.
fn single_of_half(bits: u16) -> f32 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f32::from(bits & 1023));
    let size = match exponent {
        0 => fraction * 2f32.powi(-24),
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (1024.0 + fraction) * 2f32.powi(exponent - 25),
    };
    if bits >> 15 == 1 { -size } else { size }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrow_elements_keep_their_values() {
        let record = |element, data: &[u8]| TensorRecord {
            lod: Vec::new(),
            element,
            dims: vec![2],
            data: data.to_vec(),
        };
        let wide = |element, data: &[u8]| widened(record(element, data)).unwrap();
        let ints = |found: TensorRecord| -> Vec<i32> {
            assert_eq!(found.element, VarKind::Int32);
            found.data.as_chunks::<4>().0.iter().copied().map(i32::from_le_bytes).collect()
        };
        assert_eq!(ints(wide(VarKind::Uint8, &[0, 255])), [0, 255]);
        assert_eq!(ints(wide(VarKind::Int8, &[127, 128])), [127, -128]);
        assert_eq!(ints(wide(VarKind::Int16, &[0, 128, 255, 127])), [-32768, 32767]);
        let floats = |found: TensorRecord| -> Vec<f32> {
            assert_eq!(found.element, VarKind::Fp32);
            found.data.as_chunks::<4>().0.iter().copied().map(f32::from_le_bytes).collect()
        };
        // 1.5, -65504, the smallest number, the largest below the smallest normal one, minus infinity.
        let halves = [0x3e00u16, 0xfbff, 0x0001, 0x03ff, 0xfc00].map(u16::to_le_bytes).concat();
        let expected = [1.5, -65504.0, 5.960_464_5e-8, 6.097_555e-5, f32::NEG_INFINITY];
        assert_eq!(floats(wide(VarKind::Fp16, &halves)), expected);
        assert_eq!(floats(wide(VarKind::Bf16, &[0xc0, 0x3f, 0x80, 0xff])), [1.5, f32::NEG_INFINITY]);
    }
}
