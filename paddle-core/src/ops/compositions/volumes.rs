//! Convolutions and pooling of volumes, as operators on images.
//!
//! The filters of a convolution see, at each depth, as many slices of a volume as they are deep; these become channels of
//! images. The images of all depths are put one below the other, so rows stay rows; what a filter computes across two of
//! them is left out. A maximum or a mean over a box is one over its depth of those over its slices.

use super::{Emit, Tried};
use crate::ops::{Concat, Conv2d, Pad, Padding, Pool2d, PoolKind, Reshape, Slice};
use crate::program::{Dim, Type, VarId};

/// The axes of a volume `[_, channels, depth, height, width]`.
const DEPTH: i64 = 2;
const HEIGHT: i64 = 3;

/// The most slices that a filter is deep, as each is a value.
pub(crate) const MOST_SLICES: i64 = 1 << 10;

/// Volumes: the dimensions before the channels that are no rows, then the others.
pub(crate) struct Volumes {
    before: Vec<Dim>,
    pub(crate) channels: i64,
    pub(crate) depth: i64,
    pub(crate) height: i64,
    pub(crate) width: Dim,
}

impl Volumes {
    /// The sizes of volumes; `None` if they are not known, or these are no volumes.
    pub(crate) fn of(ty: &Type) -> Option<Volumes> {
        let [before @ .., channels, depth, height, width] = &ty.dims[..] else { return None };
        let [channels, depth, height] = [channels, depth, height].map(Dim::constant);
        Some(Volumes {
            before: before.to_vec(),
            channels: channels.filter(|_| ty.rank() == 5)?,
            depth: depth?,
            height: height?,
            width: width.clone(),
        })
    }

    fn dims(&self, behind: &[Dim]) -> Vec<Dim> {
        [&self.before, behind].concat()
    }
}

/// The windows along one axis.
#[derive(Clone, Copy)]
pub(crate) struct Along {
    pub(crate) size: i64,
    pub(crate) stride: i64,
    pub(crate) dilation: i64,
    pub(crate) padding: [i64; 2],
}

impl Along {
    /// The distance from the first to behind the last element of a window.
    pub(crate) fn span(self) -> i64 {
        (self.size - 1) * self.dilation + 1
    }

    /// The same windows, with padding for `⌈elements / stride⌉` of them. If it is odd, one more is behind.
    pub(crate) fn same(self, elements: i64) -> Along {
        let windows = (elements + self.stride - 1) / self.stride;
        let missing = ((windows - 1) * self.stride + self.span() - elements).max(0);
        Along { padding: [missing / 2, missing - missing / 2], ..self }
    }

    /// Whether each element is a window of its own.
    fn is_of_single_elements(self) -> bool {
        (self.size, self.stride, self.padding) == (1, 1, [0, 0])
    }

    /// The number of windows along so many elements; `None` if there are none.
    pub(crate) fn windows(self, elements: i64) -> Option<i64> {
        let left = elements + self.padding[0] + self.padding[1] - self.span();
        (left >= 0).then(|| left / self.stride + 1)
    }
}

/// How volumes are pooled.
#[derive(Clone, Copy)]
pub(crate) struct Pooling {
    pub(crate) kind: PoolKind,
    /// Whether the windows are spread evenly, so many along each axis.
    pub(crate) adaptive: bool,
    pub(crate) ceil_mode: bool,
    pub(crate) exclusive: bool,
}

/// Filters that slide over volumes, both of which have known sizes.
pub(crate) fn conv3d<E: Emit>(
    to: &mut E,
    (x, of): (VarId, &Volumes),
    filter: VarId,
    [along, down, across]: [Along; 3],
    groups: i64,
) -> Tried<E::Error> {
    let Some([filters, each, depth, height, width]) = filter_sizes(to.ty(filter)) else {
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
        false => to.emit(Pad { paddings, pad_value: 0.0 }.into(), &[x])?,
    };
    let below = Dim::from(out_depth * image);
    let slice = [Dim::from(of.channels), Dim::from(1), below.clone(), of.width.clone()];
    let mut slices = Vec::with_capacity(depth as usize);
    for at in (0..depth).map(|k| k * along.dilation) {
        let ends = vec![at + (out_depth - 1) * along.stride + 1];
        let strides = if along.stride == 1 { Vec::new() } else { vec![along.stride] };
        let part = to.emit(Slice { axes: vec![DEPTH], starts: vec![at], ends, strides }.into(), &[x])?;
        slices.push(to.emit(Reshape { dims: of.dims(&slice) }.into(), &[part])?);
    }
    let both = if slices.len() == 1 { slices[0] } else { to.emit(Concat { axis: DEPTH }.into(), &slices)? };
    let images = [Dim::from(of.channels * depth), below, of.width.clone()];
    let images = to.emit(Reshape { dims: of.dims(&images) }.into(), &[both])?;
    let flat = [filters, each * depth, height, width].map(Dim::from).to_vec();
    let filter = to.emit(Reshape { dims: flat }.into(), &[filter])?;
    let [left, right] = across.padding;
    let conv = Conv2d {
        strides: [down.stride, across.stride],
        paddings: Padding::Explicit([0, (down.span() - down.stride).max(0), left, right]),
        dilations: [down.dilation, across.dilation],
        groups,
    };
    let images = to.emit(conv.into(), &[images, filter])?;
    let out_width = to.ty(images).dims.last().cloned().unwrap_or(Dim::from(1));
    let apart = [filters, out_depth, image / down.stride].map(Dim::from);
    let apart = [&apart[..], &[out_width]].concat();
    let volume = to.emit(Reshape { dims: of.dims(&apart) }.into(), &[images])?;
    let kept = Slice { axes: vec![HEIGHT], starts: vec![0], ends: vec![out_height], strides: Vec::new() };
    Ok(Ok(to.emit(kept.into(), &[volume])?))
}

/// The maximum or the mean of boxes.
pub(crate) fn pool3d<E: Emit>(
    to: &mut E,
    (x, of): (VarId, &Volumes),
    [along, down, across]: [Along; 3],
    pooling: Pooling,
) -> Tried<E::Error> {
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
    let slices = to.emit(Reshape { dims: of.dims(&slices) }.into(), &[x])?;
    let slices = to.emit(pool(down, across).into(), &[slices])?;
    let [.., height, width] = &to.ty(slices).dims.clone()[..] else {
        return Ok(Err("it has no volumes"));
    };
    let volume =
        |depth| Reshape { dims: of.dims(&[Dim::from(of.channels), depth, height.clone(), width.clone()]) };
    if !adaptive && along.is_of_single_elements() {
        // Boxes that are one slice deep are pooled.
        return Ok(Ok(to.emit(volume(Dim::from(of.depth)).into(), &[slices])?));
    }
    let Ok(both) = height * width else { return Ok(Err("its volumes are too large")) };
    let none = Along { size: 1, stride: 1, dilation: 1, padding: [0, 0] };
    // Adaptive windows are counted, others measured.
    let beside = match both.constant() {
        Some(size) if adaptive => Along { size, ..none },
        None if adaptive => return Ok(Err("its width is not known")),
        _ => none,
    };
    let columns = [Dim::from(of.channels), Dim::from(of.depth), both];
    let columns = to.emit(Reshape { dims: of.dims(&columns) }.into(), &[slices])?;
    let columns = to.emit(pool(along, beside).into(), &[columns])?;
    let depth = to.ty(columns).dims.iter().rev().nth(1).cloned().unwrap_or(Dim::from(1));
    Ok(Ok(to.emit(volume(depth).into(), &[columns])?))
}

/// The sizes of filters; `None` if they are not known, or have not five dimensions.
pub(crate) fn filter_sizes(ty: &Type) -> Option<[i64; 5]> {
    let sizes: Option<Vec<i64>> = ty.dims.iter().map(Dim::constant).collect();
    sizes?.try_into().ok().filter(|sizes: &[i64; 5]| sizes.iter().all(|size| (1..1 << 31).contains(size)))
}
