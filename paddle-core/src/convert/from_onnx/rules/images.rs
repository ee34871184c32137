//! Convolutions and pooling of images, and of signals, which are images of height 1.

use crate::convert::error::Fault;
use crate::convert::from_onnx::node::{Given, Node};
use crate::ops::{
    Conv2d, Conv2dTranspose, Op, Pad, Padding, Pool2d, PoolKind, Reduce, ReduceKind, Reshape, Slice,
};
use crate::program::{Dim, VarId};

/// Windows along the one or two axes of a signal or an image. In a signal, the first axis is one of size 1.
struct Windows {
    size: [i64; 2],
    strides: [i64; 2],
    dilations: [i64; 2],
    /// Above, below, left and right.
    sides: [i64; 4],
    is_signal: bool,
}

impl Node<'_, '_> {
    /// The numbers of an attribute, one for each axis.
    fn pair(&self, name: &str, is_signal: bool, default: i64) -> Result<[i64; 2], Fault> {
        match (self.ints(name).as_deref(), is_signal) {
            (None, _) => Ok([default; 2]),
            (Some(&[across]), true) => Ok([default, across]),
            (Some(&[down, across]), false) => Ok([down, across]),
            (Some(found), _) => self.lacks(format!("its `{name}` {found:?} is not one number for each axis")),
        }
    }

    /// The windows over a value, which is an image or a signal.
    fn windows(&self, x: VarId, size: Option<[i64; 2]>) -> Result<Windows, Fault> {
        let is_signal = match self.ty(x).rank() {
            3 => true,
            4 => false,
            _ => return self.lacks("it has neither images nor signals"),
        };
        let size = match size {
            Some(size) => size,
            None => self.pair("kernel_shape", is_signal, 1)?,
        };
        let (strides, dilations) =
            (self.pair("strides", is_signal, 1)?, self.pair("dilations", is_signal, 1)?);
        let sides = match self.text("auto_pad").unwrap_or("NOTSET") {
            "NOTSET" => match (self.ints("pads").as_deref(), is_signal) {
                (None, _) => [0; 4],
                (Some(&[left, right]), true) => [0, 0, left, right],
                (Some(&[above, left, below, right]), false) => [above, below, left, right],
                (Some(found), _) => {
                    return self.lacks(format!("its `pads` {found:?} are not two for each axis"));
                }
            },
            "VALID" => [0; 4],
            mode => self.same(x, is_signal, [size, strides, dilations], mode == "SAME_LOWER")?,
        };
        let all = [&size[..], &strides, &dilations].concat();
        if all.iter().any(|number| !(1..1 << 31).contains(number))
            || sides.iter().any(|side| !(0..1 << 31).contains(side))
        {
            return self.lacks("a size, stride or dilation is below 1, or a padding below 0");
        }
        Ok(Windows { size, strides, dilations, sides, is_signal })
    }

    /// The windows of this size without padding.
    fn windows_alone(&self, x: VarId, size: [i64; 2]) -> Result<Windows, Fault> {
        let is_signal = self.ty(x).rank() == 3;
        let (strides, dilations) =
            (self.pair("strides", is_signal, 1)?, self.pair("dilations", is_signal, 1)?);
        let all = [size, strides, dilations].concat();
        if !(3..=4).contains(&self.ty(x).rank()) || all.iter().any(|number| !(1..1 << 31).contains(number)) {
            return self.lacks("it has neither images nor signals, or a size, stride or dilation is below 1");
        }
        Ok(Windows { size, strides, dilations, sides: [0; 4], is_signal })
    }

    /// Paddings for as many windows as there are strides in an axis.
    fn same(
        &self,
        x: VarId,
        is_signal: bool,
        [size, strides, dilations]: [[i64; 2]; 3],
        in_front: bool,
    ) -> Result<[i64; 4], Fault> {
        let mut sides = [0; 4];
        for axis in usize::from(is_signal)..2 {
            let dims = &self.ty(x).dims;
            let of = dims.len().checked_sub(2 - axis).and_then(|at| dims[at].constant());
            let missing = match of {
                Some(of) if strides[axis] > 0 => {
                    let windows = of.saturating_add(strides[axis] - 1) / strides[axis];
                    let span = (size[axis] - 1).saturating_mul(dilations[axis]).saturating_add(1);
                    (windows - 1).saturating_mul(strides[axis]).saturating_add(span).saturating_sub(of).max(0)
                }
                None if strides[axis] == 1 => (size[axis] - 1).saturating_mul(dilations[axis]),
                _ => return self.lacks("its padding follows from a size that is not known"),
            };
            let (less, more) = (missing / 2, missing - missing / 2);
            (sides[2 * axis], sides[2 * axis + 1]) = if in_front { (more, less) } else { (less, more) };
        }
        Ok(sides)
    }

    /// A signal as an image of height 1.
    fn image(&mut self, x: VarId, windows: &Windows) -> Result<VarId, Fault> {
        if !windows.is_signal {
            return Ok(x);
        }
        let mut dims = self.ty(x).dims.clone();
        dims.insert(dims.len() - 1, Dim::from(1));
        self.emit(Reshape { dims }, &[x])
    }

    /// Appends an operator on images. Where there are signals, so is its result.
    fn on_images(&mut self, op: impl Into<Op>, inputs: &[VarId], windows: &Windows) -> Result<VarId, Fault> {
        let image = self.emit(op, inputs)?;
        if !windows.is_signal {
            return Ok(image);
        }
        let mut dims = self.ty(image).dims.clone();
        dims.remove(dims.len() - 2);
        self.emit(Reshape { dims }, &[image])
    }

    /// Height and width of filters.
    fn size_of_filters(&self, filter: VarId) -> Result<[i64; 2], Fault> {
        let dims: Option<Vec<i64>> = self.ty(filter).dims.iter().skip(2).map(Dim::constant).collect();
        match dims.as_deref() {
            Some(&[across]) => Ok([1, across]),
            Some(&[down, across]) => Ok([down, across]),
            _ => self.lacks("its filters have neither one nor two axes, of known size"),
        }
    }

    pub(super) fn convolution(&mut self) -> Given {
        let (x, filter, bias) = (self.input(0)?, self.input(1)?, self.optional(2)?);
        let out = self.convolved(x, filter)?;
        Ok(vec![match bias {
            Some(bias) => self.with_bias(out, bias)?,
            None => out,
        }])
    }

    /// Volumes, images or signals, over which filters slide.
    pub(super) fn convolved(&mut self, x: VarId, filter: VarId) -> Result<VarId, Fault> {
        if self.ty(x).rank() == 5 {
            return self.convolution_of_volumes(x, filter);
        }
        let size = self.size_of_filters(filter)?;
        let windows = self.windows(x, Some(size))?;
        let op = Conv2d {
            strides: windows.strides,
            paddings: Padding::Explicit(windows.sides),
            dilations: windows.dilations,
            groups: self.int("group", 1),
        };
        let inputs = [self.image(x, &windows)?, self.image(filter, &windows)?];
        self.on_images(op, &inputs, &windows)
    }

    /// The sizes of the result may be given, or be as many times larger as the stride says: padding follows from them.
    pub(super) fn transposed_convolution(&mut self) -> Given {
        let (x, filter, bias) = (self.input(0)?, self.input(1)?, self.optional(2)?);
        let size = self.size_of_filters(filter)?;
        let auto = self.text("auto_pad").unwrap_or("NOTSET");
        let is_same = matches!(auto, "SAME_UPPER" | "SAME_LOWER");
        let wanted = self.ints("output_shape");
        let mut windows = if is_same { self.windows_alone(x, size)? } else { self.windows(x, Some(size))? };
        let mut output_padding = self.pair("output_padding", windows.is_signal, 0)?;
        if is_same || wanted.is_some() {
            for (axis, more_behind) in
                output_padding.iter_mut().enumerate().skip(usize::from(windows.is_signal))
            {
                let dims = &self.ty(x).dims;
                let of = dims.len().checked_sub(2 - axis).and_then(|at| dims[at].constant());
                let Some(of) = of.filter(|&of| (1..1 << 31).contains(&of)) else {
                    return self.lacks("its padding follows from a size that is not known");
                };
                let wanted = match &wanted {
                    Some(sizes) => sizes.iter().rev().nth(1 - axis).copied(),
                    None => Some(of * windows.strides[axis]),
                };
                let Some(wanted) = wanted else { return self.lacks("its `output_shape` has too few sizes") };
                let span = (windows.size[axis] - 1) * windows.dilations[axis] + 1;
                let more = (of - 1) * windows.strides[axis] + *more_behind + span - wanted;
                if more < 0 {
                    *more_behind -= more;
                }
                let (less, rest) = (more.max(0) / 2, more.max(0) - more.max(0) / 2);
                (windows.sides[2 * axis], windows.sides[2 * axis + 1]) =
                    if auto == "SAME_UPPER" { (less, rest) } else { (rest, less) };
            }
        }
        let op = Conv2dTranspose {
            strides: windows.strides,
            paddings: windows.sides,
            dilations: windows.dilations,
            groups: self.int("group", 1),
            output_padding,
        };
        let inputs = [self.image(x, &windows)?, self.image(filter, &windows)?];
        let out = self.on_images(op, &inputs, &windows)?;
        Ok(vec![match bias {
            Some(bias) => self.with_bias(out, bias)?,
            None => out,
        }])
    }

    /// Padding that counts in an average is put there first, if the last window may reach behind it.
    pub(super) fn pool(&mut self, pooling_type: PoolKind) -> Given {
        let x = self.input(0)?;
        if self.ty(x).rank() == 5 {
            return self.pool_of_volumes(x, pooling_type);
        }
        let windows = self.windows(x, None)?;
        if windows.dilations != [1, 1] {
            return self.pool_by_parts(x, pooling_type);
        }
        if self.int("storage_order", 0) != 0 {
            return self.lacks("it counts elements in another order");
        }
        let mut image = self.image(x, &windows)?;
        let counts = pooling_type == PoolKind::Avg && self.int("count_include_pad", 0) != 0;
        let (mut sides, ceil_mode) = (windows.sides, self.int("ceil_mode", 0) != 0);
        if counts && ceil_mode && sides != [0; 4] {
            let mut paddings = vec![0; 4];
            paddings.extend(sides);
            image = self.emit(Pad { paddings, pad_value: 0.0 }, &[image])?;
            sides = [0; 4];
        }
        let op = Pool2d {
            strides: windows.strides,
            paddings: Padding::Explicit(sides),
            ceil_mode,
            exclusive: !counts || ceil_mode,
            ..Pool2d::of_size(pooling_type, windows.size)
        };
        if !op.ceil_mode {
            return Ok(vec![self.on_images(op, &[image], &windows)?]);
        }
        let of: Vec<Dim> = self.ty(image).dims.iter().rev().take(2).rev().cloned().collect();
        let mut out = self.on_images(op, &[image], &windows)?;
        for (axis, of) in of.iter().enumerate().skip(usize::from(windows.is_signal)) {
            out = self.without_empty_window(out, axis, of, &op)?;
        }
        Ok(vec![out])
    }

    pub(super) fn pool_by_parts(&mut self, x: VarId, kind: PoolKind) -> Given {
        match kind {
            PoolKind::Max => self.largest_of_windows(x),
            PoolKind::Avg => self.mean_of_windows(x),
        }
    }

    /// Rounded up, the last window may begin behind the image and the padding in front of it. ONNX has no such window.
    fn without_empty_window(
        &mut self,
        out: VarId,
        axis: usize,
        of: &Dim,
        op: &Pool2d,
    ) -> Result<VarId, Fault> {
        let Padding::Explicit(sides) = op.paddings else { return Ok(out) };
        let (before, behind) = (sides[2 * axis], sides[2 * axis + 1]);
        if op.strides[axis] - 1 < op.ksize[axis] - behind {
            return Ok(out);
        }
        let at = self.ty(out).dims.len() + axis - 2;
        let (Some(of), Some(count)) = (of.constant(), self.ty(out).dims[at].constant()) else {
            return self.lacks("it rounds up a size that is not known");
        };
        if (count - 1) * op.strides[axis] < of + before {
            return Ok(out);
        }
        let axis = (at + self.rows(out)) as i64;
        let kept = Slice { axes: vec![axis], starts: vec![0], ends: vec![count - 1], strides: Vec::new() };
        self.emit(kept, &[out])
    }

    /// Over all axes behind the channels.
    pub(super) fn global_pool(&mut self, kind: ReduceKind) -> Given {
        let x = self.input(0)?;
        let axes = (2..self.ty(x).rank() as i64).collect::<Vec<i64>>();
        if axes.is_empty() {
            return self.lacks("it has no axes behind the channels");
        }
        self.give(Reduce { kind, axes, keep_dim: true }, &[x])
    }
}
