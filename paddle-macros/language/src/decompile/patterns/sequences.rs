//! New sequences, which operators make of the lengths of their tokens.

use paddle_core::ops::{Binary, BinaryKind, Fill, Number, Op, Operator};
use paddle_core::program::{BlockId, VarId};

use super::{Blocks, Made};
use crate::decompile::constants::literal;
use crate::decompile::sizes::size;
use crate::decompile::tree::{Call, Expr};

pub(super) fn sequence(blocks: &Blocks<'_>, block: BlockId, operator: &Operator) -> Option<Made> {
    let writer = |var: VarId| blocks.graph.writer(var).map(|(.., operator)| operator);
    let range = |tokens: VarId| writer(tokens).filter(|range| matches!(range.op, Op::SequenceRange(_)));
    let call = match (&operator.op, &operator.inputs[..]) {
        (Op::SequenceUnpad(_), &[x, tokens])
            if range(tokens).is_some() && blocks.graph.reads(tokens) == 1 =>
        {
            let length = number_of_rows(blocks, range(tokens)?.inputs[0]);
            let places = size(blocks.program(), blocks.program().ty(x).dims.first()?);
            let is_of_all =
                |length: &Expr| matches!(length, Expr::Word(length) if places.as_ref() == Some(length));
            match &length {
                length if is_of_all(length) => Call::of("sequence", vec![blocks.value(x)]),
                // The number of places as a value.
                Expr::Call(Call { layer, positional, .. })
                    if layer == "cast" && is_of_all(&positional[0]) =>
                {
                    Call::of("sequence", vec![blocks.value(x)])
                }
                _ => Call::of("sequence_unpad", vec![blocks.value(x), length]),
            }
        }
        (Op::SequenceGather(_), &[x, positions]) => match writer(positions)? {
            Operator { op: Op::SequenceWhere(_), inputs, .. } => {
                Call::of("sequence_filter", blocks.values(&[x, inputs[0]]))
            }
            // From an offset on, so many.
            Operator { op: Op::Binary(Binary { kind: BinaryKind::Add }), inputs, .. } => {
                let (made, offsets) = (range(inputs[0])?, writer(inputs[1])?);
                // Other values on these tokens need them as they are.
                if blocks.graph.reads(inputs[0]) != 2 {
                    return None;
                }
                let (Op::SequenceExpandAs(_), [offset, of]) = (&offsets.op, &offsets.inputs[..]) else {
                    return None;
                };
                if *of != inputs[0] {
                    return None;
                }
                let bounds = [*offset, made.inputs[0]].map(|bound| number_of_rows(blocks, bound));
                Call::of("sequence_slice", std::iter::once(blocks.value(x)).chain(bounds).collect())
            }
            _ => return None,
        },
        // The layer gives labels without an axis of size 1.
        (Op::Reshape(op), &[path]) if op.dims.is_empty() => {
            let (at, decoding) = blocks.graph.part(block, path)?;
            let Op::CrfDecoding(_) = decoding.op else { return None };
            return Some(Made::of(operator, blocks.called(decoding).ok()?.0, vec![at]));
        }
        (Op::CrfDecoding(_), _) => {
            let (decoding, _) = blocks.called(operator).ok()?;
            Call::of("reshape", vec![decoding.into(), Expr::List(vec![Expr::word(1)])])
        }
        (Op::SequenceConcat(_), &[x, y, _]) => {
            Call::of("sequence_concat", vec![Expr::List(blocks.values(&[x, y]))])
        }
        (Op::SequenceReshape(op), &[x, _]) => {
            let [dim] = &op.dims[..] else { return None };
            Call::of("sequence_reshape", vec![blocks.value(x), Expr::Word(size(blocks.program(), dim)?)])
        }
        (Op::SequenceWeigh(_), &[weights, y, pairs, _]) => {
            Call::of("sequence_sums", blocks.values(&[weights, y, pairs]))
        }
        _ => return None,
    };
    Some(Made::of(operator, call, Vec::new()))
}

/// A whole number for each row, or the one that is the same for all rows.
fn number_of_rows(blocks: &Blocks<'_>, var: VarId) -> Expr {
    let writer = |var: VarId| blocks.graph.writer(var).map(|(.., operator)| operator);
    let is_zero = |var: VarId| {
        let zero = Number::Int(0);
        writer(var).is_some_and(
            |of| matches!(&of.op, Op::Fill(Fill { value, ty }) if *value == zero && ty.rows.is_some()),
        )
    };
    match writer(var) {
        Some(Operator { op: Op::Binary(Binary { kind: BinaryKind::Add }), inputs, .. })
            if is_zero(inputs[0]) =>
        {
            blocks.value(inputs[1])
        }
        Some(Operator { op: Op::Fill(Fill { value, ty }), .. }) if ty.dims.is_empty() => {
            Expr::Word(literal(*value, ty.dtype))
        }
        _ => blocks.value(var),
    }
}
