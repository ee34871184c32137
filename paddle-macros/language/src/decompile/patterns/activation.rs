//! A layer with an activation: `fc(x, 8, act = relu)`.

use paddle_core::layers::{Kind, Layer};
use paddle_core::ops::{Op, Operator, Unary};
use paddle_core::program::BlockId;

use super::{Blocks, Made};
use crate::decompile::tree::Expr;

pub(super) fn activated(blocks: &Blocks<'_>, block: BlockId, operator: &Operator) -> Option<Made> {
    let Op::Unary(op) = &operator.op else { return None };
    let layer = Layer::find(operator.op.name()).filter(|layer| layer.activation)?;
    if op.coefficients != Unary::of(op.kind).coefficients {
        return None;
    }
    let (at, inner) = blocks.graph.part(block, operator.inputs[0])?;
    // No layer that has activations ends with one by itself.
    if let Op::Unary(_) = inner.op {
        return None;
    }
    let mut made = blocks.made(block, at, inner);
    let Expr::Call(call) = &mut made.value else { return None };
    let takes = Layer::find(&call.layer)?.named("act").is_some_and(|act| act.kind == Kind::Activation);
    if !takes || call.named.iter().any(|(name, _)| *name == "act") || made.outputs != [inner.outputs[0]] {
        return None;
    }
    call.named.push(("act", Expr::word(layer.name)));
    made.parts.push(at);
    Some(Made { outputs: operator.outputs.clone(), ..made })
}
