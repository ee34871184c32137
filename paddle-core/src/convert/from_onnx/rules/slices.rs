//! Parts of values, and values with something around them.

use crate::convert::draft::MOST_POSITIONS;
use crate::convert::error::Fault;
use crate::convert::from_onnx::node::{Given, Node};
use crate::ops::{Fill, Gather, Number, PadMode, Range, Slice};
use crate::program::{DType, Dim, Type, VarId};

/// What stands for the end of an axis, and for the place before its beginning.
const FAR: i64 = i32::MAX as i64;

impl Node<'_, '_> {
    /// A bound of a slice may be a size that a batch has.
    pub(super) fn slice(&mut self) -> Given {
        let mut x = self.input(0)?;
        let bounds = |node: &Self, at, name: &str| -> Option<Vec<Dim>> {
            if node.has(at) {
                node.dims(at)
            } else {
                Some(node.ints(name)?.into_iter().map(Dim::from).collect())
            }
        };
        let (Some(starts), Some(ends)) = (bounds(self, 1, "starts"), bounds(self, 2, "ends")) else {
            return self.lacks("its bounds are computed while it runs, but have to be known before");
        };
        let axes = self.listed(3, "axes")?.unwrap_or_else(|| (0..starts.len() as i64).collect());
        let steps = if self.has(4) { self.listed(4, "steps")? } else { None };
        let steps = steps.unwrap_or_else(|| vec![1; starts.len()]);
        if [starts.len(), ends.len(), axes.len(), steps.len()] != [starts.len(); 4] {
            return self.lacks("it has not as many ends, axes and steps as starts");
        }
        let mut op = Slice { axes: Vec::new(), starts: Vec::new(), ends: Vec::new(), strides: Vec::new() };
        let mut by_size = Vec::new();
        for (k, &axis) in axes.iter().enumerate() {
            let at = self.axis(x, "axes", axis)?;
            let size = self.shape(x)[at].clone();
            let (start, end, step) = (&starts[k], &ends[k], steps[k]);
            let is_end = |bound: &Dim| *bound == size || bound.constant().is_some_and(|bound| bound >= FAR);
            let whole = match (start.constant(), is_end(end)) {
                _ if step == 0 => return self.lacks("one of its steps is 0"),
                (Some(0), true) if step == 1 => continue,
                (Some(start), true) if step > 0 => Some((start, FAR)),
                (Some(start), false) => end.constant().map(|end| (start, end)),
                (Some(start), true) => Some((start, FAR)),
                (None, _) => None,
            };
            let Some((start, end)) = whole else {
                by_size.push((at as i64, start.clone(), end.clone(), step));
                continue;
            };
            op.axes.push(at as i64);
            op.starts.push(start);
            op.ends.push(if step < 0 { self.end_of_descent(&size, end)? } else { end });
            op.strides.push(step);
        }
        if op.strides.iter().all(|&stride| stride == 1) {
            op.strides.clear();
        }
        for (axis, start, end, step) in by_size {
            x = self.part_by_size(x, axis, [&start, &end], step)?;
        }
        if op.axes.is_empty() {
            return Ok(vec![x]);
        }
        match self.nothing(x, &op) {
            Some(ty) => self.give(Fill::zeros(ty), &[]),
            None => self.give(op, &[x]),
        }
    }

    /// The type of a slice that has no elements, if it is known to have none.
    fn nothing(&self, x: VarId, op: &Slice) -> Option<Type> {
        let (mut ty, rows) = (self.ty(x).clone(), self.rows(x));
        let mut is_empty = false;
        for (axis, bounds) in op.bounds() {
            let dim = &mut ty.dims[axis.checked_sub(rows)?];
            let count = bounds.of(usize::try_from(dim.constant()?).ok()?).count;
            is_empty |= count == 0;
            *dim = Dim::from(count as i64);
        }
        is_empty.then_some(ty)
    }

    /// Where a slice that goes backward ends: in ours, -1 is the place before the first element.
    fn end_of_descent(&self, size: &Dim, end: i64) -> Result<i64, Fault> {
        match (end, size.constant()) {
            (0.., _) => Ok(end),
            (_, Some(size)) => Ok((end.saturating_add(size)).max(-1)),
            _ if end <= -FAR => Ok(-1),
            _ => self.lacks("it goes backward to before an end that is not known"),
        }
    }

    /// The elements from one place to before another, which is a size that a batch has.
    fn part_by_size(
        &mut self,
        x: VarId,
        axis: i64,
        [start, end]: [&Dim; 2],
        step: i64,
    ) -> Result<VarId, Fault> {
        let (Some(first), Ok(count), 1) = (start.constant().filter(|&first| first >= 0), end - start, step)
        else {
            return self.lacks("its bounds are sizes in a form that is not supported");
        };
        let ty = Type { dtype: DType::I64, rows: None, dims: vec![count] };
        let places = self.emit(Range { start: Number::Int(first), step: Number::Int(1), ty }, &[])?;
        self.emit(Gather { axis }, &[x, places])
    }

    /// Paddings below 0 remove elements.
    pub(super) fn pad(&mut self) -> Given {
        let x = self.input(0)?;
        let attribute = if self.reader.version < 2 { "paddings" } else { "pads" };
        let Some(sides) = self.listed(1, attribute)? else { return self.lacks("its `pads` are missing") };
        let rank = self.ty(x).rank();
        let axes = match self.listed(3, "axes")? {
            Some(axes) => {
                axes.iter().map(|&axis| self.axis(x, "axes", axis)).collect::<Result<Vec<_>, _>>()?
            }
            None => (0..rank).collect(),
        };
        if sides.len() != 2 * axes.len() || sides.iter().any(|side| side.abs() >= MOST_POSITIONS) {
            return self.lacks("its `pads` are not two for each axis, or too large");
        }
        let mut paddings = vec![0; 2 * rank];
        let mut cut = Slice { axes: Vec::new(), starts: Vec::new(), ends: Vec::new(), strides: Vec::new() };
        for (k, &axis) in axes.iter().enumerate() {
            let (before, behind) = (sides[k], sides[k + axes.len()]);
            (paddings[2 * axis], paddings[2 * axis + 1]) = (before.max(0), behind.max(0));
            if before < 0 || behind < 0 {
                cut.axes.push(axis as i64);
                cut.starts.push((-before).max(0));
                cut.ends.push(if behind < 0 { behind } else { FAR });
            }
        }
        let mode = match self.text("mode").unwrap_or("constant") {
            "constant" => None,
            "reflect" => Some(PadMode::Reflect),
            "edge" => Some(PadMode::Replicate),
            "wrap" => Some(PadMode::Circular),
            _ => return self.lacks("its mode is none of constant, reflect, edge and wrap"),
        };
        let value = self.number(2, "value")?.unwrap_or(0.0);
        let x = if cut.axes.is_empty() { x } else { self.emit(cut, &[x])? };
        match self.at().padded(x, paddings, value, mode)? {
            Some(padded) => Ok(vec![padded]),
            None => self.lacks("a size that it mirrors is not known or too small, or it pads rows"),
        }
    }
}
