//! Rules for products of matrices and vectors.

use crate::convert::derived::float;
use crate::convert::from_wire::{ConvertError, Fault, Reading};
use crate::convert::types::{is_small_product, product};
use crate::ops::{Binary, BinaryKind, Matmul, Op, Reduce, ReduceKind, Reshape, Scale};
use crate::program::{Dim, VarId};

impl Reading<'_, '_> {
    /// Both versions of the operator, for values of known ranks. The first one multiplies the product by a number.
    pub(super) fn matmul(&mut self, second: &'static str) -> Result<bool, ConvertError> {
        let factors = [self.input("X")?, self.input(second)?];
        let is_legacy = self.desc.r#type == "matmul";
        let names = if is_legacy { ["transpose_X", "transpose_Y"] } else { ["trans_x", "trans_y"] };
        let product = Matmul { trans_x: self.bool(names[0], false)?, trans_y: self.bool(names[1], false)? };
        let ranks = factors.map(|var| self.ty(var).rank());
        if ranks.contains(&0) || self.desc.attr_int("head_number")?.unwrap_or(1) != 1 {
            return Ok(false);
        }
        let mut ops: Vec<Op> = vec![product.into()];
        let alpha = float(self.desc, "alpha")?.unwrap_or(1.0);
        if alpha != 1.0 {
            ops.push(Scale { scale: alpha, bias: 0.0 }.into());
        }
        self.out_of_chain(ops, &factors)
    }

    /// The product of vectors, which lie along the last axis.
    pub(super) fn dot(&mut self) -> Result<bool, ConvertError> {
        let inputs = [self.input("X")?, self.input("Y")?];
        let Some(last) = self.ty(inputs[0]).rank().checked_sub(1) else { return Ok(false) };
        let sum = Reduce { kind: ReduceKind::Sum, axes: vec![last as i64], keep_dim: false };
        self.out_of_chain(vec![Binary { kind: BinaryKind::Mul }.into(), sum.into()], &inputs)
    }

    /// `Beta · Input + Alpha · X · Y`.
    pub(super) fn addmm(&mut self) -> Result<bool, ConvertError> {
        let (input, x, y) = (self.input("Input")?, self.input("X")?, self.input("Y")?);
        let scaled = |reading: &mut Self, name, _exact, value| -> Result<VarId, ConvertError> {
            Ok(match float(reading.desc, name)?.unwrap_or(1.0) {
                1.0 => value,
                scale => reading.emit(Scale { scale, bias: 0.0 }, &[value])?,
            })
        };
        let product = self.emit(Matmul::PLAIN, &[x, y])?;
        let product = scaled(self, "Alpha", "rust.Alpha", product)?;
        let input = scaled(self, "Beta", "rust.Beta", input)?;
        self.out(Binary { kind: BinaryKind::Add }, &[input, product])
    }

    /// The product of two values as matrices, whose rows are the first `num_col_dims` dimensions.
    pub(super) fn mul(&mut self) -> Result<bool, ConvertError> {
        let (mut x, mut y) = (self.input("X")?, self.input("Y")?);
        // The dimensions of `X` may be rows, and need not be one: each row has products of its own.
        let (kept, summed) = self.split_dims(x, "x_num_col_dims")?;
        let (other, free) = self.split_dims(y, "y_num_col_dims")?;
        let has_rows = self.ty(y).rows.is_some();
        if has_rows || ![&summed, &other, &free].into_iter().all(|dims| is_small_product(dims)) {
            return Ok(false);
        }
        if summed.len() != 1 {
            let dims = kept.iter().cloned().chain([product(&summed)?]).collect();
            x = self.emit(Reshape { dims }, &[x])?;
        }
        if other.len() != 1 || free.len() != 1 {
            y = self.emit(Reshape { dims: vec![product(&other)?, product(&free)?] }, &[y])?;
        }
        let mut ops: Vec<Op> = vec![Matmul::PLAIN.into()];
        if free.len() != 1 {
            ops.push(Reshape { dims: [kept, free].concat() }.into());
        }
        self.out_of_chain(ops, &[x, y])
    }

    /// The dimensions before and behind the axis that an attribute names, without rows.
    fn split_dims(&self, var: VarId, attribute: &'static str) -> Result<(Vec<Dim>, Vec<Dim>), ConvertError> {
        let ty = self.ty(var);
        let split = self.desc.attr_long(attribute)?.unwrap_or(1);
        let Some(at) = usize::try_from(split).ok().filter(|&at| 0 < at && at < ty.rank()) else {
            let message = format!("{split} does not split {} dimensions in two", ty.rank());
            return Err(Fault::Attribute { attribute, message }.into());
        };
        let (before, behind) = ty.dims.split_at(at - usize::from(ty.rows.is_some()));
        Ok((before.to_vec(), behind.to_vec()))
    }
}
