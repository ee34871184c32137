//! Checks the axes over which operators say that they sum products.

use std::collections::BTreeSet;

use paddle_core::ops::Program;
use paddle_kernels::reference::Reference;

use crate::draw::Draw;
use crate::host::Host;
use crate::run::Case;
use crate::samples::own_samples;

/// Rotates the values by one place along an axis.
fn turned(values: &Host, shape: &[usize], axis: usize) -> Host {
    let inner: usize = shape[axis + 1..].iter().product();
    let values = values.floats();
    let from = |i: usize| {
        let (outer, at, behind) = (i / inner / shape[axis], i / inner % shape[axis], i % inner);
        (outer * shape[axis] + (at + 1) % shape[axis]) * inner + behind
    };
    Host::F64((0..values.len()).map(|i| values[from(i)]).collect())
}

fn results(case: &Case) -> Vec<f64> {
    case.run(&Reference::double()).unwrap()[0].floats()
}

/// A sum over an axis does not depend on the order along it, if both factors have the same order. A rotation along any
/// other pair of axes changes the result.
#[test]
fn only_along_contracted_axes_may_both_factors_be_turned() {
    let mut tried = BTreeSet::new();
    let mut draw = Draw::new(53);
    for sample in own_samples() {
        let program = sample.program().unwrap();
        let operator = &program.block(Program::GLOBAL).ops[0];
        let Some(said) = operator.contraction(&program) else { continue };
        let case = Case::of(&sample, &mut draw);
        let shape = |k: usize| -> Vec<usize> {
            let layout = &case.group.inputs[sample.slots[said.factors[k].input]];
            layout.shape.iter().map(|extent| extent.get(&case.sizes)).collect()
        };
        let shapes = [0, 1].map(shape);
        let [left, right] = said.factors.each_ref().map(|factor| &factor.axes);
        assert_eq!(left.len(), right.len(), "{sample:?}");
        let pairs: Vec<_> = left.iter().copied().zip(right.iter().copied()).collect();
        if shapes.iter().flatten().any(|&size| size == 0) {
            assert!(pairs.iter().all(|&(i, j)| shapes[0][i] == shapes[1][j]), "{sample:?}");
            continue;
        }
        let whole = results(&case);
        for (i, j) in (0..shapes[0].len()).flat_map(|i| (0..shapes[1].len()).map(move |j| (i, j))) {
            if shapes[0][i] != shapes[1][j] || shapes[0][i] == 1 {
                assert!(!pairs.contains(&(i, j)) || shapes[0][i] == 1, "{i} and {j}: {sample:?}");
                continue;
            }
            let mut case = case.clone();
            for (k, axis) in [(0, i), (1, j)] {
                let input = sample.slots[said.factors[k].input];
                case.inputs[input] = turned(&case.inputs[input], &shapes[k], axis);
            }
            let apart = results(&case).iter().zip(&whole).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
            assert_eq!(apart < 1e-6, pairs.contains(&(i, j)), "{i} and {j}, {apart} apart: {sample:?}");
            tried.insert((operator.op.name(), pairs.contains(&(i, j))));
        }
    }
    assert_eq!(
        tried,
        ["matmul_v2", "contract"].into_iter().flat_map(|op| [(op, false), (op, true)]).collect()
    );
}
