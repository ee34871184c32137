//! The boxes that are kept of those that overlap, by a loop over the boxes of each class in the order of their scores.

use super::Pairs;
use crate::ops::compositions::EmitLoops;
use crate::ops::{
    BinaryKind, Cast, CompareKind, Fill, Gather, NonMaxSuppression, Not, Number, Pad, ReduceKind, Reshape,
    Scale, Select, Size, TakeAlongAxis, TopK, While,
};
use crate::program::{BlockId, DType, Dim, Type, VarId};

/// The score of what is not considered.
const NEVER: f64 = -3e38;

/// The boxes of each class, in the order of their scores.
struct Sorted {
    /// Their numbers, `[.., C, M]`.
    numbers: VarId,
    /// Whether each is considered, `[.., C, M]`.
    considered: VarId,
    /// The overlap of each two, `[.., C, M, M]`.
    overlap: VarId,
    /// How many there are, an i64.
    count: VarId,
    /// 0, 1 and so on, up to the last one's.
    places: VarId,
}

impl<A: EmitLoops> Pairs<'_, A> {
    /// The axis of a value's boxes, the last one.
    fn last_axis(&self, x: VarId) -> i64 {
        self.at.ty(x).rank() as i64 - 1
    }

    /// The first numbers along the last axis in sorted order, or all, and their places.
    fn sorted(&mut self, x: VarId, k: Option<i64>, largest: bool) -> Result<[VarId; 2], A::Error> {
        let axis = self.last_axis(x);
        let found = self.at.emit_all(TopK { k, axis, largest }.into(), &[x], 2)?;
        Ok([found[0], found[1]])
    }

    fn taken(&mut self, x: VarId, places: VarId) -> Result<VarId, A::Error> {
        let axis = self.last_axis(x);
        self.emit(TakeAlongAxis { axis }, &[x, places])
    }

    /// The value with `by` more elements along its last axis.
    fn longer(&mut self, x: VarId, by: i64, value: f64) -> Result<VarId, A::Error> {
        let mut paddings = vec![0; 2 * self.at.ty(x).rank()];
        if let Some(behind) = paddings.last_mut() {
            *behind = by;
        }
        if by == 0 { Ok(x) } else { self.emit(Pad { paddings, pad_value: value }, &[x]) }
    }

    /// Sorts the boxes `[.., M, 4]` of each class, and `more` boxes that are not considered.
    fn in_order(
        &mut self,
        op: &NonMaxSuppression,
        boxes: VarId,
        scores: VarId,
        more: i64,
    ) -> Result<Sorted, A::Error> {
        let of_classes = self.at.ty(scores).clone();
        let threshold = self.number(op.score_threshold)?;
        let is_above = self.is(scores, CompareKind::GreaterThan, threshold)?;
        let never = self.number(NEVER)?;
        let scores = self.emit(Select, &[is_above, scores, never])?;
        let scores = self.longer(scores, more, NEVER)?;
        let all = self.at.ty(scores).dims.last().and_then(Dim::constant);
        let limit = Some(op.candidates).filter(|limit| *limit >= 0 && all.is_none_or(|all| *limit < all));
        let [score, numbers] = self.sorted(scores, limit, true)?;
        let considered = self.is(score, CompareKind::GreaterThan, threshold)?;

        let mut row = of_classes.dims.clone();
        if let [.., classes, _] = &mut row[..] {
            *classes = Dim::from(1);
        }
        let zeros = self.emit(Fill::zeros(of_classes), &[])?;
        self.count = self.at.ty(numbers).dims.last().cloned().unwrap_or_else(|| Dim::from(0));
        let mut corners = self.corners(boxes)?;
        for corner in &mut corners {
            let of_each = self.emit(Reshape { dims: row.clone() }, &[*corner])?;
            let of_each = self.binary(BinaryKind::Add, of_each, zeros)?;
            let of_each = self.longer(of_each, more, 0.0)?;
            let in_order = self.taken(of_each, numbers)?;
            *corner = self.along(in_order, &[], false)?;
        }
        let overlap = self.overlaps(corners, op.normalized)?;
        let places = self.numbers()?;
        let count = match self.count.constant() {
            Some(count) => self.integer(count)?,
            None => {
                let counted = self.emit(Cast { dtype: self.dtype }, &[places])?;
                let count = self.emit(Size { axes: vec![0] }, &[counted])?;
                self.emit(Cast { dtype: DType::I64 }, &[count])?
            }
        };
        Ok(Sorted { numbers, considered, overlap, count, places })
    }

    /// Appends to a block of the loop.
    fn within<T>(
        &mut self,
        block: BlockId,
        append: impl FnOnce(&mut Pairs<'_, A>) -> Result<T, A::Error>,
    ) -> Result<T, A::Error> {
        let (dtype, around, count) = (self.dtype, self.around.clone(), self.count.clone());
        self.at.within(block, |at| append(&mut Pairs { at, dtype, around, count }))
    }

    /// What a value has for one box: its element along an axis at the box's place.
    fn of_box(&mut self, x: VarId, axis: i64, place: VarId) -> Result<VarId, A::Error> {
        self.emit(Gather { axis }, &[x, place])
    }

    /// Which boxes are kept, `[.., C, M]`. A box is, unless its overlap with one that was kept before is above the threshold at that
    /// time.
    fn kept(&mut self, op: &NonMaxSuppression, sorted: &Sorted) -> Result<VarId, A::Error> {
        let of_boxes = self.at.ty(sorted.considered).clone();
        let one = [&self.around[..], &[Dim::from(1)]].concat();
        let thresholds = Type { dims: one.clone(), ..of_boxes.with_dtype(self.dtype) };
        let first = self.integer(0)?;
        let none = self.emit(Fill::zeros(of_boxes.clone()), &[])?;
        let threshold = Fill { value: Number::Float(op.overlap_threshold), ty: thresholds.clone() };
        let threshold = self.emit(threshold, &[])?;
        let state = [first, none, threshold];
        let outside = self.at.block();
        let mut blocks = [outside; 2];
        let mut params = Vec::new();
        for block in &mut blocks {
            *block = self.at.program().create_block(outside, None)?;
            for (name, value) in ["place", "kept", "threshold"].into_iter().zip(state) {
                let ty = self.at.ty(value).clone();
                params.push(self.at.create_parameter(*block, name, ty)?);
            }
        }
        let [condition, body] = blocks;
        let goes_on =
            self.within(condition, |pairs| pairs.is(params[0], CompareKind::LessThan, sorted.count))?;
        let next = self.within(body, |pairs| pairs.step(op, sorted, &params[3..], one))?;
        self.at.program().set_results(condition, &[goes_on])?;
        self.at.program().set_results(body, &next)?;
        let op = While { limit: While::DEFAULT_LIMIT };
        let behind = self.at.emit_loop(op.into(), &state, &blocks, "kept", state.len())?;
        Ok(behind[1])
    }

    /// The loop's values behind a box.
    fn step(
        &mut self,
        op: &NonMaxSuppression,
        sorted: &Sorted,
        state: &[VarId],
        one: Vec<Dim>,
    ) -> Result<Vec<VarId>, A::Error> {
        let &[place, kept, threshold] = state else { return Ok(Vec::new()) };
        let last = self.last_axis(kept);
        let overlap = self.of_box(sorted.overlap, last, place)?;
        // That of boxes without area is not a number, and counts.
        let fits = self.is(overlap, CompareKind::LessEqual, threshold)?;
        let overlaps = self.emit(Not, &[fits])?;
        let overlaps = self.both(overlaps, kept)?;
        let overlaps = self.over(ReduceKind::Any, overlaps)?;
        let fits = self.emit(Not, &[overlaps])?;
        let considered = self.of_box(sorted.considered, last, place)?;
        let considered = self.emit(Reshape { dims: one }, &[considered])?;
        let stays = self.both(considered, fits)?;
        let is_here = self.is(sorted.places, CompareKind::Equal, place)?;
        let is_kept = self.both(stays, is_here)?;
        let kept = self.either(&[kept, is_kept])?;
        let mut next = threshold;
        if op.eta < 1.0 {
            let half = self.number(0.5)?;
            let is_high = self.is(threshold, CompareKind::GreaterThan, half)?;
            let is_lowered = self.both(stays, is_high)?;
            let lower = self.emit(Scale { scale: op.eta, bias: 0.0 }, &[threshold])?;
            next = self.emit(Select, &[is_lowered, lower, threshold])?;
        }
        let one = self.integer(1)?;
        Ok(vec![self.binary(BinaryKind::Add, place, one)?, kept, next])
    }
}

/// The boxes of each class that are kept, where those without area overlap each other, in memory for `C·M²` numbers a row, of at most `candidates` boxes: see
/// [`NonMaxSuppression`]. `None` if the types are others.
pub(crate) fn kept<A: EmitLoops>(
    at: &mut A,
    op: &NonMaxSuppression,
    boxes: VarId,
    scores: VarId,
) -> Result<Option<VarId>, A::Error> {
    let ty = at.ty(scores).clone();
    let [around @ .., count] = &ty.dims[..] else { return Ok(None) };
    // Of an unknown number there may be fewer than are asked for.
    let more = match count.constant() {
        Some(_) => 0,
        None => op.candidates.max(op.most).max(0),
    };
    let mut pairs = Pairs { at, dtype: ty.dtype, around: around.to_vec(), count: count.clone() };
    let sorted = pairs.in_order(op, boxes, scores, more)?;
    let kept = pairs.kept(op, &sorted)?;

    // Those that are kept come first.
    let key = pairs.emit(Select, &[kept, sorted.places, sorted.count])?;
    let places = op.places(count).constant();
    let places = places.filter(|places| pairs.count.constant().is_none_or(|count| *places < count));
    let [key, order] = pairs.sorted(key, places, false)?;
    let numbers = pairs.taken(sorted.numbers, order)?;
    let is_there = pairs.is(key, CompareKind::LessThan, sorted.count)?;
    let none = pairs.integer(-1)?;
    pairs.emit(Select, &[is_there, numbers, none]).map(Some)
}
