//! Rules for reshape, transpose, concat and split.

use crate::convert::dialect::DIMS;
use crate::convert::from_wire::{ConvertError, Fault, Reading};
use crate::convert::types::{is_small_product, parse_dim};
use crate::ops::{Assign, Concat, Reshape, Split, Transpose};
use crate::program::{Dim, VarId};

/// The most equal parts, as each of them is a value.
const MOST_PARTS: i32 = 1 << 16;

impl Reading<'_, '_> {
    pub(super) fn concat(&mut self) -> Result<bool, ConvertError> {
        let inputs = self.inputs("X")?;
        let Some(&first) = inputs.first() else { return Ok(false) };
        match self.axis_of(first, "axis", "AxisTensor")? {
            Some(axis) => self.out(Concat { axis }, &inputs),
            None => Ok(false),
        }
    }

    /// The parts are `num` equal ones, or have the sizes in `sections`. One of these may be -1; it follows from the
    /// others.
    pub(super) fn split(&mut self) -> Result<bool, ConvertError> {
        let x = self.input("X")?;
        let Some(axis) = self.axis_of(x, "axis", "AxisTensor")? else { return Ok(false) };
        let at = axis as usize - usize::from(self.ty(x).rows.is_some());
        let of = self.ty(x).dims[at].clone();
        let Some(sections) = self.sections(&of)? else { return Ok(false) };
        let desc = self.desc;
        let names: Vec<&str> = desc.output("Out").iter().map(String::as_str).collect();
        if names.len() != sections.len() {
            return Ok(false);
        }
        self.define(Split { axis, sections }, &[x], &[], &names)
    }

    fn sections(&self, of: &Dim) -> Result<Option<Vec<Dim>>, Fault> {
        if let Some(exact) = self.desc.attr_strings(DIMS)? {
            return Ok(exact.iter().map(|dim| parse_dim(&self.reader.draft.program, dim)).collect());
        }
        let sections = self.numbers("sections", "", "SectionsTensorList")?;
        // Equal parts of what a program has put together need no size that is known.
        let num = self.desc.attr_long("num")?.unwrap_or(0);
        if of.constant().is_none()
            && (1..=i64::from(MOST_PARTS)).contains(&num)
            && let Some(part) = of.floor_div(&Dim::from(num))
            && (&part * &Dim::from(num)).is_ok_and(|whole| whole == *of)
        {
            return Ok(Some(vec![part; num as usize]));
        }
        let (Some(sections), Some(of)) = (sections, of.constant()) else { return Ok(None) };
        let sizes = match self.desc.attr_int("num")?.unwrap_or(0) {
            0 => {
                let mut known = sections.iter().filter(|&&size| size >= 0);
                let Some(known) = known.try_fold(0i64, |sum, &size| sum.checked_add(size)) else {
                    return Ok(None);
                };
                sections.iter().map(|&size| if size == -1 { of - known } else { size }).collect::<Vec<i64>>()
            }
            num if num > 0 && of % i64::from(num) == 0 && num <= MOST_PARTS => {
                vec![of / i64::from(num); num as usize]
            }
            _ => return Ok(None),
        };
        let fits = sizes.iter().all(|&size| size >= 0) && sizes.iter().sum::<i64>() == of;
        Ok(fits.then(|| sizes.into_iter().map(Dim::from).collect()))
    }

    /// The rows have to stay first. An order that undoes another one gives a copy of what was before it.
    pub(super) fn transpose(&mut self) -> Result<bool, ConvertError> {
        let x = self.input("X")?;
        let axes = self.desc.attr_longs("axis")?.unwrap_or_default();
        let axis = |axis: i64| self.axis(x, axis).ok_or_else(|| self.no_axis(x, "axis", axis));
        let perm = axes.into_iter().map(|a| Ok(axis(a)? as i64)).collect::<Result<Vec<i64>, Fault>>()?;
        if self.ty(x).rows.is_some() && perm.first() != Some(&0) {
            return Ok(false);
        }
        let (of, perm) = self.undone(x, &perm);
        if of == x || perm.iter().enumerate().any(|(axis, &from)| axis as i64 != from) {
            return self.out(Transpose { perm }, &[of]);
        }
        let of = self.with_rows(of)?;
        self.out(Assign, &[of])
    }

    /// In `shape`, 0 stands for the size of `X` at this place. One -1 follows from the other sizes. Rows stay rows.
    pub(super) fn reshape(&mut self) -> Result<bool, ConvertError> {
        let x = self.input("X")?;
        let dims = match self.desc.attr_strings(DIMS)? {
            Some(dims) => dims.iter().map(|dim| parse_dim(&self.reader.draft.program, dim)).collect(),
            None => self.resolve_shape(x)?,
        };
        let Some(dims) = dims else { return Ok(false) };
        if !is_small_product(&dims) || !is_small_product(&self.ty(x).dims) {
            return Ok(false);
        }
        self.out(Reshape { dims }, &[x])
    }

    fn resolve_shape(&self, x: VarId) -> Result<Option<Vec<Dim>>, Fault> {
        match self.dims("shape", "Shape", "ShapeTensor")? {
            Some(shape) => self.reader.draft.reshaped(x, &shape, true),
            None => Ok(None),
        }
    }
}
