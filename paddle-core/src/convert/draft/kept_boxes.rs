//! Boxes that suppression keeps, as the rows of a table: an operator chooses the boxes of each class, and others order them and
//! cut the table to those that there are.

use super::{At, MOST_POSITIONS};
use crate::convert::error::Fault;
use crate::convert::types::product;
use crate::ops::{
    BinaryKind, Compare, CompareKind, Concat, DecayedScores, Gather, Logical, LogicalKind, NonMaxSuppression,
    Reduce, ReduceKind, RowNumbers, Select, SequenceUnpad, TakeAlongAxis, TopK,
};
use crate::program::{DType, Dim, Type, VarId};

/// The most classes that have boxes of their own.
const MOST_CLASSES: usize = 512;

/// What of the boxes of all classes is kept.
pub(in crate::convert) struct Keeping {
    pub(in crate::convert) suppression: NonMaxSuppression,
    /// The class whose boxes are not looked at.
    pub(in crate::convert) background: Option<i64>,
    /// The most boxes of a row.
    pub(in crate::convert) most: Option<i64>,
    /// Whether a batch of which nothing is kept gives one box, whose numbers are all -1.
    pub(in crate::convert) never_empty: bool,
}

/// The boxes that are kept. They are tokens of the rows, as many as are kept of each.
pub(in crate::convert) struct Kept {
    /// Class, score and corners: `[tokens, 6]`.
    pub(in crate::convert) boxes: VarId,
    /// The number of each among the boxes of its row: i64 `[tokens]`.
    pub(in crate::convert) numbers: VarId,
    /// How many are kept of each row: i64 `[rows]`.
    pub(in crate::convert) counts: VarId,
}

impl At<'_> {
    /// The boxes of all classes that are kept, class by class. `boxes`: `[rows, M, 4]`, or `[rows, C, M, 4]` where each class has its
    /// own; `scores`: `[rows, C, M]`. `None` if the number of classes is not known, or large where they have their own boxes.
    pub(in crate::convert) fn kept_boxes(
        &mut self,
        boxes: VarId,
        scores: VarId,
        keeping: &Keeping,
    ) -> Result<Option<Kept>, Fault> {
        let all_classes = self.ty(scores).dims.first().and_then(Dim::constant);
        let Some((scores, classes)) = self.foreground(scores, keeping.background)? else { return Ok(None) };
        let has_own = self.ty(boxes).dims.len() == 3;
        let (boxes, chosen) = match has_own {
            false => (boxes, self.emit(keeping.suppression, &[boxes, scores])?),
            true if classes.len() > MOST_CLASSES => return Ok(None),
            true => {
                let is_part = all_classes != Some(classes.len() as i64);
                let boxes = if is_part { self.picked(boxes, 1, classes.clone())? } else { boxes };
                (boxes, self.chosen_of_each(boxes, scores, keeping.suppression)?)
            }
        };
        let dims = self.ty(chosen).dims.clone();
        let (places, all) = (dims[1].clone(), product(&dims)?);
        let zero = self.number(0.0, DType::I64)?;
        let is_kept = self.emit(Compare { kind: CompareKind::GreaterEqual }, &[chosen, zero])?;
        let numbers = self.binary(BinaryKind::Max, chosen, zero)?;
        let of_numbers = self.emit(TakeAlongAxis { axis: 2 }, &[scores, numbers])?;
        // The score of whatever is kept is above this.
        let lowest = self.number(keeping.suppression.score_threshold, self.ty(scores).dtype)?;
        let of_kept = self.emit(Select, &[is_kept, of_numbers, lowest])?;
        let flat = |value, at: &mut Self| at.shaped(value, vec![all.clone()]);
        let (numbers, of_kept) = (flat(numbers, self)?, flat(of_kept, self)?);

        let is_more = |most: &i64| all.constant().is_none_or(|all| all > *most);
        let (at, is_there) = match keeping.most.filter(is_more) {
            None => {
                let is_kept = flat(is_kept, self)?;
                (self.places_of(is_kept)?, is_kept)
            }
            Some(most) => {
                let best = self.emit_all(TopK { k: Some(most), axis: 1, largest: true }, &[of_kept], 2)?;
                let is_there = self.emit(Compare { kind: CompareKind::GreaterThan }, &[best[0], lowest])?;
                // In the order of the classes again; places of nothing come last.
                let end = self.size_as(&all, DType::I64)?;
                let key = self.emit(Select, &[is_there, best[1], end])?;
                let key = self.emit_all(TopK { k: None, axis: 1, largest: false }, &[key], 2)?[0];
                let last = self.scaled(end, 1.0, -1.0)?;
                (self.binary(BinaryKind::Min, key, last)?, is_there)
            }
        };
        let places = self.size_as(&places, DType::I64)?;
        let class = self.binary(BinaryKind::FloorDiv, at, places)?;
        let number = self.emit(Gather { axis: 1 }, &[numbers, at])?;
        let score = self.emit(Gather { axis: 1 }, &[of_kept, at])?;
        self.table(boxes, &classes, [class, number, score, is_there], keeping.never_empty)
    }

    /// What suppression chooses where each class has its own boxes. In a class, they are in the order in which they came.
    fn chosen_of_each(
        &mut self,
        boxes: VarId,
        scores: VarId,
        suppression: NonMaxSuppression,
    ) -> Result<VarId, Fault> {
        let dims = self.ty(boxes).dims.clone();
        let mut chosen = Vec::new();
        for class in 0..dims[0].constant().unwrap_or(0) {
            let own = self.part(boxes, 1, class, 1)?;
            let own = self.shaped(own, dims[1..].to_vec())?;
            let of_own = self.part(scores, 1, class, 1)?;
            chosen.push(self.emit(suppression, &[own, of_own])?);
        }
        let chosen = if let [only] = chosen[..] { only } else { self.emit(Concat { axis: 1 }, &chosen)? };
        let (zero, none) = (self.number(0.0, DType::I64)?, self.number(-1.0, DType::I64)?);
        let end = self.size_as(&dims[1], DType::I64)?;
        let is_kept = self.emit(Compare { kind: CompareKind::GreaterEqual }, &[chosen, zero])?;
        let key = self.emit(Select, &[is_kept, chosen, end])?;
        let key = self.emit_all(TopK { k: None, axis: 2, largest: false }, &[key], 2)?[0];
        let is_kept = self.emit(Compare { kind: CompareKind::LessThan }, &[key, end])?;
        self.emit(Select, &[is_kept, key, none])
    }

    /// The boxes of all classes whose scores are highest where better ones overlap them little, by their scores. `None` if the
    /// number of classes is not known.
    pub(in crate::convert) fn boxes_of_highest(
        &mut self,
        boxes: VarId,
        scores: VarId,
        decay: DecayedScores,
        background: Option<i64>,
        most: Option<i64>,
    ) -> Result<Option<Kept>, Fault> {
        let Some((scores, classes)) = self.foreground(scores, background)? else { return Ok(None) };
        let decayed = self.emit(decay, &[boxes, scores])?;
        let dims = self.ty(decayed).dims.clone();
        let all = product(&dims)?;
        let decayed = self.shaped(decayed, vec![all.clone()])?;
        let k = most.filter(|most| all.constant().is_none_or(|all| all > *most));
        let best = self.emit_all(TopK { k, axis: 1, largest: true }, &[decayed], 2)?;
        let least = self.number(decay.least, self.ty(scores).dtype)?;
        let is_there = self.emit(Compare { kind: CompareKind::GreaterThan }, &[best[0], least])?;
        let count = self.size_as(&dims[1], DType::I64)?;
        let class = self.binary(BinaryKind::FloorDiv, best[1], count)?;
        let first = self.binary(BinaryKind::Mul, class, count)?;
        let number = self.binary(BinaryKind::Sub, best[1], first)?;
        self.table(boxes, &classes, [class, number, best[0], is_there], false)
    }

    /// The scores of all classes but the background, and which classes these are.
    fn foreground(
        &mut self,
        scores: VarId,
        background: Option<i64>,
    ) -> Result<Option<(VarId, Vec<i64>)>, Fault> {
        let Some(count) = self.ty(scores).dims.first().and_then(Dim::constant) else { return Ok(None) };
        if count > MOST_POSITIONS {
            return Ok(None);
        }
        let classes: Vec<i64> = (0..count).filter(|&class| Some(class) != background).collect();
        match classes.len() as i64 {
            0 => Ok(None),
            left if left == count => Ok(Some((scores, classes))),
            _ => Ok(Some((self.picked(scores, 1, classes.clone())?, classes))),
        }
    }

    /// Rows of class, score and corners of boxes, for those that there are: they come first.
    fn table(
        &mut self,
        boxes: VarId,
        classes: &[i64],
        [class, number, score, is_there]: [VarId; 4],
        never_empty: bool,
    ) -> Result<Option<Kept>, Fault> {
        let mut counts = self.count_of(is_there)?;
        let dtype = self.ty(score).dtype;
        let labels: Vec<f64> = classes.iter().map(|&class| class as f64).collect();
        let labels = self.numbers(&labels, Type::new(dtype, [classes.len() as i64]))?;
        let label = self.emit(Gather { axis: 0 }, &[labels, class])?;
        let corners = match &self.ty(boxes).dims.clone()[..] {
            [own, count, four] => {
                let of_each = self.size_as(count, DType::I64)?;
                let first = self.binary(BinaryKind::Mul, class, of_each)?;
                let place = self.binary(BinaryKind::Add, first, number)?;
                let all = product(&[own.clone(), count.clone()])?;
                let flat = self.shaped(boxes, vec![all, four.clone()])?;
                self.emit(Gather { axis: 1 }, &[flat, place])?
            }
            _ => self.emit(Gather { axis: 1 }, &[boxes, number])?,
        };
        let mut columns = Vec::new();
        for column in [label, score] {
            let dims = [&self.ty(column).dims[..], &[Dim::from(1)]].concat();
            columns.push(self.shaped(column, dims)?);
        }
        columns.push(corners);
        let mut table = self.emit(Concat { axis: 2 }, &columns)?;
        if never_empty {
            (table, counts) = self.never_empty(table, counts)?;
        }
        let Some(kept) = self.first_of_each(table, counts, "kept")? else { return Ok(None) };
        let numbers = self.emit(SequenceUnpad, &[number, kept])?;
        Ok(Some(Kept { boxes: kept, numbers, counts }))
    }

    /// Of a batch without boxes, the first row gets one whose numbers are all -1.
    fn never_empty(&mut self, table: VarId, counts: VarId) -> Result<(VarId, VarId), Fault> {
        let total =
            self.emit(Reduce { kind: ReduceKind::Sum, axes: Vec::new(), keep_dim: false }, &[counts])?;
        let (zero, one) = (self.number(0.0, DType::I64)?, self.number(1.0, DType::I64)?);
        let is_empty = self.emit(Compare { kind: CompareKind::Equal }, &[total, zero])?;
        let Some(rows) = self.ty(table).rows else { return Ok((table, counts)) };
        let number = self.emit(RowNumbers::of(rows), &[])?;
        let is_first = self.emit(Compare { kind: CompareKind::Equal }, &[number, zero])?;
        let is_first_of_none = self.emit(Logical { kind: LogicalKind::And }, &[is_first, is_empty])?;
        let counts = self.emit(Select, &[is_first_of_none, one, counts])?;
        let none = self.number(-1.0, self.ty(table).dtype)?;
        let is_first_of_none = self.shaped(is_first_of_none, vec![Dim::from(1), Dim::from(1)])?;
        Ok((self.emit(Select, &[is_first_of_none, none, table])?, counts))
    }
}
