//! Rules for PaddlePaddle's beam search. The rows of a step are the prefixes of its sources, and what is selected of their candidates are
//! tokens of the prefixes: the prefixes of the next step.

use super::arrays::Array;
use super::groups::Sources;
use crate::convert::draft::At;
use crate::convert::from_wire::{ConvertError, Fault, Reading, one};
use crate::convert::types::{enlarged, product};
use crate::ops::{
    AxisToRows, BinaryKind, Cast, Compare, CompareKind, Concat, CumSum, Fill, Gather, Logical, LogicalKind,
    Not, Number, Reduce, ReduceKind, RowNumbers, RowsToAxis, Scatter, Select, SequenceExpandAs,
    SequenceRange, SequenceUnpad, TakeAlongAxis, TopK, Unary, UnaryKind,
};
use crate::program::{DType, Dim, RowsId, Type, VarId};

const ASCENDING: TopK = TopK { k: None, axis: 0, largest: false };
const DESCENDING: TopK = TopK { k: None, axis: 0, largest: true };

/// The candidates of a step, without rows.
struct Candidates {
    /// How many prefixes there are, `R`, and how many candidates each has, `K`.
    dims: [Dim; 2],
    /// `[R, K]`.
    ids: VarId,
    /// `[R, K]`.
    scores: VarId,
    /// A prefix that has ended has one candidate, its end. `[R, K]`.
    exist: VarId,
    /// Candidates that do not only end what has ended. `[R, K]`.
    go_on: VarId,
}

impl<'a> Reading<'_, 'a> {
    /// Selects the best candidates of each source.
    ///
    /// Of equal scores PaddlePaddle prefers later prefixes, and so does this. Of equal ones of one prefix this takes the first ones, and
    /// PaddlePaddle what its insertion leaves.
    pub(super) fn beam_search(&mut self) -> Result<bool, ConvertError> {
        let (scores, desc) = (self.input("scores")?, self.desc);
        let level = usize::try_from(desc.attr_int("level")?.unwrap_or(0)).ok();
        let (size, end) = self.beam()?;
        let levels = self.reader.draft.program.levels(self.ty(scores));
        let inner = level.and_then(|level| levels.get(level..)).unwrap_or_default();
        let Some(sources) = self.at().sources(inner)? else {
            return self.lacks("its scores have no sequences of the level that it selects in");
        };
        let Some(candidates) = self.candidates(scores, end)? else {
            return self.lacks("its scores are not one number for each candidate of each prefix");
        };
        // The prefixes are tokens of the sources themselves, whatever is between them.
        let mut at = self.at();
        let prefixes = match inner {
            [prefixes] => at.emit(RowNumbers::of(*prefixes), &[])?,
            _ => {
                let lengths = at.counts(sources.of_rows, &sources.count)?;
                let like = at.emit(RowNumbers::of(sources.rows), &[])?;
                let lengths = at.emit(AxisToRows, &[lengths, like])?;
                let rows = at.draft.program.create_tokens("prefixes", sources.rows);
                at.emit(SequenceRange { rows }, &[lengths])?
            }
        };
        let Some(rows) = at.ty(prefixes).rows else { return Ok(false) };
        let number = at.emit(RowNumbers::of(rows), &[])?;
        let rank = at.ranks(&candidates, &sources)?;
        let most = at.number(size as f64, DType::I64)?;
        let is_best = at.emit(Compare { kind: CompareKind::LessThan }, &[rank, most])?;
        let is_best = at.both(is_best, candidates.exist)?;
        // Nothing is selected of a source all of whose texts have ended before.
        let goes_on = at.both(is_best, candidates.go_on)?;
        let goes_on = at.any_of_source(goes_on, &candidates, &sources)?;
        let selected = at.both(is_best, goes_on)?;

        let counts = at.count_of(selected)?;
        let key = at.emit(Select, &[selected, rank, most])?;
        let order = at.emit_all(TopK { axis: 1, ..ASCENDING }, &[key], 2)?[1];
        let mut of_prefixes = [counts, candidates.ids, candidates.scores];
        for value in &mut of_prefixes[1..] {
            *value = at.emit(TakeAlongAxis { axis: 1 }, &[*value, order])?;
        }
        for value in &mut of_prefixes {
            *value = at.emit(Gather { axis: 0 }, &[*value, number])?;
        }
        let [counts, ids, scores] = of_prefixes;
        let Some(ids) = at.first_of_each(ids, counts, "selected")? else { return Ok(false) };
        let scores = at.emit(SequenceUnpad, &[scores, ids])?;
        let parent = at.for_tokens(number, ids)?;
        let parent = at.emit(RowsToAxis, &[parent])?;
        let parent = at.emit(Cast { dtype: DType::I32 }, &[parent])?;
        for (slot, value) in [("selected_ids", ids), ("selected_scores", scores)] {
            let value = self.at().shaped(value, vec![Dim::from(1)])?;
            self.named_value(one(desc.output(slot), slot)?, value)?;
        }
        match desc.output("parent_idx") {
            [name] => self.named_value(name, parent),
            _ => Ok(true),
        }
    }

    /// How many texts are kept of a source, and the word that ends one.
    fn beam(&self) -> Result<(i64, i64), Fault> {
        let attribute = "beam_size";
        let size = self.desc.attr_int(attribute)?.ok_or(Fault::MissingAttribute { attribute })?;
        if size < 1 {
            return Err(Fault::Attribute {
                attribute,
                message: format!("a beam has at least one text, and not {size}"),
            });
        }
        let attribute = "end_id";
        let end = self.desc.attr_int(attribute)?.ok_or(Fault::MissingAttribute { attribute })?;
        Ok((size.into(), end.into()))
    }

    fn candidates(&mut self, scores: VarId, end: i64) -> Result<Option<Candidates>, ConvertError> {
        let is_accumulated = self.bool("is_accumulated", true)?;
        let [words, before] = [self.input("pre_ids")?, self.input("pre_scores")?];
        let ids = if self.has(&["ids"]) { Some(self.input("ids")?) } else { None };
        let dtype = self.ty(scores).dtype;
        let width = match &self.ty(scores).dims[..] {
            [width] if dtype.is_float() && self.ty(before).dtype == dtype => width.clone(),
            _ => return Ok(None),
        };
        let mut at = self.at();
        let mut as_scores = |value| at.tokens_as(value, scores);
        let (Some(words), Some(before)) = (as_scores(words)?, as_scores(before)?) else { return Ok(None) };
        let ids = match ids {
            Some(ids) => match as_scores(ids)? {
                Some(ids) => Some(ids),
                None => return Ok(None),
            },
            None => None,
        };
        let scores = at.emit(RowsToAxis, &[scores])?;
        let dims = [at.ty(scores).dims[0].clone(), width];
        let column = [dims[0].clone(), Dim::from(1)];
        let number = at.count_to(dims[1].clone())?;
        let words = at.without_rows(words, &column)?;
        let words = at.as_kind(words, DType::I64)?;
        let before = at.without_rows(before, &column)?;
        let ids = match ids {
            Some(ids) => {
                let ids = at.without_rows(ids, &dims)?;
                at.as_kind(ids, DType::I64)?
            }
            None => number,
        };
        let scores = match is_accumulated {
            true => scores,
            false => {
                let logarithm = at.emit(Unary::of(UnaryKind::Log), &[scores])?;
                at.binary(BinaryKind::Add, logarithm, before)?
            }
        };
        let (end, zero) = (at.number(end as f64, DType::I64)?, at.number(0.0, DType::I64)?);
        let has_ended = at.emit(Compare { kind: CompareKind::Equal }, &[words, end])?;
        let is_open = at.emit(Not, &[has_ended])?;
        let is_first = at.emit(Compare { kind: CompareKind::Equal }, &[number, zero])?;
        let exist = at.emit(Logical { kind: LogicalKind::Or }, &[is_open, is_first])?;
        let ids = at.emit(Select, &[has_ended, end, ids])?;
        let scores = at.emit(Select, &[has_ended, before, scores])?;
        let differs = at.emit(Compare { kind: CompareKind::NotEqual }, &[ids, end])?;
        let go_on = at.emit(Logical { kind: LogicalKind::Or }, &[is_open, differs])?;
        Ok(Some(Candidates { dims, ids, scores, exist, go_on }))
    }

    /// The texts of a search, the best of each source first, as sequences of sequences: their words, and the scores behind each word.
    pub(super) fn beam_search_decode(&mut self) -> Result<bool, ConvertError> {
        let (size, end) = self.beam()?;
        let of_steps = |slot| Ok::<_, Fault>(self.reader.arrays.get(&self.array(slot)?).cloned());
        let (Some(Array::Places(ids)), Some(Array::Places(scores))) = (of_steps("Ids")?, of_steps("Scores")?)
        else {
            return self.lacks("it is not known which steps its arrays hold");
        };
        let steps: Option<Vec<[VarId; 2]>> =
            ids.iter().zip(&scores).map(|(ids, scores)| Some([(*ids)?, (*scores)?])).collect();
        let Some(steps) = steps.filter(|steps| ids.len() == scores.len() && !steps.is_empty()) else {
            return self.lacks("its arrays do not hold ids and scores of the same steps");
        };
        self.reader.draft.spend(64 * steps.len())?;
        let Some([words, scores]) = self.at().texts(&steps, size, end)? else {
            return self.lacks("what its arrays hold was not selected of prefixes of the same sources");
        };
        let desc = self.desc;
        self.named_value(one(desc.output("SentenceIds"), "SentenceIds")?, words)?;
        self.named_value(one(desc.output("SentenceScores"), "SentenceScores")?, scores)
    }
}

/// What a step has selected, without rows: of `M` candidates.
struct Step {
    /// i64 `[M]`.
    ids: VarId,
    /// `[M]`.
    scores: VarId,
    /// The number of the prefix of each: i64 `[M]`.
    prefixes: VarId,
    /// How many there are of each source, and the number of the first: i64 `[sources, 1]`.
    counts: VarId,
    first: VarId,
}

impl At<'_> {
    /// A value with its rows as an axis, in this shape.
    fn without_rows(&mut self, value: VarId, dims: &[Dim]) -> Result<VarId, Fault> {
        let value = if self.ty(value).rows.is_some() { self.emit(RowsToAxis, &[value])? } else { value };
        self.shaped(value, dims.to_vec())
    }

    fn both(&mut self, x: VarId, y: VarId) -> Result<VarId, Fault> {
        self.emit(Logical { kind: LogicalKind::And }, &[x, y])
    }

    /// For each candidate, whether one of its source holds: `[R, K]`.
    fn any_of_source(
        &mut self,
        truth: VarId,
        Candidates { dims, .. }: &Candidates,
        sources: &Sources,
    ) -> Result<VarId, Fault> {
        let numbers = self.count_of(truth)?;
        let of_sources = self.sums_by(sources.of_rows, numbers, &sources.count)?;
        let of_rows = self.emit(Gather { axis: 0 }, &[of_sources, sources.of_rows])?;
        let zero = self.number(0.0, DType::I64)?;
        let any = self.emit(Compare { kind: CompareKind::GreaterThan }, &[of_rows, zero])?;
        self.shaped(any, vec![dims[0].clone(), Dim::from(1)])
    }

    /// The rank of each candidate among those of its source: i64 `[R, K]`. What does not exist comes last.
    fn ranks(&mut self, candidates: &Candidates, sources: &Sources) -> Result<VarId, Fault> {
        let Candidates { dims, scores, exist, .. } = candidates;
        let all = product(dims)?;
        let number = self.count_to(all.clone())?;
        let flat = |at: &mut Self, value| at.shaped(value, vec![all.clone()]);
        // The prefixes in reverse, as later ones come first.
        let width = self.size_as(&dims[1], DType::I64)?;
        let prefix = self.binary(BinaryKind::FloorDiv, number, width)?;
        let first = self.binary(BinaryKind::Mul, prefix, width)?;
        let own = self.binary(BinaryKind::Sub, number, first)?;
        let end = self.size_as(&all, DType::I64)?;
        let mirrored = self.binary(BinaryKind::Sub, end, first)?;
        let mirrored = self.binary(BinaryKind::Sub, mirrored, width)?;
        let mirrored = self.binary(BinaryKind::Add, mirrored, own)?;
        // By their scores.
        let scores = flat(self, *scores)?;
        let scores = self.emit(Gather { axis: 0 }, &[scores, mirrored])?;
        let by_score = self.emit_all(DESCENDING, &[scores], 2)?[1];
        let order = self.emit(Gather { axis: 0 }, &[mirrored, by_score])?;
        // Then by their sources. Keys differ, as PaddlePaddle's `argsort` may put equal ones in any order.
        let count = self.size_as(&sources.count, DType::I64)?;
        let of_rows = self.shaped(sources.of_rows, vec![dims[0].clone(), Dim::from(1)])?;
        let source = self.emit(Select, &[*exist, of_rows, count])?;
        let source = flat(self, source)?;
        let of_ordered = self.emit(Gather { axis: 0 }, &[source, order])?;
        let key = self.binary(BinaryKind::Mul, of_ordered, end)?;
        let key = self.binary(BinaryKind::Add, key, number)?;
        let by_source = self.emit_all(ASCENDING, &[key], 2)?[1];
        let order = self.emit(Gather { axis: 0 }, &[order, by_source])?;
        let source_of = self.emit(Gather { axis: 0 }, &[of_ordered, by_source])?;
        let with_others = enlarged(&sources.count, 1)?;
        let counts = self.counts(source, &with_others)?;
        let first = self.emit(CumSum { axis: 0, exclusive: true, reverse: false }, &[counts])?;
        let first = self.emit(Gather { axis: 0 }, &[first, source_of])?;
        let rank = self.binary(BinaryKind::Sub, number, first)?;
        let zeros = self.ty(number).clone();
        let zeros = self.emit(Fill::zeros(zeros), &[])?;
        let rank = self.emit(Scatter, &[zeros, order, rank])?;
        self.shaped(rank, dims.to_vec())
    }

    /// What a step has selected, and the sources of it.
    fn step(&mut self, [ids, scores]: [VarId; 2]) -> Result<Option<(Step, Sources)>, Fault> {
        let levels = self.draft.program.levels(self.ty(ids));
        let [.., prefixes, selected] = levels[..] else { return Ok(None) };
        let Some(sources) = self.sources(&[prefixes, selected])? else { return Ok(None) };
        let all = [self.ty(sources.of_rows).dims[0].clone()];
        let of_prefix = [RowNumbers::of(prefixes), RowNumbers::of(selected)];
        let [number, like] = of_prefix.map(|numbers| self.emit(numbers, &[]));
        let prefixes = self.emit(SequenceExpandAs, &[number?, like?])?;
        let column = vec![sources.count.clone(), Dim::from(1)];
        let counts = self.counts(sources.of_rows, &sources.count)?;
        let first = self.emit(CumSum { axis: 0, exclusive: true, reverse: false }, &[counts])?;
        let ids = self.without_rows(ids, &all)?;
        let step = Step {
            ids: self.as_kind(ids, DType::I64)?,
            scores: self.without_rows(scores, &all)?,
            prefixes: self.emit(RowsToAxis, &[prefixes])?,
            counts: self.shaped(counts, column.clone())?,
            first: self.shaped(first, column)?,
        };
        Ok(Some((step, sources)))
    }

    /// The elements of a list with these numbers, and 0 where a number is -1.
    fn found(&mut self, list: VarId, numbers: VarId) -> Result<VarId, Fault> {
        let none = Type { dims: vec![Dim::from(1)], ..self.ty(list).clone() };
        let none = self.emit(Fill::zeros(none), &[])?;
        let list = self.emit(Concat { axis: 0 }, &[none, list])?;
        let numbers = self.scaled(numbers, 1.0, 1.0)?;
        self.emit(Gather { axis: 0 }, &[list, numbers])
    }

    /// Goes back from the last words of the texts to the first. Words and scores, each with the texts of a source as its tokens, and
    /// with words as tokens of these. `None` if the steps have other sources than each other.
    fn texts(&mut self, steps: &[[VarId; 2]], size: i64, end: i64) -> Result<Option<[VarId; 2]>, Fault> {
        let mut read = Vec::new();
        let mut of: Option<(RowsId, Dim)> = None;
        for &step in steps {
            let Some((step, sources)) = self.step(step)? else { return Ok(None) };
            if of.get_or_insert((sources.rows, sources.count)).0 != sources.rows {
                return Ok(None);
            }
            read.push(step);
        }
        let Some((rows, count)) = of else { return Ok(None) };
        let dims = vec![count, Dim::from(size)];
        let dtype = self.ty(read[0].scores).dtype;
        let filled = |value, dtype| Fill { value, ty: Type { dtype, rows: None, dims: dims.clone() } };
        let (zero, none) = (self.number(0.0, DType::I64)?, self.number(-1.0, DType::I64)?);
        let (end, number) = (self.number(end as f64, DType::I64)?, self.count_to(Dim::from(size))?);

        // For each text, the number of its word in a step; -1 for none.
        let mut at = self.emit(filled(Number::Int(-1), DType::I64), &[])?;
        let mut last_score = self.emit(filled(Number::Float(f64::NEG_INFINITY), dtype), &[])?;
        let mut columns = Vec::new();
        for step in read.iter().rev() {
            // Where nothing was selected behind this step, all that it has selected ends a text.
            let latest = Reduce { kind: ReduceKind::Max, axes: vec![1], keep_dim: true };
            let latest = self.emit(latest, &[at])?;
            let ends = self.emit(Compare { kind: CompareKind::LessThan }, &[latest, zero])?;
            let is_there = self.emit(Compare { kind: CompareKind::LessThan }, &[number, step.counts])?;
            let own = self.binary(BinaryKind::Add, step.first, number)?;
            let own = self.emit(Select, &[is_there, own, none])?;
            at = self.emit(Select, &[ends, own, at])?;
            let is_there = self.emit(Compare { kind: CompareKind::GreaterEqual }, &[at, zero])?;
            let (word, score) = (self.found(step.ids, at)?, self.found(step.scores, at)?);
            // A text has its end once.
            let is_no_end = self.emit(Compare { kind: CompareKind::NotEqual }, &[word, end])?;
            let counts = self.emit(Logical { kind: LogicalKind::Or }, &[ends, is_no_end])?;
            let counts = self.both(is_there, counts)?;
            let is_last = self.both(is_there, ends)?;
            last_score = self.emit(Select, &[is_last, score, last_score])?;
            columns.push([word, score, counts]);
            let prefix = self.found(step.prefixes, at)?;
            at = self.emit(Select, &[is_there, prefix, none])?;
        }
        columns.reverse();

        let best = self.emit_all(TopK { axis: 1, ..DESCENDING }, &[last_score], 2)?[1];
        let column = [&dims[..], &[Dim::from(1)]].concat();
        let [words, scores, counts] = [0, 1, 2].map(|k| {
            let mut parts = Vec::new();
            for step in &columns {
                let ordered = self.emit(TakeAlongAxis { axis: 1 }, &[step[k], best])?;
                parts.push(self.shaped(ordered, column.clone())?);
            }
            if let [only] = parts[..] { Ok(only) } else { self.emit(Concat { axis: 2 }, &parts) }
        });
        let like = self.emit(RowNumbers::of(rows), &[])?;
        let mut of_sources = [words?, scores?, counts?];
        for value in &mut of_sources {
            *value = self.emit(AxisToRows, &[*value, like])?;
        }
        let texts = self.draft.program.create_tokens("texts", rows);
        let all = Fill { value: Number::Int(size), ty: RowNumbers::of(rows).ty };
        let all = self.emit(all, &[])?;
        let texts = self.emit(SequenceRange { rows: texts }, &[all])?;
        for value in &mut of_sources {
            *value = self.emit(SequenceUnpad, &[*value, texts])?;
        }
        let [words, scores, counts] = of_sources;
        let (places, length) = (self.places_of(counts)?, self.count_of(counts)?);
        let [words, scores] =
            [words, scores].map(|value| self.emit(TakeAlongAxis { axis: 1 }, &[value, places]));
        let Some(words) = self.first_of_each(words?, length, "words")? else { return Ok(None) };
        Ok(Some([words, self.emit(SequenceUnpad, &[scores?, words])?]))
    }
}
