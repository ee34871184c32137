//! Upper bounds on the number of tokens of made sequences, derived from the operators that compute the lengths. With
//! a bound, memory is laid out once for the largest batch; without one, it is laid out anew whenever the sequences
//! are longer than ever before.

use std::collections::BTreeMap;

use crate::ops::{Binary, BinaryKind, Number, Op, Operator, PoolType, Program, SequencePool};
use crate::program::{Dim, RowsId, VarId};

/// How many operators deep an expression for lengths is followed.
const DEEPEST: usize = 16;

/// The operator that makes each value.
pub(super) struct Makers<'a> {
    program: &'a Program,
    of: BTreeMap<VarId, &'a Operator>,
}

impl<'a> Makers<'a> {
    pub(super) fn new(program: &'a Program) -> Self {
        let operators = program.blocks().iter().flat_map(|block| &block.ops);
        let of =
            operators.flat_map(|operator| operator.outputs.iter().map(move |&output| (output, operator)));
        Makers { program, of: of.collect() }
    }

    /// Upper bounds on the sum of `numbers`, which are integers, over the rows of `rows`. Each bound holds by itself;
    /// there may be none.
    pub(super) fn sum(&self, numbers: VarId, rows: RowsId) -> Vec<Dim> {
        self.sums(numbers, rows, DEEPEST)
    }

    fn sums(&self, numbers: VarId, rows: RowsId, depth: usize) -> Vec<Dim> {
        let (Some(operator), Some(depth)) = (self.of.get(&numbers), depth.checked_sub(1)) else {
            return Vec::new();
        };
        let size = |rows: RowsId| Dim::symbol(self.program.row_space(rows).size);
        let of = |k: usize| self.sums(operator.inputs[k], rows, depth);
        let each = |value: Number| Some(Dim::from(value.as_i64().filter(|&value| value >= 0)?));
        match &operator.op {
            Op::Fill(fill) => {
                each(fill.value).and_then(|each| (&each * &size(rows)).ok()).into_iter().collect()
            }
            Op::SequenceLength(_) => self.program.ty(operator.inputs[0]).rows.map(size).into_iter().collect(),
            // The sum over a mask's ones is at most the number of tokens.
            Op::SequencePool(SequencePool { pooltype: PoolType::Sum, .. }) => {
                let ones = self.of.get(&operator.inputs[0]);
                let chosen = ones.is_some_and(|ones| {
                    matches!(ones.op, Op::Cast(_))
                        && self.program.ty(ones.inputs[0]).dtype == crate::program::DType::Bool
                });
                self.program.ty(operator.inputs[0]).rows.filter(|_| chosen).map(size).into_iter().collect()
            }
            Op::Binary(Binary { kind: BinaryKind::Min }) => [of(0), of(1)].concat(),
            Op::Binary(Binary { kind: BinaryKind::Add }) => {
                let (x, y) = (of(0), of(1));
                x.iter().flat_map(|x| y.iter().filter_map(move |y| (x + y).ok())).take(4).collect()
            }
            Op::Binary(Binary { kind: kind @ (BinaryKind::Mul | BinaryKind::FloorDiv) }) => {
                let by = self.of.get(&operator.inputs[1]).and_then(|by| match &by.op {
                    Op::Fill(fill) => each(fill.value),
                    _ => None,
                });
                let Some(by) = by else { return Vec::new() };
                let scaled = |x: Dim| match kind {
                    BinaryKind::Mul => (&x * &by).ok(),
                    _ => x.floor_div(&by),
                };
                of(0).into_iter().filter_map(scaled).collect()
            }
            // Rows taken from other rows: their sum is at most the sum over all of these.
            Op::GatherRows(_) => match self.program.ty(operator.inputs[0]).rows {
                Some(others) => self.sums(operator.inputs[0], others, depth),
                None => Vec::new(),
            },
            Op::Assign(_) | Op::AxisToRows(_) | Op::Cast(_) | Op::Reshape(_) | Op::RowsToAxis(_) => of(0),
            _ => Vec::new(),
        }
    }
}
