//! Layers of pairs of tokens: products of sequences with sequences, of which attention consists.

use super::{Call, made_sequences};
use crate::ops::{
    Fill, MismatchKind, SequenceExpandAs, SequenceLength, SequenceProduct, SequenceRange, SequenceWeigh,
};
use crate::program::{BuildError, DType, RowsId, Type, VarId};

/// Passes the layers of pairs of tokens to a macro; see [`with_layer_families!`](crate::with_layer_families).
#[macro_export]
macro_rules! with_pair_layers {
    ($($callback:ident)::+) => {
        $($callback)::+! {
            /// Each token of `x` with all tokens of `y` of its row: for each token of `x` a sequence of their positions, i64.
            ///
            /// Any sequences of positions that belong to the tokens of `x` are such pairs: `sequence_range(sequence_positions(x) + 1)`
            /// pairs each token with those before it, and itself.
            sequence_pairs(x: Value "The sequences whose tokens get others.", y: Value "The sequences that these are from.";)
                => sequence_pairs;

            /// The product of two tokens for each pair of them: the sum along their last dimension. `[H, D]` and `[H, D]` give `[H]`.
            sequence_products(x: Value "The sequences that the pairs belong to, of tokens `[.., D]`.", y: Value "The sequences that the positions are of, likewise.",
                              pairs: Whole "The positions, as `sequence_pairs` gives them.";)
                => sequence_products;

            /// For each token, the weighted sum of the tokens in its pairs: `[H]` and `[H, E]` give `[H, E]`.
            sequence_sums(weights: Value "A weight, or several, `[..]`, for each pair.", y: Value "The sequences that the positions are of, of tokens `[.., E]`.",
                          pairs: Whole "The positions, as `sequence_pairs` gives them.";)
                => sequence_sums;
        }
    };
}

with_pair_layers!(layers);

fn sequence_pairs(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let (x, y) = (call.value("x")?, call.value("y")?);
    let (own, others) = (made_sequences::rows_of(call, "x")?, made_sequences::rows_of(call, "y")?);
    if own != others {
        let but = format!(
            "{} has sequences of {}, and these are of {}",
            call.words(x),
            call.program.show_rows(own),
            call.program.show_rows(others)
        );
        return Err(call.wrong("y", MismatchKind::Rows, &but));
    }
    let length = call.emit_one(SequenceLength, &[y])?;
    let length = call.emit_one(SequenceExpandAs, &[length, x])?;
    let Some(tokens) = call.ty(x).rows else { return Err(BuildError::NoSuch { what: "sequence" }) };
    let rows = made_sequences::tokens(call, tokens);
    call.emit_one(SequenceRange { rows }, &[length])
}

fn sequence_products(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let inputs = [call.value("x")?, call.value("y")?, call.value("pairs")?];
    call.emit_one(SequenceProduct, &inputs)
}

fn sequence_sums(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let (weights, y, pairs) = (call.value("weights")?, call.value("y")?, call.value("pairs")?);
    let tokens = paired(call)?;
    // Only the sequences are read, not the elements of the tokens to which the pairs belong.
    let ty = Type { rows: Some(tokens), ..Type::scalar(DType::F32) };
    let of = call.emit_one(Fill::zeros(ty), &[])?;
    call.emit_one(SequenceWeigh, &[weights, y, pairs, of])
}

/// The row space of the tokens to which the pairs belong.
fn paired(call: &Call<'_>) -> Result<RowsId, BuildError> {
    let tokens = made_sequences::rows_of(call, "pairs")?;
    if call.program.rows_of_whole_sequences(tokens).is_none() {
        let but = format!("`{}` needs positions for each token of sequences", call.layer.name);
        return Err(call.wrong("pairs", MismatchKind::Rows, &but));
    }
    Ok(tokens)
}
