//! Models whose values are small integers: each stands for a multiple of a scale, counted from a zero point.
//!
//! Sums of products of such integers are exact in double precision, as they are in the integers of 32 bits that ONNX has for
//! them.

use crate::convert::error::Fault;
use crate::convert::from_onnx::node::{Given, Node};
use crate::ops::{BinaryKind, Cast, Compare, CompareKind, Matmul, Reduce, ReduceKind, Select};
use crate::program::{DType, Dim, VarId};
use crate::wire::VarKind;

/// The largest number of products in a sum that double precision holds, for integers of 8 bits.
const MOST_PRODUCTS: i64 = 1 << 36;

impl Node<'_, '_> {
    /// The least and the greatest integer of the type of an input, or of another type without the input.
    fn limits(&self, at: usize, otherwise: VarKind) -> Result<[f64; 2], Fault> {
        let kind = match self.desc.input.get(at).filter(|name| !name.is_empty()) {
            Some(name) => self.reader.look_up(name)?.narrow,
            None => Some(otherwise),
        };
        match kind {
            Some(VarKind::Uint8) => Ok([0.0, 255.0]),
            Some(VarKind::Int8) => Ok([-128.0, 127.0]),
            Some(VarKind::Int16) => Ok([-32768.0, 32767.0]),
            _ => self.lacks("its integers are not of 8 bits, or 16 with a sign"),
        }
    }

    /// A scale or zero point, one for all or a list along an axis of a value, for computations with that value.
    fn along(&mut self, of: VarId, x: VarId, axis: usize) -> Result<VarId, Fault> {
        let ty = self.ty(of).clone();
        match (ty.rows, &ty.dims[..]) {
            (None, []) => Ok(of),
            (None, [one]) if one.constant() == Some(1) => self.reshaped(of, Vec::new()),
            (None, [_]) if axis >= self.rows(x) => {
                let behind = self.ty(x).rank() - axis - 1;
                let dims = ty.dims.iter().cloned().chain(vec![Dim::from(1); behind]).collect();
                self.reshaped(of, dims)
            }
            _ => self.lacks("its scales are neither one nor a list along an axis"),
        }
    }

    /// The axis along which there are several scales.
    fn axis_of_scales(&self, x: VarId) -> Result<usize, Fault> {
        if self.int("block_size", 0) != 0 {
            return self.lacks("it has a scale for each block of an axis");
        }
        // Without such an axis, there is one scale.
        Ok(self.reader.draft.axis(x, self.int("axis", 1)).unwrap_or(0))
    }

    /// Integers that count from their zero point, input `at`, as numbers of this type.
    fn counted_from_zero(&mut self, x: VarId, at: usize, axis: usize, dtype: DType) -> Result<VarId, Fault> {
        let x = self.cast(x, dtype)?;
        let Some(zero) = self.optional(at)? else { return Ok(x) };
        let zero = self.cast(zero, dtype)?;
        let zero = self.along(zero, x, axis)?;
        self.at().binary(BinaryKind::Sub, x, zero)
    }

    /// Numbers as integers from a zero point on, within limits.
    fn in_integers(
        &mut self,
        x: VarId,
        zero: Option<VarId>,
        axis: usize,
        limits: [f64; 2],
    ) -> Result<VarId, Fault> {
        let dtype = self.ty(x).dtype;
        let mut whole = self.rounded(x)?;
        if let Some(zero) = zero {
            let zero = self.cast(zero, dtype)?;
            let zero = self.along(zero, x, axis)?;
            whole = self.at().binary(BinaryKind::Add, whole, zero)?;
        }
        for (kind, limit) in [(BinaryKind::Max, limits[0]), (BinaryKind::Min, limits[1])] {
            let limit = self.fill(limit, dtype)?;
            whole = self.at().binary(kind, whole, limit)?;
        }
        self.cast(whole, DType::I32)
    }

    pub(super) fn quantize(&mut self) -> Given {
        let (x, scale, zero) = (self.input(0)?, self.input(1)?, self.optional(2)?);
        let limits = self.limits(2, VarKind::Uint8)?;
        if self.int("output_dtype", 0) != 0 && zero.is_none() {
            return self.lacks("an attribute says what integers it gives");
        }
        let axis = self.axis_of_scales(x)?;
        let dtype = self.ty(scale).dtype;
        let x = self.cast(x, dtype)?;
        let scale = self.along(scale, x, axis)?;
        let x = self.at().binary(BinaryKind::Div, x, scale)?;
        Ok(vec![self.in_integers(x, zero, axis, limits)?])
    }

    pub(super) fn dequantize(&mut self) -> Given {
        let (x, scale) = (self.input(0)?, self.input(1)?);
        let axis = self.axis_of_scales(x)?;
        let dtype = self.ty(scale).dtype;
        let counted = self.counted_from_zero(x, 2, axis, DType::I32)?;
        let counted = self.cast(counted, dtype)?;
        let scale = self.along(scale, counted, axis)?;
        Ok(vec![self.at().binary(BinaryKind::Mul, counted, scale)?])
    }

    /// All numbers and 0 in integers from 0 to 255, with their scale and zero point.
    pub(super) fn quantize_dynamically(&mut self) -> Given {
        let x = self.input(0)?;
        let dtype = self.ty(x).dtype;
        let zero = self.fill(0.0, dtype)?;
        let mut ends = Vec::new();
        for (kind, with) in [(ReduceKind::Min, BinaryKind::Min), (ReduceKind::Max, BinaryKind::Max)] {
            let end = self.emit(Reduce { kind, axes: Vec::new(), keep_dim: false }, &[x])?;
            ends.push(self.at().binary(with, end, zero)?);
        }
        let mut at = self.at();
        let span = at.binary(BinaryKind::Sub, ends[1], ends[0])?;
        let whole = at.number(255.0, dtype)?;
        let scale = at.binary(BinaryKind::Div, span, whole)?;
        // Zeros alone have any scale.
        let is_none = at.emit(Compare { kind: CompareKind::Equal }, &[span, zero])?;
        let one = at.number(1.0, dtype)?;
        let scale = at.emit(Select, &[is_none, one, scale])?;
        let first = at.binary(BinaryKind::Div, ends[0], scale)?;
        let first = at.binary(BinaryKind::Sub, zero, first)?;
        let x = at.binary(BinaryKind::Div, x, scale)?;
        let point = self.in_integers(first, None, 0, [0.0, 255.0])?;
        let integers = self.in_integers(x, Some(point), 0, [0.0, 255.0])?;
        Ok(vec![integers, scale, point])
    }

    /// The products of integers as numbers in double precision, which are whole.
    fn product_of_integers(&mut self, [a, b]: [usize; 2], zeros: [usize; 2]) -> Result<VarId, Fault> {
        let (a, b) = (self.input(a)?, self.input(b)?);
        let depth = self.ty(a).dims.last().and_then(Dim::constant);
        if depth.is_none_or(|depth| depth > MOST_PRODUCTS) {
            return self.lacks("the number of terms of its sums is not known");
        }
        let rows = self.ty(a).rank().saturating_sub(2);
        let columns = self.ty(b).rank().saturating_sub(1);
        let a = self.counted_from_zero(a, zeros[0], rows, DType::F64)?;
        let b = self.counted_from_zero(b, zeros[1], columns, DType::F64)?;
        self.emit(Matmul::PLAIN, &[a, b])
    }

    pub(super) fn matmul_of_integers(&mut self) -> Given {
        let product = self.product_of_integers([0, 1], [2, 3])?;
        self.give(Cast { dtype: DType::I32 }, &[product])
    }

    /// A whole number of products of two scales as integers of another one. The scales of the second factor may be a list along
    /// `axis`.
    fn rescaled(
        &mut self,
        product: VarId,
        scales: [usize; 3],
        zero: usize,
        axis: usize,
    ) -> Result<VarId, Fault> {
        let limits = self.limits(zero, VarKind::Uint8)?;
        let mut factor = None;
        for (k, at) in scales.into_iter().enumerate() {
            let scale = self.input(at)?;
            let scale = self.cast(scale, DType::F64)?;
            let scale = self.along(scale, product, axis)?;
            let kind = if k == 2 { BinaryKind::Div } else { BinaryKind::Mul };
            factor = Some(match factor {
                Some(factor) => self.at().binary(kind, factor, scale)?,
                None => scale,
            });
        }
        let scaled = match factor {
            Some(factor) => self.at().binary(BinaryKind::Mul, product, factor)?,
            None => product,
        };
        let zero = self.optional(zero)?;
        self.in_integers(scaled, zero, axis, limits)
    }

    pub(super) fn quantized_matmul(&mut self) -> Given {
        let product = self.product_of_integers([0, 3], [2, 5])?;
        let axis = self.ty(product).rank().saturating_sub(1);
        Ok(vec![self.rescaled(product, [1, 4, 6], 7, axis)?])
    }

    /// The convolution of integers as numbers in double precision, which are whole.
    fn convolution_of_integers(&mut self, [x, w]: [usize; 2], zeros: [usize; 2]) -> Result<VarId, Fault> {
        let (x, w) = (self.input(x)?, self.input(w)?);
        let x = self.counted_from_zero(x, zeros[0], 1, DType::F64)?;
        let w = self.counted_from_zero(w, zeros[1], 0, DType::F64)?;
        self.convolved(x, w)
    }

    pub(super) fn convolution_in_integers(&mut self) -> Given {
        let sums = self.convolution_of_integers([0, 1], [2, 3])?;
        self.give(Cast { dtype: DType::I32 }, &[sums])
    }

    pub(super) fn quantized_convolution(&mut self) -> Given {
        let mut sums = self.convolution_of_integers([0, 3], [2, 5])?;
        if let Some(bias) = self.optional(8)? {
            let bias = self.cast(bias, DType::F64)?;
            let bias = self.along(bias, sums, 1)?;
            sums = self.at().binary(BinaryKind::Add, sums, bias)?;
        }
        Ok(vec![self.rescaled(sums, [1, 4, 6], 7, 1)?])
    }
}
