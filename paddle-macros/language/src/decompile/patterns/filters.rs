//! Convolutions with a bias: a number that is added to each channel.

use paddle_core::ops::{Binary, BinaryKind, Op, Operator};
use paddle_core::program::{BlockId, Dim};

use super::{Blocks, Made};
use crate::decompile::tree::Expr;

pub(super) fn biased(blocks: &Blocks<'_>, block: BlockId, operator: &Operator) -> Option<Made> {
    let (program, graph) = (blocks.program(), &blocks.graph);
    let (Op::Binary(Binary { kind: BinaryKind::Add }), &[sum, bias]) = (&operator.op, &operator.inputs[..])
    else {
        return None;
    };
    let (at, filters) = graph.part(block, sum)?;
    let (Op::Conv2d(_) | Op::Conv2dTranspose(_)) = filters.op else { return None };
    let (_, _, reshape) = graph.writer(bias)?;
    let (Op::Reshape(shape), b) = (&reshape.op, graph.resolve(*reshape.inputs.first()?)) else { return None };
    let [channels] = &program.ty(b).dims[..] else { return None };
    if !graph.is_parameter(b) || shape.dims != [channels.clone(), Dim::from(1), Dim::from(1)] {
        return None;
    }
    let mut made = blocks.made(block, at, filters);
    let Expr::Call(call) = &mut made.value else { return None };
    call.named.retain(|(name, _)| *name != "bias");
    call.parameters.push(("b".into(), b));
    made.parts.push(at);
    Some(Made { outputs: operator.outputs.clone(), ..made })
}
