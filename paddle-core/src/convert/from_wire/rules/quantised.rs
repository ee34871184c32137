//! Rules for quantised models. A number is a whole one times a scale, divided by the largest whole number of so many bits: Jacob et
//! al., "Quantization and training of neural networks for efficient integer-arithmetic-only inference", 2018. Whole numbers are
//! floating point here, as a model computes with what they stand for.

use crate::convert::draft::At;
use crate::convert::from_wire::{ConvertError, Fault, Reading};
use crate::ops::{BinaryKind, Cast, Reduce, ReduceKind, Unary, UnaryKind};
use crate::program::{DType, Dim, VarId};

/// Scales below this are taken for more, as nothing is divided by 0.
const LEAST: f64 = 1e-6;

impl Reading<'_, '_> {
    /// Whole numbers of so many bits.
    pub(super) fn quantize_linear(&mut self) -> Result<bool, ConvertError> {
        let (x, most) = (self.input("X")?, self.largest_number("bit_length")?);
        let (Some(most), Some(scale)) = (most, self.scale_of(x)?) else {
            return self.lacks("its scales are not those of all elements or of an axis, or it has no bits");
        };
        let of_ends = self.desc.attr_long("round_type")?.unwrap_or(1) != 0;
        let whole = self.at().quantised(x, scale, most, of_ends);
        self.tried(whole.map(Ok), "Y")
    }

    /// What whole numbers stand for.
    pub(super) fn dequantize_linear(&mut self) -> Result<bool, ConvertError> {
        let (mut x, most) = (self.input("X")?, self.largest_number("bit_length")?);
        let (Some(most), Some(scale)) = (most, self.scale_of(x)?) else {
            return self.lacks("its scales are not those of all elements or of an axis, or it has no bits");
        };
        if !self.ty(x).dtype.is_float() {
            x = self.emit(Cast { dtype: DType::F32 }, &[x])?;
        }
        let number = self.at().dequantised(x, scale, most);
        self.tried(number.map(Ok), "Y")
    }

    /// Numbers as the nearest whole ones stand for: with scales that were collected, or of the numbers themselves.
    pub(super) fn fake_quantize_dequantize(&mut self) -> Result<bool, ConvertError> {
        let (x, most) = (self.input("X")?, self.largest_number("bit_length")?);
        let Some(most) = most else { return self.lacks("it has no bits") };
        let name = self.desc.r#type.as_str();
        let is_collected = name.contains("moving_average");
        if is_collected && !self.bool("is_test", false)? {
            return self.lacks("it collects scales, as in training");
        }
        let rank = self.ty(x).rank();
        let scale = match (is_collected, name.contains("channel_wise")) {
            (true, _) => self.scalar("InScale", self.ty(x).dtype)?,
            (false, by_channel) => {
                let axis = if by_channel {
                    self.axis(x, self.desc.attr_long("quant_axis")?.unwrap_or(0))
                } else {
                    None
                };
                let axes: Vec<i64> =
                    (0..rank).filter(|&other| Some(other) != axis).map(|axis| axis as i64).collect();
                if self.ty(x).rows.is_some() {
                    return Ok(false);
                }
                let size = self.emit(Unary::of(UnaryKind::Abs), &[x])?;
                self.emit(Reduce { kind: ReduceKind::Max, axes, keep_dim: by_channel }, &[size])?
            }
        };
        let mut at = self.at();
        let whole = at.quantised(x, scale, most, true)?;
        let number = at.dequantised(whole, scale, most);
        self.tried(number.map(Ok), "Out")
    }

    /// The largest whole number of so many bits, one of which is the sign.
    fn largest_number(&self, attribute: &'static str) -> Result<Option<f64>, Fault> {
        let bits = self.desc.attr_long(attribute)?.unwrap_or(8);
        Ok((2..=16).contains(&bits).then(|| ((1i64 << (bits - 1)) - 1) as f64))
    }

    /// The scale of all elements, or one for each place along an axis, in a shape that broadcasts.
    fn scale_of(&mut self, x: VarId) -> Result<Option<VarId>, Fault> {
        let scale = self.input("Scale")?;
        let axis = self.desc.attr_long("quant_axis")?.unwrap_or(-1);
        let count = self.ty(scale).dims.iter().try_fold(1i64, |all, dim| all.checked_mul(dim.constant()?));
        let mut at_scale = scale;
        if self.ty(scale).dtype != DType::F32 {
            at_scale = self.emit(Cast { dtype: DType::F32 }, &[scale])?;
        }
        if count == Some(1) {
            return self.at().shaped(at_scale, Vec::new()).map(Some);
        }
        let rank = self.ty(x).rank();
        let Some(axis) = self.axis(x, axis).filter(|_| axis >= 0) else { return Ok(None) };
        let mut dims = vec![Dim::from(1); rank - axis];
        dims[0] = self.reader.draft.program.shape(self.ty(x))[axis].clone();
        if count.map(Dim::from).as_ref() != Some(&dims[0]) {
            return Ok(None);
        }
        self.at().shaped(at_scale, dims).map(Some)
    }
}

impl At<'_> {
    /// Whole numbers from `-most - 1` to `most`. With `of_ends`, what is beyond the scale is cut off before it is rounded, and
    /// of two nearest numbers the one further from 0 is taken.
    fn quantised(&mut self, x: VarId, scale: VarId, most: f64, of_ends: bool) -> Result<VarId, Fault> {
        let dtype = self.ty(x).dtype;
        let least = self.number(LEAST, dtype)?;
        let divisor = self.binary(BinaryKind::Max, scale, least)?;
        let mut x = x;
        if of_ends {
            let below = self.scaled(scale, -1.0, 0.0)?;
            x = self.clamped(x, below, scale)?;
        }
        let factor = self.number(most, dtype)?;
        let factor = self.binary(BinaryKind::Div, factor, divisor)?;
        let all = self.binary(BinaryKind::Mul, factor, x)?;
        if of_ends {
            return self.emit(Unary::of(UnaryKind::Round), &[all]);
        }
        let whole = self.rounded_to_even(all)?;
        let (low, high) = (self.number(-most - 1.0, dtype)?, self.number(most, dtype)?);
        self.clamped(whole, low, high)
    }

    fn dequantised(&mut self, x: VarId, scale: VarId, most: f64) -> Result<VarId, Fault> {
        let unit = self.scaled(scale, 1.0 / most, 0.0)?;
        self.binary(BinaryKind::Mul, x, unit)
    }
}
