//! Rules for slices, paddings, repetitions, stacks and rolls.

use crate::convert::derived::float;
use crate::convert::dialect::DIMS;
use crate::convert::draft::{MOST_POSITIONS, positions_of};
use crate::convert::from_wire::{ConvertError, Fault, Reading, THIRD_VERSION, one};
use crate::convert::types::{is_small_product, parse_dim, product};
use crate::ops::{
    Assign, AssignValue, BinaryKind, Cast, Concat, Expand, Gather, Number, PadMode, Reshape, Scale, Slice,
    SliceGrad, Tile,
};
use crate::program::{DType, Dim, Type, VarId};

/// An end before any axis.
const FAR: i64 = -(1 << 30);

impl Reading<'_, '_> {
    /// Lets slices that go backwards have the elements that they have in Python.
    fn read_as_in_python(&self, input: VarId, op: &mut Slice) {
        let shape = self.reader.draft.program.shape(self.ty(input));
        for (k, (axis, of)) in op.bounds().collect::<Vec<_>>().into_iter().enumerate() {
            if of.stride >= 0 {
                continue;
            }
            let none = [0, 0];
            [op.starts[k], op.ends[k]] = match shape[axis].constant() {
                Some(size) => {
                    let from_start = |bound: i64| if bound < 0 { bound.saturating_add(size) } else { bound };
                    match from_start(of.start) {
                        ..0 => none,
                        start => [start, from_start(of.end).max(-1)],
                    }
                }
                // The last element ends a slice before it begins.
                None if of.end == -1 => none,
                None => [of.start, if of.end <= FAR { -1 } else { of.end }],
            };
        }
    }

    /// `decrease_axis` drops axes that have one element left.
    pub(super) fn slice(&mut self) -> Result<bool, ConvertError> {
        if self.is_array("Input") {
            return self.slice_of_array();
        }
        let input = self.input("Input")?;
        let rows = usize::from(self.ty(input).rows.is_some());
        let longs = |name| -> Result<Vec<i64>, Fault> { Ok(self.desc.attr_longs(name)?.unwrap_or_default()) };
        let inner = |axis: i64| self.axis(input, axis).filter(|&axis| axis >= rows);
        let positions = |axes: Vec<i64>| axes.into_iter().map(inner).collect::<Option<Vec<usize>>>();
        let (axes, gone) = (positions(longs("axes")?), positions(longs("decrease_axis")?));
        let starts = self.numbers("starts", "StartsTensor", "StartsTensorList")?;
        let ends = self.numbers("ends", "EndsTensor", "EndsTensorList")?;
        let mut strides = self.numbers("strides", "StridesTensor", "StridesTensorList")?;
        if self.desc.r#type.starts_with("slice") {
            strides = Some(Vec::new());
        }
        if let (Some(&[axis]), Some(&[gone]), None) = (axes.as_deref(), gone.as_deref(), &starts)
            && axis == gone
            && self.desc.r#type == "slice"
        {
            return self.element(input, axis as i64);
        }
        if let (Some(axes), Some([]), "slice", true) =
            (&axes, gone.as_deref(), self.desc.r#type.as_str(), starts.is_none() || ends.is_none())
        {
            return self.slice_of_sizes(input, axes);
        }
        let (Some(axes), Some(gone), Some(starts), Some(ends), Some(strides)) =
            (axes, gone, starts, ends, strides)
        else {
            return Ok(false);
        };
        let axes = axes.into_iter().map(|axis| axis as i64).collect();
        let mut op = Slice { axes, starts, ends, strides };
        // In releases before, an end of -1 is in front of the first element, and other ends before the axis are at it.
        if self.reader.version >= THIRD_VERSION {
            self.read_as_in_python(input, &mut op);
        }
        if self.desc.r#type.ends_with("_grad") {
            return if gone.is_empty() { self.same_slots(SliceGrad(op).into()) } else { Ok(false) };
        }
        if gone.is_empty() {
            return self.out(op, &[input]);
        }
        let part = self.emit(op, &[input])?;
        let left = self.ty(part).dims.iter().enumerate().filter(|(i, _)| !gone.contains(&(i + rows)));
        let dims = left.map(|(_, dim)| dim.clone()).collect();
        self.out(Reshape { dims }, &[part])
    }

    /// A part whose bounds are sizes that are known when a batch is fed, as that of a table of positions is.
    fn slice_of_sizes(&mut self, x: VarId, axes: &[usize]) -> Result<bool, ConvertError> {
        let starts = self.dims("starts", "StartsTensor", "StartsTensorList")?;
        let ends = self.dims("ends", "EndsTensor", "EndsTensorList")?;
        let (Some(starts), Some(ends)) = (starts, ends) else {
            return self.lacks("its bounds are computed, and are no sizes");
        };
        if starts.len() != axes.len() || ends.len() != axes.len() {
            return Ok(false);
        }
        let mut value = x;
        for (&axis, (start, end)) in axes.iter().zip(starts.iter().zip(&ends)) {
            let size = self.reader.draft.program.shape(self.ty(x))[axis].clone();
            // What is below 0 counts from the end, and what is far away is the end.
            let bound = |bound: &Dim| match bound.constant() {
                Some(far) if far >= i64::from(i32::MAX) => Ok(size.clone()),
                Some(below) if below < 0 => &size + &Dim::from(below),
                _ => Ok(bound.clone()),
            };
            let parts = bound(start).and_then(|start| Ok((bound(end)?, start)));
            let parts = parts.map(|(end, start)| (&end - &start, start));
            let Ok((Ok(length), start)) = parts else { return Ok(false) };
            if start.constant() == Some(0) && length == size {
                continue;
            }
            let mut at = self.at();
            let mut places = at.count_to(length)?;
            if start.constant() != Some(0) {
                let start = at.size_as(&start, DType::I64)?;
                places = at.binary(BinaryKind::Add, places, start)?;
            }
            value = at.emit(Gather { axis: axis as i64 }, &[value, places])?;
        }
        match value == x {
            true => self.out(Assign, &[x]),
            false => self.out_value(value),
        }
    }

    /// The elements along an axis at a place that is computed. The end is the place behind it.
    fn element(&mut self, x: VarId, axis: i64) -> Result<bool, ConvertError> {
        let place = |reading: &Self, tensor, list| -> Result<Option<VarId>, Fault> {
            let found = [reading.inputs(tensor)?, reading.inputs(list)?].concat();
            Ok(if let [place] = found[..] { Some(place) } else { None })
        };
        let start = place(self, "StartsTensor", "StartsTensorList")?;
        let end = place(self, "EndsTensor", "EndsTensorList")?;
        let (Some(start), Some(end)) = (start, end) else { return Ok(false) };
        let is_next = self.reader.draft.program.writer(end).is_some_and(|writer| {
            writer.op == Scale { scale: 1.0, bias: 1.0 }.into() && writer.inputs == [start]
        });
        if !is_next || self.ty(start).rows.is_some() {
            return self.lacks("its bounds are computed, and are not a place and the next one");
        }
        let index = self.emit(Cast { dtype: DType::I64 }, &[start])?;
        let index = self.emit(Reshape { dims: Vec::new() }, &[index])?;
        self.out(Gather { axis }, &[x, index])
    }

    /// `paddings` has two numbers for each axis.
    pub(super) fn pad(&mut self) -> Result<bool, ConvertError> {
        let x = self.input("X")?;
        let paddings = self.desc.attr_longs("paddings")?.unwrap_or_default();
        self.padded(x, paddings, "pad_value", "constant")
    }

    /// `paddings` has the sides of images: above, below, left, right.
    pub(super) fn pad2d(&mut self) -> Result<bool, ConvertError> {
        let sides = self.numbers("paddings", "Paddings", "")?;
        let sides: Option<[i64; 4]> = sides.as_deref().and_then(|sides| sides.try_into().ok());
        let Some([above, below, left, right]) = sides else { return Ok(false) };
        self.padded_inside("NHWC", &[above, below, left, right], "pad_value")
    }

    /// `paddings` has the sides of volumes: left, right, above, below, in front, behind.
    pub(super) fn pad3d(&mut self) -> Result<bool, ConvertError> {
        let sides = self.numbers("paddings", "Paddings", "")?;
        let sides: Option<[i64; 6]> = sides.as_deref().and_then(|sides| sides.try_into().ok());
        let Some([left, right, above, below, front, behind]) = sides else { return Ok(false) };
        self.padded_inside("NDHWC", &[front, behind, above, below, left, right], "value")
    }

    /// Pads the axes between the rows and the channels. The channels are last in the format `last`.
    fn padded_inside(&mut self, last: &str, sides: &[i64], value: &str) -> Result<bool, ConvertError> {
        let x = self.input("X")?;
        let channels_last = self.desc.attr_string("data_format")? == Some(last);
        if self.ty(x).rank() != last.len() {
            return Ok(false);
        }
        let paddings = if channels_last { [&[0; 2], sides, &[0; 2]] } else { [&[0; 4], sides, &[]] }.concat();
        let mode = self.desc.attr_string("mode")?.unwrap_or("constant").to_string();
        self.padded(x, paddings, value, &mode)
    }

    /// Pads with a constant, or with elements of the value itself, which are gathered axis by axis.
    fn padded(
        &mut self,
        x: VarId,
        paddings: Vec<i64>,
        value: &str,
        mode: &str,
    ) -> Result<bool, ConvertError> {
        let pad_value = float(self.desc, value)?.unwrap_or(0.0);
        let mode = match mode {
            "constant" => None,
            "reflect" => Some(PadMode::Reflect),
            "replicate" | "edge" => Some(PadMode::Replicate),
            "circular" => Some(PadMode::Circular),
            _ => return Ok(false),
        };
        match self.at().padded(x, paddings, pad_value, mode)? {
            Some(padded) if padded == x => self.out(Assign, &[x]),
            Some(padded) => self.out_value(padded),
            None => Ok(false),
        }
    }

    /// An attribute or an input has the number of repetitions along each axis. There may be more numbers than axes.
    pub(super) fn tile(&mut self, name: &str, slot: &str, list: &str) -> Result<bool, ConvertError> {
        let x = self.input("X")?;
        if let Some(exact) = self.desc.attr_strings(DIMS)? {
            let times: Option<Vec<Dim>> =
                exact.iter().map(|dim| parse_dim(&self.reader.draft.program, dim)).collect();
            return match times {
                Some(repeat_times) => self.out(Tile { repeat_times }, &[x]),
                None => Ok(false),
            };
        }
        let times = self.dims(name, slot, list)?;
        let Some(mut times) = times else { return Ok(false) };
        let rank = self.ty(x).rank();
        while times.len() < rank {
            times.insert(0, Dim::from(1));
        }
        match self.at().repeated(x, times)? {
            Some(repeated) => self.out_value(repeated),
            None => Ok(false),
        }
    }

    /// `shape` has the sizes of the result; -1 keeps the size.
    pub(super) fn expand_v2(&mut self) -> Result<bool, ConvertError> {
        let x = self.input("X")?;
        match self.dims("shape", "Shape", "expand_shapes_tensor")? {
            Some(shape) => self.expanded(x, &shape),
            None => Ok(false),
        }
    }

    fn expanded(&mut self, x: VarId, shape: &[Dim]) -> Result<bool, ConvertError> {
        match self.at().expanded(x, shape)? {
            Some(expanded) => self.out_value(expanded),
            None => Ok(false),
        }
    }

    /// The shape of the result is that of `Y`, or sizes without `Y`.
    pub(super) fn expand_as(&mut self) -> Result<bool, ConvertError> {
        let x = self.input("X")?;
        if !self.has(&["Y"]) {
            let shape = self.desc.attr_longs("target_shape")?.unwrap_or_default();
            let shape: Vec<Dim> = shape.into_iter().map(Dim::from).collect();
            return self.expanded(x, &shape);
        }
        let y = self.input("Y")?;
        let (from, to) = (self.ty(x).clone(), self.ty(y).clone());
        let Some(lead) = to.rank().checked_sub(from.rank()) else { return Ok(false) };
        let (own, wanted) = (self.reader.draft.program.shape(&from), self.reader.draft.program.shape(&to));
        let is_new = |axis: usize| axis < lead || own[axis - lead] != wanted[axis];
        let axes: Vec<usize> = (0..to.rank()).filter(|&axis| is_new(axis)).collect();
        let fits = |&axis: &usize| axis < lead || own[axis - lead].constant() == Some(1);
        if !axes.iter().all(fits) || (from.rows.is_some() && from.rows != to.rows) {
            return Ok(false);
        }
        if axes.is_empty() {
            return self.out(Assign, &[x]);
        }
        let rows = usize::from(from.rows.is_some());
        let kept = (lead + rows..to.rank()).filter(|axis| !axes.contains(axis));
        let dims: Vec<Dim> = kept.map(|axis| own[axis - lead].clone()).collect();
        let squeezed = if dims == from.dims { x } else { self.emit(Reshape { dims }, &[x])? };
        let axes = axes.into_iter().map(|axis| axis as i64).collect();
        self.out(Expand { axes, keep_dim: false }, &[squeezed, y])
    }

    /// Stacks values along a new axis.
    pub(super) fn stack(&mut self) -> Result<bool, ConvertError> {
        let inputs = self.inputs("X")?;
        let Some(&first) = inputs.first() else { return Ok(false) };
        let (axis, ty) = (self.desc.attr_long("axis")?.unwrap_or(0), self.ty(first).clone());
        let axis = if axis < 0 { axis + ty.rank() as i64 + 1 } else { axis };
        let rows = usize::from(ty.rows.is_some());
        let at = usize::try_from(axis).ok().and_then(|axis| axis.checked_sub(rows));
        let Some(at) = at.filter(|&at| at <= ty.dims.len()) else { return Ok(false) };
        let mut dims = ty.dims.clone();
        dims.insert(at, Dim::from(1));
        let mut parts = Vec::with_capacity(inputs.len());
        for input in inputs {
            if self.ty(input).dims != ty.dims {
                return Ok(false);
            }
            parts.push(self.emit(Reshape { dims: dims.clone() }, &[input])?);
        }
        let desc = self.desc;
        self.define(Concat { axis }, &parts, &[], &[one(desc.output("Y"), "Y")?])
    }

    /// Each list goes along its own axis of the grid.
    pub(super) fn meshgrid(&mut self) -> Result<bool, ConvertError> {
        let (inputs, desc) = (self.inputs("X")?, self.desc);
        let sizes: Option<Vec<Dim>> = inputs
            .iter()
            .map(|&input| match &self.ty(input).dims[..] {
                _ if self.ty(input).rows.is_some() => None,
                [] => Some(Dim::from(1)),
                [size] => Some(size.clone()),
                _ => None,
            })
            .collect();
        let Some(sizes) = sizes.filter(|sizes| sizes.len() == desc.output("Out").len()) else {
            return Ok(false);
        };
        for (axis, (&input, name)) in inputs.iter().zip(desc.output("Out")).enumerate() {
            let (mut dims, mut repeat_times) = (vec![Dim::from(1); sizes.len()], sizes.clone());
            std::mem::swap(&mut dims[axis], &mut repeat_times[axis]);
            let along = self.emit(Reshape { dims }, &[input])?;
            self.define(Tile { repeat_times }, &[along], &[], &[name])?;
        }
        Ok(true)
    }

    /// Reverses axes.
    pub(super) fn flip(&mut self) -> Result<bool, ConvertError> {
        let x = self.input("X")?;
        let axes = self.desc.attr_longs("axis")?.unwrap_or_default();
        let Some(axes) = self.inner_axes(x, &axes) else { return Ok(false) };
        let all = || vec![-1; axes.len()];
        self.out(Slice { starts: all(), ends: all(), strides: all(), axes }, &[x])
    }

    /// Shifts elements along axes, with those at the end coming in at the start. Without axes, all elements are one
    /// list.
    pub(super) fn roll(&mut self) -> Result<bool, ConvertError> {
        let mut x = self.input("X")?;
        let Some(shifts) = self.numbers("shifts", "ShiftsTensor", "")? else { return Ok(false) };
        let mut axes = self.desc.attr_longs("axis")?.unwrap_or_default();
        let ty = self.ty(x).clone();
        let as_list = axes.is_empty();
        if as_list {
            if ty.rows.is_some() || !is_small_product(&ty.dims) {
                return Ok(false);
            }
            x = self.emit(Reshape { dims: vec![product(&ty.dims)?] }, &[x])?;
            axes = vec![0];
        }
        let Some(axes) = self.inner_axes(x, &axes).filter(|axes| axes.len() == shifts.len()) else {
            return Ok(false);
        };
        let rows = i64::from(ty.rows.is_some());
        let mut value = x;
        for (axis, shift) in axes.into_iter().zip(shifts) {
            let size = self.ty(x).dims[(axis - rows) as usize].clone();
            let positions = match size.constant() {
                Some(size) if (1..MOST_POSITIONS).contains(&size) => {
                    let positions = (0..size).map(|at| (at - shift % size).rem_euclid(size)).collect();
                    self.emit(positions_of(positions), &[])?
                }
                Some(_) => return Ok(false),
                None => self.shifted_places(size, shift)?,
            };
            value = self.emit(Gather { axis }, &[value, positions])?;
        }
        self.out(Reshape { dims: ty.dims }, &[value])
    }

    /// The places of an axis of unknown size, shifted.
    fn shifted_places(&mut self, size: Dim, shift: i64) -> Result<VarId, Fault> {
        let mut at = self.at();
        let count = at.size_as(&size, DType::I64)?;
        let places = at.count_to(size)?;
        let shift =
            at.emit(AssignValue { values: vec![Number::Int(shift)], ty: Type::new(DType::I64, [1]) }, &[])?;
        let places = at.binary(BinaryKind::Sub, places, shift)?;
        at.binary(BinaryKind::Mod, places, count)
    }

    /// The axes by their numbers; `None` if one is the axis of the rows, or does not exist.
    fn inner_axes(&self, x: VarId, axes: &[i64]) -> Option<Vec<i64>> {
        let rows = usize::from(self.ty(x).rows.is_some());
        let inner = |&axis: &i64| self.axis(x, axis).filter(|&axis| axis >= rows).map(|axis| axis as i64);
        axes.iter().map(inner).collect()
    }
}
