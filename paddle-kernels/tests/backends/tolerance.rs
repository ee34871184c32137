//! How far a result may be from the exact one.
//!
//! Three classes. *Exact*: the operator rounds once, so that only one result is right. *Ulps*: a library function, 4
//! units in the last place. *Accumulating*: what is summed cancels, so the measure is what went in:
//! |Δ| ≤ (8 + √n) · u · Σ|terms|, where u is half a unit in the last place of 1.

use paddle_core::ops::{BinaryKind, Conv2dGradKind, Op, PoolKind, PoolType, ReduceKind, UnaryKind};
use paddle_core::program::DType;
use paddle_kernels::reference::Reference;

use crate::host::Host;
use crate::run::Case;

/// What may differ in one output.
pub(crate) enum Tolerance {
    Exact,
    Ulps(f64),
    Accumulating {
        /// The number of terms.
        n: usize,
        /// Σ|terms| of each element.
        terms: Vec<f64>,
    },
}

/// Half a unit in the last place of 1.
pub(crate) fn unit_roundoff(dtype: DType) -> f64 {
    match dtype {
        DType::F32 => f64::from(f32::EPSILON) / 2.0,
        _ => f64::EPSILON / 2.0,
    }
}

impl Tolerance {
    /// Panics if `found`, computed in its own type, is too far from `exact`, computed in `f64`.
    pub(crate) fn check(&self, found: &Host, exact: &Host, what: &dyn std::fmt::Debug) {
        if matches!(found, Host::Bool(_) | Host::I32(_) | Host::I64(_)) {
            return assert_eq!(found, exact, "{what:?}");
        }
        let dtype = found.slice().dtype();
        let unit = unit_roundoff(dtype);
        let (found, exact) = (found.floats(), exact.floats());
        assert_eq!(found.len(), exact.len(), "{what:?}");
        for (i, (&found, &exact)) in found.iter().zip(&exact).enumerate() {
            let rounded = if dtype == DType::F32 { f64::from(exact as f32) } else { exact };
            let (target, allowed) = match self {
                Tolerance::Exact => (rounded, 0.0),
                Tolerance::Ulps(ulps) => (exact, (ulps + 0.5) * 2.0 * unit * exact.abs()),
                Tolerance::Accumulating { n, terms } => (exact, (8.0 + (*n as f64).sqrt()) * unit * terms[i]),
            };
            // What has no value has none on any backend.
            let alike = found == target || (found.is_nan() && target.is_nan());
            assert!(
                alike || (found - target).abs() <= allowed,
                "element {i} is {found:e}, not {target:e} ± {allowed:e}: {what:?}"
            );
        }
    }
}

/// The tolerance of each result of a case of one operator.
pub(crate) fn tolerances(case: &Case, exact: &[Host]) -> Vec<Tolerance> {
    let floats = |k: usize| case.inputs[k].floats();
    let accumulating = |n: usize, terms: Vec<f64>| vec![Tolerance::Accumulating { n, terms }];
    match case.op() {
        Op::Accuracy(_)
        | Op::Assign(_)
        | Op::Cast(_)
        | Op::Compare(_)
        | Op::Concat(_)
        | Op::Expand(_)
        | Op::Fill(_)
        | Op::GaussianRandom(_)
        | Op::Logical(_)
        | Op::LookupTable(_)
        | Op::Not(_)
        | Op::Reshape(_)
        | Op::Size(_)
        | Op::Slice(_)
        | Op::SliceGrad(_)
        | Op::Split(_)
        | Op::TopK(_)
        | Op::TopKGrad(_)
        | Op::Transpose(_)
        | Op::UniformRandom(_) => exact.iter().map(|_| Tolerance::Exact).collect(),
        Op::Unary(op) => vec![match op.kind {
            UnaryKind::Abs
            | UnaryKind::Reciprocal
            | UnaryKind::Relu
            | UnaryKind::Sqrt
            | UnaryKind::Square => Tolerance::Exact,
            UnaryKind::Exp
            | UnaryKind::Log
            | UnaryKind::Pow
            | UnaryKind::Rsqrt
            | UnaryKind::Sigmoid
            | UnaryKind::Softsign
            | UnaryKind::Tanh => Tolerance::Ulps(4.0),
            // Sums of terms that are no larger than the argument, the result and 1.
            UnaryKind::Clip
            | UnaryKind::Elu
            | UnaryKind::HardSigmoid
            | UnaryKind::HardSwish
            | UnaryKind::LeakyRelu
            | UnaryKind::LogSigmoid
            | UnaryKind::Relu6
            | UnaryKind::Silu
            | UnaryKind::Softplus
            | UnaryKind::Swish => {
                let pairs = floats(0).into_iter().zip(exact[0].floats());
                Tolerance::Accumulating { n: 4, terms: pairs.map(|(x, y)| x.abs() + y.abs() + 1.0).collect() }
            }
        }],
        Op::UnaryGrad(op) => match op.kind {
            UnaryKind::Relu | UnaryKind::Square => vec![Tolerance::Exact],
            // grad · f'(x), and f' is a sum of terms that are no larger than itself and 2.
            _ => {
                let pairs = repeated(floats(1), exact[0].len()).zip(exact[0].floats());
                accumulating(4, pairs.map(|(grad, out)| 2.0 * grad.abs() + out.abs()).collect())
            }
        },
        Op::Binary(op) => match op.kind {
            BinaryKind::Add
            | BinaryKind::Sub
            | BinaryKind::Mul
            | BinaryKind::FloorDiv
            | BinaryKind::Div
            | BinaryKind::Max
            | BinaryKind::Min => vec![Tolerance::Exact],
            BinaryKind::Pow => vec![Tolerance::Ulps(4.0)],
            // x - y⌊x/y⌋.
            BinaryKind::Mod => match &exact[0] {
                Host::F32(_) | Host::F64(_) => {
                    let x = repeated(floats(0), exact[0].len());
                    let terms = x.zip(exact[0].floats()).map(|(x, out)| x.abs() + (x - out).abs()).collect();
                    accumulating(2, terms)
                }
                _ => vec![Tolerance::Exact],
            },
        },
        Op::Scale(op) => match &case.inputs[0] {
            Host::F32(_) | Host::F64(_) => {
                let term = |x: f64| (op.scale * x).abs() + op.bias.abs();
                accumulating(2, floats(0).into_iter().map(term).collect())
            }
            _ => vec![Tolerance::Exact],
        },
        Op::SequencePool(op) => match op.pooltype {
            PoolType::Max | PoolType::First | PoolType::Last => vec![Tolerance::Exact],
            PoolType::Sum | PoolType::Average | PoolType::Sqrt => {
                accumulating(case.inputs[0].len(), of_absolutes(case))
            }
        },
        Op::SequencePoolGrad(op) => match op.pooltype {
            // Two roundings: the root, the division.
            PoolType::Sqrt => accumulating(2, exact[0].floats().into_iter().map(f64::abs).collect()),
            _ => vec![Tolerance::Exact],
        },
        Op::Sgd(_) => {
            let (rate, step) = (floats(1)[0], floats(2));
            accumulating(2, floats(0).iter().zip(step).map(|(p, g)| p.abs() + (rate * g).abs()).collect())
        }
        Op::Matmul(op) => {
            let inner = case.shape(&case.group.inputs[0])[usize::from(!op.trans_x)];
            accumulating(inner, of_absolutes(case))
        }
        Op::RowNumbers(_) => vec![Tolerance::Exact],
        // A rounded divisor, and a division.
        Op::Dropout(_) => vec![Tolerance::Ulps(1.0), Tolerance::Exact],
        Op::DropoutGrad(_) => vec![Tolerance::Ulps(1.0)],
        Op::BatchNorm(op) => batch_norm(case, exact, op.is_test),
        Op::BatchNormGrad(_) => batch_norm_grad(case, exact),
        Op::Conv2d(_) => {
            let filter = case.shape(&case.group.inputs[1]);
            accumulating(filter[1..].iter().product(), of_absolutes(case))
        }
        Op::Conv2dGrad(op) => {
            let (filter, grad) = (case.shape(&case.group.inputs[1]), case.shape(&case.group.inputs[2]));
            let terms = match op.of {
                Conv2dGradKind::Input => filter[0] * filter[2] * filter[3],
                Conv2dGradKind::Filter => grad[0] * grad[2] * grad[3],
            };
            accumulating(terms, of_absolutes(case))
        }
        Op::Pool2d(op) => match op.pooling_type {
            PoolKind::Max => vec![Tolerance::Exact],
            PoolKind::Avg => accumulating(case.inputs[0].len(), of_absolutes(case)),
        },
        Op::Pool2dGrad(_) => accumulating(case.inputs[2].len(), absolutes_of(case, &[2])),
        Op::Reduce(op) if matches!(op.kind, ReduceKind::Max | ReduceKind::Min) => vec![Tolerance::Exact],
        Op::Reduce(_) => accumulating(case.inputs[0].len() / exact[0].len().max(1), of_absolutes(case)),
        Op::LookupTableGrad(_) => accumulating(case.inputs[0].len(), of_absolutes(case)),
        // ln(1 + exp o) - label · o, with both terms no larger than |o| + 1.
        Op::RankLoss(_) => {
            let scale = |k: usize| floats(k).into_iter().fold(1.0, |max: f64, x| max.max(x.abs()));
            accumulating(4, vec![(1.0 + scale(0)) * (scale(1) + scale(2)); exact[0].len()])
        }
        Op::CrossEntropy(_) => {
            let terms = match &case.inputs[1] {
                // Σ |label · ln x|, of logarithms that are good to a unit and a half.
                Host::F32(_) | Host::F64(_) => of_absolutes(case),
                _ => exact[0].floats(),
            };
            accumulating(classes(case), terms.into_iter().map(f64::abs).collect())
        }
        Op::CrossEntropyGrad(_) => accumulating(2, exact[0].floats().into_iter().map(f64::abs).collect()),
        // A probability is a share of a sum of 1.
        Op::Softmax(_) => accumulating(classes(case), vec![1.0; exact[0].len()]),
        Op::SoftmaxGrad(_) => {
            let grad = floats(1).into_iter().fold(0.0, |max: f64, g| max.max(g.abs()));
            accumulating(classes(case), floats(0).into_iter().map(|out| 2.0 * out * grad).collect())
        }
        Op::SoftmaxWithCrossEntropy(_) => {
            let n = classes(case);
            // Of a label of weight 1: max + ln Σ exp(x - max) - x[label].
            let term = |row: &[f64]| {
                weight(case) * 2.0 * row.iter().fold(0.0, |max: f64, x| max.max(x.abs()))
                    + weight(case) * ((n as f64).ln() + 1.0)
            };
            let loss = floats(0).chunks_exact(n).map(term).collect();
            let softmax = Tolerance::Accumulating { n, terms: vec![1.0; exact[0].len()] };
            vec![softmax, Tolerance::Accumulating { n, terms: loss }]
        }
        Op::SoftmaxWithCrossEntropyGrad(_) => {
            let n = classes(case);
            let of_row = |grad: f64| std::iter::repeat_n(2.0 * weight(case) * grad.abs(), n);
            accumulating(2, floats(2).into_iter().flat_map(of_row).collect())
        }
        Op::Foreign(_) | Op::GatherRows(_) | Op::If(_) | Op::While(_) | Op::WhileGrad(_) => {
            panic!("`{}` is no kernel", case.op().name())
        }
    }
}

/// The largest absolute value.
fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |max: f64, x| max.max(x.abs()))
}

/// Sums over channels of what is at most so large, and what is computed from them.
fn batch_norm(case: &Case, exact: &[Host], is_test: bool) -> Vec<Tolerance> {
    let [x, scale, bias, mean, variance] = [0, 1, 2, 3, 4].map(|k| largest(&case.inputs[k].floats()));
    let n = case.inputs[0].len() / case.inputs[1].len();
    let inverse = largest(&exact[2].floats());
    let reach = x + if is_test { mean } else { x };
    // The variance is off by a part of the square of the values, and its root by that part of itself.
    let spread = 1.0 + (reach * inverse).powi(2);
    let of = |k: usize, term: f64| Tolerance::Accumulating { n, terms: vec![term; exact[k].len()] };
    let outputs = [of(0, reach * inverse * scale * spread + bias), of(1, x + mean), of(2, inverse * spread)];
    let changed = if is_test { Vec::new() } else { vec![of(3, x + mean), of(4, reach * reach + variance)] };
    outputs.into_iter().chain(changed).collect()
}

fn batch_norm_grad(case: &Case, exact: &[Host]) -> Vec<Tolerance> {
    let [x, scale, mean, inverse, grad] = [0, 1, 2, 3, 4].map(|k| largest(&case.inputs[k].floats()));
    let n = case.inputs[0].len() / case.inputs[1].len();
    let normal = (x + mean) * inverse;
    let of = |k: usize, term: f64| Tolerance::Accumulating { n, terms: vec![term; exact[k].len()] };
    let of_x = grad * (2.0 + normal * normal) * scale * inverse;
    vec![of(0, of_x), of(1, n as f64 * grad * normal), of(2, n as f64 * grad)]
}

/// The elements of an input that broadcasts along leading axes only.
fn repeated(values: Vec<f64>, count: usize) -> impl Iterator<Item = f64> {
    values.into_iter().cycle().take(count)
}

/// No less than the sum of what the label of a row gives to all classes.
fn weight(case: &Case) -> f64 {
    match &case.inputs[1] {
        Host::F32(_) | Host::F64(_) => classes(case) as f64,
        _ => 1.0,
    }
}

fn classes(case: &Case) -> usize {
    *case.shape(&case.group.inputs[0]).last().expect("the shape rule wants a dimension")
}

/// What a sum of products comes to when nothing cancels.
fn of_absolutes(case: &Case) -> Vec<f64> {
    let all: Vec<usize> = (0..case.inputs.len()).collect();
    absolutes_of(case, &all)
}

/// The same, of a sum in which these inputs are factors.
fn absolutes_of(case: &Case, factors: &[usize]) -> Vec<f64> {
    let mut inputs = case.inputs.clone();
    for &k in factors {
        inputs[k] = inputs[k].map_floats(f64::abs);
    }
    let case = Case { inputs, ..case.clone() };
    case.run(&Reference::double()).expect("absolute values are values")[0].floats()
}
