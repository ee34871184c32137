//! Checks the statements of operators about shards of their rows, and about sums, on which the pass that cuts batches
//! into shards relies.

use std::collections::BTreeSet;
use std::ops::Range;

use paddle_core::ops::{Form, OfShards, Op, Program, Sample};
use paddle_kernels::reference::Reference;

use crate::draw::Draw;
use crate::host::Host;
use crate::run::Case;
use crate::samples::{every_sample, own_samples};

/// The results in double precision.
fn results(case: &Case) -> Vec<Vec<f64>> {
    let results = case.run(&Reference::double()).unwrap();
    results.iter().map(numbers).collect()
}

fn numbers(values: &Host) -> Vec<f64> {
    match values {
        Host::Bool(values) => values.iter().map(|&value| f64::from(u8::from(value))).collect(),
        Host::I32(values) => values.iter().map(|&value| f64::from(value)).collect(),
        Host::I64(values) => values.iter().map(|&value| value as f64).collect(),
        Host::F32(_) | Host::F64(_) => values.floats(),
    }
}

fn part(values: &Host, range: Range<usize>) -> Host {
    match values {
        Host::Bool(values) => Host::Bool(values[range].to_vec()),
        Host::I32(values) => Host::I32(values[range].to_vec()),
        Host::I64(values) => Host::I64(values[range].to_vec()),
        Host::F32(values) => Host::F32(values[range].to_vec()),
        Host::F64(values) => Host::F64(values[range].to_vec()),
    }
}

fn are_near(found: &[f64], expected: &[f64]) -> bool {
    let near = |(&x, &y): (&f64, &f64)| {
        x == y || (x - y).abs() <= 1e-9 * y.abs().max(1.0) || x.is_nan() && y.is_nan()
    };
    found.len() == expected.len() && found.iter().zip(expected).all(near)
}

/// The case with these rows of a sample's batch.
fn shard(sample: &Sample, case: &Case, rows: &Range<usize>) -> Case {
    let (cut, left) = sample.of_rows(rows.clone());
    let inputs = cut.inputs.iter().zip(left).zip(&case.inputs);
    let pieces = inputs.map(|((input, left), values)| {
        let size = input.dims.iter().product::<i64>() as usize;
        match input.rows {
            Some(_) => part(values, left.start * size..left.end * size),
            None => values.clone(),
        }
    });
    let pieces: Vec<Host> = pieces.collect();
    let mut shard = Case::of(&cut, &mut Draw::new(0));
    shard.inputs[..pieces.len()].clone_from_slice(&pieces);
    shard
}

#[test]
fn results_over_all_rows_follow_from_those_over_shards() {
    let mut tried = BTreeSet::new();
    let mut draw = Draw::new(31);
    for sample in every_sample() {
        let Some(rows @ 1..40) = sample.batch() else { continue };
        let program = sample.program().unwrap();
        let operator = &program.block(Program::GLOBAL).ops[0];
        let outputs = 0..operator.outputs.len();
        let said: Vec<_> =
            outputs.map(|k| operator.op.operation().of_shards(&program, operator, k)).collect();
        let case = Case::of(&sample, &mut draw);
        let whole = results(&case);
        for at in [0, 1, rows / 2, rows] {
            let cut = [0..at, at..rows];
            let shards = cut.clone().map(|rows| results(&shard(&sample, &case, &rows)));
            for (k, said) in said.iter().enumerate() {
                let added = |weights: [f64; 2]| -> Vec<f64> {
                    let pairs = shards[0][k].iter().zip(&shards[1][k]);
                    let weighted = |weight: f64, x: f64| if weight == 0.0 { 0.0 } else { weight * x };
                    pairs.map(|(&x, &y)| weighted(weights[0], x) + weighted(weights[1], y)).collect()
                };
                let found = match said {
                    OfShards::Rows => shards.iter().flat_map(|shard| shard[k].clone()).collect(),
                    OfShards::Same => shards[0][k].clone(),
                    OfShards::Sum => added([1.0; 2]),
                    OfShards::Mean => added(cut.clone().map(|part| part.len() as f64 / rows as f64)),
                    OfShards::OwnRows | OfShards::Numbers | OfShards::Drawn | OfShards::Other => continue,
                };
                let expected = &whole[k];
                assert!(
                    are_near(&found, expected),
                    "{said:?} of result {k}, cut at {at}: {found:?}, not {expected:?}: {sample:?}"
                );
                tried.insert(operator.op.name());
            }
        }
    }
    let row_wise: BTreeSet<_> = own_samples()
        .iter()
        .filter(|sample| sample.op.effects().row_wise && sample.batch().is_some_and(|rows| rows > 0))
        .map(|sample| sample.op.name())
        .collect();
    assert_eq!(row_wise.difference(&tried).collect::<Vec<_>>(), Vec::<&&str>::new());
    assert!(
        ["reduce_mean", "matmul_v2", "contract", "accuracy", "sequence_pool"]
            .iter()
            .all(|name| tried.contains(name))
    );
}

/// The number on a coarse grid, so that sums of some such numbers are exact.
fn on_a_grid(x: f64) -> f64 {
    (x * 1024.0).round() / 1024.0
}

#[test]
fn what_is_linear_is_the_sum_of_what_it_gives() {
    let mut tried = BTreeSet::new();
    let mut draw = Draw::new(47);
    for sample in own_samples() {
        let operation = sample.op.operation();
        let program = sample.program().unwrap();
        let affine = match program.block(Program::GLOBAL).ops[0].form(&program) {
            Some(Form::Affine(op, constant)) => Some((op, constant)),
            _ => None,
        };
        let own: BTreeSet<usize> = sample.slots.iter().copied().collect();
        if own.len() < sample.slots.len() || sample.inputs.len() > 3 {
            continue;
        }
        for among in 1..1 << sample.inputs.len() {
            let inputs: Vec<usize> = (0..sample.inputs.len()).filter(|k| among >> k & 1 == 1).collect();
            let linear = operation.linear().is_in(&inputs);
            let of_numbers = inputs.iter().all(|&k| sample.inputs[k].dtype.is_float());
            if !(linear || affine.is_some()) || !of_numbers {
                continue;
            }
            let mut cases = [0; 3].map(|_| Case::of(&sample, &mut draw));
            for k in 0..sample.inputs.len() {
                let grid = |values: &Host| values.floats().into_iter().map(on_a_grid).collect::<Vec<_>>();
                if !inputs.contains(&k) {
                    let fixed = cases[0].inputs[k].clone();
                    cases.iter_mut().for_each(|case| case.inputs[k] = fixed.clone());
                    continue;
                }
                let [x, y] = [0, 1].map(|i| grid(&cases[i].inputs[k]));
                let sum = x.iter().zip(&y).map(|(x, y)| x + y).collect();
                for (case, values) in cases.iter_mut().zip([x, y, sum]) {
                    case.inputs[k] = Host::F64(values).rounded_as(&case.inputs[k]);
                }
            }
            let of = |op: &Op, case: &Case| {
                let mut case = case.clone();
                case.op_mut().op = op.clone();
                results(&case)
            };
            let (op, constant) = affine.clone().unwrap_or((sample.op.clone(), 0.0));
            for (k, found) in of(&sample.op, &cases[2]).into_iter().enumerate() {
                let [x, y] = [0, 1].map(|i| of(&op, &cases[i]).swap_remove(k));
                let expected: Vec<_> = x.iter().zip(&y).map(|(x, y)| x + y + constant).collect();
                assert!(are_near(&found, &expected), "{inputs:?}: {found:?}, not {expected:?}: {sample:?}");
                tried.insert(sample.op.name());
            }
        }
    }
    let expected = [
        "elementwise_add",
        "elementwise_div",
        "elementwise_mul",
        "matmul_v2",
        "reduce_mean",
        "scale",
        "slice",
    ];
    assert!(expected.iter().all(|name| tried.contains(name)), "{tried:?}");
}
