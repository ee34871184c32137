//! Layers that do something else in training than otherwise: `batch_norm`, `dropout`.

use super::images::channels;
use super::{Call, initializers};
use crate::ops::{BatchNorm, Dropout, DropoutImplementation, Op, RowNumbers};
use crate::program::{BuildError, Program, RowOrigin, Type, VarId};

/// Passes the layers that regularise to a macro; see [`with_layer_families!`](crate::with_layer_families).
#[macro_export]
macro_rules! with_regularising_layers {
    ($($callback:ident)::+) => {
        $($callback)::+! {
            /// Each channel normalised by its mean and variance: of the batch in training, and what was seen in training
            /// otherwise. `x` is `[_, channels]` or `[_, channels, height, width]`.
            ///
            /// Parameters: `scale`, `[channels]`, one at first; `shift`, `[channels]`, zero at first; and the moving
            /// statistics `mean` and `variance`, which are not trained.
            batch_norm(x: Value "What to normalise.";
                       momentum: Number "How much of the moving statistics stays in each step; 0.9 if it is left out.",
                       epsilon: Number "What is added to variances; 0.00001 if it is left out.",
                       act: Activation "What to apply to the result.") weights_and_bias
                => batch_norm;

            /// In training, sets elements to zero at random; otherwise, nothing. Every step drops other elements.
            dropout(x: Value "Some of whose elements to drop.", rate: Number "The probability with which each is dropped.";
                    mode: Choice(upscale_in_train, downgrade_in_infer) "Whether the elements that are kept are scaled up in training, or all are scaled down otherwise; the former if it is left out.")
                => dropout;
        }
    };
}

with_regularising_layers!(layers);

fn batch_norm(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let x = call.value("x")?;
    let (dtype, channels) = channels(call, "x")?;
    let all = |value| initializers::constant(value, Type::new(dtype, [channels]));
    let inputs = [
        x,
        call.parameter("scale", all(1.0))?,
        call.parameter("shift", all(0.0))?,
        call.statistic("mean", all(0.0))?,
        call.statistic("variance", all(1.0))?,
    ];
    let op = BatchNorm {
        epsilon: call.number("epsilon").unwrap_or(1e-5),
        momentum: call.number("momentum").unwrap_or(0.9),
        is_test: false,
    };
    let of = if (0.0..=1.0).contains(&op.momentum) { "epsilon" } else { "momentum" };
    let y = call.emit_with(of, op, &inputs)?[0];
    call.activate("act", y)
}

fn dropout(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let x = call.value("x")?;
    let mode = call.choice("mode").and_then(DropoutImplementation::from_name);
    let op = Dropout {
        dropout_prob: call.number("rate").unwrap_or(0.5),
        dropout_implementation: mode.unwrap_or(DropoutImplementation::UpscaleInTrain),
        path: call.path.clone(),
    };
    let inputs: Vec<VarId> = std::iter::once(x).chain(row_numbers(call, x)?).collect();
    Ok(call.emit_with("rate", op, &inputs)?[0])
}

/// For a value whose rows were chosen by a block, the numbers that these have in what was fed.
fn row_numbers(call: &mut Call<'_>, x: VarId) -> Result<Option<VarId>, BuildError> {
    let own = call.ty(x).rows;
    let (program, mut rows) = (&mut *call.program, own);
    while let Some(space) = rows.map(|rows| program.row_space(rows)).filter(|s| s.origin == RowOrigin::Chosen)
    {
        rows = space.parent;
    }
    let Some(root) = rows.filter(|_| rows != own) else { return Ok(None) };
    let op = Op::from(RowNumbers::of(root));
    let numbers = match program.block(Program::GLOBAL).ops.iter().find(|operator| operator.op == op) {
        Some(operator) => operator.outputs[0],
        None => program.prepend_op(Program::GLOBAL, op, &[], call.site)?[0],
    };
    Ok(Some(program.localize(call.block, numbers, call.site)?))
}
