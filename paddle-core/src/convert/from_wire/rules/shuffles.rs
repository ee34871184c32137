//! Rules for operators that move elements between the channels and the places of images.

use crate::convert::from_wire::{ConvertError, Reading, one};
use crate::ops::{Reshape, Transpose};
use crate::program::{Dim, VarId};

/// Images: the dimensions before the channels that are no rows, then channels, height and width.
struct Images {
    before: Vec<Dim>,
    channels: i64,
    height: Dim,
    width: Dim,
}

impl Reading<'_, '_> {
    /// `r²` channels become one that is `r` times as high and wide: Shi et al. (2016).
    pub(super) fn pixel_shuffle(&mut self) -> Result<bool, ConvertError> {
        let (x, back) = self.first_channels()?;
        let (Some(Images { before, channels, height, width }), Some(r)) =
            (self.images(x), self.factor("upscale_factor")?)
        else {
            return Ok(false);
        };
        let Some(left) = quotient(channels, r * r) else { return Ok(false) };
        let (large_height, large_width) = ((&height * &Dim::from(r)), (&width * &Dim::from(r)));
        let (Ok(large_height), Ok(large_width)) = (large_height, large_width) else { return Ok(false) };
        let [left, r] = [left, r].map(Dim::from);
        let apart = [left.clone(), r.clone(), r, height, width];
        self.moved(x, &before, &apart, [0, 1, 4, 2, 5, 3].to_vec(), &[left, large_height, large_width], back)
    }

    /// What `pixel_shuffle` does, undone.
    pub(super) fn pixel_unshuffle(&mut self) -> Result<bool, ConvertError> {
        let (x, back) = self.first_channels()?;
        let (Some(Images { before, channels, height, width }), Some(r)) =
            (self.images(x), self.factor("downscale_factor")?)
        else {
            return Ok(false);
        };
        let by = Dim::from(r);
        let (Some(height), Some(width)) = (height.floor_div(&by), width.floor_div(&by)) else {
            return Ok(false);
        };
        let (channels, more) = (Dim::from(channels), Dim::from(channels.saturating_mul(r * r)));
        let apart = [channels, height.clone(), by.clone(), width.clone(), by];
        self.moved(x, &before, &apart, [0, 1, 3, 5, 2, 4].to_vec(), &[more, height, width], back)
    }

    /// The channels of groups, taken from each group in turn: Zhang et al. (2018).
    pub(super) fn channel_shuffle(&mut self) -> Result<bool, ConvertError> {
        let (x, back) = self.first_channels()?;
        let groups = if self.desc.r#type == "shuffle_channel" { "group" } else { "groups" };
        let (Some(Images { before, channels, height, width }), Some(groups)) =
            (self.images(x), self.factor(groups)?)
        else {
            return Ok(false);
        };
        let Some(each) = quotient(channels, groups) else { return Ok(false) };
        let apart = [Dim::from(groups), Dim::from(each), height.clone(), width.clone()];
        self.moved(x, &before, &apart, [0, 2, 1, 3, 4].to_vec(), &[Dim::from(channels), height, width], back)
    }

    fn first_channels(&mut self) -> Result<(VarId, Option<Transpose>), ConvertError> {
        let x = self.input("X")?;
        Ok(self.channels_first(x, "data_format")?)
    }

    fn images(&self, x: VarId) -> Option<Images> {
        let (ty, dims) = (self.ty(x), &self.ty(x).dims);
        let [before @ .., channels, height, width] = &dims[..] else { return None };
        let channels = channels.constant().filter(|_| ty.rank() == 4)?;
        Some(Images { before: before.to_vec(), channels, height: height.clone(), width: width.clone() })
    }

    /// A factor that is positive, and whose square is a size.
    fn factor(&self, attribute: &str) -> Result<Option<i64>, ConvertError> {
        Ok(self.desc.attr_long(attribute)?.filter(|factor| (1..1 << 16).contains(factor)))
    }

    /// Cuts the dimensions behind those of the batch, brings them to another order, and joins them. Channels are moved back
    /// to where they were.
    fn moved(
        &mut self,
        x: VarId,
        before: &[Dim],
        apart: &[Dim],
        perm: Vec<i64>,
        joined: &[Dim],
        back: Option<Transpose>,
    ) -> Result<bool, ConvertError> {
        let desc = self.desc;
        let out = one(desc.output("Out"), "Out")?;
        let x = self.emit(Reshape { dims: [before, apart].concat() }, &[x])?;
        let x = self.emit(Transpose { perm }, &[x])?;
        let joined = Reshape { dims: [before, joined].concat() };
        let Some(back) = back else { return self.define(joined, &[x], &[], &[out]) };
        let x = self.emit(joined, &[x])?;
        self.define(back, &[x], &[], &[out])
    }
}

/// The quotient of a division without remainder.
fn quotient(of: i64, by: i64) -> Option<i64> {
    (of % by == 0).then(|| of / by)
}
