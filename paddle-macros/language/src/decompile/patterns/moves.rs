//! What stands around a value, numbers in a row, and what is filled with one.

use paddle_core::ops::{Number, Op, Operator};
use paddle_core::program::{BlockId, DType, Dim, RowOrigin};

use super::{Blocks, Made};
use crate::decompile::constants::{filled, float};
use crate::decompile::rows::own;
use crate::decompile::sizes::size;
use crate::decompile::spread::along_rows;
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
        Op::Range(op)
            if op.ty.dims[..].iter().any(|count| count.constant().is_none()) || op.ty.dtype == DType::I64 =>
        {
            let [count] = &op.ty.dims[..] else { return None };
            let whole = |number: Number| number.as_i64().filter(|whole| *whole as f64 == number.as_f64());
            let (start, step) = (whole(op.start)?, whole(op.step)?);
            let mut call = Call::of("arange", vec![Expr::Word(size(program, count)?)]);
            for (name, number, default) in [("start", start, 0), ("step", step, 1)] {
                if number != default {
                    call = call.named(name, Expr::word(number));
                }
            }
            match op.ty.dtype {
                DType::I64 => call,
                dtype => Call::of("cast", vec![call.into(), Expr::word(dtype)]),
            }
        }
        Op::AxisToRows(_) => {
            let (.., like) = blocks.graph.writer(operator.inputs[1])?;
            let rows = program.ty(operator.inputs[1]).rows?;
            let is_fixed = matches!(program.row_space(rows).origin, RowOrigin::Fixed(_));
            if !is_fixed || !matches!(like.op, Op::RowNumbers(_)) {
                return None;
            }
            return Some(Made::of(operator, own(blocks.value(operator.inputs[0])), Vec::new()));
        }
        // A number that all rows have, for each of them.
        Op::RowsToAxis(_) => {
            let (.., fill) = blocks.graph.writer(operator.inputs[0])?;
            let Op::Fill(fill) = &fill.op else { return None };
            let value = filled(program, fill.value, &along_rows(program, fill)?)?;
            return Some(Made { value, outputs: operator.outputs.clone(), parts: Vec::new() });
        }
        Op::TakeAlongAxisGrad(op) => {
            let [x, index, values] = operator.inputs[..] else { return None };
            let is_zeros = |of: &Operator| matches!(&of.op, Op::Fill(fill) if fill.value.as_f64() == 0.0);
            let zeros = match blocks.graph.writer(x).is_some_and(|(.., of)| is_zeros(of)) {
                true => blocks.value(x),
                false => Call::of("zeros_like", vec![blocks.value(x)]).into(),
            };
            let call = Call::of("put_along_axis", vec![zeros, blocks.value(index), blocks.value(values)]);
            call.named("axis", Expr::word(op.0.axis)).named("add", Expr::word(true))
        }
        Op::Expand(op) => {
            let [x, like] = [0, 1].map(|k| operator.inputs[k]);
            let ty = program.ty(like);
            let rows = usize::from(ty.rows.is_some());
            let is_repeated = |at: usize| op.axes.is_empty() || op.axes.contains(&((at + rows) as i64));
            let word = |dim: &Dim| size(program, dim).map(Expr::Word);
            let dims = ty.dims.iter().enumerate();
            let kept =
                dims.clone().map(|(at, dim)| if is_repeated(at) { Some(Expr::word(1)) } else { word(dim) });
            let times = dims.map(|(at, dim)| if is_repeated(at) { word(dim) } else { Some(Expr::word(1)) });
            let kept = kept.collect::<Option<Vec<Expr>>>()?;
            let times = times.collect::<Option<Vec<Expr>>>()?;
            let x = match op.keep_dim {
                true => blocks.value(x),
                false => Call::of("reshape", vec![blocks.value(x), Expr::List(kept)]).into(),
            };
            Call::of("tile", vec![x, Expr::List(times)])
        }
        // Ids that are no places have no 1.
        Op::OneHot(op) if op.allow_out_of_range => {
            let ids = Call::of(
                "unsqueeze",
                vec![blocks.value(operator.inputs[0]), Expr::word(program.ty(operator.inputs[0]).rank())],
            );
            let places = Call::of("arange", vec![Expr::Word(size(program, &op.depth)?)]);
            let is_place = Expr::Infix("==", Box::new([ids.into(), places.into()]));
            Call::of("cast", vec![is_place, Expr::word(op.dtype)])
        }
        _ => return None,
    };
    Some(Made::of(operator, call, Vec::new()))
}
