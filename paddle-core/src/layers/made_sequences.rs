//! Layers that make sequences from other sequences, and from rows with equally many places.

use super::Call;
use crate::ops::{
    Binary, BinaryKind, Cast, Fill, MismatchKind, Number, Reshape, SequenceAlign, SequenceGather,
    SequenceLength, SequencePad, SequenceRange, SequenceUnpad, Size, made_sequences,
};
use crate::program::{BuildError, DType, RowsId, Type, VarId};

/// Passes the layers that make sequences to a macro; see [`with_layer_families!`](crate::with_layer_families).
#[macro_export]
macro_rules! with_made_sequence_layers {
    ($($callback:ident)::+) => {
        $($callback)::+! {
            /// A view of `[_, T, ..]` as sequences of `T` tokens each: what `for` goes along.
            sequence(x: Value "Rows of equally many places.";)
                => sequence;

            /// The sequences of several values, joined row by row: `sequence_concat([title, text])`.
            sequence_concat(x: Values "The sequences, all of the same rows.";)
                => sequence_concat;

            /// The tokens for which a condition holds.
            sequence_filter(x: Value "The sequences.", keep: Value "A truth value for each token.";)
                => sequence_filter;

            /// For each token of `index`, the token of `x` at this position in the sequence of the same row.
            sequence_gather(x: Value "The sequences.", index: Whole "Positions, i64, counted from 0: sequences of the same rows.";)
                => sequence_gather;

            /// The tokens of each sequence in the first of `maxlen` places of its row, `[_, maxlen, ..]`. A sequence that has
            /// more ends the run with an error; `sequence_slice` cuts it.
            sequence_pad(x: Value "The sequences.", maxlen: Size "How many places.";
                         pad_value: Number = 0.0 "What stands behind the tokens.")
                => sequence_pad;

            /// The position of each token in its sequence, i64: 0, 1, 2, …
            sequence_positions(x: Value "The sequences, of which only the lengths count.";)
                => sequence_positions;

            /// A new sequence for each row, with `length` tokens: 0, 1, 2, …, i64.
            sequence_range(length: Whole "How many tokens each row gets, i64, at least 0: `[_]` or `[_, 1]`.";)
                => sequence_range;

            /// The elements of each sequence as tokens of `dim` elements each: of 6 tokens `[4]` it makes 12 tokens `[2]`.
            sequence_reshape(x: Value "The sequences.", dim: Size "How many elements a token gets.";)
                => sequence_reshape;

            /// A part of each sequence: `length` tokens from the token `offset` on. A sequence with fewer tokens ends the run
            /// with an error; with a length of `minimum(sequence_length(x), 5)`, such a sequence gives all of its tokens.
            sequence_slice(x: Value "The sequences.", offset: Whole "The position of the first token, i64: a number, or one for each row.",
                           length: Whole "How many tokens, i64: a number, or one for each row.";)
                => sequence_slice;

            /// The first `length` places of each row as a sequence: the tokens that `sequence_pad` padded. Where sequences of
            /// these rows are given in place of a length, the result has their tokens, and can be computed with together with
            /// them.
            sequence_unpad(x: Value "Rows of equally many places: `[_, T, ..]`.",
                           length: Whole "How many of them are tokens, i64: a number, or one for each row; or sequences that are as long.";)
                => sequence_unpad;
        }
    };
}

with_made_sequence_layers!(layers);

/// The rows to which the sequences of an argument belong.
pub(super) fn rows_of(call: &Call<'_>, name: &str) -> Result<RowsId, BuildError> {
    let rows = call.ty(call.value(name)?).rows;
    let rows = rows.and_then(|rows| call.program.rows_of_whole_sequences(rows));
    let but = format!("`{}` needs whole sequences", call.layer.name);
    rows.ok_or_else(|| call.wrong(name, MismatchKind::Rows, &but))
}

/// The rows of an argument that has equally many places in each row.
fn rows_of_places(call: &Call<'_>, name: &str) -> Result<RowsId, BuildError> {
    let ty = call.ty(call.value(name)?);
    let but = format!("`{}` needs rows of places, `[_, T, ..]`", call.layer.name);
    match ty.rows {
        Some(rows) if !ty.dims.is_empty() => Ok(rows),
        _ => Err(call.wrong(name, MismatchKind::Shape, &but)),
    }
}

/// The whole numbers of an argument, i64, one for each of `rows`. A single number is repeated.
fn numbers(call: &mut Call<'_>, name: &str, rows: RowsId) -> Result<VarId, BuildError> {
    let value = call.value(name)?;
    let ty = call.ty(value).clone();
    let single = ty.dims.len() <= 1 && ty.dims.iter().all(|dim| dim.constant() == Some(1));
    if ty.dtype != DType::I64 || !single || ty.rows.is_some_and(|own| own != rows) {
        let but = format!(
            "`{}` needs a whole number here, i64, or one for each row of `{}`",
            call.layer.name,
            call.program.row_space(rows).name
        );
        return Err(call.wrong(name, MismatchKind::Rows, &but));
    }
    let value = match ty.dims.is_empty() {
        true => value,
        false => call.emit_one(Reshape { dims: Vec::new() }, &[value])?,
    };
    if ty.rows.is_some() { Ok(value) } else { on_rows(call, value, rows) }
}

/// Repeats a number, i64, for each row.
fn on_rows(call: &mut Call<'_>, number: VarId, rows: RowsId) -> Result<VarId, BuildError> {
    let ty = Type { rows: Some(rows), ..Type::scalar(DType::I64) };
    let zeros = call.emit_one(Fill { value: Number::Int(0), ty }, &[])?;
    call.emit_one(Binary { kind: BinaryKind::Add }, &[zeros, number])
}

/// The row space of new tokens, whose sequences belong to these rows.
pub(super) fn tokens(call: &mut Call<'_>, rows: RowsId) -> RowsId {
    let name = call.layer.name.trim_start_matches("sequence_");
    call.program.create_tokens(name, rows)
}

fn sequence_range(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let length = call.value("length")?;
    let Some(rows) = call.ty(length).rows else {
        return Err(call.wrong(
            "length",
            MismatchKind::Rows,
            "`sequence_range` needs one length for each row",
        ));
    };
    let length = numbers(call, "length", rows)?;
    let rows = tokens(call, rows);
    call.emit_one(SequenceRange { rows }, &[length])
}

fn sequence_positions(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let (x, rows) = (call.value("x")?, rows_of(call, "x")?);
    let length = call.emit_one(SequenceLength, &[x])?;
    let rows = tokens(call, rows);
    let positions = call.emit_one(SequenceRange { rows }, &[length])?;
    call.emit_one(SequenceAlign, &[positions, x])
}

fn sequence_gather(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let inputs = [call.value("x")?, call.value("index")?];
    call.emit_one(SequenceGather, &inputs)
}

fn sequence_slice(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let (x, rows) = (call.value("x")?, rows_of(call, "x")?);
    let bounds = [numbers(call, "offset", rows)?, numbers(call, "length", rows)?];
    let rows = tokens(call, rows);
    made_sequences::slice((x, rows), bounds, |op, inputs| call.emit_one(op, inputs))
}

fn sequence_concat(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let parts = call.values("x")?;
    let whole =
        |&part: &VarId| call.ty(part).rows.and_then(|rows| call.program.rows_of_whole_sequences(rows));
    if let Some(&part) = parts.iter().find(|part| whole(part).is_none()) {
        return Err(call.wrong_value(part, MismatchKind::Rows, "`sequence_concat` needs whole sequences"));
    }
    let parents: Vec<RowsId> = parts.iter().filter_map(whole).collect();
    let mut joined = parts[0];
    for (&part, &parent) in parts.iter().zip(&parents).skip(1) {
        if parent != parents[0] {
            let but = "`sequence_concat` needs sequences of the same rows";
            return Err(call.wrong_value(part, MismatchKind::Rows, but));
        }
        let ty = Type { rows: call.ty(part).rows, ..call.ty(parts[0]).clone() };
        if *call.ty(part) != ty {
            let but = format!("the one before it is {}", call.program.show(call.ty(parts[0])));
            return Err(call.wrong_value(part, MismatchKind::Shape, &but));
        }
        let rows = tokens(call, parent);
        joined = made_sequences::concat([joined, part], rows, |op, inputs| call.emit_one(op, inputs))?;
    }
    Ok(joined)
}

fn sequence_filter(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let (x, keep, rows) = (call.value("x")?, call.value("keep")?, rows_of(call, "x")?);
    let ty = call.ty(keep);
    if ty.dtype != DType::Bool || ty.rows != call.ty(x).rows {
        let but = "`sequence_filter` needs a truth value for each token of the sequences";
        return Err(call.wrong("keep", MismatchKind::Rows, but));
    }
    let keep = match ty.dims.is_empty() {
        true => keep,
        false => call.emit_one(Reshape { dims: Vec::new() }, &[keep])?,
    };
    let rows = tokens(call, rows);
    made_sequences::filter((x, rows), keep, |op, inputs| call.emit_one(op, inputs))
}

fn sequence_reshape(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let (x, rows, dim) = (call.value("x")?, rows_of(call, "x")?, call.size("dim")?);
    let width = call.ty(x).dims.iter().try_fold(1i64, |width, dim| width.checked_mul(dim.constant()?));
    let (Some(from), Some(to)) = (width, dim.constant()) else {
        let but = "`sequence_reshape` needs sizes that are known when the network is compiled";
        return Err(call.wrong("x", MismatchKind::Shape, but));
    };
    let rows = tokens(call, rows);
    made_sequences::reshape((x, rows), [from, to], |op, inputs| call.emit_one(op, inputs))
}

fn sequence_pad(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let (x, length) = (call.value("x")?, call.size("maxlen")?);
    let pad_value = call.number("pad_value")?;
    call.emit_one(SequencePad { length, pad_value }, &[x])
}

fn sequence_unpad(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let (x, rows) = (call.value("x")?, rows_of_places(call, "x")?);
    let like = call.value("length")?;
    if call.ty(like).rows.is_some_and(|tokens| call.program.rows_of_whole_sequences(tokens) == Some(rows)) {
        return call.emit_one(SequenceUnpad, &[x, like]);
    }
    let length = numbers(call, "length", rows)?;
    let rows = tokens(call, rows);
    made_sequences::unpad((x, rows), length, |op, inputs| call.emit_one(op, inputs))
}

fn sequence(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let (x, rows) = (call.value("x")?, rows_of_places(call, "x")?);
    let length = match call.ty(x).dims[0].constant() {
        Some(places) => {
            let ty = Type { rows: Some(rows), ..Type::scalar(DType::I64) };
            call.emit_one(Fill { value: Number::Int(places), ty }, &[])?
        }
        None => {
            // The operator reads only the shape of these numbers.
            let numbers = call.emit_one(Cast { dtype: DType::F64 }, &[x])?;
            let places = call.emit_one(Size { axes: vec![1] }, &[numbers])?;
            let places = call.emit_one(Cast { dtype: DType::I64 }, &[places])?;
            on_rows(call, places, rows)?
        }
    };
    let rows = tokens(call, rows);
    made_sequences::unpad((x, rows), length, |op, inputs| call.emit_one(op, inputs))
}
