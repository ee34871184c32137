//! `attend`: attention of all places to all as one operator, so that no kernel has to keep the scores of all pairs.

mod combined;
pub(super) mod constants;

use super::{
    AccuracyClass, Effects, Gradient, GradientError, Infer, Mismatch, MismatchKind, Operation, Operator,
    Program, Sample, Schema, Slot,
};
use crate::program::{DType, Dim, Type, VarId};
pub(super) use combined::{of_product, of_transpose};

/// For each place of `Q`, the mean of the values `V` of all places of `K`, weighted by the softmax of its scores:
/// `Out = Σⱼ Pⱼ Vⱼ`, `P = exp(S - LogSum)`, `LogSum = ln Σⱼ exp Sⱼ`, where `Sⱼ` is `scale · Q · Kⱼ` under the mask. It is two
/// [`Matmul`](super::Matmul) and a [`Softmax`](super::Softmax) with what is between them, and the pass
/// [`combine`](crate::passes::combine) makes it of them.
///
/// `Q`: floating point `[.., T, D]`. `K`: `[.., S, D]`, and `V`: `[.., S, E]`. The axes before these, rows among them, are
/// the same of all three; the last of them counts heads. It may also be behind the places: see
/// [`heads_last`](Self::heads_last). `Out`: `[.., T, E]`.
///
/// `Mask` is optional, and broadcasts to the scores, `[.., T, S]`. Of truth values, [`kept`](Self::kept) is that of the scores
/// that stay; the others become [`masked`](Self::masked). Numbers are added to the scores.
///
/// The gradient needs `LogSum`, `[.., T]`, whose last axis but one always counts heads: by it the weights are computed
/// again. (Dao: FlashAttention-2, 2023.)
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Attend {
    /// What products are multiplied by.
    pub scale: f64,
    /// The truth value of the pairs whose scores stay.
    pub kept: bool,
    /// The score of the other pairs.
    pub masked: f64,
    /// Of `Q`, `K`, `V` and `Out`, whether the axis of heads is behind that of the places: `[.., T, H, D]`.
    pub heads_last: [bool; 4],
}

/// Gradients of [`Attend`]: `dVⱼ = Σᵢ Pᵢⱼ dOᵢ`, `dSᵢⱼ = Pᵢⱼ (dOᵢ · Vⱼ - dOᵢ · Oᵢ)`, `dQᵢ = scale · Σⱼ dSᵢⱼ Kⱼ`,
/// `dKⱼ = scale · Σᵢ dSᵢⱼ Qᵢ`. A score that the mask replaces has the gradient 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AttendGrad {
    /// What products are multiplied by.
    pub scale: f64,
    /// The truth value of the pairs whose scores stay.
    pub kept: bool,
    /// The score of the other pairs.
    pub masked: f64,
    /// Of `Q`, `K`, `V` and `Out`, whether the axis of heads is behind that of the places.
    pub heads_last: [bool; 4],
    /// Whether `dS` is a result, too: the gradient of a mask of numbers, before what was broadcast is added up.
    pub of_mask: bool,
}

attributes!(Attend { scale = 1.0, kept = true, masked = 0.0, heads_last = [false; 4] });
attributes!(AttendGrad { scale = 1.0, kept = true, masked = 0.0, heads_last = [false; 4], of_mask = false });

impl AttendGrad {
    /// The operator that is differentiated.
    pub fn of(&self) -> Attend {
        let AttendGrad { scale, kept, masked, heads_last, .. } = *self;
        Attend { scale, kept, masked, heads_last }
    }
}

/// The place of the mask among the inputs, and among those of the gradient.
const MASK: usize = 3;
const MASK_OF_GRADIENT: usize = 6;

/// The dimensions of an operand: those that count matrices, heads last, and those of a matrix.
struct Matrices {
    counted: Vec<Dim>,
    places: Dim,
    width: Dim,
}

impl Matrices {
    /// `None` if there are too few axes.
    fn of(ty: &Type, heads_last: bool) -> Option<Self> {
        let mut counted = ty.dims.clone();
        let width = counted.pop()?;
        let heads = if heads_last { Some(counted.pop()?) } else { None };
        let places = counted.pop()?;
        counted.extend(heads);
        Some(Matrices { counted, places, width })
    }

    /// The dimensions of an operand with these matrices.
    fn dims(mut self, heads_last: bool) -> Vec<Dim> {
        let heads = if heads_last { self.counted.pop() } else { None };
        self.counted.push(self.places);
        self.counted.extend(heads);
        self.counted.push(self.width);
        self.counted
    }
}

/// The types of `Out`, of `LogSum` and of the scores.
struct Results {
    out: Type,
    log_sum: Type,
    scores: Type,
}

impl Attend {
    /// Checks the inputs that both operators have. The mask, if there is one, is this input, and the last.
    fn results(&self, cx: &Infer<'_>, mask: usize) -> Result<Results, Mismatch> {
        if cx.types.len() > mask + 1 {
            let message = format!("`{}` takes one mask, not {}", cx.operator, cx.types.len() - mask);
            return Err(cx.fail(MismatchKind::Attribute, message));
        }
        let matrices = |input: usize| {
            Matrices::of(cx.ty(input), self.heads_last[input]).ok_or_else(|| {
                let message = format!("{}, but `{}` needs matrices", cx.is(input), cx.operator);
                cx.wrong(input, MismatchKind::Shape, message)
            })
        };
        cx.need_float(0)?;
        let [q, k, v] = [matrices(0)?, matrices(1)?, matrices(2)?];
        let rows = cx.ty(0).rows;
        for (input, other) in [(1, &k), (2, &v)] {
            cx.same_dtype(0, input)?;
            let wrong = |kind| {
                let message = format!("{}, but {}: each has matrices of its own", cx.is(input), cx.is(0));
                cx.wrong(input, kind, message)
            };
            if cx.ty(input).rows != rows {
                return Err(wrong(MismatchKind::Rows));
            }
            cx.need_equal_dims(&other.counted, &q.counted, || wrong(MismatchKind::Shape))?;
        }
        let wrong = |input: usize, but: &str| {
            let message = format!("{}, but {}: {but}", cx.is(input), cx.is(input - 1));
            cx.wrong(input, MismatchKind::Shape, message)
        };
        cx.need_equal(&q.width, &k.width, || wrong(1, "places that are multiplied have one size"))?;
        cx.need_equal(&k.places, &v.places, || wrong(2, "each key has a value"))?;
        let ty = |dims| Type { dtype: cx.ty(0).dtype, rows, dims };
        let with = |rest: &[&Dim]| ty(q.counted.iter().chain(rest.iter().copied()).cloned().collect());
        let (log_sum, scores) = (with(&[&q.places]), with(&[&q.places, &k.places]));
        if cx.types.len() > mask {
            check_mask(cx, mask, &scores)?;
        }
        let out = Matrices { counted: q.counted, places: q.places, width: v.width };
        Ok(Results { out: ty(out.dims(self.heads_last[3])), log_sum, scores })
    }

    /// The sizes whose product is the number of multiplications, if there are products of so many pairs with keys and with
    /// values.
    fn products(&self, program: &Program, operator: &Operator, [keys, values]: [i64; 2]) -> Option<Vec<Dim>> {
        let ty = |input: usize| program.ty(operator.inputs[input]);
        let [q, k, v] = [0, 1, 2].map(|input| Matrices::of(ty(input), self.heads_last[input]));
        let (q, k, v) = (q?, k?, v?);
        let [of_keys, of_values] =
            [(keys, &q.width), (values, &v.width)].map(|(count, size)| &Dim::from(count) * size);
        let both = (&of_keys.ok()? + &of_values.ok()?).ok()?;
        let rows = program.shape(&Type { dims: Vec::new(), ..*ty(0) });
        Some(rows.into_iter().chain(q.counted).chain([q.places, k.places, both]).collect())
    }

    /// Whether each matrix of one operand is multiplied with one of another.
    fn has_own_matrices(&self, program: &Program, inputs: &[VarId]) -> bool {
        let ty = |input: usize| program.ty(inputs[input]);
        let matrices = [0, 1, 2].map(|input| Matrices::of(ty(input), self.heads_last[input]));
        let [Some(q), Some(k), Some(v)] = matrices else { return false };
        ty(0).rows == ty(1).rows
            && ty(0).rows == ty(2).rows
            && q.counted == k.counted
            && q.counted == v.counted
    }
}

/// Checks that the mask broadcasts to the scores, as [`Infer::broadcast`] says.
fn check_mask(cx: &Infer<'_>, at: usize, scores: &Type) -> Result<(), Mismatch> {
    let mask = cx.ty(at);
    if mask.dtype != DType::Bool {
        cx.same_dtype(0, at)?;
    }
    let wrong = |kind| {
        let (found, expected) = (cx.is(at), cx.program.show(scores));
        let message =
            format!("{found}, but the scores are {expected}: a mask has their sizes, or 1 instead of some");
        cx.wrong(at, kind, message)
    };
    if mask.rows.is_some() && mask.rows != scores.rows {
        return Err(wrong(MismatchKind::Rows));
    }
    let [dims, whole] = [&mask.dims[..], &scores.dims[..]];
    // A mask without rows repeats along those of the scores by a size of 1.
    let dims = match dims {
        [first, rest @ ..] if mask.rows != scores.rows && rest.len() == whole.len() => {
            if first.constant() != Some(1) {
                return Err(wrong(MismatchKind::Shape));
            }
            rest
        }
        dims => dims,
    };
    if dims.len() > whole.len() || mask.rows.is_some() && dims.len() < whole.len() {
        return Err(wrong(MismatchKind::Shape));
    }
    let pairs = dims.iter().rev().zip(whole.iter().rev());
    let mut repeated = pairs.filter(|(dim, _)| dim.constant() != Some(1));
    repeated.try_for_each(|(dim, whole)| cx.need_equal(dim, whole, || wrong(MismatchKind::Shape)))
}

impl Operation for Attend {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "attend",
                doc: "For each place of q, the mean of the values v, weighted by the softmax of its products with their keys k.",
                inputs: &[Slot::of("Q"), Slot::of("K"), Slot::of("V"), Slot::of("Mask").variadic()],
                outputs: &[Slot::of("Out"), Slot::of("LogSum").intermediate()],
                accuracy: AccuracyClass::Accumulating("sums of products and of exponentials"),
                effects: Effects::ROW_WISE,
            }
        }
    }

    fn is_ours(&self) -> bool {
        true
    }

    fn multiplications(&self, program: &Program, operator: &Operator) -> Option<Vec<Dim>> {
        self.products(program, operator, [1, 1])
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        let Results { out, log_sum, .. } = self.results(cx, MASK)?;
        Ok(vec![out, log_sum])
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let mut inputs = g.operator().inputs.clone();
        let is_masked = inputs.len() > MASK;
        let of_mask = is_masked && g.wants(MASK) && g.ty(g.input(MASK)).dtype.is_float();
        let (out, log_sum, grad) = (g.output(0), g.output(1), g.grad(0)?);
        inputs.splice(MASK..MASK, [out, log_sum, grad]);
        let Attend { scale, kept, masked, heads_last } = *self;
        let grads = g.emit_all(AttendGrad { scale, kept, masked, heads_last, of_mask }, &inputs)?;
        let mut grads: Vec<Option<VarId>> = grads.into_iter().map(Some).collect();
        if let Some(of_mask) = grads.get(MASK).copied() {
            grads[MASK] = g.sum_to_input(of_mask, MASK)?;
        } else if is_masked {
            grads.push(None);
        }
        Ok(grads)
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        cases().iter().map(|case| case.masked(case.operands(Sample::of(case.attend)))).collect()
    }
}

impl Operation for AttendGrad {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "attend_grad",
                doc: "Gradients of `attend`.",
                inputs: &[
                    Slot::of("Q"),
                    Slot::of("K"),
                    Slot::of("V"),
                    Slot::of("Out"),
                    Slot::of("LogSum"),
                    Slot::of("Out@GRAD"),
                    Slot::of("Mask").variadic(),
                ],
                outputs: &[
                    Slot::of("Q@GRAD"),
                    Slot::of("K@GRAD"),
                    Slot::of("V@GRAD"),
                    Slot::of("Mask@GRAD").variadic(),
                ],
                accuracy: AccuracyClass::Accumulating("sums of products and of exponentials"),
                effects: Effects::ROW_WISE,
            }
        }
    }

    fn is_ours(&self) -> bool {
        true
    }

    fn multiplications(&self, program: &Program, operator: &Operator) -> Option<Vec<Dim>> {
        self.of().products(program, operator, [3, 2])
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        let Results { out, log_sum, scores } = self.of().results(cx, MASK_OF_GRADIENT)?;
        cx.need_type(3, &out)?;
        cx.need_type(4, &log_sum)?;
        cx.need_type(5, &out)?;
        let grads = [0, 1, 2].map(|input| cx.ty(input).clone());
        Ok(grads.into_iter().chain(self.of_mask.then_some(scores)).collect())
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let of = |case: &Case| {
            let Attend { scale, kept, masked, heads_last } = case.attend;
            let of_mask = matches!(case.mask, Some((.., DType::F32)));
            let sample = Sample::of(AttendGrad { scale, kept, masked, heads_last, of_mask });
            // About what the sums of so many exponentials are.
            let out = case.with(case.operands(sample), &case.results[0]);
            let sums = case.with(out, &case.results[1]).within(2.0, 4.0);
            case.masked(case.with(sums, &case.results[0]))
        };
        cases().iter().map(of).collect()
    }
}

/// The operator on operands of these dimensions.
struct Case {
    attend: Attend,
    rows: Option<usize>,
    operands: [Vec<i64>; 3],
    /// Whether the mask has rows, its dimensions, and its elements.
    mask: Option<(bool, Vec<i64>, DType)>,
    /// The dimensions of `Out` and of `LogSum`.
    results: [Vec<i64>; 2],
}

impl Case {
    fn with(&self, sample: Sample, dims: &[i64]) -> Sample {
        match self.rows {
            Some(rows) => sample.rows(rows, dims),
            None => sample.dense(dims),
        }
    }

    fn operands(&self, sample: Sample) -> Sample {
        self.operands.iter().fold(sample, |sample, dims| self.with(sample, dims))
    }

    fn masked(&self, sample: Sample) -> Sample {
        match &self.mask {
            Some((true, dims, dtype)) => self.with(sample, dims).dtype(*dtype),
            Some((false, dims, dtype)) => sample.dense(dims).dtype(*dtype),
            None => sample,
        }
    }
}

fn cases() -> Vec<Case> {
    let of = |scale: f64, heads_last: [u8; 4], rows, operands: [&[i64]; 3], results: [&[i64]; 2]| Case {
        attend: Attend { scale, kept: true, masked: -1e9, heads_last: heads_last.map(|last| last == 1) },
        rows,
        operands: operands.map(Vec::from),
        mask: None,
        results: results.map(Vec::from),
    };
    let masked = |case: Case, has_rows: bool, dims: &[i64], dtype| Case {
        mask: Some((has_rows, dims.to_vec(), dtype)),
        ..case
    };
    let without = |case: Case| Case { attend: Attend { kept: false, masked: -0.5, ..case.attend }, ..case };
    let heads_first =
        |rows| of(0.5, [0; 4], Some(rows), [&[2, 3, 4], &[2, 5, 4], &[2, 5, 3]], [&[2, 3, 3], &[2, 3]]);
    let heads_last = || of(0.5, [1; 4], Some(3), [&[3, 2, 4], &[5, 2, 4], &[5, 2, 3]], [&[3, 2, 3], &[2, 3]]);
    let one_head = || of(1.0, [0; 4], Some(2), [&[2, 3], &[4, 3], &[4, 2]], [&[2, 2], &[2]]);
    let dense = || {
        of(
            2.0,
            [1, 0, 1, 0],
            None,
            [&[2, 3, 2, 1], &[2, 2, 4, 1], &[2, 4, 2, 3]],
            [&[2, 2, 3, 3], &[2, 2, 3]],
        )
    };
    vec![
        heads_first(2),
        heads_last(),
        one_head(),
        dense(),
        heads_first(0),
        masked(heads_last(), false, &[3, 5], DType::Bool),
        masked(heads_last(), true, &[1, 1, 5], DType::Bool),
        without(masked(heads_last(), false, &[1, 2, 1, 5], DType::Bool)),
        masked(one_head(), true, &[1, 4], DType::F32),
        masked(one_head(), false, &[2, 4], DType::F32),
        masked(dense(), false, &[2, 3, 4], DType::F32),
        without(masked(dense(), false, &[2, 1, 3, 1], DType::Bool)),
        masked(of(1.0, [0; 4], None, [&[3, 2], &[4, 2], &[4, 2]], [&[3, 2], &[3]]), false, &[], DType::F32),
    ]
}
