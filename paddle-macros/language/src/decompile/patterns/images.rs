//! Images: pools that are spread over an image, and other sizes.

use paddle_core::ops::{InterpolateKind, Op, Operator, Pool2d};
use paddle_core::program::BlockId;

use super::{Blocks, Made};
use crate::decompile::sizes::size;
use crate::decompile::tree::{Call, Expr};

pub(super) fn image(blocks: &Blocks<'_>, _: BlockId, operator: &Operator) -> Option<Made> {
    let program = blocks.program();
    let pair = |sizes: [String; 2]| match sizes[0] == sizes[1] {
        true => Expr::word(&sizes[0]),
        false => Expr::List(sizes.into_iter().map(Expr::Word).collect()),
    };
    let x = blocks.value(*operator.inputs.first()?);
    let call = match &operator.op {
        Op::Pool2d(pool @ Pool2d { global_pooling: true, .. }) => {
            let call = Call::of("global_pool2d", vec![x]);
            kind(call, pool)
        }
        Op::Pool2d(pool @ Pool2d { adaptive: true, .. }) => {
            let windows = pair(pool.ksize.map(|count| count.to_string()));
            kind(Call::of("adaptive_pool2d", vec![x, windows]), pool)
        }
        Op::Interpolate(op) if op.align_mode == 0 && op.scale[0] == op.scale[1] => {
            let mut call = Call::of("interpolate", vec![x]);
            match (&op.size[..], op.scale[0]) {
                ([height, width], 0.0) => {
                    let sizes = [size(program, height)?, size(program, width)?];
                    call.positional.push(pair(sizes));
                }
                (_, scale) => call = call.named("scale", Expr::word(scale)),
            }
            if op.kind == InterpolateKind::Bilinear {
                call = call.named("mode", Expr::word("bilinear"));
                if op.align_corners {
                    call = call.named("align_corners", Expr::word(true));
                }
            } else if op.align_corners {
                return None;
            }
            call
        }
        _ => return None,
    };
    Some(Made::of(operator, call, Vec::new()))
}

fn kind(call: Call, pool: &Pool2d) -> Call {
    match pool.pooling_type.name() {
        "max" => call,
        kind => call.named("kind", Expr::word(kind)),
    }
}
