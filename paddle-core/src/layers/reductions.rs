//! Layers that reduce along axes.

use super::Call;
use super::shapes::axes;
use crate::ops::{Reduce, ReduceKind};
use crate::program::{BuildError, VarId};

/// Passes the layers that reduce to a macro; see [`with_layer_families!`](crate::with_layer_families).
#[macro_export]
macro_rules! with_reduction_layers {
    ($($callback:ident)::+) => {
        $($callback)::+! {
            /// The mean of all elements, a scalar, or along axes; 0 over no elements.
            mean(x: Value "What to reduce.";
                 axis: Ints "Along which axes, that of the rows counted as 0: `1`, `[1, 2]`; all if it is left out.",
                 keep_dim: Flag "Whether the axes stay, with size 1; they go if this is left out.")
                => |call| reduce(call, ReduceKind::Mean);

            /// The sum of all elements, a scalar, or along axes.
            sum(x: Value "What to reduce.";
                 axis: Ints "Along which axes, that of the rows counted as 0: `1`, `[1, 2]`; all if it is left out.",
                 keep_dim: Flag "Whether the axes stay, with size 1; they go if this is left out.")
                => |call| reduce(call, ReduceKind::Sum);

            /// The largest of all elements, a scalar, or along axes.
            max(x: Value "What to reduce.";
                 axis: Ints "Along which axes, that of the rows counted as 0: `1`, `[1, 2]`; all if it is left out.",
                 keep_dim: Flag "Whether the axes stay, with size 1; they go if this is left out.")
                => |call| reduce(call, ReduceKind::Max);

            /// The smallest of all elements, a scalar, or along axes.
            min(x: Value "What to reduce.";
                 axis: Ints "Along which axes, that of the rows counted as 0: `1`, `[1, 2]`; all if it is left out.",
                 keep_dim: Flag "Whether the axes stay, with size 1; they go if this is left out.")
                => |call| reduce(call, ReduceKind::Min);

            /// The product of all elements, a scalar, or along axes.
            prod(x: Value "What to reduce.";
                 axis: Ints "Along which axes, that of the rows counted as 0: `1`, `[1, 2]`; all if it is left out.",
                 keep_dim: Flag "Whether the axes stay, with size 1; they go if this is left out.")
                => |call| reduce(call, ReduceKind::Prod);

            /// Whether some element is true, or some along axes.
            any(x: Value "Truth values.";
                axis: Ints "Along which axes, that of the rows counted as 0: `1`, `[1, 2]`; all if it is left out.",
                keep_dim: Flag "Whether the axes stay, with size 1; they go if this is left out.")
                => |call| reduce(call, ReduceKind::Any);

            /// Whether every element is true, or every one along axes.
            all(x: Value "Truth values.";
                axis: Ints "Along which axes, that of the rows counted as 0: `1`, `[1, 2]`; all if it is left out.",
                keep_dim: Flag "Whether the axes stay, with size 1; they go if this is left out.")
                => |call| reduce(call, ReduceKind::All);
        }
    };
}

with_reduction_layers!(layers);

fn reduce(call: &mut Call<'_>, kind: ReduceKind) -> Result<VarId, BuildError> {
    let x = call.value("x")?;
    let mut axes = axes(call, "axis", x)?.unwrap_or_default();
    axes.sort_unstable();
    axes.dedup();
    let keep_dim = call.flag("keep_dim").unwrap_or(false);
    Ok(call.emit_with("axis", Reduce { kind, axes, keep_dim }, &[x])?[0])
}
