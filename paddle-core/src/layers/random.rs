//! Layers that draw random numbers: `dropout`, in training only, and random numbers for each row.
//!
//! The numbers of a row are a function of the seed, the step, the iterations of the loops around the layer, the path of
//! the layer, and the number of the row in the fed batch.

use super::Call;
use crate::ops::{
    Cast, Compare, CompareKind, Dropout, DropoutImplementation, GaussianRandom, MismatchKind, Op, Program,
    RowNumbers, Scale, UniformRandom,
};
use crate::program::{BuildError, DType, RowsId, Type, VarId};

/// Passes the layers that draw to a macro; see [`with_layer_families!`](crate::with_layer_families).
#[macro_export]
macro_rules! with_random_layers {
    ($($callback:ident)::+) => {
        $($callback)::+! {
            /// For each element of `x`, 1 with this probability, otherwise 0. Every step draws others.
            bernoulli(x: Value "Probabilities.";)
                => bernoulli;

            /// In training, sets elements to zero at random; otherwise, nothing. Every step drops other elements.
            dropout(x: Value "Some of whose elements to drop.", rate: Number "The probability with which each is dropped.";
                    mode: Choice(upscale_in_train, downgrade_in_infer) = "upscale_in_train" "Whether the elements that are kept are scaled up in training, or all are scaled down otherwise.")
                => dropout;

            /// Normally distributed numbers for each row of `x`, f32: noise. Every step draws others.
            gaussian_random(x: Value "Whose rows they are for; of its elements nothing is read.",
                            shape: Sizes "The sizes behind the rows: `16`, `[4, 4]`.";
                            mean: Number = 0.0 "The mean.", std: Number = 1.0 "The deviation.")
                => gaussian_random;

            /// Whole numbers from `low` to below `high` for each row of `x`, i64. Every step draws others.
            randint(x: Value "Whose rows they are for; of its elements nothing is read.",
                    shape: Sizes "The sizes behind the rows: `16`, `[4, 4]`.",
                    high: Int "The number above the largest."; low: Int = 0 "The smallest.")
                => randint;

            /// Numbers that are uniform from `min` to below `max` for each row of `x`, f32. Every step draws others.
            uniform_random(x: Value "Whose rows they are for; of its elements nothing is read.",
                           shape: Sizes "The sizes behind the rows: `16`, `[4, 4]`.";
                           min: Number = -1.0 "", max: Number = 1.0 "")
                => uniform_random;
        }
    };
}

with_random_layers!(layers);

fn dropout(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let x = call.value("x")?;
    let mode = DropoutImplementation::from_name(call.choice("mode")?);
    let op = Dropout {
        dropout_prob: call.number("rate")?,
        dropout_implementation: mode.ok_or(BuildError::NoSuch { what: "mode of dropout" })?,
        path: call.path.clone(),
    };
    let inputs: Vec<VarId> = std::iter::once(x).chain(row_numbers(call, x)?).collect();
    Ok(call.emit_with("rate", op, &inputs)?[0])
}

/// The type of random numbers for each row of `x`, and, if needed, the value with the numbers of these rows.
fn drawn(call: &mut Call<'_>, dtype: DType) -> Result<(Type, Vec<VarId>), BuildError> {
    let (x, dims) = (call.value("x")?, call.sizes("shape").unwrap_or_default());
    let ty = Type { dtype, rows: call.ty(x).rows, dims };
    Ok((ty, row_numbers(call, x)?.into_iter().collect()))
}

fn uniform(call: &Call<'_>, [min, max]: [f64; 2], ty: Type) -> UniformRandom {
    UniformRandom { min, max, fan: None, path: call.path.clone(), ty }
}

fn bernoulli(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let x = call.value("x")?;
    let ty = call.ty(x).clone();
    let dtype = ty.dtype;
    if !dtype.is_float() {
        return Err(call.wrong("x", MismatchKind::ElementType, "probabilities are floating-point numbers"));
    }
    let rows: Vec<VarId> = row_numbers(call, x)?.into_iter().collect();
    let drawn = call.emit_one(uniform(call, [0.0, 1.0], ty), &rows)?;
    let hit = call.emit_one(Compare { kind: CompareKind::LessThan }, &[drawn, x])?;
    call.emit_one(Cast { dtype }, &[hit])
}

fn gaussian_random(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let (ty, rows) = drawn(call, DType::F32)?;
    let (mean, std) = (call.number("mean")?, call.number("std")?);
    let op = GaussianRandom { mean, std, fan: None, path: call.path.clone(), ty };
    Ok(call.emit_with("std", op, &rows)?[0])
}

fn randint(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let (low, high) = (call.int("low")?, call.int("high")?);
    if low >= high {
        let but = format!("there are no whole numbers from {low} to below it");
        return Err(call.wrong("high", MismatchKind::Attribute, &but));
    }
    let (ty, rows) = drawn(call, DType::F64)?;
    let drawn = call.emit_one(uniform(call, [0.0, high as f64 - low as f64], ty), &rows)?;
    let whole = call.emit_one(Cast { dtype: DType::I64 }, &[drawn])?;
    call.emit_one(Scale { scale: 1.0, bias: low as f64 }, &[whole])
}

fn uniform_random(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let (ty, rows) = drawn(call, DType::F32)?;
    let range = [call.number("min")?, call.number("max")?];
    Ok(call.emit_with("max", uniform(call, range, ty), &rows)?[0])
}

/// The numbers in the fed batch of the rows of `x`, if a block chose these rows.
fn row_numbers(call: &mut Call<'_>, x: VarId) -> Result<Option<VarId>, BuildError> {
    let own = call.ty(x).rows;
    let program = &mut *call.program;
    let root = own.map(|own| program.drawn_from(own));
    // Rows that the program makes are in no fed batch.
    let is_fed = |root: &RowsId| program.inputs().iter().any(|&input| program.ty(input).rows == Some(*root));
    let Some(root) = root.filter(|_| root != own).filter(is_fed) else { return Ok(None) };
    let op = Op::from(RowNumbers::of(root));
    let numbers = match program.block(Program::GLOBAL).ops.iter().find(|operator| operator.op == op) {
        Some(operator) => operator.outputs[0],
        None => program.prepend_op(Program::GLOBAL, op, &[], call.site)?[0],
    };
    Ok(Some(program.localize(call.block, numbers, call.site)?))
}
