//! Layers that are losses, element by element: the rows of the operators' table, and the rank loss.

use super::Call;
use super::functions::coefficients;
use crate::ops::{Binary, BinaryKind, Loss, LossKind, MismatchKind, RankLoss, Scale, Size, Unary, UnaryKind};
use crate::program::{BuildError, VarId};

/// Passes the losses of predictions and labels as layers to a macro; see
/// [`with_layer_families!`](crate::with_layer_families).
#[macro_export]
macro_rules! with_loss_layers {
    ($($callback:ident)::+) => {
        $crate::with_losses! { $crate::loss_layers (($($callback)::+)) }
    };
}

/// Turns rows of losses into rows of layers.
#[doc(hidden)]
#[macro_export]
macro_rules! loss_layers {
    (($($callback:ident)::+) $(
        $(#[doc = $doc:literal])*
        $name:ident $kind:ident $prediction:ident $label_slot:ident $out:ident (
            $($arg:ident: $arg_kind:ident = $arg_default:literal $arg_doc:literal),*;
            $($named:ident: $named_kind:ident = $default:literal $named_doc:literal),*
        )
        [$class:ident, $slope_class:ident] in $of_x:expr, $of_label:expr;
        |$x:ident, $label:ident| $formula:expr,
        slope |$sx:ident, $slabel:ident| $slope:expr
        $(, $opposite:ident)?;
    )*) => {
        $($callback)::+! {
            $(
                $(#[doc = $doc])*
                $name(x: Value "What is predicted.", label: Value "What it should be." $(, $arg: $arg_kind $arg_doc)*;
                      $($named: $named_kind = $default $named_doc),*)
                    => |call| loss(call, LossKind::$kind);
            )*

            /// The loss of the order of two scores: `ln(1 + exp o) - label · o` with `o = left - right`.
            rank_loss(label: Value "How probable it is that the left one ranks above the right one: from 0.0 to 1.0.",
                      left: Value "The left score.", right: Value "The right score.";)
                => rank_loss;

            /// Probabilities of classes that are less sure: `(1 - epsilon) x + epsilon / classes`. Szegedy et al. (2015).
            label_smooth(x: Value "A probability for each class: `[_, classes]`.";
                         epsilon: Number = 0.1 "How much is spread over all classes.")
                => label_smooth;
        }
    };
}

with_loss_layers!(layers);

fn loss(call: &mut Call<'_>, kind: LossKind) -> Result<VarId, BuildError> {
    let (x, label) = (call.value("x")?, call.value("label")?);
    let op = Loss { kind, coefficients: coefficients(call, Loss::of(kind).coefficients, kind.attributes()) };
    Ok(call.emit(op, &[x, label])?[0])
}

fn rank_loss(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let inputs = [call.value("label")?, call.value("left")?, call.value("right")?];
    Ok(call.emit(RankLoss, &inputs)?[0])
}

fn label_smooth(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let x = call.value("x")?;
    let epsilon = call.number("epsilon")?;
    let Some(last) = call.ty(x).rank().checked_sub(1) else {
        return Err(call.wrong("x", MismatchKind::Shape, "`label_smooth` needs a dimension of classes"));
    };
    let kept = call.emit(Scale { scale: 1.0 - epsilon, bias: 0.0 }, &[x])?[0];
    let classes = call.emit(Size { axes: vec![last as i64] }, &[x])?[0];
    let share = call.emit(Unary::of(UnaryKind::Reciprocal), &[classes])?[0];
    let share = call.emit(Scale { scale: epsilon, bias: 0.0 }, &[share])?[0];
    Ok(call.emit(Binary { kind: BinaryKind::Add }, &[kept, share])?[0])
}
