//! Convolutions and pooling of volumes.

use crate::convert::error::Fault;
use crate::convert::from_onnx::node::{Given, Node};
use crate::ops::PoolKind;
use crate::ops::compositions::volumes::{Along, Pooling, Volumes, conv3d, filter_sizes, pool3d};
use crate::program::VarId;

impl Node<'_, '_> {
    /// The windows of these sizes along depth, height and width.
    fn boxes(&self, sizes: [i64; 3], elements: [Option<i64>; 3]) -> Result<[Along; 3], Fault> {
        let three = |name: &str| match self.ints(name) {
            None => Ok([1; 3]),
            Some(found) => <[i64; 3]>::try_from(found).or_else(|found| {
                self.lacks(format!("its `{name}` {found:?} is not one number for each axis"))
            }),
        };
        let (strides, dilations) = (three("strides")?, three("dilations")?);
        let auto = self.text("auto_pad").unwrap_or("NOTSET");
        let pads = match (auto, self.ints("pads")) {
            ("NOTSET", Some(pads)) => match <[i64; 6]>::try_from(pads) {
                Ok([a, b, c, d, e, f]) => [[a, d], [b, e], [c, f]],
                Err(found) => return self.lacks(format!("its `pads` {found:?} are not two for each axis")),
            },
            ("NOTSET" | "VALID", _) => [[0, 0]; 3],
            _ => {
                let mut pads = [[0, 0]; 3];
                for axis in 0..3 {
                    let (Some(of), 1..) = (elements[axis], strides[axis]) else {
                        return self.lacks("its padding follows from a size that is not known");
                    };
                    let span = (sizes[axis] - 1).saturating_mul(dilations[axis]).saturating_add(1);
                    let windows = of.saturating_add(strides[axis] - 1) / strides[axis];
                    let missing = (windows - 1)
                        .saturating_mul(strides[axis])
                        .saturating_add(span)
                        .saturating_sub(of)
                        .max(0);
                    let (less, more) = (missing / 2, missing - missing / 2);
                    pads[axis] = if auto == "SAME_LOWER" { [more, less] } else { [less, more] };
                }
                pads
            }
        };
        let all = [sizes, strides, dilations].concat();
        if !all.iter().all(|number| (1..1 << 31).contains(number))
            || !pads.iter().flatten().all(|side| (0..1 << 31).contains(side))
        {
            return self.lacks("a size, stride or dilation is below 1, or a padding below 0");
        }
        Ok([0, 1, 2].map(|axis| Along {
            size: sizes[axis],
            stride: strides[axis],
            dilation: dilations[axis],
            padding: pads[axis],
        }))
    }

    pub(super) fn convolution_of_volumes(&mut self, x: VarId, filter: VarId) -> Result<VarId, Fault> {
        let (Some(of), Some([_, _, sizes @ ..])) = (Volumes::of(self.ty(x)), filter_sizes(self.ty(filter)))
        else {
            return self.lacks("sizes of its volumes or filters are not known");
        };
        let windows = self.boxes(sizes, [Some(of.depth), Some(of.height), of.width.constant()])?;
        let groups = self.int("group", 1);
        conv3d(&mut self.at(), (x, &of), filter, windows, groups)?.or_else(|lack| self.lacks(lack))
    }

    /// What ours lacks is put together of parts.
    pub(super) fn pool_of_volumes(&mut self, x: VarId, kind: PoolKind) -> Given {
        let Some(of) = Volumes::of(self.ty(x)) else {
            return self.lacks("sizes of its volumes are not known");
        };
        let sizes = self.ints("kernel_shape").and_then(|sizes| <[i64; 3]>::try_from(sizes).ok());
        let Some(sizes) = sizes else { return self.lacks("its window has not three sizes") };
        let windows = self.boxes(sizes, [Some(of.depth), Some(of.height), of.width.constant()])?;
        let is_padded = windows.iter().any(|along| along.padding != [0, 0]);
        let ceil_mode = self.int("ceil_mode", 0) != 0;
        if windows.iter().any(|along| along.dilation != 1) || ceil_mode || kind == PoolKind::Avg && is_padded
        {
            return self.pool_by_parts(x, kind);
        }
        let pooling = Pooling { kind, adaptive: false, ceil_mode, exclusive: true };
        match pool3d(&mut self.at(), (x, &of), windows, pooling)? {
            Ok(volume) => Ok(vec![volume]),
            Err(lack) => self.lacks(lack),
        }
    }
}
