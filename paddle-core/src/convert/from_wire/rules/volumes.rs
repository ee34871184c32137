//! Rules for `conv3d` and `pool3d`, as operators on images.
//!
//! The filters of a convolution see, at each depth, as many slices of a volume as they are deep; these become channels of
//! images. The images of all depths are put one below the other, so rows stay rows; what a filter computes across two of
//! them is left out. A maximum or a mean over a box is one over its depth of those over its slices.

use crate::convert::from_wire::{ConvertError, Fault, Reading, one};
use crate::ops::{Concat, Conv2d, Pad, Padding, Pool2d, PoolKind, Reshape, Slice, Transpose};
use crate::program::{Dim, VarId};

/// The axes of a volume `[_, channels, depth, height, width]`.
const DEPTH: i64 = 2;
const HEIGHT: i64 = 3;

/// The most slices that a filter is deep, as each is a value.
const MOST_SLICES: i64 = 1 << 10;

/// Volumes: the dimensions before the channels that are no rows, then the others.
struct Volumes {
    before: Vec<Dim>,
    channels: i64,
    depth: i64,
    height: i64,
    width: Dim,
}

impl Volumes {
    fn dims(&self, behind: &[Dim]) -> Vec<Dim> {
        [&self.before, behind].concat()
    }
}

/// The windows along one axis.
#[derive(Clone, Copy)]
struct Along {
    size: i64,
    stride: i64,
    dilation: i64,
    padding: [i64; 2],
}

impl Along {
    fn span(self) -> i64 {
        (self.size - 1) * self.dilation + 1
    }

    /// The number of windows along so many elements; `None` if there are none.
    fn windows(self, elements: i64) -> Option<i64> {
        let left = elements + self.padding[0] + self.padding[1] - self.span();
        (left >= 0).then(|| left / self.stride + 1)
    }
}

impl Reading<'_, '_> {
    pub(super) fn conv3d(&mut self) -> Result<bool, ConvertError> {
        let (x, filter, desc) = (self.input("Input")?, self.input("Filter")?, self.desc);
        let (x, back) = self.volumes_first(x)?;
        let (Some(of), Some([filters, each, depth, height, width])) =
            (self.volumes(x), self.known_sizes(filter))
        else {
            return self.lacks("sizes of its volumes or filters are not known");
        };
        let sizes = [depth, height, width];
        let Some([along, down, across]) =
            self.windows(sizes, [Some(of.depth), Some(of.height), of.width.constant()], "dilations")?
        else {
            return self.lacks("its strides, paddings or dilations are not three, or its width is not known");
        };
        let (Some(out_depth), Some(out_height)) = (along.windows(of.depth), down.windows(of.height)) else {
            return self.lacks("its filters are larger than its volumes");
        };
        if depth > MOST_SLICES {
            return self.lacks("its filters are too deep");
        }
        // Each image is a whole number of strides high, so windows begin at the same places in all of them.
        let padded = of.height + down.padding[0] + down.padding[1];
        let image = (padded + down.stride - 1) / down.stride * down.stride;
        let mut paddings = vec![0; 10];
        paddings[4..6].copy_from_slice(&along.padding);
        paddings[6..8].copy_from_slice(&[down.padding[0], image - of.height - down.padding[0]]);
        let x = match paddings.iter().all(|&padding| padding == 0) {
            true => x,
            false => self.emit(Pad { paddings, pad_value: 0.0 }, &[x])?,
        };
        let below = Dim::from(out_depth * image);
        let slice = [Dim::from(of.channels), Dim::from(1), below.clone(), of.width.clone()];
        let mut slices = Vec::with_capacity(depth as usize);
        for at in (0..depth).map(|k| k * along.dilation) {
            let ends = vec![at + (out_depth - 1) * along.stride + 1];
            let strides = if along.stride == 1 { Vec::new() } else { vec![along.stride] };
            let part = self.emit(Slice { axes: vec![DEPTH], starts: vec![at], ends, strides }, &[x])?;
            slices.push(self.emit(Reshape { dims: of.dims(&slice) }, &[part])?);
        }
        let both = if slices.len() == 1 { slices[0] } else { self.emit(Concat { axis: DEPTH }, &slices)? };
        let images = [Dim::from(of.channels * depth), below, of.width.clone()];
        let images = self.emit(Reshape { dims: of.dims(&images) }, &[both])?;
        let flat = [filters, each * depth, height, width].map(Dim::from).to_vec();
        let filter = self.emit(Reshape { dims: flat }, &[filter])?;
        let [left, right] = across.padding;
        let conv = Conv2d {
            strides: [down.stride, across.stride],
            paddings: Padding::Explicit([0, (down.span() - down.stride).max(0), left, right]),
            dilations: [down.dilation, across.dilation],
            groups: desc.attr_long("groups")?.unwrap_or(1),
        };
        let images = self.emit(conv, &[images, filter])?;
        let out_width = self.ty(images).dims.last().cloned().unwrap_or(Dim::from(1));
        let apart = [filters, out_depth, image / down.stride].map(Dim::from);
        let apart = [&apart[..], &[out_width]].concat();
        let volume = self.emit(Reshape { dims: of.dims(&apart) }, &[images])?;
        let kept = Slice { axes: vec![HEIGHT], starts: vec![0], ends: vec![out_height], strides: Vec::new() };
        self.give_volume(kept, volume, back, "Output")
    }

    pub(super) fn pool3d(&mut self) -> Result<bool, ConvertError> {
        let (x, desc) = (self.input("X")?, self.desc);
        let (x, back) = self.volumes_first(x)?;
        let Some(of) = self.volumes(x) else { return self.lacks("sizes of its volumes are not known") };
        let has_places = desc.r#type == "max_pool3d_with_index";
        if has_places && desc.output("Mask").iter().any(|name| self.reader.readers(name) > 0) {
            return self.lacks("the places of the largest elements are read");
        }
        let kind = match has_places {
            true => Some(PoolKind::Max),
            false => desc.attr_string("pooling_type")?.and_then(PoolKind::from_name),
        };
        let sizes = desc.attr_longs("ksize")?.unwrap_or_default();
        let (Some(pooling_type), Ok(mut sizes)) = (kind, <[i64; 3]>::try_from(sizes)) else {
            return self.lacks("its kind is neither `max` nor `avg`, or its window has not three sizes");
        };
        let (is_global, adaptive) = (self.bool("global_pooling", false)?, self.bool("adaptive", false)?);
        let known = [Some(of.depth), Some(of.height), of.width.constant()];
        if is_global {
            let [Some(depth), Some(height), Some(width)] = known else { return Ok(false) };
            sizes = [depth, height, width];
        }
        let Some([along, down, across]) = self.windows(sizes, known, "")? else {
            return self.lacks("its strides or paddings are not three, or its width is not known");
        };
        let pool = |first: Along, second: Along| Pool2d {
            pooling_type,
            ksize: [first.size, second.size],
            strides: [first.stride, second.stride],
            paddings: match is_global || adaptive {
                true => Padding::Explicit([0; 4]),
                false => {
                    let ([above, below], [left, right]) = (first.padding, second.padding);
                    Padding::Explicit([above, below, left, right])
                }
            },
            ceil_mode: false,
            exclusive: true,
            global_pooling: false,
            adaptive,
        };
        let like = |pool: Pool2d, reading: &Self| -> Result<Pool2d, Fault> {
            Ok(Pool2d {
                ceil_mode: reading.bool("ceil_mode", false)?,
                exclusive: reading.bool("exclusive", true)?,
                ..pool
            })
        };
        let slices = [Dim::from(of.channels * of.depth), Dim::from(of.height), of.width.clone()];
        let slices = self.emit(Reshape { dims: of.dims(&slices) }, &[x])?;
        let slices = self.emit(like(pool(down, across), self)?, &[slices])?;
        let [.., height, width] = &self.ty(slices).dims.clone()[..] else { return Ok(false) };
        let (Some(height), Some(width)) = (height.constant(), width.constant()) else { return Ok(false) };
        let columns = [of.channels, of.depth, height * width].map(Dim::from);
        let columns = self.emit(Reshape { dims: of.dims(&columns) }, &[slices])?;
        let none = Along { size: 1, stride: 1, dilation: 1, padding: [0, 0] };
        // Adaptive windows are counted, others measured.
        let beside = if adaptive { Along { size: height * width, ..none } } else { none };
        let columns = self.emit(like(pool(along, beside), self)?, &[columns])?;
        let depth = self.ty(columns).dims.iter().rev().nth(1).cloned().unwrap_or(Dim::from(1));
        let volume = [Dim::from(of.channels), depth, Dim::from(height), Dim::from(width)];
        let volume = Reshape { dims: of.dims(&volume) };
        self.give_volume(volume, columns, back, "Out")
    }

    /// Moves channels that come last to the front.
    fn volumes_first(&mut self, x: VarId) -> Result<(VarId, Option<Transpose>), Fault> {
        if self.desc.attr_string("data_format")? != Some("NDHWC") || self.ty(x).rank() != 5 {
            return Ok((x, None));
        }
        let there = Transpose { perm: vec![0, 4, 1, 2, 3] };
        Ok((self.emit(there, &[x])?, Some(Transpose { perm: vec![0, 2, 3, 4, 1] })))
    }

    /// Writes a volume to a slot; the last operator that makes it is given. Channels are moved back to where they were.
    fn give_volume(
        &mut self,
        last: impl Into<crate::ops::Op>,
        of: VarId,
        back: Option<Transpose>,
        slot: &'static str,
    ) -> Result<bool, ConvertError> {
        let desc = self.desc;
        let out = one(desc.output(slot), slot)?;
        let Some(back) = back else { return self.define(last, &[of], &[], &[out]) };
        let volume = self.emit(last, &[of])?;
        self.define(back, &[volume], &[], &[out])
    }

    fn volumes(&self, x: VarId) -> Option<Volumes> {
        let [before @ .., channels, depth, height, width] = &self.ty(x).dims[..] else { return None };
        let is_volume = self.ty(x).rank() == 5;
        let [channels, depth, height] = [channels, depth, height].map(Dim::constant);
        Some(Volumes {
            before: before.to_vec(),
            channels: channels.filter(|_| is_volume)?,
            depth: depth?,
            height: height?,
            width: width.clone(),
        })
    }

    /// The sizes of a value with five dimensions.
    fn known_sizes(&self, var: VarId) -> Option<[i64; 5]> {
        let sizes: Option<Vec<i64>> = self.ty(var).dims.iter().map(Dim::constant).collect();
        sizes?.try_into().ok().filter(|sizes: &[i64; 5]| sizes.iter().all(|size| (1..1 << 31).contains(size)))
    }

    /// The windows of these sizes along each axis of volumes.
    fn windows(
        &self,
        sizes: [i64; 3],
        elements: [Option<i64>; 3],
        dilations: &str,
    ) -> Result<Option<[Along; 3]>, Fault> {
        let three = |name: &str| -> Result<Option<[i64; 3]>, Fault> {
            let numbers = if name.is_empty() { None } else { self.desc.attr_longs(name)? };
            let numbers = <[i64; 3]>::try_from(numbers.unwrap_or_else(|| vec![1; 3])).ok();
            Ok(numbers.filter(|numbers| numbers.iter().all(|number| (1..1 << 31).contains(number))))
        };
        let (Some(strides), Some(mut dilations)) = (three("strides")?, three(dilations)?) else {
            return Ok(None);
        };
        let paddings = match self.desc.attr_string("padding_algorithm")?.unwrap_or("EXPLICIT") {
            "VALID" => [[0, 0]; 3],
            "SAME" => {
                dilations = [1; 3];
                let [Some(depth), Some(height), Some(width)] = elements else { return Ok(None) };
                let around = |(axis, of): (usize, i64)| {
                    let windows = (of + strides[axis] - 1) / strides[axis];
                    let missing = ((windows - 1) * strides[axis] + sizes[axis] - of).max(0);
                    [missing / 2, missing - missing / 2]
                };
                [(0, depth), (1, height), (2, width)].map(around)
            }
            _ => match self.desc.attr_longs("paddings")?.unwrap_or_default()[..] {
                [depth, height, width] => [depth, height, width].map(|side| [side, side]),
                [front, behind, above, below, left, right] => {
                    [[front, behind], [above, below], [left, right]]
                }
                [] => [[0, 0]; 3],
                _ => return Ok(None),
            },
        };
        if paddings.iter().flatten().any(|side| !(0..1 << 31).contains(side)) {
            return Ok(None);
        }
        Ok(Some([0, 1, 2].map(|axis| Along {
            size: sizes[axis],
            stride: strides[axis],
            dilation: dilations[axis],
            padding: paddings[axis],
        })))
    }
}
