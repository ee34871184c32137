//! Layers that combine values element by element.

use super::Call;
use crate::ops::{Binary, BinaryKind, RankLoss, Scale};
use crate::program::{BuildError, VarId};

/// Passes the layers that combine values element by element to a macro; see [`with_layer_families!`](crate::with_layer_families).
#[macro_export]
macro_rules! with_elementwise_layers {
    ($($callback:ident)::+) => {
        $($callback)::+! {
            /// The larger of two values, element by element.
            elementwise_max(x: Value "One value.", y: Value "The other.";)
                => |call| binary(call, BinaryKind::Max);

            /// The smaller of two values, element by element.
            elementwise_min(x: Value "One value.", y: Value "The other.";)
                => |call| binary(call, BinaryKind::Min);

            /// `x` to the power of `y`, element by element.
            elementwise_pow(x: Value "One value.", y: Value "The other.";)
                => |call| binary(call, BinaryKind::Pow);

            /// `factor · x + bias`.
            scale(x: Value "What to scale.", factor: Number "The factor.";
                  bias: Number "The summand; 0 if it is left out.")
                => scale;

            /// How wrong the order of two scores is: `ln(1 + exp o) - label · o` with `o = left - right`.
            rank_loss(label: Value "How probable it is that the left one ranks above the right one: from 0.0 to 1.0.",
                      left: Value "The left score.", right: Value "The right score.";)
                => rank_loss;
        }
    };
}

with_elementwise_layers!(layers);

fn binary(call: &mut Call<'_>, kind: BinaryKind) -> Result<VarId, BuildError> {
    let (x, y) = (call.value("x")?, call.value("y")?);
    Ok(call.emit(Binary { kind }, &[x, y])?[0])
}

fn scale(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let x = call.value("x")?;
    let op = Scale { scale: call.number("factor").unwrap_or(1.0), bias: call.number("bias").unwrap_or(0.0) };
    Ok(call.emit(op, &[x])?[0])
}

fn rank_loss(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let inputs = [call.value("label")?, call.value("left")?, call.value("right")?];
    Ok(call.emit(RankLoss, &inputs)?[0])
}
