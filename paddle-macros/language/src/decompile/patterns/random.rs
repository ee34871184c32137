//! Random numbers, and the numbers of rows: layers that take only the rows of a value.

use paddle_core::ops::{Op, Operator};
use paddle_core::program::{BlockId, DType, Dim, RowsId};

use super::{Blocks, Made};
use crate::decompile::constants::float;
use crate::decompile::rows::like;
use crate::decompile::sizes::size;
use crate::decompile::tree::{Call, Expr};

pub(super) fn random(blocks: &Blocks<'_>, block: BlockId, operator: &Operator) -> Option<Made> {
    let program = blocks.program();
    let shape = |dims: &[Dim]| -> Option<Expr> {
        Some(Expr::List(dims.iter().map(|dim| size(program, dim).map(Expr::Word)).collect::<Option<_>>()?))
    };
    let number = |call: Call, name, number: f64, default: f64| match number == default {
        true => call,
        false => call.named(name, Expr::Word(float(number))),
    };
    let call = match &operator.op {
        Op::RowNumbers(op) => Call::of("row_numbers", vec![rows(blocks, block, operator, op.ty.rows)?]),
        Op::GaussianRandom(op) if op.fan.is_none() && op.ty.dtype == DType::F32 => {
            let like = rows(blocks, block, operator, op.ty.rows)?;
            let call = Call::of("gaussian_random", vec![like, shape(&op.ty.dims)?]);
            number(number(call, "mean", op.mean, 0.0), "std", op.std, 1.0)
        }
        Op::UniformRandom(op) if op.fan.is_none() && op.ty.dtype == DType::F32 => {
            let like = rows(blocks, block, operator, op.ty.rows)?;
            let call = Call::of("uniform_random", vec![like, shape(&op.ty.dims)?]);
            number(number(call, "min", op.min, -1.0), "max", op.max, 1.0)
        }
        // Whole numbers are others that are rounded towards zero.
        Op::Cast(cast) if cast.dtype == DType::I64 => {
            let (of, _, drawn) = blocks.graph.writer(operator.inputs[0])?;
            let Op::UniformRandom(op) = &drawn.op else { return None };
            let high = Some(op.max as i64).filter(|high| *high as f64 == op.max)?;
            if op.fan.is_some() || op.ty.dtype != DType::F64 || op.min != 0.0 {
                return None;
            }
            let like = rows(blocks, of, drawn, op.ty.rows)?;
            Call::of("randint", vec![like, shape(&op.ty.dims)?, Expr::word(high)])
        }
        _ => return None,
    };
    Some(Made::of(operator, call, Vec::new()))
}

/// A value that has these rows, or a number without rows.
fn rows(blocks: &Blocks<'_>, block: BlockId, operator: &Operator, rows: Option<RowsId>) -> Option<Expr> {
    match rows {
        Some(rows) => like(blocks, block, operator, rows),
        None => Some(Expr::word("0.0")),
    }
}
