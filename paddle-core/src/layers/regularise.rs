//! Layers that do something in training only: `dropout`.

use super::Call;
use crate::ops::{Dropout, DropoutImplementation, Op, RowNumbers};
use crate::program::{BuildError, Program, RowOrigin, VarId};

/// Passes the layers that regularise to a macro; see [`with_layer_families!`](crate::with_layer_families).
#[macro_export]
macro_rules! with_regularising_layers {
    ($($callback:ident)::+) => {
        $($callback)::+! {
            /// In training, sets elements to zero at random; otherwise, nothing. Every step drops other elements.
            dropout(x: Value "Some of whose elements to drop.", rate: Number "The probability with which each is dropped.";
                    mode: Choice(upscale_in_train, downgrade_in_infer) "Whether the elements that are kept are scaled up in training, or all are scaled down otherwise; the former if it is left out.")
                => dropout;
        }
    };
}

with_regularising_layers!(layers);

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
