//! Boxes that are kept of those that overlap. PaddlePaddle's operator lists those of all images one after another; ours gives the numbers
//! of those of each class in places of their own.

use super::operators::small;
use super::sequence_positions::list;
use super::{LegaliseError, Legaliser};
use crate::convert::types::wire_dims;
use crate::ops::{
    Binary, BinaryKind, Concat, CumSum, NonMaxSuppression, Number, Operator, Scatter, ScatterNdAdd, Slice,
};
use crate::program::{DType, Dim, Type};
use crate::wire::{OpAttr, OpDesc};

impl Legaliser<'_> {
    pub(super) fn suppression(
        &mut self,
        at: usize,
        operator: &Operator,
        op: &NonMaxSuppression,
    ) -> Result<(), LegaliseError> {
        let program = self.program;
        let [boxes, scores] = [0, 1].map(|k| program.ty(operator.inputs[k]).clone());
        let out = program.ty(operator.outputs[0]);
        let sizes = wire_dims(&scores);
        // PaddlePaddle limits how many boxes of all classes are kept, not of each; so all are, and the first ones of each class are taken.
        let limit = Some(op.most).filter(|most| *most >= 0 && sizes.get(1) != Some(&1));
        let op = NonMaxSuppression { most: if limit.is_some() { -1 } else { op.most }, ..*op };
        let mut all = out.clone();
        if let (Some(places), Some(boxes)) = (all.dims.last_mut(), scores.dims.last()) {
            *places = op.places(boxes);
        }
        let (Some(shape), &[_, classes, count]) = (small(&wire_dims(&all)), &sizes[..]) else {
            return self.refuse(operator, "PaddlePaddle keeps boxes of a list of images");
        };
        if classes < 1 {
            return self.refuse(operator, "the number of classes has to be a number");
        }
        // An image behind all others keeps its first box: what has no elements fails in PaddlePaddle's default predictor.
        let more = |ty: &Type| {
            let behind = &ty.dims[usize::from(ty.rows.is_none())..];
            Type { rows: None, dims: [&[Dim::from(-1)], behind].concat(), ..ty.clone() }
        };
        let kept_score = op.score_threshold + op.score_threshold.abs().max(1.0);
        let (boxes_ty, scores_ty) = (more(&boxes), more(&scores));
        let names = [0, 1].map(|k| self.name(operator.inputs[k]));
        let last = [(&boxes_ty, 0.0), (&scores_ty, kept_score)];
        let [boxes, scores] = [0, 1].map(|k| {
            let (ty, value) = last[k];
            let first = Slice { axes: vec![0], starts: vec![0], ends: vec![1], strides: Vec::new() };
            let first = self.emit(at, first, &[&names[k]], ty);
            let last = self.filled_like(at, first, ty, Number::Float(value));
            self.emit(at, Concat { axis: 0 }, &[&names[k], &last], ty)
        });

        let numbers = Type::new(DType::I32, [-1, 1]);
        let found = self.declare(at, "multiclass_nms3", &Type::new(boxes_ty.dtype, [-1, 6]));
        let [index, counts] = ["index", "counts"]
            .map(|called| self.declare(at, &format!("multiclass_nms3.{called}"), &numbers));
        let small_number = |number: i64| i32::try_from(number).unwrap_or(i32::MAX);
        let desc = OpDesc::new("multiclass_nms3")
            .with_input("BBoxes", [&boxes])
            .with_input("Scores", [&scores])
            .with_output("Out", [&found])
            .with_output("Index", [&index])
            .with_output("NmsRoisNum", [&counts])
            .with_attr(OpAttr::int("background_label", -1))
            .with_attr(OpAttr::float("score_threshold", op.score_threshold as f32))
            .with_attr(OpAttr::int("nms_top_k", small_number(op.candidates)))
            .with_attr(OpAttr::float("nms_threshold", op.overlap_threshold as f32))
            .with_attr(OpAttr::float("nms_eta", op.eta as f32))
            .with_attr(OpAttr::int("keep_top_k", small_number(op.most)))
            .with_attr(OpAttr::bool("normalized", op.normalized));
        self.push(at, desc);

        // Where each goes: to the next place of its class in its image.
        let wide = numbers.with_dtype(DType::I64);
        let each = list(DType::I64);
        let label = Slice { axes: vec![1], starts: vec![0], ends: vec![1], strides: Vec::new() };
        let label = self.emit(at, label, &[&found], &Type::new(boxes_ty.dtype, [-1, 1]));
        let label = self.cast(at, label, &Type::new(boxes_ty.dtype, [-1, 1]), DType::I64);
        let index = self.cast(at, index, &numbers, DType::I64);
        let [label, index] = [label, index].map(|name| self.reshaped_to(at, name, &wide, &each, vec![-1]));
        let one = Type::new(DType::I64, [1]);
        let count = match count {
            -1 => {
                let count = self.size_of(at, names[1].clone(), &scores_ty, 2);
                self.cast(at, count, &Type::new(DType::I32, [1]), DType::I64)
            }
            count => self.constant(at, Number::Int(count), &one, "boxes"),
        };
        let of = |kind| Binary { kind };
        let image = self.emit(at, of(BinaryKind::FloorDiv), &[&index, &count], &each);
        let first = self.emit(at, of(BinaryKind::Mul), &[&image, &count], &each);
        let number = self.emit(at, of(BinaryKind::Sub), &[&index, &first], &each);
        let classes_name = self.constant(at, Number::Int(classes), &one, "classes");
        let group = self.emit(at, of(BinaryKind::Mul), &[&image, &classes_name], &each);
        let group = self.emit(at, of(BinaryKind::Add), &[&group, &label], &each);
        let groups = Type::new(scores_ty.dtype, [-1, classes, 1]);
        let one_each = Slice { axes: vec![2], starts: vec![0], ends: vec![1], strides: Vec::new() };
        let one_each = self.emit(at, one_each, &[&scores], &groups);
        let groups = groups.with_dtype(DType::I64);
        let zeros = self.filled_like(at, one_each.clone(), &groups, Number::Int(0));
        let zeros = self.reshaped_to(at, zeros, &groups, &each, vec![-1]);
        let ones = self.filled_like(at, number.clone(), &each, Number::Int(1));
        let column = self.reshaped_to(at, group.clone(), &each, &wide, vec![-1, 1]);
        let counts = self.emit(at, ScatterNdAdd, &[&zeros, &column, &ones], &each);
        let sums = CumSum { axis: 0, exclusive: true, reverse: false };
        let begins = self.sums(at, sums, counts, &each);
        let begins = self.take(at, begins, group.clone(), &each, "gather");
        let position = self.sums(at, sums, ones, &each);
        let position = self.emit(at, of(BinaryKind::Sub), &[&position, &begins], &each);

        let places = shape[2];
        let (none, per_group) = match places {
            -1 => {
                let all = scores_ty.with_dtype(DType::I64);
                (self.filled_like(at, scores.clone(), &all, Number::Int(-1)), count)
            }
            places => {
                let none = self.filled_like(at, one_each, &groups, Number::Int(-1));
                let tile = OpDesc::new("tile").with_attr(OpAttr::ints("repeat_times", [1, 1, places]));
                let all = Type::new(DType::I64, [-1, classes, places.into()]);
                let none = self.step(at, tile, none, &all);
                (none, self.constant(at, Number::Int(places.into()), &one, "places"))
            }
        };
        let none = self.reshaped_to(at, none, &groups, &each, vec![-1]);
        let place = self.emit(at, of(BinaryKind::Mul), &[&group, &per_group], &each);
        let place = self.emit(at, of(BinaryKind::Add), &[&place, &position], &each);
        let kept = self.emit(at, Scatter, &[&none, &place, &number], &each);
        let more = Type::new(DType::I64, [-1, classes, places.into()]);
        let kept = match (places, i32::try_from(classes)) {
            (0.., Ok(classes)) => self.reshaped_to(at, kept, &each, &more, vec![-1, classes, places]),
            _ => {
                let shape = self.declare(at, "shape", &Type::new(DType::I32, [3]));
                let of_all = OpDesc::new("shape").with_input("Input", [&scores]);
                self.push(at, of_all.with_output("Out", [&shape]));
                let (out, xshape) = (self.declare(at, "reshape2", &more), self.xshape(at, "reshape2", &each));
                let desc = OpDesc::new("reshape2").with_input("X", [kept]).with_input("Shape", [shape]);
                let desc = desc.with_output("Out", [&out]).with_output("XShape", [xshape]);
                self.push(at, desc.with_attr(OpAttr::ints("shape", [-1, -1, -1])));
                out
            }
        };
        let mut first = Slice { axes: vec![0], starts: vec![0], ends: vec![-1], strides: Vec::new() };
        if let Some(limit) = limit {
            first.axes.push(2);
            first.starts.push(0);
            first.ends.push(limit);
        }
        let kept = self.emit(at, first, &[&kept], out);
        self.names.insert(operator.outputs[0], kept);
        Ok(())
    }
}
