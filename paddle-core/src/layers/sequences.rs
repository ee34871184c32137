//! Layers of sequences.

use super::{Call, fc};
use crate::ops::{
    Cast, ChunkEval, ChunkScheme, CrfDecoding, EditDistance, LinearChainCrf, MismatchKind, Op, PoolType,
    Reshape, SequenceAlign, SequenceExpandAs, SequenceLength, SequencePool, SequenceReverse, SequenceSoftmax,
    SequenceWindow, WarpCtc, compositions, initializers,
};
use crate::program::{BuildError, DType, Dim, Type, VarId};

/// Passes the layers of sequences to a macro; see [`with_layer_families!`](crate::with_layer_families).
#[macro_export]
macro_rules! with_sequence_layers {
    ($($callback:ident)::+) => {
        $($callback)::+! {
            /// One row for each sequence, made of its tokens: their average, their sum, their sum divided by the root of
            /// their number, the largest of each column, the first, or the last.
            sequence_pool(x: Value "The sequences.",
                          kind: Choice(average, sum, sqrt, max, first, last) "How tokens become a row.";
                          pad_value: Number = 0.0 "What a sequence without tokens gives.")
                => sequence_pool;

            /// Each row, repeated for every token of its sequence: it brings results of `sequence_pool` back to the tokens.
            sequence_expand(x: Value "The rows.", y: Value "The sequences, of which only the lengths count.";)
                => |call| of_two(call, SequenceExpandAs);

            /// The tokens of each sequence in reverse order.
            sequence_reverse(x: Value "The sequences.";)
                => |call| of_one(call, SequenceReverse);

            /// The number of tokens of each sequence: i64, `[_]`.
            sequence_length(x: Value "The sequences.";)
                => |call| of_one(call, SequenceLength);

            /// Whether each place of a row of `maxlen` is before the end of a sequence of this length: truth values, `[_, maxlen]`.
            sequence_mask(x: Value "The lengths, whole numbers: `[_]`.", maxlen: Size "How many places.";
                          to: Choice(bool, f32, f64, i32, i64) = "bool" "Of which element type the result is.")
                => sequence_mask;

            /// Normalised exponentials along each sequence, each column by itself: the weights that attention gives to tokens.
            sequence_softmax(x: Value "The logits.";)
                => |call| of_one(call, SequenceSoftmax);

            /// The tokens of sequences as those of others, with whose values they can then be combined. Sequences of one row
            /// have to have the same length; otherwise the run ends with an error.
            sequence_align(x: Value "The sequences.", y: Value "Those that they become tokens of.";)
                => |call| of_two(call, SequenceAlign);

            /// The tokens around each token, side by side: `[D]` gives `[length · D]`.
            sequence_window(x: Value "The sequences.", length: Int "How many tokens.";
                            start: Int "Where they start: so many tokens behind the one that they are for, or before it if this is negative; half of the length before it if this is left out.",
                            pad_value: Number = 0.0 "What stands where the sequence has no token.")
                => |call| {
                    let x = call.value("x")?;
                    window(call, x, "length", call.number("pad_value")?)
                };

            /// Filters that slide along sequences: the product of the tokens around each token, zeros where the sequence has
            /// none, and `w`; and `b` added.
            ///
            /// Parameters: `w`, `[filter_size · D, filters]`, uniform by Xavier's rule at first; `b`, `[filters]`, zero at first.
            sequence_conv(x: Value "The sequences.", filters: Size "How many filters.",
                          filter_size: Int "How many tokens a filter sees.";
                          start: Int "Where a filter starts: so many tokens behind the one that it is for, or before it if this is negative; half of the size before it if this is left out.",
                          bias: Flag = true "Whether to add `b`.",
                          act: Activation "What to apply to the result.") weights_and_bias
                => sequence_conv;

            /// How improbable labels are in a conditional random field, where each depends on the one before: the negative
            /// logarithm of the probability of all labels of a sequence, `[_, 1]`. Lafferty et al. (2001).
            ///
            /// Parameter: `w`, `[labels + 2, labels]`, uniform by Xavier's rule at first: what each label counts at the start of a
            /// sequence, at its stop, and behind each other.
            linear_chain_crf(x: Value "What each label counts for each token: sequences of `[labels]`.",
                             label: Value "Class ids, i64, in sequences that are as long.";) weights
                => linear_chain_crf;

            /// Connectionist temporal classification: the loss of labels, `[_, 1]`, that are read from tokens by merging equal
            /// neighbours and leaving out blanks. Graves et al. (2006). Labels get no gradient. A sequence with too few tokens
            /// for its labels has a loss of 0.
            warpctc(x: Value "The logits of each token, before softmax: sequences of `[classes]`, one of them the blank.",
                    label: Value "Class ids, i64, in sequences that are no longer.";
                    blank: Int = 0 "The id of the blank.",
                    norm_by_times: Flag = false "Whether gradients, but not the losses, are divided by the number of tokens.")
                => warpctc;

            /// The most probable labels of a sequence in a conditional random field, i64. It shares its parameter
            /// with `linear_chain_crf` by name: `crf_decoding(x, param = "tags")`.
            crf_decoding(x: Value "What each label counts for each token: sequences of `[labels]`.";) weights
                => crf_decoding;

            /// How many chunks of tagged sequences, such as names in a text, were found, are right, and are both: i64, `[3]`. Precision is
            /// the last by the first, recall the last by the second, over all rows. A chunk has a kind, a first and a last token.
            /// Tags are `kind · parts + part`, with the parts that the scheme has, and one more is outside of chunks. Tjong Kim
            /// Sang and Buchholz (2000).
            chunk_eval(x: Value "The tags that were found: sequences of ids, i64.",
                       label: Value "The right ones, in sequences that are as long.",
                       kinds: Size "How many kinds of chunks there are.";
                       scheme: Choice(iob, ioe, iobes, plain) = "iob" "The parts of a chunk, in the order of their tags: begin and inside; inside and end; begin, inside, end and single; or none, where neighbours of a kind are one chunk.",
                       excluded: Ints "Kinds whose chunks do not count.")
                => chunk_eval;

            /// How many ids have to be inserted, deleted or replaced, at least, so that each sequence becomes another one: f32,
            /// `[_, 1]`. Levenshtein (1966).
            edit_distance(x: Value "The sequences that were found, of ids, i64.", y: Value "The right ones, of any lengths.";)
                => edit_distance;
        }
    };
}

with_sequence_layers!(layers);

fn of_one(call: &mut Call<'_>, op: impl Into<Op>) -> Result<VarId, BuildError> {
    let x = call.value("x")?;
    call.emit_one(op, &[x])
}

fn of_two(call: &mut Call<'_>, op: impl Into<Op>) -> Result<VarId, BuildError> {
    let inputs = [call.value("x")?, call.value("y")?];
    call.emit_one(op, &inputs)
}

/// Windows of tokens, whose length is in an argument. `pad_value` stands where the sequence has no token.
fn window(call: &mut Call<'_>, x: VarId, argument: &str, pad_value: f64) -> Result<VarId, BuildError> {
    let length = call.int(argument)?;
    let start = call.given_int("start").unwrap_or(-(length / 2));
    Ok(call.emit_with(argument, SequenceWindow { start, length, pad_value }, &[x])?[0])
}

fn sequence_mask(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let (x, longest) = (call.value("x")?, call.size("maxlen")?);
    let ty = call.ty(x).clone();
    if !matches!(ty.dtype, DType::I32 | DType::I64) {
        return Err(call.wrong("x", MismatchKind::ElementType, "lengths are whole numbers"));
    }
    let mask = compositions::sequence_mask((x, &ty), &longest, |op, inputs| call.emit_one(op, inputs))?;
    match call.element_type("to") {
        Some(dtype) => call.emit_one(Cast { dtype }, &[mask]),
        None => Ok(mask),
    }
}

fn sequence_conv(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let (x, filters) = (call.value("x")?, call.size("filters")?);
    fc::need_float(call, x)?;
    let windows = window(call, x, "filter_size", 0.0)?;
    let windows = fc::flatten(call, windows, 1)?;
    let product = fc::product(call, x, windows, &filters, "w")?;
    fc::finish(call, product, filters)
}

/// The parameter with the transitions between the labels of sequences.
fn transitions(call: &mut Call<'_>, x: VarId) -> Result<VarId, BuildError> {
    let ty = call.ty(x);
    let known = |labels: &&Dim| !call.program.depends_on_feed(labels);
    let [labels] = &ty.dims[..] else {
        let but = format!("`{}` needs one number per label of each token", call.layer.name);
        return Err(call.wrong("x", MismatchKind::Shape, &but));
    };
    let Some(labels) = Some(labels).filter(known) else {
        let but = format!(
            "`{}` has weights for its labels: their number has to be known before the network is fed",
            call.layer.name
        );
        return Err(call.wrong("x", MismatchKind::Shape, &but));
    };
    fc::need_float(call, x)?;
    let rows = (labels + &Dim::from(2)).map_err(|error| BuildError::Mismatch(error.into()))?;
    let ty = Type { dtype: ty.dtype, rows: None, dims: vec![rows, labels.clone()] };
    let weight = initializers::xavier(ty).map_err(|error| BuildError::Mismatch(error.into()))?;
    call.parameter("w", weight)
}

fn linear_chain_crf(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let (x, label) = (call.value("x")?, call.value("label")?);
    let w = transitions(call, x)?;
    Ok(call.emit(LinearChainCrf, &[x, w, label])?[1])
}

fn warpctc(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let (x, label) = (call.value("x")?, call.value("label")?);
    let loss = call.emit_with("blank", WarpCtc { blank: call.int("blank")? }, &[x, label])?[0];
    if !call.flag("norm_by_times")? {
        return Ok(loss);
    }
    let dtype = call.ty(x).dtype;
    compositions::by_times(loss, (x, dtype), |op, inputs| call.emit_one(op, inputs))
}

fn crf_decoding(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let x = call.value("x")?;
    let w = transitions(call, x)?;
    let path = call.emit_one(CrfDecoding, &[x, w])?;
    call.emit_one(Reshape { dims: Vec::new() }, &[path])
}

fn chunk_eval(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let inputs = [call.value("x")?, call.value("label")?];
    let kinds = call.size("kinds")?;
    let Some(num_chunk_types) = kinds.constant() else {
        return Err(call.wrong("kinds", MismatchKind::Attribute, "it has to be a number"));
    };
    let word = call.choice("scheme")?;
    let scheme = ChunkScheme::ALL.into_iter().find(|scheme| scheme.name().eq_ignore_ascii_case(word));
    let op = ChunkEval {
        num_chunk_types,
        chunk_scheme: scheme.ok_or(BuildError::NoSuch { what: "scheme of chunks" })?,
        excluded_chunk_types: call.given_ints("excluded").unwrap_or_default(),
    };
    Ok(call.emit_with("excluded", op, &inputs)?[0])
}

fn edit_distance(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let inputs = [call.value("x")?, call.value("y")?];
    call.emit_one(EditDistance, &inputs)
}

fn sequence_pool(call: &mut Call<'_>) -> Result<VarId, BuildError> {
    let x = call.value("x")?;
    let word = call.choice("kind")?;
    let pooltype = PoolType::ALL.into_iter().find(|kind| kind.name().eq_ignore_ascii_case(word));
    let pooltype = pooltype.ok_or(BuildError::NoSuch { what: "kind of pooling" })?;
    let pad_value = call.number("pad_value")?;
    Ok(call.emit(SequencePool { pooltype, pad_value }, &[x])?[0])
}
