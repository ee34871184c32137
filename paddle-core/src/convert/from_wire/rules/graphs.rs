//! Rules for operators on graphs, whose edges are numbers of nodes, and for those on segments of rows.

use crate::convert::draft::{At, Tried};
use crate::convert::from_wire::{ConvertError, Fault, Reading};
use crate::convert::types::product;
use crate::ops::{
    BinaryKind, Cast, Compare, CompareKind, Fill, Gather, Matmul, Number, Reduce, ReduceKind, ScatterNdAdd,
    Select, SequenceRange,
};
use crate::program::{DType, Dim, Type, VarId};

impl Reading<'_, '_> {
    /// What the nodes at the ends of edges send, combined at the nodes that receive it.
    pub(super) fn graph_send_recv(&mut self) -> Result<bool, ConvertError> {
        let (x, from, to) = (self.input("X")?, self.ids("Src_index")?, self.ids("Dst_index")?);
        let Some([from, to]) = self.edges([from, to])? else { return Ok(false) };
        if self.ty(x).rows.is_some() {
            return Ok(false);
        }
        let sent = self.emit(Gather { axis: 0 }, &[x, from])?;
        self.received(x, sent, to)
    }

    /// The same, where what is sent is computed from the node and the edge.
    pub(super) fn graph_send_ue_recv(&mut self) -> Result<bool, ConvertError> {
        let (x, edge) = (self.input("X")?, self.input("Y")?);
        let (from, to) = (self.ids("Src_index")?, self.ids("Dst_index")?);
        let Some([from, to]) = self.edges([from, to])? else { return Ok(false) };
        if self.ty(x).rows.is_some() || self.ty(edge).rows.is_some() {
            return Ok(false);
        }
        let Some(kind) = message(self.desc.attr_string("message_op")?) else {
            return self.lacks("it neither adds nor multiplies");
        };
        let sent = self.emit(Gather { axis: 0 }, &[x, from])?;
        let sent = self.at().binary(kind, sent, edge)?;
        self.received(x, sent, to)
    }

    /// What edges get from both their ends.
    pub(super) fn graph_send_uv(&mut self) -> Result<bool, ConvertError> {
        let (x, y) = (self.input("x")?, self.input("y")?);
        let (from, to) = (self.ids("src_index")?, self.ids("dst_index")?);
        let Some([from, to]) = self.edges([from, to])? else { return Ok(false) };
        if self.ty(x).rows.is_some() || self.ty(y).rows.is_some() {
            return Ok(false);
        }
        let Some(kind) = message(self.desc.attr_string("message_op")?) else {
            return self.lacks("it neither adds nor multiplies");
        };
        let x = self.emit(Gather { axis: 0 }, &[x, from])?;
        let y = self.emit(Gather { axis: 0 }, &[y, to])?;
        let both = self.at().binary(kind, x, y);
        self.tried(both.map(Ok), "out")
    }

    /// Lists of nodes, without rows.
    fn edges(&mut self, ends: [VarId; 2]) -> Result<Option<[VarId; 2]>, Fault> {
        let mut listed = ends;
        for end in &mut listed {
            let ty = self.ty(*end).clone();
            match &ty.dims[..] {
                _ if ty.rows.is_some() => return Ok(None),
                [_] => {}
                [count, one] if one.constant() == Some(1) => {
                    *end = self.at().shaped(*end, vec![count.clone()])?
                }
                _ => return Ok(None),
            }
        }
        Ok(Some(listed))
    }

    /// Combines what was sent at the nodes with these numbers. There are as many nodes as `x` has, or another number.
    fn received(&mut self, x: VarId, sent: VarId, to: VarId) -> Result<bool, ConvertError> {
        let nodes = match self.dims("out_size", "Out_size", "")?.as_deref() {
            Some([size]) if size.constant().is_none_or(|size| size > 0) => size.clone(),
            Some(_) => self.ty(x).dims[0].clone(),
            None => return self.lacks("the number of nodes that receive is not known"),
        };
        let kind = self.desc.attr_string("reduce_op")?.unwrap_or("SUM").to_string();
        let tried = self.at().grouped(sent, to, &nodes, &kind);
        self.tried(tried, "Out")
    }

    /// Rows with the same number, which follow each other, combined. There are as many results as the last number says.
    pub(super) fn segment_pool(&mut self) -> Result<bool, ConvertError> {
        let (x, numbers) = (self.input("X")?, self.ids("SegmentIds")?);
        let (of, numbered) = (self.ty(x), self.ty(numbers));
        if of.rows.is_some() || of.dims.is_empty() || numbered.rows.is_some() || numbered.dims.len() != 1 {
            return Ok(false);
        }
        let kind = self.desc.attr_string("pooltype")?.unwrap_or("SUM").to_string();
        let mut at = self.at();
        let key = (at.block, numbers);
        // All that is computed of the same segments has the same tokens.
        let tokens = match at.draft.segments.get(&key).copied() {
            Some(tokens) => tokens,
            None => {
                let largest = Reduce { kind: ReduceKind::Max, axes: vec![0], keep_dim: true };
                let last = at.emit(largest, &[numbers])?;
                let count = at.scaled(last, 1.0, 1.0)?;
                let Some(tokens) = at.tokens_of_number(count, "segments")? else { return Ok(false) };
                at.draft.segments.insert(key, tokens);
                tokens
            }
        };
        let number = at.shaped(tokens, vec![Dim::from(1)])?;
        let belongs = at.emit(Compare { kind: CompareKind::Equal }, &[number, numbers])?;
        let tried = at.grouped_by(x, belongs, &kind);
        self.tried(tried, "Out")
    }
}

fn message(name: Option<&str>) -> Option<BinaryKind> {
    match name? {
        "ADD" => Some(BinaryKind::Add),
        "MUL" => Some(BinaryKind::Mul),
        _ => None,
    }
}

impl At<'_> {
    /// 0, 1, 2, …: as many tokens of the only row of a row space as a value of one number says.
    pub(super) fn tokens_of_number(&mut self, count: VarId, name: &str) -> Result<Option<VarId>, Fault> {
        let count = self.as_only_row(count)?;
        let count = self.shaped(count, Vec::new())?;
        let Some(rows) = self.ty(count).rows else { return Ok(None) };
        let rows = self.draft.program.create_tokens(name, rows);
        self.emit(SequenceRange { rows }, &[count]).map(Some)
    }

    /// Slices along the first axis, combined by the numbers `to` of groups: `[groups, ..]`. A group without slices is 0.
    fn grouped(&mut self, x: VarId, to: VarId, groups: &Dim, kind: &str) -> Tried {
        let ty = self.ty(x).clone();
        let (count, dtype) = (self.ty(to).dims[0].clone(), ty.dtype);
        if matches!(kind, "MAX" | "MIN") {
            let number = self.count_to(groups.clone())?;
            let number = self.shaped(number, vec![groups.clone(), Dim::from(1)])?;
            let belongs = self.emit(Compare { kind: CompareKind::Equal }, &[number, to])?;
            return self.grouped_by(x, belongs, kind);
        }
        let places = self.shaped(to, vec![count.clone(), Dim::from(1)])?;
        let sums = |at: &mut Self, values: VarId| {
            let behind = &at.ty(values).dims[1..];
            let dims = [std::slice::from_ref(groups), behind].concat();
            let zeros = at.emit(Fill::zeros(Type { dtype, rows: None, dims }), &[])?;
            at.emit(ScatterNdAdd, &[zeros, places, values])
        };
        let sum = sums(self, x)?;
        match kind {
            "SUM" => Ok(Ok(sum)),
            "MEAN" => {
                let mut dims = vec![Dim::from(1); ty.dims.len()];
                dims[0] = count;
                let ones = Fill { value: Number::Float(1.0), ty: Type { dtype, rows: None, dims } };
                let ones = self.emit(ones, &[])?;
                let counts = sums(self, ones)?;
                let one = self.number(1.0, dtype)?;
                let counts = self.binary(BinaryKind::Max, counts, one)?;
                self.binary(BinaryKind::Div, sum, counts).map(Ok)
            }
            _ => Ok(Err("it combines by something else than sum, mean, maximum and minimum")),
        }
    }

    /// Slices along the first axis, combined for each group: `belongs` is `[groups, slices]`, and its groups may be rows. Each
    /// group sees all slices; those of other groups do not count. A group without slices is 0.
    fn grouped_by(&mut self, x: VarId, belongs: VarId, kind: &str) -> Tried {
        let ty = self.ty(x).clone();
        let dtype = ty.dtype;
        if !dtype.is_float() {
            return Ok(Err("it combines integers"));
        }
        let behind = ty.dims[1..].to_vec();
        let flat = self.shaped(x, vec![ty.dims[0].clone(), product(&behind)?])?;
        let groups = match self.ty(belongs).rows {
            Some(_) => Vec::new(),
            None => vec![self.ty(belongs).dims[0].clone()],
        };
        let last = self.ty(belongs).rank() as i64 - 1;
        let ones = self.emit(Cast { dtype }, &[belongs])?;
        let counts =
            self.emit(Reduce { kind: ReduceKind::Sum, axes: vec![last], keep_dim: true }, &[ones])?;
        let all = match kind {
            "SUM" | "MEAN" => {
                let sum = self.emit(Matmul::PLAIN, &[ones, flat])?;
                if kind == "SUM" {
                    sum
                } else {
                    let one = self.number(1.0, dtype)?;
                    let counts = self.binary(BinaryKind::Max, counts, one)?;
                    self.binary(BinaryKind::Div, sum, counts)?
                }
            }
            "MAX" | "MIN" => {
                let (neutral, kind) = match kind {
                    "MAX" => (f64::NEG_INFINITY, ReduceKind::Max),
                    _ => (f64::INFINITY, ReduceKind::Min),
                };
                let dims = [&self.ty(belongs).dims[..], &[Dim::from(1)]].concat();
                let belongs = self.shaped(belongs, dims)?;
                let none = self.number(neutral, dtype)?;
                let seen = self.emit(Select, &[belongs, flat, none])?;
                let found = self.emit(Reduce { kind, axes: vec![last], keep_dim: false }, &[seen])?;
                let (is_any, zero) =
                    (self.emit(Cast { dtype: DType::Bool }, &[counts])?, self.number(0.0, dtype)?);
                self.emit(Select, &[is_any, found, zero])?
            }
            _ => return Ok(Err("it combines by something else than sum, mean, maximum and minimum")),
        };
        self.shaped(all, [groups, behind].concat()).map(Ok)
    }
}
