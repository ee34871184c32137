//! Convolutions and pooling of volumes, as operators on images.
//!
//! The filters of a convolution see, at each depth, as many slices of a volume as they are deep; these become channels of
//! images. The images of all depths are put one below the other, so rows stay rows; what a filter computes across two of
//! them is left out. A maximum or a mean over a box is one over its depth of those over its slices.

use super::{At, Tried};
use crate::ops::{Concat, Conv2d, Pad, Padding, Pool2d, PoolKind, Reshape, Slice};
use crate::program::{Dim, VarId};

/// The axes of a volume `[_, channels, depth, height, width]`.
const DEPTH: i64 = 2;
const HEIGHT: i64 = 3;

/// The most slices that a filter is deep, as each is a value.
const MOST_SLICES: i64 = 1 << 10;

/// Volumes: the dimensions before the channels that are no rows, then the others.
pub(in crate::convert) struct Volumes {
    before: Vec<Dim>,
    channels: i64,
    pub(in crate::convert) depth: i64,
    pub(in crate::convert) height: i64,
    pub(in crate::convert) width: Dim,
}

impl Volumes {
    fn dims(&self, behind: &[Dim]) -> Vec<Dim> {
        [&self.before, behind].concat()
    }
}

/// The windows along one axis.
#[derive(Clone, Copy)]
pub(in crate::convert) struct Along {
    pub(in crate::convert) size: i64,
    pub(in crate::convert) stride: i64,
    pub(in crate::convert) dilation: i64,
    pub(in crate::convert) padding: [i64; 2],
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

/// How volumes are pooled.
#[derive(Clone, Copy)]
pub(in crate::convert) struct Pooling {
    pub(in crate::convert) kind: PoolKind,
    /// Whether the windows are spread evenly, so many along each axis.
    pub(in crate::convert) adaptive: bool,
    pub(in crate::convert) ceil_mode: bool,
    pub(in crate::convert) exclusive: bool,
}

impl At<'_> {
    /// Filters that slide over volumes, both of which have known sizes.
    pub(in crate::convert) fn conv3d(
        &mut self,
        (x, of): (VarId, &Volumes),
        filter: VarId,
        [along, down, across]: [Along; 3],
        groups: i64,
    ) -> Tried {
        let Some([filters, each, depth, height, width]) = self.known_sizes(filter) else {
            return Ok(Err("sizes of its filters are not known"));
        };
        let (Some(out_depth), Some(out_height)) = (along.windows(of.depth), down.windows(of.height)) else {
            return Ok(Err("its filters are larger than its volumes"));
        };
        if depth > MOST_SLICES {
            return Ok(Err("its filters are too deep"));
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
            groups,
        };
        let images = self.emit(conv, &[images, filter])?;
        let out_width = self.ty(images).dims.last().cloned().unwrap_or(Dim::from(1));
        let apart = [filters, out_depth, image / down.stride].map(Dim::from);
        let apart = [&apart[..], &[out_width]].concat();
        let volume = self.emit(Reshape { dims: of.dims(&apart) }, &[images])?;
        let kept = Slice { axes: vec![HEIGHT], starts: vec![0], ends: vec![out_height], strides: Vec::new() };
        Ok(Ok(self.emit(kept, &[volume])?))
    }

    /// The maximum or the mean of boxes.
    pub(in crate::convert) fn pool3d(
        &mut self,
        (x, of): (VarId, &Volumes),
        [along, down, across]: [Along; 3],
        pooling: Pooling,
    ) -> Tried {
        let Pooling { kind, adaptive, ceil_mode, exclusive } = pooling;
        let pool = |first: Along, second: Along| Pool2d {
            pooling_type: kind,
            ksize: [first.size, second.size],
            strides: [first.stride, second.stride],
            paddings: match adaptive {
                true => Padding::Explicit([0; 4]),
                false => {
                    let ([above, below], [left, right]) = (first.padding, second.padding);
                    Padding::Explicit([above, below, left, right])
                }
            },
            ceil_mode,
            exclusive,
            global_pooling: false,
            adaptive,
        };
        let slices = [Dim::from(of.channels * of.depth), Dim::from(of.height), of.width.clone()];
        let slices = self.emit(Reshape { dims: of.dims(&slices) }, &[x])?;
        let slices = self.emit(pool(down, across), &[slices])?;
        let [.., height, width] = &self.ty(slices).dims.clone()[..] else {
            return Ok(Err("it has no volumes"));
        };
        let (Some(height), Some(width)) = (height.constant(), width.constant()) else {
            return Ok(Err("its width is not known"));
        };
        let columns = [of.channels, of.depth, height * width].map(Dim::from);
        let columns = self.emit(Reshape { dims: of.dims(&columns) }, &[slices])?;
        let none = Along { size: 1, stride: 1, dilation: 1, padding: [0, 0] };
        // Adaptive windows are counted, others measured.
        let beside = if adaptive { Along { size: height * width, ..none } } else { none };
        let columns = self.emit(pool(along, beside), &[columns])?;
        let depth = self.ty(columns).dims.iter().rev().nth(1).cloned().unwrap_or(Dim::from(1));
        let volume = [Dim::from(of.channels), depth, Dim::from(height), Dim::from(width)];
        let volume = Reshape { dims: of.dims(&volume) };
        Ok(Ok(self.emit(volume, &[columns])?))
    }

    /// The sizes of volumes; `None` if they are not known.
    pub(in crate::convert) fn volumes(&self, x: VarId) -> Option<Volumes> {
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
    pub(in crate::convert) fn known_sizes(&self, var: VarId) -> Option<[i64; 5]> {
        let sizes: Option<Vec<i64>> = self.ty(var).dims.iter().map(Dim::constant).collect();
        sizes?.try_into().ok().filter(|sizes: &[i64; 5]| sizes.iter().all(|size| (1..1 << 31).contains(size)))
    }
}
