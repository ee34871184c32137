//! Reshapes, repetitions and paddings.

use super::{At, Draft};
use crate::convert::error::Fault;
use crate::convert::types::{enlarged, is_small_product, product};
use crate::ops::{
    AssignValue, BinaryKind, Gather, Number, Pad, PadMode, Range, Reshape, Tile, Unary, UnaryKind,
};
use crate::program::{Answer, DType, Dim, Type, VarId};

/// The most positions along an axis that are listed: a few bytes could ask for many.
pub(in crate::convert) const MOST_POSITIONS: i64 = 1 << 20;

impl Draft {
    /// The dimensions behind the rows of a value that gets this shape; `None` if that is not known. One -1 follows from the
    /// other sizes. With `zero_keeps`, 0 stands for the size of the value at this place. Rows stay rows.
    pub(in crate::convert) fn reshaped(
        &self,
        x: VarId,
        shape: &[Dim],
        zero_keeps: bool,
    ) -> Result<Option<Vec<Dim>>, Fault> {
        let ty = self.ty(x);
        let rows = usize::from(ty.rows.is_some());
        let first = shape.first();
        let takes_rest = rows == 1 && first.and_then(Dim::constant) == Some(-1);
        let keeps_rows = takes_rest
            || zero_keeps && first.is_some_and(|first| first.constant() == Some(0))
            || first == self.program.shape(ty).first();
        if rows == 1 && !keeps_rows {
            return Ok(None);
        }
        let mut dims = Vec::with_capacity(shape.len());
        let mut rest = None;
        for (axis, size) in shape.iter().enumerate().skip(rows) {
            let Some(known) = size.constant() else {
                dims.push(size.clone());
                continue;
            };
            dims.push(match known {
                0 if !zero_keeps => size.clone(),
                0 => match axis.checked_sub(rows).and_then(|axis| ty.dims.get(axis)) {
                    Some(dim) => dim.clone(),
                    None => return Ok(None),
                },
                // If the rows are -1, this is a second -1.
                -1 if rest.is_none() && !takes_rest => {
                    rest = Some(axis - rows);
                    Dim::from(1)
                }
                1.. => size.clone(),
                _ => return Ok(None),
            });
        }
        if let Some(rest) = rest {
            if !is_small_product(&dims) || !is_small_product(&ty.dims) {
                return Ok(None);
            }
            // Sizes that are on both sides do not matter.
            let (mut of, mut by) = (ty.dims.clone(), dims.clone());
            by.retain(|dim| match of.iter().position(|own| own == dim && own.constant().is_none()) {
                Some(at) => {
                    of.remove(at);
                    false
                }
                None => true,
            });
            let Some(left) = product(&of)?.floor_div(&product(&by)?) else { return Ok(None) };
            dims[rest] = left;
        }
        // If the rows are -1, they are what is left only where the sizes of a row do not change.
        let same = |dims: &[Dim]| is_small_product(dims).then(|| product(dims)).transpose();
        let is_same = match (same(&dims)?, same(&ty.dims)?) {
            (Some(found), Some(of)) => found.equals(&of) == Answer::Holds,
            _ => false,
        };
        Ok((is_same || !takes_rest).then_some(dims))
    }
}

impl At<'_> {
    /// A value repeated until it has these sizes; -1 keeps the size. `None` if it has others.
    pub(in crate::convert) fn expanded(&mut self, x: VarId, shape: &[Dim]) -> Result<Option<VarId>, Fault> {
        let ty = self.ty(x);
        let Some(lead) = shape.len().checked_sub(ty.rank()) else { return Ok(None) };
        let mut times = Vec::with_capacity(shape.len());
        let own_shape = self.draft.program.shape(ty);
        for (axis, size) in shape.iter().enumerate() {
            let own = axis.checked_sub(lead).map(|at| &own_shape[at]);
            times.push(match own {
                _ if size.constant() == Some(-1) => Dim::from(1),
                Some(own) if own == size => Dim::from(1),
                Some(own) if own.constant() == Some(1) => size.clone(),
                None => size.clone(),
                _ => return Ok(None),
            });
        }
        self.repeated(x, times)
    }

    /// Repeats a value along each axis. It first gets axes of size 1 in front, until there is an axis for each number.
    pub(in crate::convert) fn repeated(&mut self, x: VarId, times: Vec<Dim>) -> Result<Option<VarId>, Fault> {
        let rows = usize::from(self.ty(x).rows.is_some());
        let Some(lead) = times.len().checked_sub(self.ty(x).rank()) else { return Ok(None) };
        let (mut value, one) = (x, Dim::from(1));
        if times.iter().filter_map(Dim::constant).any(|times| times < 1)
            || (rows == 1 && (lead > 0 || times[0] != one))
        {
            return Ok(None);
        }
        if lead > 0 {
            let ones = std::iter::repeat_n(Dim::from(1), lead);
            let dims = ones.chain(self.ty(x).dims.iter().cloned()).collect();
            value = self.emit(Reshape { dims }, &[x])?;
        }
        self.emit(Tile { repeat_times: times[rows..].to_vec() }, &[value]).map(Some)
    }

    /// Pads with a constant, or in a mode with elements of the value itself, which are gathered axis by axis. There are two
    /// numbers for each axis. `None` if a size is too small.
    pub(in crate::convert) fn padded(
        &mut self,
        x: VarId,
        paddings: Vec<i64>,
        pad_value: f64,
        mode: Option<PadMode>,
    ) -> Result<Option<VarId>, Fault> {
        let Some(mode) = mode else { return self.emit(Pad { paddings, pad_value }, &[x]).map(Some) };
        let rows = usize::from(self.ty(x).rows.is_some());
        let (mut all, mut unknown) = (Vec::new(), Vec::new());
        for (axis, &[before, behind]) in paddings.as_chunks::<2>().0.iter().enumerate() {
            if (before, behind) == (0, 0) {
                continue;
            }
            let size = axis.checked_sub(rows).and_then(|at| self.ty(x).dims.get(at)).cloned();
            let sides = before.min(behind) >= 0 && before.max(behind) < MOST_POSITIONS;
            if let Some(size) = size.as_ref().filter(|size| size.constant().is_none() && sides) {
                unknown.push((axis as i64, size.clone(), [before, behind]));
                continue;
            }
            let size = size.and_then(|size| size.constant());
            let size = size.filter(|size| [*size, before, behind].iter().all(|&part| part < MOST_POSITIONS));
            let Some(positions) = size.and_then(|size| mode.positions(size, before, behind)) else {
                return Ok(None);
            };
            all.push((axis as i64, positions));
        }
        let mut value = x;
        for (axis, positions) in all {
            value = self.picked(value, axis, positions)?;
        }
        for (axis, size, sides) in unknown {
            let positions = self.padded_positions(&size, sides, mode)?;
            value = self.emit(Gather { axis }, &[value, positions])?;
        }
        Ok(Some(value))
    }

    /// The positions of a padded axis whose size is known when a batch is fed. An axis that is too short is an error then.
    fn padded_positions(
        &mut self,
        size: &Dim,
        [before, behind]: [i64; 2],
        mode: PadMode,
    ) -> Result<VarId, Fault> {
        let all = enlarged(size, before + behind)?;
        let list = Type { dtype: DType::I64, rows: None, dims: vec![all] };
        let place = Range { start: Number::Int(-before), step: Number::Int(1), ty: list };
        let place = self.emit(place, &[])?;
        let size = self.size_as(size, DType::I64)?;
        let (last, zero) = (self.scaled(size, 1.0, -1.0)?, self.number(0.0, DType::I64)?);
        match mode {
            PadMode::Reflect => {
                // Mirrored at the first element, then at the last.
                let place = self.emit(Unary::of(UnaryKind::Abs), &[place])?;
                let beyond = self.binary(BinaryKind::Sub, last, place)?;
                let beyond = self.emit(Unary::of(UnaryKind::Abs), &[beyond])?;
                self.binary(BinaryKind::Sub, last, beyond)
            }
            PadMode::Replicate => self.clamped(place, zero, last),
            PadMode::Circular => self.binary(BinaryKind::Mod, place, size),
        }
    }

    /// The elements at these positions along an axis.
    pub(in crate::convert) fn picked(
        &mut self,
        x: VarId,
        axis: i64,
        positions: Vec<i64>,
    ) -> Result<VarId, Fault> {
        let positions = self.emit(positions_of(positions), &[])?;
        self.emit(Gather { axis }, &[x, positions])
    }
}

/// A list of positions.
pub(in crate::convert) fn positions_of(positions: Vec<i64>) -> AssignValue {
    let ty = Type::new(DType::I64, [positions.len() as i64]);
    AssignValue { values: positions.into_iter().map(Number::Int).collect(), ty }
}
