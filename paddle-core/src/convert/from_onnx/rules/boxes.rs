//! Boxes that are kept, and other elements that are chosen while a program runs.

use crate::convert::draft::Regions;
use crate::convert::error::Fault;
use crate::convert::from_onnx::node::{Given, Node};
use crate::convert::types::product;
use crate::ops::{
    BinaryKind, Compare, CompareKind, Concat, Fill, Gather, NonMaxSuppression, Number, RowNumbers,
    RowsToAxis, Transpose,
};
use crate::program::{DType, Dim, Type, VarId};

impl Node<'_, '_> {
    /// Boxes as two corners, the one with the lower numbers first.
    fn corners(&mut self, boxes: VarId) -> Result<VarId, Fault> {
        let axis = self.ty(boxes).rank() - 1;
        let mut at = self.at();
        let (first, second) = (at.part(boxes, axis, 0, 2)?, at.part(boxes, axis, 2, 2)?);
        let (low, high) = match self.int("center_point_box", 0) {
            0 => {
                let mut at = self.at();
                (at.binary(BinaryKind::Min, first, second)?, at.binary(BinaryKind::Max, first, second)?)
            }
            _ => {
                let mut at = self.at();
                let half = at.scaled(second, 0.5, 0.0)?;
                (at.binary(BinaryKind::Sub, first, half)?, at.binary(BinaryKind::Add, first, half)?)
            }
        };
        self.emit(Concat { axis: axis as i64 }, &[low, high])
    }

    /// Image, class and number of each box that is kept.
    pub(super) fn non_max_suppression(&mut self) -> Given {
        let (boxes, scores) = (self.input(0)?, self.input(1)?);
        let most = self.number(2, "max_output_boxes_per_class")?.unwrap_or(0.0) as i64;
        if self.ty(boxes).rank() != 3 || self.ty(scores).rank() != 3 || most < 1 {
            return self.lacks("it keeps no boxes, or they are not boxes of images");
        }
        let suppression = NonMaxSuppression {
            score_threshold: self.number(4, "score_threshold")?.unwrap_or(f64::from(f32::MIN)),
            overlap_threshold: self.number(3, "iou_threshold")?.unwrap_or(0.0),
            eta: 1.0,
            candidates: -1,
            most,
            normalized: true,
            empty_overlap: false,
        };
        let boxes = self.corners(boxes)?;
        let mut at = self.at();
        let (Some(boxes), Some(scores)) = (at.along_rows(boxes)?, at.along_rows(scores)?) else {
            return self.lacks("the number of images is not known");
        };
        let chosen = at.emit(suppression, &[boxes, scores])?;
        let dims = at.ty(chosen).dims.clone();
        let all = product(&dims)?;
        let chosen = at.shaped(chosen, vec![all.clone()])?;
        let zero = at.number(0.0, DType::I64)?;
        let is_kept = at.emit(Compare { kind: CompareKind::GreaterEqual }, &[chosen, zero])?;
        let place = at.places_of(is_kept)?;
        let number = at.emit(Gather { axis: 1 }, &[chosen, place])?;
        let places = at.size_as(&dims[1], DType::I64)?;
        let class = at.binary(BinaryKind::FloorDiv, place, places)?;
        let Some(rows) = at.ty(boxes).rows else { return Ok(Vec::new()) };
        let row = at.emit(RowNumbers::of(rows), &[])?;
        let row = at.shaped(row, vec![Dim::from(1)])?;
        let zeros = Type { dtype: DType::I64, rows: None, dims: vec![all.clone()] };
        let zeros = at.emit(Fill { value: Number::Int(0), ty: zeros }, &[])?;
        let row = at.binary(BinaryKind::Add, zeros, row)?;
        let mut columns = Vec::new();
        for column in [row, class, number] {
            columns.push(at.shaped(column, vec![all.clone(), Dim::from(1)])?);
        }
        let table = at.emit(Concat { axis: 2 }, &columns)?;
        let counts = at.count_of(is_kept)?;
        Ok(at.first_of_each(table, counts, "kept")?.into_iter().collect())
    }

    /// Regions of images, each of which names its image.
    pub(super) fn roi_align(&mut self) -> Given {
        let (x, boxes, numbers) = (self.input(0)?, self.input(1)?, self.input(2)?);
        if self.text("mode").is_some_and(|mode| mode != "avg") {
            return self.lacks("it takes the largest sample");
        }
        let of = Regions {
            bins: [self.int("output_height", 1), self.int("output_width", 1)],
            scale: self.float("spatial_scale", 1.0),
            samples: self.int("sampling_ratio", 0),
            // Before version 16 there was the other way only.
            aligned: self.reader.version >= 16
                && self.text("coordinate_transformation_mode") != Some("output_half_pixel"),
        };
        let is_fixed = self.ty(boxes).rows.is_none();
        let mut at = self.at();
        let (Some(boxes), Some(numbers)) = (at.along_rows(boxes)?, at.along_rows(numbers)?) else {
            return self.lacks("the number of its boxes is not known");
        };
        let images = at.images_at(x, numbers)?;
        match at.regions(images, boxes, &of)? {
            Ok(regions) if is_fixed => self.give(RowsToAxis, &[regions]),
            Ok(regions) => Ok(vec![regions]),
            Err(lack) => self.lacks(lack),
        }
    }

    /// The places of elements that are not 0, a column for each.
    pub(super) fn non_zero(&mut self) -> Given {
        let x = self.input(0)?;
        let x = self.cast(x, DType::Bool)?;
        let mut at = self.at();
        let Some(places) = at.places_where(x)? else {
            return self.lacks("it chooses from rows, or from a single number");
        };
        let places = at.emit(RowsToAxis, &[places])?;
        self.give(Transpose { perm: vec![1, 0] }, &[places])
    }
}
