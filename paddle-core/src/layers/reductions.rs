//! Layers that reduce along axes.

use super::Call;
use super::shapes::axes;
use crate::ops::compositions::{log_sum_exp, variance};
use crate::ops::{Reduce, ReduceKind, Unary, UnaryKind};
use crate::program::{BuildError, VarId};

/// Passes the layers that reduce to a macro; see [`with_layer_families!`](crate::with_layer_families).
#[macro_export]
macro_rules! with_reduction_layers {
    ($($callback:ident)::+) => {
        $($callback)::+! {
            /// The mean of all elements, a scalar, or along axes; 0 over no elements.
            mean(x: Value "What to reduce.";
                 axis: Ints "Along which axes, that of the rows counted as 0: `1`, `[1, 2]`; all if it is left out.",
                 keep_dim: Flag = false "Whether the axes stay, with size 1.")
                => |call| reduce(call, ReduceKind::Mean);

            /// The sum of all elements, a scalar, or along axes.
            sum(x: Value "What to reduce.";
                 axis: Ints "Along which axes, that of the rows counted as 0: `1`, `[1, 2]`; all if it is left out.",
                 keep_dim: Flag = false "Whether the axes stay, with size 1.")
                => |call| reduce(call, ReduceKind::Sum);

            /// The largest of all elements, a scalar, or along axes.
            max(x: Value "What to reduce.";
                 axis: Ints "Along which axes, that of the rows counted as 0: `1`, `[1, 2]`; all if it is left out.",
                 keep_dim: Flag = false "Whether the axes stay, with size 1.")
                => |call| reduce(call, ReduceKind::Max);

            /// The smallest of all elements, a scalar, or along axes.
            min(x: Value "What to reduce.";
                 axis: Ints "Along which axes, that of the rows counted as 0: `1`, `[1, 2]`; all if it is left out.",
                 keep_dim: Flag = false "Whether the axes stay, with size 1.")
                => |call| reduce(call, ReduceKind::Min);

            /// The product of all elements, a scalar, or along axes.
            prod(x: Value "What to reduce.";
                 axis: Ints "Along which axes, that of the rows counted as 0: `1`, `[1, 2]`; all if it is left out.",
                 keep_dim: Flag = false "Whether the axes stay, with size 1.")
                => |call| reduce(call, ReduceKind::Prod);

            /// `ln Σ exp x` over all elements, a scalar, or along axes.
            logsumexp(x: Value "What to reduce.";
                      axis: Ints "Along which axes, that of the rows counted as 0: `1`, `[1, 2]`; all if it is left out.",
                      keep_dim: Flag = false "Whether the axes stay, with size 1.")
                => logsumexp;

            /// The standard deviation of all elements, a scalar, or along axes: the root of `var`.
            std(x: Value "What to reduce.";
                axis: Ints "Along which axes, that of the rows counted as 0: `1`, `[1, 2]`; all if it is left out.",
                unbiased: Flag = true "Whether to divide by one less than the number of elements, and not by that.",
                keep_dim: Flag = false "Whether the axes stay, with size 1.")
                => std;

            /// The variance of all elements, a scalar, or along axes.
            var(x: Value "What to reduce.";
                axis: Ints "Along which axes, that of the rows counted as 0: `1`, `[1, 2]`; all if it is left out.",
                unbiased: Flag = true "Whether to divide by one less than the number of elements, and not by that.",
                keep_dim: Flag = false "Whether the axes stay, with size 1.")
                => var;

            /// Whether some element is true, or some along axes.
            any(x: Value "Truth values.";
                axis: Ints "Along which axes, that of the rows counted as 0: `1`, `[1, 2]`; all if it is left out.",
                keep_dim: Flag = false "Whether the axes stay, with size 1.")
                => |call| reduce(call, ReduceKind::Any);

            /// Whether every element is true, or every one along axes.
            all(x: Value "Truth values.";
                axis: Ints "Along which axes, that of the rows counted as 0: `1`, `[1, 2]`; all if it is left out.",
                keep_dim: Flag = false "Whether the axes stay, with size 1.")
                => |call| reduce(call, ReduceKind::All);
        }
    };
}

with_reduction_layers!(layers);

/// The value to reduce, the axes, and whether the axes stay.
fn over(call: &Call<'_>) -> Result<(VarId, Vec<i64>, bool), BuildError> {
    let x = call.value("x")?;
    let mut axes = axes(call, "axis", x)?.unwrap_or_default();
    axes.sort_unstable();
    axes.dedup();
    Ok((x, axes, call.flag("keep_dim")?))
}

fn reduce(call: &mut Call<'_>, kind: ReduceKind) -> Result<VarId, BuildError> {
    let (x, axes, keep_dim) = over(call)?;
    Ok(call.emit_with("axis", Reduce { kind, axes, keep_dim }, &[x])?[0])
}

fn logsumexp(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let (x, axes, keep_dim) = over(call)?;
    log_sum_exp(x, axes, keep_dim, |op, inputs| call.emit_one(op, inputs))
}

fn var(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let (x, axes, keep_dim) = over(call)?;
    let (unbiased, dtype) = (call.flag("unbiased")?, call.ty(x).dtype);
    variance((x, dtype), axes, unbiased, keep_dim, |op, inputs| call.emit_one(op, inputs))
}

fn std(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let variance = var(call)?;
    call.emit_one(Unary::of(UnaryKind::Sqrt), &[variance])
}
