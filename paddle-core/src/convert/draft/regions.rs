//! Parts of images, of any place and size, as images of one size: He et al., "Mask R-CNN", 2017, section 3.
//!
//! A region is cut into bins, and a bin is the mean of samples within it, each of which is mixed from the four elements around it.
//! A sample's weights are products of those along the two axes, so a bin is a product of matrices: `weights · image · weightsᵀ`.

use super::{At, Tried};
use crate::convert::error::Fault;
use crate::convert::types::product;
use crate::ops::{
    BinaryKind, Cast, Compare, CompareKind, CumSum, Gather, Logical, LogicalKind, Matmul, Number, Range,
    Reduce, ReduceKind, RowNumbers, RowsToAxis, Transpose, Unary, UnaryKind,
};
use crate::program::{DType, Dim, Type, VarId};

/// The most samples of a bin along an axis, and the most bins.
const MOST: i64 = 1 << 12;

/// Where the number of samples follows from a bin's size, these are less than one element apart and more than a half, so no
/// element has weight in more of them.
const AROUND: i64 = 6;

/// How regions are cut.
pub(in crate::convert) struct Regions {
    /// The bins along height and width.
    pub(in crate::convert) bins: [i64; 2],
    /// What coordinates of boxes are multiplied by.
    pub(in crate::convert) scale: f64,
    /// The samples of a bin along an axis; 0 or less for as many as a bin has elements, rounded up.
    pub(in crate::convert) samples: i64,
    /// Whether elements are centered on coordinates that end in a half. Otherwise regions have at least one element, too.
    pub(in crate::convert) aligned: bool,
}

impl At<'_> {
    /// The numbers of images that regions lie in, where each image has so many regions: i64, with the rows of `boxes`.
    pub(in crate::convert) fn images_of_counts(
        &mut self,
        counts: VarId,
        boxes: VarId,
    ) -> Result<Option<VarId>, Fault> {
        let Some(rows) = self.ty(boxes).rows else { return Ok(None) };
        let Some((ends, _)) = self.ends_of(counts)? else { return Ok(None) };
        let number = self.emit(RowNumbers::of(rows), &[])?;
        let number = self.shaped(number, vec![Dim::from(1)])?;
        let is_behind = self.emit(Compare { kind: CompareKind::LessEqual }, &[ends, number])?;
        self.count_of(is_behind).map(Some)
    }

    /// How many regions there are in each image and those before it, and how many images there are: i64 `[images]`.
    pub(in crate::convert) fn ends_of(&mut self, counts: VarId) -> Result<Option<(VarId, Dim)>, Fault> {
        let counts = self.as_list(counts)?;
        let Some(images) = self.ty(counts).dims.first().cloned() else { return Ok(None) };
        let counts = self.emit(Cast { dtype: DType::I64 }, &[counts])?;
        let counts = self.shaped(counts, vec![images.clone()])?;
        let ends = self.emit(CumSum { axis: 0, exclusive: false, reverse: false }, &[counts])?;
        Ok(Some((ends, images)))
    }

    /// A value with its first axis as an axis like any other.
    pub(in crate::convert) fn as_list(&mut self, value: VarId) -> Result<VarId, Fault> {
        if self.ty(value).rows.is_some() { self.emit(RowsToAxis, &[value]) } else { Ok(value) }
    }

    /// The images with these numbers, one for each row.
    pub(in crate::convert) fn images_at(&mut self, images: VarId, numbers: VarId) -> Result<VarId, Fault> {
        let images = self.as_list(images)?;
        let numbers = self.emit(Cast { dtype: DType::I64 }, &[numbers])?;
        let numbers = self.shaped(numbers, Vec::new())?;
        self.emit(Gather { axis: 0 }, &[images, numbers])
    }

    /// A region of the image of each row, `[rows, channels, height, width]`: `boxes` has two corners, `[rows, 4]`. Gives
    /// `[rows, channels, bins, bins]`.
    pub(in crate::convert) fn regions(&mut self, images: VarId, boxes: VarId, of: &Regions) -> Tried {
        let ty = self.ty(images).clone();
        let [channels, height, width] = &ty.dims[..] else { return Ok(Err("its images have no channels")) };
        if self.ty(boxes).rows != ty.rows || self.ty(boxes).dims != [Dim::from(4)] || ty.rows.is_none() {
            return Ok(Err("its boxes do not belong to images"));
        }
        let [down, across] = of.bins;
        if !(1..=MOST).contains(&down) || !(1..=MOST).contains(&across) || of.samples > MOST {
            return Ok(Err("it has no bins, or too many bins or samples"));
        }
        let lines = product(&[channels.clone(), height.clone()])?;
        let columns = Dim::from(across);
        // Along the width first: an image `[channels · height, width]` becomes `[channels · height, bins]`.
        let weights = self.weights_of_regions(boxes, 0, width, of)?;
        let weights = self.emit(Transpose { perm: vec![0, 2, 1] }, &[weights])?;
        let flat = self.shaped(images, vec![lines, width.clone()])?;
        let narrow = self.emit(Matmul::PLAIN, &[flat, weights])?;
        let narrow = self.shaped(narrow, vec![channels.clone(), height.clone(), columns.clone()])?;
        let narrow = self.emit(Transpose { perm: vec![0, 2, 1, 3] }, &[narrow])?;
        let rest = product(&[channels.clone(), columns.clone()])?;
        let narrow = self.shaped(narrow, vec![height.clone(), rest])?;
        let weights = self.weights_of_regions(boxes, 1, height, of)?;
        let bins = self.emit(Matmul::PLAIN, &[weights, narrow])?;
        let bins = self.shaped(bins, vec![Dim::from(down), channels.clone(), columns])?;
        self.emit(Transpose { perm: vec![0, 2, 1, 3] }, &[bins]).map(Ok)
    }

    /// What each element along an axis adds to each bin: `[rows, bins, size]`.
    fn weights_of_regions(
        &mut self,
        boxes: VarId,
        axis: i64,
        size: &Dim,
        of: &Regions,
    ) -> Result<VarId, Fault> {
        let dtype = self.ty(boxes).dtype;
        let bins = of.bins[1 - axis as usize];
        let offset = if of.aligned { -0.5 } else { 0.0 };
        let one = || vec![Dim::from(1); 3];
        let mut ends = Vec::new();
        for corner in [axis, axis + 2] {
            let end = self.part(boxes, 1, corner, 1)?;
            let end = self.scaled(end, of.scale, offset)?;
            ends.push(self.shaped(end, one())?);
        }
        let mut side = self.binary(BinaryKind::Sub, ends[1], ends[0])?;
        if !of.aligned {
            let least = self.number(1.0, dtype)?;
            side = self.binary(BinaryKind::Max, side, least)?;
        }
        let divisor = self.number(bins as f64, dtype)?;
        let bin = self.binary(BinaryKind::Div, side, divisor)?;
        // Axes behind the rows: bins, samples, elements.
        let number = self.along(&Dim::from(bins), 0, dtype)?;
        let moved = self.binary(BinaryKind::Mul, number, bin)?;
        let start = self.binary(BinaryKind::Add, ends[0], moved)?;
        let element = self.along(size, 2, dtype)?;
        let (count, sample) = match of.samples > 0 {
            true => (self.number(of.samples as f64, dtype)?, None),
            false => (self.emit(Unary::of(UnaryKind::Ceil), &[bin])?, Some(AROUND)),
        };
        let one_at_least = self.number(1.0, dtype)?;
        let divisor = self.binary(BinaryKind::Max, count, one_at_least)?;
        let step = self.binary(BinaryKind::Div, bin, divisor)?;
        let sample = match sample {
            None => self.along(&Dim::from(of.samples), 1, dtype)?,
            Some(around) => {
                // The first sample that may be less than one element before an element. A step is smaller than this only if
                // the bin has one sample, the first.
                let least = self.number(0.5, dtype)?;
                let apart = self.binary(BinaryKind::Max, step, least)?;
                let before = self.binary(BinaryKind::Sub, element, start)?;
                let before = self.scaled(before, 1.0, -1.0)?;
                let first = self.binary(BinaryKind::Div, before, apart)?;
                let first = self.scaled(first, 1.0, -0.5)?;
                let first = self.emit(Unary::of(UnaryKind::Floor), &[first])?;
                let first = self.emit(Unary::of(UnaryKind::Relu), &[first])?;
                let number = self.along(&Dim::from(around), 1, dtype)?;
                self.binary(BinaryKind::Add, first, number)?
            }
        };
        let middle = self.scaled(sample, 1.0, 0.5)?;
        let within = self.binary(BinaryKind::Mul, middle, step)?;
        let place = self.binary(BinaryKind::Add, start, within)?;

        // What lies more than one element outside is nothing; what lies nearer is the outermost element.
        let size = self.size_as(size, dtype)?;
        let size = self.shaped(size, Vec::new())?;
        let [before, zero] = [self.number(-1.0, dtype)?, self.number(0.0, dtype)?];
        let mut counts = self.emit(Compare { kind: CompareKind::GreaterEqual }, &[place, before])?;
        for (kind, a, b) in [(CompareKind::LessEqual, place, size), (CompareKind::LessThan, sample, count)] {
            let holds = self.emit(Compare { kind }, &[a, b])?;
            counts = self.emit(Logical { kind: LogicalKind::And }, &[counts, holds])?;
        }
        let last = self.scaled(size, 1.0, -1.0)?;
        let place = self.binary(BinaryKind::Max, place, zero)?;
        let place = self.binary(BinaryKind::Min, place, last)?;
        let distance = self.binary(BinaryKind::Sub, place, element)?;
        let distance = self.emit(Unary::of(UnaryKind::Abs), &[distance])?;
        let weight = self.scaled(distance, -1.0, 1.0)?;
        let weight = self.emit(Unary::of(UnaryKind::Relu), &[weight])?;
        let counts = self.emit(Cast { dtype }, &[counts])?;
        let weight = self.binary(BinaryKind::Mul, weight, counts)?;
        let all = self.emit(Reduce { kind: ReduceKind::Sum, axes: vec![2], keep_dim: true }, &[weight])?;
        let mean = self.binary(BinaryKind::Div, all, divisor)?;
        let dims = self.ty(mean).dims.clone();
        self.shaped(mean, vec![dims[0].clone(), dims[2].clone()])
    }

    /// 0, 1, 2, … along one of three axes; the others have size 1.
    fn along(&mut self, size: &Dim, axis: usize, dtype: DType) -> Result<VarId, Fault> {
        let ty = Type { dtype, rows: None, dims: vec![size.clone()] };
        let numbers = self.emit(Range { start: Number::Float(0.0), step: Number::Float(1.0), ty }, &[])?;
        let mut dims = vec![Dim::from(1); 3];
        dims[axis] = size.clone();
        self.shaped(numbers, dims)
    }
}
