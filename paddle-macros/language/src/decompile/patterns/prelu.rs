//! `prelu`: what is not positive, times a slope that is learned.

use paddle_core::ops::{Compare, CompareKind, Fill, Number, Op, Operator};
use paddle_core::program::BlockId;

use super::{Blocks, Made};
use crate::decompile::tree::{Call, Expr};

pub(super) fn prelu(blocks: &Blocks<'_>, block: BlockId, operator: &Operator) -> Option<Made> {
    let (program, graph) = (blocks.program(), &blocks.graph);
    let (Op::Select(_), &[positive, x, scaled]) = (&operator.op, &operator.inputs[..]) else { return None };
    let is_x = |var| graph.resolve(var) == graph.resolve(x);
    let (compared, test) = graph.part(block, positive)?;
    let (multiplied, product) = graph.part(block, scaled)?;
    let (.., zero) = graph.writer(*test.inputs.get(1)?)?;
    let is_test = matches!(test.op, Op::Compare(Compare { kind: CompareKind::GreaterThan }))
        && matches!(zero.op, Op::Fill(Fill { value: Number::Float(0.0), .. }));
    if !is_test || !is_x(test.inputs[0]) || product.op.name() != "elementwise_mul" || !is_x(product.inputs[0])
    {
        return None;
    }
    // Slopes of channels are turned so that they stand along them.
    let w = match graph.writer(product.inputs[1]) {
        Some((.., Operator { op: Op::Reshape(_), inputs, .. })) => inputs[0],
        _ => product.inputs[1],
    };
    let w = Some(graph.resolve(w)).filter(|w| graph.is_parameter(*w))?;
    let (ty, dims) = (program.ty(x), &program.ty(w).dims);
    let row = &ty.dims[usize::from(ty.rows.is_none() && ty.rank() > 0)..];
    let is_one = dims.len() == 1 && dims[0].constant() == Some(1);
    let call = Call::of("prelu", vec![blocks.value(x)]);
    let mut call = match &dims[..] {
        _ if is_one => call,
        all if all == row => call.named("mode", Expr::word("element")),
        [channels] if Some(channels) == row.first() => call.named("mode", Expr::word("channel")),
        _ => return None,
    };
    call.parameters.push(("w".into(), w));
    Some(Made::of(operator, call, vec![compared, multiplied]))
}
