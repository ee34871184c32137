//! Products of sequences with sequences, pair by pair, of which attention consists. The gradients of each of the three
//! operators consist of the other two.

use super::{
    AccuracyClass, Before, Combination, Effects, Gradient, GradientError, Infer, Linear, Mismatch,
    MismatchKind, Operation, Operator, Program, Sample, Schema, Slot, sequence_attend,
};
use crate::program::{DType, Dim, RowsId, Type, VarId};

/// The product of two tokens for each pair of them.
///
/// `X` and `Y`: floating point `[.., D]`, tokens of sequences of the same rows. `Index`: i64 sequences that belong to
/// the tokens of `X`; for each of these, they hold positions of tokens of `Y` in the sequence of the same row. `Out`:
/// `[..]`, for each token of `Index` the sum of the products over `D`. A position behind the end of the sequence is an
/// error at run time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SequenceProduct;

/// For each token of `X`, the weighted sum of tokens of `Y`. The elements of `X` are not read.
///
/// `W`: `[..]`, a weight for each token of `Index`, which names tokens of `Y` as in [`SequenceProduct`]; `Y`:
/// `[.., E]`; `Out`: `[.., E]`, on the tokens of `X`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SequenceWeigh;

/// For each token of `Y`, the weighted sum of the tokens of `X` that `Index` pairs it with. The elements of `Y` are not
/// read.
///
/// `W`: `[..]`, a weight for each token of `Index`; `X`: `[.., D]`; `Out`: `[.., D]`, on the tokens of `Y`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SequenceSpread;

attributes!(SequenceProduct {});
attributes!(SequenceWeigh {});
attributes!(SequenceSpread {});

/// The row space of the pairs. Their sequences belong to the tokens of input `x`, whose sequences belong to the same
/// rows as those of input `y`.
pub(super) fn pairs(cx: &Infer<'_>, x: usize, y: usize, index: usize) -> Result<Option<RowsId>, Mismatch> {
    cx.need_sequences_of_one(x, y)?;
    cx.need_dtype(index, DType::I64)?;
    let ty = cx.ty(index);
    if ty.dims.len() > 1 || ty.dims.iter().any(|dim| dim.constant() != Some(1)) {
        let message = format!("{}, but `{}` needs one position for each pair", cx.is(index), cx.operator);
        return Err(cx.wrong(index, MismatchKind::Shape, message));
    }
    if Some(cx.need_sequences(index)?) != cx.ty(x).rows {
        let message = format!(
            "{}, but {}: `{}` needs positions for each of these tokens",
            cx.is(index),
            cx.is(x),
            cx.operator
        );
        return Err(cx.wrong(index, MismatchKind::Rows, message));
    }
    Ok(ty.rows)
}

/// Checks that input 0 has a weight for each pair, and that input `values` has one more dimension.
fn weights(cx: &Infer<'_>, pairs: Option<RowsId>, values: usize) -> Result<(), Mismatch> {
    cx.need_float(values)?;
    cx.need_dims(values, 1)?;
    let of = cx.ty(values);
    let lead = Type { rows: pairs, ..of.clone() };
    let lead = Type { dims: of.dims[..of.dims.len() - 1].to_vec(), ..lead };
    cx.need_type(0, &lead)
}

/// The sizes whose product is the number of multiplications: for each pair, the elements of a token.
fn products_of_pairs(program: &Program, pairs: VarId, tokens: VarId) -> Vec<Dim> {
    let pairs = program.shape(program.ty(pairs)).into_iter().take(1);
    pairs.chain(program.ty(tokens).dims.iter().cloned()).collect()
}

impl Operation for SequenceProduct {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "sequence_product",
                doc: "The product of two tokens for each pair of them.",
                inputs: &[
                    Slot::of("X").with_offsets(),
                    Slot::of("Y").with_offsets(),
                    Slot::of("Index").with_offsets().without_gradient(),
                ],
                outputs: &[Slot::of("Out")],
                accuracy: AccuracyClass::Accumulating("a sum of products"),
                effects: Effects { linear: Linear::InEach(&[0, 1]), ..Effects::OF_SEQUENCES },
            }
        }
    }

    fn is_ours(&self) -> bool {
        true
    }

    fn multiplications(&self, program: &Program, operator: &Operator) -> Option<Vec<Dim>> {
        Some(products_of_pairs(program, operator.inputs[2], operator.inputs[0]))
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        cx.need_float(0)?;
        cx.need_dims(0, 1)?;
        let rows = pairs(cx, 0, 1, 2)?;
        let (x, y) = (cx.ty(0), cx.ty(1));
        cx.need_dtype(1, x.dtype)?;
        let wrong = || {
            let message =
                format!("{}, but {}: tokens that are multiplied have one shape", cx.is(1), cx.is(0));
            cx.wrong(1, MismatchKind::Shape, message)
        };
        cx.need_equal_dims(&y.dims, &x.dims, wrong)?;
        Ok(vec![Type { rows, dims: x.dims[..x.dims.len() - 1].to_vec(), ..x.clone() }])
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let (x, y, index, grad) = (g.input(0), g.input(1), g.input(2), g.grad(0)?);
        let of_x = g.emit(SequenceWeigh, &[grad, y, index, x])?;
        let of_y = g.emit(SequenceSpread, &[grad, x, index, y])?;
        Ok(vec![Some(of_x), Some(of_y), None])
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let of = |lengths: [&[usize]; 2], dims: &[i64], pairs: &[usize], below: f64| {
            let both = Sample::of(SequenceProduct).sequences(lengths[0], dims).sequences(lengths[1], dims);
            both.sequences_in(0, pairs, &[]).dtype(DType::I64).within(0.0, below)
        };
        vec![
            of([&[2, 0, 3], &[2, 1, 4]], &[3], &[2, 1, 0, 4, 3], 2.0),
            of([&[1, 2], &[3, 2]], &[2, 3], &[3, 0, 5], 2.0),
            of([&[3], &[1]], &[1], &[1, 1, 1], 1.0),
            of([&[0, 0], &[0, 2]], &[4], &[], 1.0),
            of([&[], &[]], &[2], &[], 1.0),
        ]
    }
}

impl Operation for SequenceWeigh {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "sequence_weigh",
                doc: "For each token of x, the sum of the tokens of y that it is paired with, each times its weight.",
                inputs: &[
                    Slot::of("W"),
                    Slot::of("Y").with_offsets(),
                    Slot::of("Index").with_offsets().without_gradient(),
                    Slot::of("X").shape_only().with_offsets().without_gradient(),
                ],
                outputs: &[Slot::of("Out")],
                accuracy: AccuracyClass::Accumulating("a sum of products"),
                effects: Effects { linear: Linear::InEach(&[0, 1]), ..Effects::OF_SEQUENCES },
            }
        }
    }

    fn is_ours(&self) -> bool {
        true
    }

    fn multiplications(&self, program: &Program, operator: &Operator) -> Option<Vec<Dim>> {
        Some(products_of_pairs(program, operator.inputs[0], operator.inputs[1]))
    }

    fn combined(&self, operator: &Operator, before: Before<'_>) -> Option<Combination> {
        sequence_attend::combined(operator, before)
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        let rows = pairs(cx, 3, 1, 2)?;
        weights(cx, rows, 1)?;
        Ok(vec![Type { rows: cx.ty(3).rows, ..cx.ty(1).clone() }])
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let (w, y, index, grad) = (g.input(0), g.input(1), g.input(2), g.grad(0)?);
        let of_w = g.emit(SequenceProduct, &[grad, y, index])?;
        let of_y = g.emit(SequenceSpread, &[w, grad, index, y])?;
        Ok(vec![Some(of_w), Some(of_y), None, None])
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        weighted(SequenceWeigh.into(), |sample, lengths, dims| {
            sample.sequences(lengths[0], &[]).sequences(lengths[1], dims)
        })
    }
}

impl Operation for SequenceSpread {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "sequence_spread",
                doc: "For each token of y, the sum of the tokens of x that are paired with it, each times its weight.",
                inputs: &[
                    Slot::of("W"),
                    Slot::of("X").with_offsets(),
                    Slot::of("Index").with_offsets().without_gradient(),
                    Slot::of("Y").shape_only().with_offsets().without_gradient(),
                ],
                outputs: &[Slot::of("Out")],
                accuracy: AccuracyClass::Accumulating("a sum of products"),
                effects: Effects { linear: Linear::InEach(&[0, 1]), ..Effects::OF_SEQUENCES },
            }
        }
    }

    fn is_ours(&self) -> bool {
        true
    }

    fn multiplications(&self, program: &Program, operator: &Operator) -> Option<Vec<Dim>> {
        Some(products_of_pairs(program, operator.inputs[0], operator.inputs[1]))
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        let rows = pairs(cx, 1, 3, 2)?;
        weights(cx, rows, 1)?;
        Ok(vec![Type { rows: cx.ty(3).rows, ..cx.ty(1).clone() }])
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let (w, x, index, grad) = (g.input(0), g.input(1), g.input(2), g.grad(0)?);
        let of_w = g.emit(SequenceProduct, &[x, grad, index])?;
        let of_x = g.emit(SequenceWeigh, &[w, grad, index, x])?;
        Ok(vec![Some(of_w), Some(of_x), None, None])
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        weighted(SequenceSpread.into(), |sample, lengths, dims| {
            sample.sequences(lengths[0], dims).sequences(lengths[1], &[])
        })
    }
}

/// Samples of an operator on weights of pairs. `with` adds the sequences of `X` and of `Y`, one of which is not read.
fn weighted(op: super::Op, with: impl Fn(Sample, [&[usize]; 2], &[i64]) -> Sample) -> Vec<Sample> {
    let of = |lengths: [&[usize]; 2], dims: &[i64], pairs: &[usize], below: f64| {
        let both = with(Sample::of(op.clone()), lengths, dims);
        let index = both.sequences_in(0, pairs, &[]).dtype(DType::I64).within(0.0, below);
        let mut sample = index.tokens_of(2, &dims[..dims.len() - 1]);
        // The slots are the weights, the tokens that are read, the positions, and the tokens that are not read.
        sample.slots = match op {
            super::Op::SequenceWeigh(_) => vec![3, 1, 2, 0],
            _ => vec![3, 0, 2, 1],
        };
        sample
    };
    vec![
        of([&[2, 0, 3], &[2, 1, 4]], &[3], &[2, 1, 0, 4, 3], 2.0),
        of([&[1, 2], &[3, 2]], &[2, 3], &[3, 0, 5], 2.0),
        of([&[3], &[1]], &[1], &[1, 1, 1], 1.0),
        of([&[0, 0], &[0, 2]], &[4], &[], 1.0),
        of([&[], &[]], &[2], &[], 1.0),
    ]
}
