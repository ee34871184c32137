//! Rules for `conv3d`, `conv3d_transpose` and `pool3d`.

use crate::convert::from_wire::{ConvertError, Fault, Reading, one};
use crate::ops::compositions::volumes::{Along, Pooling, Volumes, conv3d, filter_sizes, pool3d};
use crate::ops::{Pad, PoolKind, Slice, Transpose};
use crate::program::{Dim, VarId};

/// The most elements along an axis, before what is between them is filled in.
const MOST: i64 = 1 << 40;

impl Reading<'_, '_> {
    pub(super) fn conv3d(&mut self) -> Result<bool, ConvertError> {
        let (x, filter) = (self.input("Input")?, self.input("Filter")?);
        let (x, back) = self.volumes_first(x)?;
        let (Some(of), Some([_, _, sizes @ ..])) = (Volumes::of(self.ty(x)), filter_sizes(self.ty(filter)))
        else {
            return self.lacks("sizes of its volumes or filters are not known");
        };
        let known = [Some(of.depth), Some(of.height), of.width.constant()];
        let Some(windows) = self.windows(sizes, known, "dilations")? else {
            return self.lacks("its sizes, strides, paddings or dilations are not three that are allowed, or its width is not known");
        };
        let groups = self.desc.attr_long("groups")?.unwrap_or(1);
        match conv3d(&mut self.at(), (x, &of), filter, windows, groups)? {
            Ok(volume) => self.give_volume(volume, back, "Output"),
            Err(lack) => self.lacks(lack),
        }
    }

    /// A convolution of volumes whose elements stand apart by the strides, with zeros in between, and of filters that are turned
    /// around.
    pub(super) fn conv3d_transpose(&mut self) -> Result<bool, ConvertError> {
        let (x, filter) = (self.input("Input")?, self.input("Filter")?);
        let (x, back) = self.volumes_first(x)?;
        let of = self.ty(x).dims.iter().rev().take(4).map(Dim::constant).collect::<Option<Vec<i64>>>();
        let (Some([width, height, depth, channels]), Some([inputs, each, sizes @ ..])) =
            (of.as_deref(), filter_sizes(self.ty(filter)))
        else {
            return self.lacks("sizes of its volumes or filters are not known");
        };
        let elements = [*depth, *height, *width];
        let Some(windows) = self.windows(sizes, elements.map(Some), "dilations")? else {
            return self.lacks("its sizes, strides, paddings or dilations are not three that are allowed");
        };
        let groups = self.desc.attr_long("groups")?.unwrap_or(1);
        if groups < 1 || inputs != *channels || inputs % groups != 0 {
            return self.lacks("its channels are not a multiple of its groups");
        }
        let numbers = |name| Ok::<_, Fault>(self.desc.attr_longs(name)?.unwrap_or_default());
        let (more, wanted) = (numbers("output_padding")?, numbers("output_size")?);
        let mut at = self.at();
        // Each element becomes a stride of them, of which all but the first are zeros.
        let lead = at.ty(x).rank() - 3;
        let before = at.ty(x).dims[..at.ty(x).dims.len() - 3].to_vec();
        let (mut apart, mut whole, mut paddings) = (before.clone(), before, vec![0; 2 * lead]);
        for (along, size) in windows.iter().zip(elements) {
            let Some(all) = size.checked_mul(along.stride).filter(|all| (*all).max(along.span()) < MOST)
            else {
                return self.lacks("its result is too large");
            };
            apart.extend([Dim::from(size), Dim::from(1)]);
            whole.push(Dim::from(all));
            paddings.extend([0, 0, 0, along.stride - 1]);
        }
        let apart = at.shaped(x, apart)?;
        let apart = at.emit(Pad { paddings, pad_value: 0.0 }, &[apart])?;
        let mut x = at.shaped(apart, whole)?;
        let mut paddings = vec![0; 2 * lead];
        for (axis, (along, size)) in windows.iter().zip(elements).enumerate() {
            let reach = along.span() - 1;
            let least = (size - 1) * along.stride + along.span() - along.padding[0] - along.padding[1];
            let more = match (wanted.get(axis), more.get(axis)) {
                (Some(wanted), _) => wanted - least,
                (None, more) => more.copied().unwrap_or(0),
            };
            if !(0..along.stride.max(along.dilation)).contains(&more) {
                return self.lacks("its result has a size that its strides do not allow");
            }
            let sides = [reach - along.padding[0], reach - along.padding[1] + more - (along.stride - 1)];
            let cut = sides.map(|side| (-side).max(0));
            if cut != [0, 0] {
                x = at.part(x, lead + axis, cut[0], size * along.stride - cut[0] - cut[1])?;
            }
            paddings.extend(sides.map(|side| side.max(0)));
        }
        let x = at.emit(Pad { paddings, pad_value: 0.0 }, &[x])?;
        let per_group = inputs / groups;
        let grouped: Vec<i64> = [groups, per_group, each].into_iter().chain(sizes).collect();
        let grouped = at.shaped(filter, grouped.into_iter().map(Dim::from).collect())?;
        let grouped = at.emit(Transpose { perm: vec![0, 2, 1, 3, 4, 5] }, &[grouped])?;
        let filters: Vec<i64> = [groups * each, per_group].into_iter().chain(sizes).collect();
        let filters = at.shaped(grouped, filters.into_iter().map(Dim::from).collect())?;
        let back_to_front = || vec![-1; 3];
        let turned = Slice {
            axes: vec![2, 3, 4],
            starts: back_to_front(),
            ends: back_to_front(),
            strides: back_to_front(),
        };
        let filters = at.emit(turned, &[filters])?;
        let windows = windows.map(|along| Along { stride: 1, padding: [0, 0], ..along });
        let Some(of) = Volumes::of(at.ty(x)) else { return Ok(false) };
        match conv3d(&mut at, (x, &of), filters, windows, groups)? {
            Ok(volume) => self.give_volume(volume, back, "Output"),
            Err(lack) => self.lacks(lack),
        }
    }

    pub(super) fn pool3d(&mut self) -> Result<bool, ConvertError> {
        let (x, desc) = (self.input("X")?, self.desc);
        let (x, back) = self.volumes_first(x)?;
        let Some(of) = Volumes::of(self.ty(x)) else {
            return self.lacks("sizes of its volumes are not known");
        };
        let has_places = desc.r#type == "max_pool3d_with_index";
        if has_places && desc.output("Mask").iter().any(|name| self.reader.readers(name) > 0) {
            return self.lacks("the places of the largest elements are read");
        }
        let kind = match has_places {
            true => Some(PoolKind::Max),
            false => desc.attr_string("pooling_type")?.and_then(PoolKind::from_name),
        };
        let sizes = desc.attr_longs("ksize")?.unwrap_or_default();
        let (Some(kind), Ok(mut sizes)) = (kind, <[i64; 3]>::try_from(sizes)) else {
            return self.lacks("its kind is neither `max` nor `avg`, or its window has not three sizes");
        };
        let is_global = self.bool("global_pooling", false)?;
        let known = [Some(of.depth), Some(of.height), of.width.constant()];
        if is_global {
            let [Some(depth), Some(height), Some(width)] = known else { return Ok(false) };
            sizes = [depth, height, width];
        }
        let Some(mut windows) = self.windows(sizes, known, "")? else {
            return self.lacks(
                "its sizes, strides or paddings are not three that are allowed, or its width is not known",
            );
        };
        if is_global {
            windows.iter_mut().for_each(|along| along.padding = [0, 0]);
        }
        let pooling = Pooling {
            kind,
            adaptive: self.bool("adaptive", false)?,
            ceil_mode: self.bool("ceil_mode", false)?,
            exclusive: self.bool("exclusive", true)?,
        };
        match pool3d(&mut self.at(), (x, &of), windows, pooling)? {
            Ok(volume) => self.give_volume(volume, back, "Out"),
            Err(lack) => self.lacks(lack),
        }
    }

    /// Moves channels that come last to the front.
    fn volumes_first(&mut self, x: VarId) -> Result<(VarId, Option<Transpose>), Fault> {
        if self.desc.attr_string("data_format")? != Some("NDHWC") || self.ty(x).rank() != 5 {
            return Ok((x, None));
        }
        let there = Transpose { perm: vec![0, 4, 1, 2, 3] };
        Ok((self.emit(there, &[x])?, Some(Transpose { perm: vec![0, 2, 3, 4, 1] })))
    }

    /// Writes a volume to a slot. Channels are moved back to where they were.
    fn give_volume(
        &mut self,
        volume: VarId,
        back: Option<Transpose>,
        slot: &'static str,
    ) -> Result<bool, ConvertError> {
        let desc = self.desc;
        let out = one(desc.output(slot), slot)?;
        match back {
            Some(back) => self.define(back, &[volume], &[], &[out]),
            None => self.named_value(out, volume),
        }
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
        let (Some(strides), Some(dilations)) = (three("strides")?, three(dilations)?) else {
            return Ok(None);
        };
        if sizes.iter().any(|size| !(1..1 << 31).contains(size)) {
            return Ok(None);
        }
        let along = |axis: usize, dilation, padding| Along {
            size: sizes[axis],
            stride: strides[axis],
            dilation,
            padding,
        };
        let paddings = match self.desc.attr_string("padding_algorithm")?.unwrap_or("EXPLICIT") {
            "VALID" => [[0, 0]; 3],
            "SAME" => {
                let [Some(depth), Some(height), Some(width)] = elements else { return Ok(None) };
                let same = |(axis, of)| along(axis, 1, [0, 0]).same(of);
                return Ok(Some([(0, depth), (1, height), (2, width)].map(same)));
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
        Ok(Some([0, 1, 2].map(|axis| along(axis, dilations[axis], paddings[axis]))))
    }
}
