//! Rules for operators that are sums of products of our operators: paths in trees of classes, windows that look ahead, angles.

use crate::convert::from_wire::{ConvertError, Reading, one};
use crate::ops::made_sequences;
use crate::ops::{
    BinaryKind, Cast, Compare, CompareKind, Gather, Logical, LogicalKind, LookupTable, Number, OneHot,
    PoolType, Reduce, ReduceKind, RowNumbers, SequenceAlign, SequencePool, SequenceWindow, Unary, UnaryKind,
};
use crate::program::{DType, Dim, Type, VarId};

impl Reading<'_, '_> {
    /// The cosine of the angle between rows, and their lengths.
    pub(super) fn cosine_similarity(&mut self) -> Result<bool, ConvertError> {
        let (x, y, desc) = (self.input("X")?, self.input("Y")?, self.desc);
        let mut at = self.at();
        let last = at.ty(x).rank() as i64 - 1;
        let sum = |value: VarId, at: &mut crate::convert::draft::At<'_>| {
            let axes = vec![at.ty(value).rank() as i64 - 1];
            at.emit(Reduce { kind: ReduceKind::Sum, axes, keep_dim: true }, &[value])
        };
        let mut lengths = Vec::new();
        for value in [x, y] {
            let squares = at.emit(Unary::of(UnaryKind::Square), &[value])?;
            let squares = sum(squares, &mut at)?;
            lengths.push(at.emit(Unary::of(UnaryKind::Sqrt), &[squares])?);
        }
        let product = at.binary(BinaryKind::Mul, x, y)?;
        let axes = vec![last];
        let product = at.emit(Reduce { kind: ReduceKind::Sum, axes, keep_dim: true }, &[product])?;
        let both = at.binary(BinaryKind::Mul, lengths[0], lengths[1])?;
        let cosine = at.binary(BinaryKind::Div, product, both)?;
        for (slot, length) in ["XNorm", "YNorm"].into_iter().zip(lengths) {
            if let [name] = desc.output(slot) {
                self.named_value(name, length)?;
            }
        }
        self.out_value(cosine)
    }

    /// For each token, a sum of it and those behind it, each times its weights.
    pub(super) fn row_conv(&mut self) -> Result<bool, ConvertError> {
        let (x, filter) = (self.input("X")?, self.input("Filter")?);
        let [future, width] = &self.ty(filter).dims[..] else { return Ok(false) };
        let (Some(future), width) = (future.constant(), width.clone()) else { return Ok(false) };
        if self.rows_of(x).is_none() || self.ty(x).rank() != 2 {
            return self.lacks("its input has no sequences");
        }
        let mut at = self.at();
        let windows = at.emit(SequenceWindow { start: 0, length: future, pad_value: 0.0 }, &[x])?;
        let windows = at.shaped(windows, vec![Dim::from(future), width])?;
        let weighted = at.binary(BinaryKind::Mul, windows, filter)?;
        self.out(Reduce { kind: ReduceKind::Sum, axes: vec![1], keep_dim: false }, &[weighted])
    }

    /// Drops blanks, and tokens that repeat the one before them.
    pub(super) fn ctc_align(&mut self) -> Result<bool, ConvertError> {
        let (x, desc) = (self.input("Input")?, self.desc);
        let blank = desc.attr_long("blank")?.unwrap_or(0);
        let merges = self.bool("merge_repeated", true)?;
        let Some(rows) = self.rows_of(x).filter(|_| !self.has(&["InputLength"])) else {
            return self.lacks("its input has no sequences");
        };
        let mut at = self.at();
        let ids = at.emit(Cast { dtype: DType::I64 }, &[x])?;
        let flat = at.shaped(ids, Vec::new())?;
        let blank = at.number(blank as f64, DType::I64)?;
        let mut keep = at.emit(Compare { kind: CompareKind::NotEqual }, &[flat, blank])?;
        if merges {
            // No token is -1.
            let before = at.emit(SequenceWindow { start: -1, length: 1, pad_value: -1.0 }, &[flat])?;
            let before = at.shaped(before, Vec::new())?;
            let is_new = at.emit(Compare { kind: CompareKind::NotEqual }, &[flat, before])?;
            keep = at.emit(Logical { kind: LogicalKind::And }, &[keep, is_new])?;
        }
        let tokens = at.draft.program.create_tokens("aligned", rows);
        let kept = made_sequences::filter((x, tokens), keep, |op, inputs| at.emit(op, inputs))?;
        self.named_value(one(desc.output("Output"), "Output")?, kept)
    }

    /// Adds the update of each token to its row, at the place that the token's id says.
    pub(super) fn sequence_scatter(&mut self) -> Result<bool, ConvertError> {
        let (x, ids, updates) = (self.input("X")?, self.ids("Ids")?, self.input("Updates")?);
        let (Some(rows), Some(depth)) = (self.rows_of(ids), self.ty(x).dims.last().cloned()) else {
            return self.lacks("its ids are no sequences");
        };
        let is_of_rows = self.ty(x).rows.is_none_or(|own| own == rows);
        if !is_of_rows || self.rows_of(updates) != Some(rows) || self.ty(x).rank() != 2 {
            return self.lacks("its updates are no sequences of its rows");
        }
        let dtype = self.ty(x).dtype;
        let mut at = self.at();
        // Without a row space, rows are gathered by index.
        let x = match at.ty(x).rows {
            Some(_) => x,
            None => {
                let numbers = at.emit(RowNumbers::of(rows), &[])?;
                at.emit(Gather { axis: 0 }, &[x, numbers])?
            }
        };
        let updates = match at.ty(updates).rows == at.ty(ids).rows {
            true => updates,
            false => at.emit(SequenceAlign, &[updates, ids])?,
        };
        let ids = at.shaped(ids, Vec::new())?;
        let places = at.emit(OneHot { depth, dtype, allow_out_of_range: false }, &[ids])?;
        let updates = at.shaped(updates, vec![Dim::from(1)])?;
        let updates = at.binary(BinaryKind::Mul, places, updates)?;
        let sum = at.emit(SequencePool { pooltype: PoolType::Sum, pad_value: 0.0 }, &[updates])?;
        let sum = at.binary(BinaryKind::Add, x, sum)?;
        self.out_value(sum)
    }

    /// The loss of the path to a class in a tree of classes: the complete binary tree, or paths that are given.
    pub(super) fn hierarchical_sigmoid(&mut self) -> Result<bool, ConvertError> {
        let (x, weights, label, desc) = (self.input("X")?, self.input("W")?, self.ids("Label")?, self.desc);
        let classes = desc.attr_long("num_classes")?.unwrap_or(2);
        if self.ty(x).rank() != 2 || classes < 2 {
            return Ok(false);
        }
        let given = match self.has(&["PathTable", "PathCode"]) {
            true => Some([self.ids("PathTable")?, self.ids("PathCode")?]),
            false => None,
        };
        let bias = if self.has(&["Bias"]) { Some(self.input("Bias")?) } else { None };
        let dtype = self.ty(x).dtype;
        let mut at = self.at();
        // For each level, the node, below 0 behind the end of the path, and the side.
        let [node, side] = match given {
            Some(given) => given,
            None => {
                let levels = i64::from(64 - (classes - 1).leading_zeros());
                let list = Type::new(DType::I64, [levels]);
                let powers = (0..levels).map(|level| Number::Int(1 << level)).collect();
                let powers = at.emit(crate::ops::AssignValue { values: powers, ty: list }, &[])?;
                let two = at.number(2.0, DType::I64)?;
                let mut column = at.ty(label).dims.clone();
                if column.last().and_then(Dim::constant) != Some(1) {
                    column.push(Dim::from(1));
                }
                let code = at.shaped(label, column)?;
                let code = at.scaled(code, 1.0, classes as f64)?;
                let from = at.binary(BinaryKind::FloorDiv, code, powers)?;
                let to = at.binary(BinaryKind::FloorDiv, from, two)?;
                let even = at.binary(BinaryKind::Mul, to, two)?;
                [at.scaled(to, 1.0, -1.0)?, at.binary(BinaryKind::Sub, from, even)?]
            }
        };
        let zero = at.number(0.0, DType::I64)?;
        let is_on_path = at.emit(Compare { kind: CompareKind::GreaterEqual }, &[node, zero])?;
        let is_on_path = at.emit(Cast { dtype }, &[is_on_path])?;
        let node = at.binary(BinaryKind::Max, node, zero)?;
        let side = at.emit(Cast { dtype }, &[side])?;
        let of_nodes = at.emit(LookupTable { padding_idx: -1 }, &[node, weights])?;
        let row = at.with_axis_of_one(x)?;
        let product = at.binary(BinaryKind::Mul, of_nodes, row)?;
        let axes = vec![at.ty(product).rank() as i64 - 1];
        let mut score = at.emit(Reduce { kind: ReduceKind::Sum, axes, keep_dim: false }, &[product])?;
        if let Some(bias) = bias {
            let count = crate::convert::types::product(&at.ty(bias).dims)?;
            let bias = at.shaped(bias, vec![count])?;
            let bias = at.emit(Gather { axis: 0 }, &[bias, node])?;
            score = at.binary(BinaryKind::Add, score, bias)?;
        }
        // PaddlePaddle counts levels behind the end of a path, too, each as a score of 0.
        for (kind, limit) in [(BinaryKind::Max, -40.0), (BinaryKind::Min, 40.0)] {
            let limit = at.number(limit, dtype)?;
            score = at.binary(kind, score, limit)?;
        }
        let score = at.binary(BinaryKind::Mul, score, is_on_path)?;
        let loss = at.emit(Unary::of(UnaryKind::Softplus), &[score])?;
        let taken = at.binary(BinaryKind::Mul, side, score)?;
        let loss = at.binary(BinaryKind::Sub, loss, taken)?;
        let axes = vec![at.ty(loss).rank() as i64 - 1];
        let loss = at.emit(Reduce { kind: ReduceKind::Sum, axes, keep_dim: true }, &[loss])?;
        if let [name] = desc.output("PreOut")
            && self.reader.readers(name) > 0
        {
            let name = name.as_str();
            let shown = self.emit(Unary::of(UnaryKind::Softplus), &[score])?;
            self.named_value(name, shown)?;
        }
        self.out_value(loss)
    }
}
