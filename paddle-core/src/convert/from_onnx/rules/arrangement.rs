//! Operators that put elements into another order, or values beside each other.

use crate::convert::from_onnx::node::{Given, Node};
use crate::ops::compositions::triangle;
use crate::ops::{Cast, Concat, Reshape, Split, Transpose};
use crate::program::{DType, Dim};

/// The most equal parts, as each of them is a value.
const MOST_PARTS: i64 = 1 << 16;

impl Node<'_, '_> {
    /// Without an order, the axes are reversed.
    pub(super) fn transpose(&mut self) -> Given {
        let x = self.input(0)?;
        let rank = self.ty(x).rank() as i64;
        let perm = self.ints("perm").unwrap_or_else(|| (0..rank).rev().collect());
        let mut sorted = perm.clone();
        sorted.sort_unstable();
        if !sorted.iter().copied().eq(0..rank) {
            return self.lacks(format!("{perm:?} is no order of {rank} axes"));
        }
        if self.rows(x) == 1 && perm.first() != Some(&0) {
            return self.lacks("it moves rows");
        }
        Ok(vec![self.at().permuted(x, &perm)?])
    }

    pub(super) fn concat(&mut self) -> Given {
        let inputs = self.inputs()?;
        let Some(&first) = inputs.first() else { return self.lacks("it has no inputs") };
        let axis = self.axis(first, "axis", self.int("axis", 1))? as i64;
        self.give(Concat { axis }, &inputs)
    }

    /// Parts of the given sizes, or equal ones, of which the last may be smaller.
    pub(super) fn split(&mut self) -> Given {
        let x = self.input(0)?;
        let axis = self.axis(x, "axis", self.int("axis", 0))?;
        let of = self.shape(x)[axis].constant();
        let parts = self.int("num_outputs", self.desc.output.len() as i64);
        let sizes = match (self.listed(1, "split")?, of) {
            (Some(sizes), _) => sizes,
            (None, Some(of)) if (1..=MOST_PARTS).contains(&parts) && of > 0 => {
                let size = (of + parts - 1) / parts;
                (0..parts).map(|part| size.min(of - part * size)).collect()
            }
            _ => return self.lacks("the sizes of its parts are not known"),
        };
        if sizes.len() != self.desc.output.len() {
            return self.lacks(format!(
                "it has {} outputs, but {} parts",
                self.desc.output.len(),
                sizes.len()
            ));
        }
        let (count, sections) = (sizes.len(), sizes.into_iter().map(Dim::from).collect());
        self.at().emit_all(Split { axis: axis as i64, sections }, &[x], count)
    }

    /// Blocks of channels become squares of an image.
    pub(super) fn depth_to_space(&mut self) -> Given {
        let (x, block) = (self.input(0)?, self.int("blocksize", 0));
        let dims = self.ty(x).dims.clone();
        let ([before @ .., channels, height, width], 4) = (&dims[..], self.ty(x).rank()) else {
            return self.lacks("it has no images");
        };
        let Some(each) = channels.constant().filter(|channels| block > 0 && channels % (block * block) == 0)
        else {
            return self.lacks("its channels are not known, or do not go up in blocks");
        };
        let each = Dim::from(each / (block * block));
        let size = Dim::from(block);
        let in_order = self.text("mode").unwrap_or("DCR") == "CRD";
        let split = match in_order {
            true => [each.clone(), size.clone(), size.clone()],
            false => [size.clone(), size.clone(), each.clone()],
        };
        let apart = [before, &split, &[height.clone(), width.clone()]].concat();
        let apart = self.emit(Reshape { dims: apart }, &[x])?;
        let perm = if in_order { [0, 1, 4, 2, 5, 3] } else { [0, 3, 4, 1, 5, 2] };
        let turned = self.emit(Transpose { perm: perm.to_vec() }, &[apart])?;
        let (Ok(height), Ok(width)) = (height * &size, width * &size) else {
            return self.lacks("its sizes overflow");
        };
        self.give(Reshape { dims: [before, &[each, height, width]].concat() }, &[turned])
    }

    /// Squares of an image become blocks of channels.
    pub(super) fn space_to_depth(&mut self) -> Given {
        let (x, block) = (self.input(0)?, self.int("blocksize", 0));
        let dims = self.ty(x).dims.clone();
        let ([before @ .., channels, height, width], 4) = (&dims[..], self.ty(x).rank()) else {
            return self.lacks("it has no images");
        };
        let part = |size: &Dim| {
            size.constant().filter(|size| block > 0 && size % block == 0).map(|size| size / block)
        };
        let (Some(channels), Some(height), Some(width)) = (channels.constant(), part(height), part(width))
        else {
            return self.lacks("its sizes are not known, or do not go up in blocks");
        };
        let apart = [channels, height, block, width, block].map(Dim::from);
        let apart = self.emit(Reshape { dims: [before, &apart].concat() }, &[x])?;
        let turned = self.emit(Transpose { perm: vec![0, 3, 5, 1, 2, 4] }, &[apart])?;
        let merged = [channels * block * block, height, width].map(Dim::from);
        self.give(Reshape { dims: [before, &merged].concat() }, &[turned])
    }

    /// One triangle of matrices; the other is 0.
    pub(super) fn triangle(&mut self) -> Given {
        let mut x = self.input(0)?;
        let diagonal = match self.listed(1, "k")?.as_deref() {
            Some(&[k]) => k,
            _ => 0,
        };
        let is_bool = self.ty(x).dtype == DType::Bool;
        if is_bool {
            x = self.cast(x, DType::I32)?;
        }
        let (ty, lower) = (self.ty(x).clone(), self.int("upper", 1) == 0);
        let Some(kept) = triangle((x, &ty), lower, diagonal, |op, inputs| self.emit(op, inputs))? else {
            return self.lacks("it has no matrices");
        };
        if is_bool { self.give(Cast { dtype: DType::Bool }, &[kept]) } else { Ok(vec![kept]) }
    }
}
