//! What stands around a value, and numbers in a row.

use paddle_core::ops::{Number, Op, Operator};
use paddle_core::program::{BlockId, DType};

use super::{Blocks, Made};
use crate::decompile::constants::float;
use crate::decompile::sizes::size;
use crate::decompile::tree::{Call, Expr};

pub(super) fn moved(blocks: &Blocks<'_>, _: BlockId, operator: &Operator) -> Option<Made> {
    let program = blocks.program();
    let call = match &operator.op {
        Op::Pad(op) => {
            let x = operator.inputs[0];
            let rows = if program.ty(x).rows.is_some() { 2 } else { 0 };
            let paddings = op.paddings.get(rows..)?.iter().map(Expr::word).collect();
            let call = Call::of("pad", vec![blocks.value(x), Expr::List(paddings)]);
            match op.pad_value {
                0.0 => call,
                value => call.named("value", Expr::Word(float(value))),
            }
        }
        Op::Range(op) if op.ty.dtype == DType::I64 => {
            let [count] = &op.ty.dims[..] else { return None };
            let mut call = Call::of("arange", vec![Expr::Word(size(program, count)?)]);
            for (name, number, default) in [("start", op.start, 0), ("step", op.step, 1)] {
                if number != Number::Int(default) {
                    call = call.named(name, Expr::word(number.as_i64()?));
                }
            }
            call
        }
        _ => return None,
    };
    Some(Made::of(operator, call, Vec::new()))
}
