//! Rules for squeeze, unsqueeze, unstack and flatten.

use crate::convert::from_wire::{ConvertError, Fault, Reading};
use crate::convert::types::{is_small_product, product};
use crate::ops::{Reshape, Split};
use crate::program::{Dim, VarId};

impl Reading<'_, '_> {
    /// Drops axes of size 1: all of them, or the listed ones.
    pub(super) fn squeeze(&mut self) -> Result<bool, ConvertError> {
        let x = self.input("X")?;
        let rows = usize::from(self.ty(x).rows.is_some());
        let axes = self.desc.attr_longs("axes")?.unwrap_or_default();
        let is_listed = |at: usize| {
            let axis = at + rows;
            axes.is_empty() || axes.iter().any(|&listed| self.axis(x, listed) == Some(axis))
        };
        let dims = &self.ty(x).dims;
        // Whether an unknown size is 1 cannot be decided. Rows stay.
        let unknown = dims.iter().enumerate().any(|(at, dim)| is_listed(at) && dim.constant().is_none());
        let of_rows = rows == 1 && axes.iter().any(|&listed| self.axis(x, listed) == Some(0));
        if unknown || of_rows || (rows == 1 && axes.is_empty()) {
            return Ok(false);
        }
        if let Some(axis) = axes.iter().find(|&&axis| self.axis(x, axis).is_none()) {
            return Err(self.no_axis(x, "axes", *axis).into());
        }
        let left = dims.iter().enumerate().filter(|&(at, dim)| !is_listed(at) || dim.constant() != Some(1));
        let dims = left.map(|(_, dim)| dim.clone()).collect();
        self.out(Reshape { dims }, &[x])
    }

    /// Inserts axes of size 1 one after another, each at a place in the shape so far.
    pub(super) fn unsqueeze(&mut self) -> Result<bool, ConvertError> {
        let Some(axes) = self.numbers("axes", "AxesTensor", "AxesTensorList")? else { return Ok(false) };
        let x = self.input("X")?;
        let rows = usize::from(self.ty(x).rows.is_some());
        let mut dims = self.ty(x).dims.clone();
        for axis in axes {
            let rank = (dims.len() + rows) as i64;
            let at = if axis < 0 { axis + rank + 1 } else { axis };
            let Some(at) = usize::try_from(at).ok().filter(|&at| at <= dims.len() + rows) else {
                let message = format!("{axis} is no place among {rank} dimensions");
                return Err(Fault::Attribute { attribute: "axes", message }.into());
            };
            // Rows stay first.
            let Some(at) = at.checked_sub(rows) else { return Ok(false) };
            dims.insert(at, Dim::from(1));
        }
        self.out(Reshape { dims }, &[x])
    }

    /// Returns the parts of size 1 along an axis, without that axis.
    pub(super) fn unstack(&mut self) -> Result<bool, ConvertError> {
        let (x, desc) = (self.input("X")?, self.desc);
        let axis = self.desc.attr_long("axis")?.unwrap_or(0);
        let at = self.axis(x, axis).ok_or_else(|| self.no_axis(x, "axis", axis))?;
        let slot = if desc.r#type == "unbind" { "Out" } else { "Y" };
        let (names, mut dims) = (desc.output(slot), self.ty(x).dims.clone());
        let Some(inner) = at.checked_sub(usize::from(self.ty(x).rows.is_some())) else { return Ok(false) };
        let size = dims.remove(inner);
        if names.is_empty() || size.constant() != i64::try_from(names.len()).ok() {
            return Ok(false);
        }
        let split = Split { axis: at as i64, sections: vec![Dim::from(1); names.len()] };
        let parts = self.emit_all(split, &[x], names.len())?;
        for (name, part) in names.iter().zip(parts) {
            self.define(Reshape { dims: dims.clone() }, &[part], &[], &[name])?;
        }
        Ok(true)
    }

    /// Merges the axes from `start_axis` to `stop_axis` into one.
    pub(super) fn flatten_range(&mut self) -> Result<bool, ConvertError> {
        let x = self.input("X")?;
        let axis = |name| -> Result<usize, ConvertError> {
            let axis = self.desc.attr_long(name)?.unwrap_or(1);
            // A scalar counts as one axis with one element.
            let is_scalar = self.ty(x).rank() == 0 && matches!(axis, -1 | 0);
            match self.axis(x, axis) {
                Some(axis) => Ok(axis),
                None if is_scalar => Ok(0),
                None => Err(self.no_axis(x, name, axis).into()),
            }
        };
        let (first, last) = (axis("start_axis")?, axis("stop_axis")?);
        if first > last {
            let message = format!("axis {first} does not come before {last}");
            return Err(Fault::Attribute { attribute: "start_axis", message }.into());
        }
        let rows = usize::from(self.ty(x).rows.is_some());
        let dims = self.ty(x).dims.clone();
        if first < rows {
            // Rows alone are one axis already.
            return if last == 0 { self.out(Reshape { dims }, &[x]) } else { Ok(false) };
        }
        let (first, last) = (first - rows, dims.len().min(last + 1 - rows));
        self.flattened(x, &[&dims[..first]], &dims[first..last], &[&dims[last..]])
    }

    /// Merges the axes before `axis` into one, and the others into another.
    pub(super) fn flatten(&mut self) -> Result<bool, ConvertError> {
        let x = self.input("X")?;
        let axis = self.desc.attr_int("axis")?.unwrap_or(1);
        let rows = usize::from(self.ty(x).rows.is_some());
        let dims = self.ty(x).dims.clone();
        let Some(at) = usize::try_from(axis).ok().filter(|&at| at <= dims.len() + rows) else {
            return Err(self.no_axis(x, "axis", axis.into()).into());
        };
        if rows == 1 {
            return if at == 1 { self.flattened(x, &[], &dims, &[]) } else { Ok(false) };
        }
        if !is_small_product(&dims[..at]) {
            return Ok(false);
        }
        let first = [product(&dims[..at])?];
        self.flattened(x, &[&first], &dims[at..], &[])
    }

    /// Appends a reshape that merges the dimensions `flat` into one, between the others.
    fn flattened(
        &mut self,
        x: VarId,
        before: &[&[Dim]],
        flat: &[Dim],
        behind: &[&[Dim]],
    ) -> Result<bool, ConvertError> {
        if !is_small_product(flat) || !is_small_product(&self.ty(x).dims) {
            return Ok(false);
        }
        let dims = [before.concat(), vec![product(flat)?], behind.concat()].concat();
        self.out(Reshape { dims }, &[x])
    }
}
