//! `sequence_attend`: attention over pairs of tokens as one operator, so that no kernel has to keep the scores of all pairs.

use super::sequence_product::pairs;
use super::{
    AccuracyClass, Before, Combination, Effects, Gradient, GradientError, Infer, Mismatch, MismatchKind, Op,
    Operation, Operator, Program, Sample, Schema, Slot,
};
use crate::program::{DType, Dim, Type, VarId};

/// For each token of `Q`, the mean of the values that it is paired with, weighted by the softmax of its scores:
/// `Out = Σⱼ Pⱼ Vⱼ`, `P = exp(S - LogSum)`, `Sⱼ = Q · Kⱼ`, `LogSum = ln Σⱼ exp Sⱼ`. It is
/// [`SequenceProduct`](super::SequenceProduct), [`SequenceSoftmax`](super::SequenceSoftmax) and
/// [`SequenceWeigh`](super::SequenceWeigh), and the pass [`combine`](crate::passes::combine) makes it of them.
///
/// `Q`: floating point `[.., D]`, tokens of sequences. `K`: `[.., D]`, and `V`: `[.., E]`, both on the tokens of other
/// sequences of the same rows; the dimensions before the last are those of `Q`, and each of their elements is a head of
/// its own. `Index`: i64 sequences that belong to the tokens of `Q`, positions of tokens of `K`; one behind the end is an
/// error at run time. `Out`: `[.., E]`, on the tokens of `Q`. A token without pairs has zeros.
///
/// The gradient needs `LogSum`, `[..]`, on the tokens of `Q`: by it the weights are computed again. (Dao:
/// FlashAttention-2, 2023.) For a token without pairs it is 0, which nothing reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SequenceAttend;

/// Gradients of [`SequenceAttend`]: `dVⱼ = Σᵢ Pᵢⱼ dOᵢ`, `dSᵢⱼ = Pᵢⱼ (dOᵢ · Vⱼ - dOᵢ · Oᵢ)`, `dQᵢ = Σⱼ dSᵢⱼ Kⱼ`,
/// `dKⱼ = Σᵢ dSᵢⱼ Qᵢ`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SequenceAttendGrad(
    /// The operator that is differentiated.
    pub SequenceAttend,
);

attributes!(SequenceAttend {});
attributes!(SequenceAttendGrad(SequenceAttend));

/// Checks the inputs that both operators have. Returns the types of `Out` and of `LogSum`.
fn results(cx: &Infer<'_>) -> Result<[Type; 2], Mismatch> {
    cx.need_float(0)?;
    cx.need_dims(0, 1)?;
    cx.need_dims(2, 1)?;
    pairs(cx, 0, 1, 3)?;
    let (q, k, v) = (cx.ty(0), cx.ty(1), cx.ty(2));
    cx.need_dtype(1, q.dtype)?;
    cx.need_dtype(2, q.dtype)?;
    let wrong = |of: usize, message: &str| {
        let message = format!("{}, but {}: {message}", cx.is(of), cx.is(0));
        cx.wrong(of, MismatchKind::Shape, message)
    };
    cx.need_equal_dims(&k.dims, &q.dims, || wrong(1, "tokens that are multiplied have one shape"))?;
    let (lead, last) = (&q.dims[..q.dims.len() - 1], v.dims.len() - 1);
    cx.need_equal_dims(&v.dims[..last], lead, || wrong(2, "values have the heads of what asks for them"))?;
    if v.rows != k.rows {
        let message = format!("{}, but {}: each key has a value", cx.is(2), cx.is(1));
        return Err(cx.wrong(2, MismatchKind::Rows, message));
    }
    Ok([Type { rows: q.rows, ..v.clone() }, Type { dims: lead.to_vec(), ..q.clone() }])
}

/// Attention as the operators that end with a weighted sum: products, their softmax, and the sum.
pub(super) fn combined(weigh: &Operator, before: Before<'_>) -> Option<Combination> {
    let &[weights, values, index, _] = &weigh.inputs[..] else { return None };
    let softmax = before.maker(weights).filter(|maker| matches!(maker.op, Op::SequenceSoftmax(_)))?;
    let scores = softmax.inputs[0];
    let product = before.maker(scores).filter(|maker| matches!(maker.op, Op::SequenceProduct(_)))?;
    let &[asked, keys, of_product] = &product.inputs[..] else { return None };
    // Values may be on other tokens than keys, which the same positions name.
    let is_aligned = before.program().ty(keys).rows == before.program().ty(values).rows;
    (of_product == index && is_aligned).then(|| Combination {
        op: SequenceAttend.into(),
        inputs: vec![asked, keys, values, index],
        between: vec![scores, weights],
        unread: Vec::new(),
    })
}

/// The sizes whose product is the number of multiplications, if there are products of so many pairs with keys and with values.
fn products(program: &Program, operator: &Operator, [keys, values]: [i64; 2]) -> Option<Vec<Dim>> {
    let pairs = program.shape(program.ty(operator.inputs[3])).into_iter().next()?;
    let [q, v] = [0, 2].map(|input| &program.ty(operator.inputs[input]).dims);
    let (d, lead) = q.split_last()?;
    let [of_keys, of_values] = [(keys, d), (values, v.last()?)].map(|(count, size)| &Dim::from(count) * size);
    let both = (&of_keys.ok()? + &of_values.ok()?).ok()?;
    Some([pairs].into_iter().chain(lead.iter().cloned()).chain([both]).collect())
}

impl Operation for SequenceAttend {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "sequence_attend",
                doc: "For each token of q, the mean of the values that it is paired with, weighted by the softmax of its products with their keys.",
                inputs: &[
                    Slot::of("Q").with_offsets(),
                    Slot::of("K").with_offsets(),
                    Slot::of("V"),
                    Slot::of("Index").with_offsets().without_gradient(),
                ],
                outputs: &[Slot::of("Out"), Slot::of("LogSum").intermediate()],
                accuracy: AccuracyClass::Accumulating("sums of products and of exponentials"),
                effects: Effects::OF_SEQUENCES,
            }
        }
    }

    fn is_ours(&self) -> bool {
        true
    }

    fn multiplications(&self, program: &Program, operator: &Operator) -> Option<Vec<Dim>> {
        products(program, operator, [1, 1])
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        Ok(results(cx)?.to_vec())
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let inputs = [g.input(0), g.input(1), g.input(2), g.input(3), g.output(0), g.output(1), g.grad(0)?];
        let grads = g.emit_all(SequenceAttendGrad(*self), &inputs)?;
        Ok(grads.into_iter().map(Some).chain([None]).collect())
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        shapes(SequenceAttend.into()).into_iter().map(|(sample, ..)| sample).collect()
    }
}

impl Operation for SequenceAttendGrad {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "sequence_attend_grad",
                doc: "Gradients of `sequence_attend`.",
                inputs: &[
                    Slot::of("Q").with_offsets(),
                    Slot::of("K").with_offsets(),
                    Slot::of("V"),
                    Slot::of("Index").with_offsets(),
                    Slot::of("Out"),
                    Slot::of("LogSum"),
                    Slot::of("Out@GRAD"),
                ],
                outputs: &[Slot::of("Q@GRAD"), Slot::of("K@GRAD"), Slot::of("V@GRAD")],
                accuracy: AccuracyClass::Accumulating("sums of products and of exponentials"),
                effects: Effects::OF_SEQUENCES,
            }
        }
    }

    fn is_ours(&self) -> bool {
        true
    }

    fn multiplications(&self, program: &Program, operator: &Operator) -> Option<Vec<Dim>> {
        products(program, operator, [3, 2])
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        let [out, sum] = results(cx)?;
        cx.need_type(4, &out)?;
        cx.need_type(5, &sum)?;
        cx.need_type(6, &out)?;
        Ok([0, 1, 2].map(|input| cx.ty(input).clone()).to_vec())
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let of = |(sample, lead, values): (Sample, Vec<i64>, i64)| {
            let dims: Vec<i64> = lead.iter().copied().chain([values]).collect();
            let out = sample.tokens_of(0, &dims);
            // About what the sums of so many exponentials are.
            out.tokens_of(0, &lead).within(2.0, 4.0).tokens_of(0, &dims)
        };
        shapes(SequenceAttendGrad(SequenceAttend).into()).into_iter().map(of).collect()
    }
}

/// Samples with the inputs that both operators have, the dimensions of heads, and the elements of a value.
fn shapes(op: Op) -> Vec<(Sample, Vec<i64>, i64)> {
    let of = |lengths: [&[usize]; 2], lead: &[i64], [keys, values]: [i64; 2], pairs: &[usize], below: f64| {
        let dims = |last: i64| lead.iter().copied().chain([last]).collect::<Vec<_>>();
        let both = Sample::of(op.clone()).sequences(lengths[0], &dims(keys));
        let both = both.sequences(lengths[1], &dims(keys)).tokens_of(1, &dims(values));
        let sample = both.sequences_in(0, pairs, &[]).dtype(DType::I64).within(0.0, below);
        (sample, lead.to_vec(), values)
    };
    vec![
        of([&[2, 0, 3], &[2, 1, 4]], &[], [3, 2], &[2, 1, 0, 4, 3], 2.0),
        of([&[1, 2], &[3, 2]], &[2], [3, 4], &[3, 0, 5], 2.0),
        of([&[3], &[1]], &[], [1, 1], &[1, 1, 1], 1.0),
        of([&[0, 0], &[0, 2]], &[3], [4, 2], &[], 1.0),
        of([&[], &[]], &[], [2, 2], &[], 1.0),
    ]
}
