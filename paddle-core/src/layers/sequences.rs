//! Layers of sequences.

use super::Call;
use crate::ops::{PoolType, SequencePool};
use crate::program::{BuildError, VarId};

/// Passes the layers of sequences to a macro; see [`with_layer_families!`](crate::with_layer_families).
#[macro_export]
macro_rules! with_sequence_layers {
    ($($callback:ident)::+) => {
        $($callback)::+! {
            /// One row for each sequence, made of its tokens: their average, their sum, their sum divided by the root of
            /// their number, the largest of each column, the first, or the last.
            sequence_pool(x: Value "The sequences.",
                          kind: Choice(average, sum, sqrt, max, first, last) "How tokens become a row.";
                          pad_value: Number "What a sequence without tokens gives; 0 if it is left out.")
                => sequence_pool;
        }
    };
}

with_sequence_layers!(layers);

fn sequence_pool(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let x = call.value("x")?;
    let word = call.choice("kind").unwrap_or_default();
    let pooltype = PoolType::ALL.into_iter().find(|kind| kind.name().eq_ignore_ascii_case(word));
    let pooltype = pooltype.ok_or(BuildError::NoSuch { what: "kind of pooling" })?;
    let pad_value = call.number("pad_value").unwrap_or(0.0);
    Ok(call.emit(SequencePool { pooltype, pad_value }, &[x])?[0])
}
