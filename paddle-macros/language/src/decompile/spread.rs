//! Numbers that are filled in for each row. A number without rows stands for them where the language spreads it over rows: beside
//! a value that has the rows, and as what a loop over rows begins with. Elsewhere they are written with their rows.

use std::collections::BTreeSet;

use paddle_core::ops::{Fill, Op, Operator, Program};
use paddle_core::program::{Dim, RowOrigin, Type, VarId};

use super::graph::Graph;

/// The values of such numbers that have to be written with their rows.
pub(super) fn found(graph: &Graph<'_>) -> BTreeSet<VarId> {
    let program = graph.program;
    let mut found = BTreeSet::new();
    for operator in program.blocks().iter().flat_map(|block| &block.ops) {
        let inputs = operator.inputs.iter().enumerate();
        let needed = inputs.filter(|(at, _)| !is_spread(graph, operator, *at)).map(|(_, input)| *input);
        found.extend(needed.filter_map(|input| filled(graph, input)));
    }
    found.extend(program.outputs().iter().filter_map(|output| filled(graph, *output)));
    found
}

/// The type of such numbers along an axis in place of rows.
pub(super) fn along_rows(program: &Program, fill: &Fill) -> Option<Type> {
    let space = program.row_space(fill.ty.rows?);
    let rows = match space.origin {
        RowOrigin::Fixed(count) => Dim::from(i64::from(count)),
        _ => Dim::symbol(space.size),
    };
    let dims = std::iter::once(rows).chain(fill.ty.dims.iter().cloned()).collect();
    Some(Type { rows: None, dims, ..fill.ty.clone() })
}

/// The value itself, if it is one number for each row of a whole row space.
fn filled(graph: &Graph<'_>, var: VarId) -> Option<VarId> {
    let var = graph.resolve(var);
    let (.., operator) = graph.writer(var)?;
    let Op::Fill(fill) = &operator.op else { return None };
    fill.ty.rows.map(|_| var)
}

/// Whether the language spreads a number without rows over the rows that an operator needs.
fn is_spread(graph: &Graph<'_>, operator: &Operator, at: usize) -> bool {
    let program = graph.program;
    match operator.op {
        Op::Binary(_) | Op::Compare(_) | Op::Logical(_) | Op::Select(_) => {
            let mut others = operator.inputs.iter().enumerate().filter(|(other, _)| *other != at);
            others.any(|(_, other)| program.ty(*other).rows.is_some() && filled(graph, *other).is_none())
        }
        Op::While(_) => {
            let condition = operator.blocks.first().and_then(|block| program.block(*block).results.first());
            condition.is_some_and(|condition| program.ty(*condition).rows.is_some())
        }
        Op::For(_) | Op::If(_) | Op::GatherRows(_) | Op::ScatterRows(_) | Op::RowsToAxis(_) | Op::Size(_) => {
            true
        }
        _ => false,
    }
}
