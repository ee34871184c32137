//! Order: `top_k`, `argsort`, and `accuracy`, which begins with one.

use paddle_core::ops::{Op, Operator};
use paddle_core::program::BlockId;

use super::{Blocks, Made};
use crate::decompile::tree::{Call, Expr};

pub(super) fn ranked(blocks: &Blocks<'_>, _: BlockId, operator: &Operator) -> Option<Made> {
    match &operator.op {
        Op::TopK(op) => {
            let x = operator.inputs[0];
            let last = blocks.program().ty(x).rank() as i64 - 1;
            let mut call = match op.k {
                Some(k) => Call::of("top_k", vec![blocks.value(x), Expr::word(k)]),
                None => Call::of("argsort", vec![blocks.value(x)]),
            };
            if op.axis != last {
                call = call.named("axis", Expr::word(op.axis));
            }
            if op.largest != op.k.is_some() {
                let name = if op.k.is_some() { "largest" } else { "descending" };
                call = call.named(name, Expr::word(op.largest));
            }
            Some(Made { value: call.into(), outputs: operator.outputs.clone(), parts: Vec::new() })
        }
        Op::Accuracy(_) => {
            let &[values, indices, label] = &operator.inputs[..] else { return None };
            let (.., top) = blocks.graph.writer(indices)?;
            let Op::TopK(op) = &top.op else { return None };
            let x = top.inputs[0];
            let is_last = op.axis == blocks.program().ty(x).rank() as i64 - 1;
            if top.outputs != [values, indices] || !op.largest || !is_last {
                return None;
            }
            let mut call = Call::of("accuracy", vec![blocks.value(x), blocks.value(label)]);
            if op.k != Some(1) {
                call = call.named("k", Expr::word(op.k?));
            }
            Some(Made::of(operator, call, Vec::new()))
        }
        _ => None,
    }
}
