//! Updates that are launched together: they have the bits of single ones, on any number of threads.

use paddle_core::ops::Op;
use paddle_core::plan::{Backend, Body, Extent, Operand, OperandType};
use paddle_kernels::Cpu;

use crate::draw::Draw;
use crate::host::Host;
use crate::on_every_backend;
use crate::run::Case;

/// One update of each sample.
fn updates() -> Vec<Case> {
    let mut draw = Draw::new(31);
    let samples = Op::samples().into_iter().map(|sample| Case::of(&sample, &mut draw));
    samples.filter(|case| matches!(case.op(), Op::Update(_) | Op::UpdateRows(_))).collect()
}

/// All of them as one group.
fn together(cases: &[Case]) -> Case {
    let mut all = cases[0].clone();
    let mut ops: Vec<_> = all.group.operators().cloned().collect();
    for case in &cases[1..] {
        let (inputs, sizes) = (all.inputs.len(), all.sizes.len());
        for mut op in case.group.operators().cloned() {
            for operand in &mut op.inputs {
                if let Operand::Input(i) = operand {
                    *i += inputs;
                }
            }
            ops.push(op);
        }
        let moved = |extent: &Extent| match *extent {
            Extent::Fixed(size) => Extent::Fixed(size),
            Extent::Bound(at) => Extent::Bound(at + sizes),
        };
        let types = case.group.inputs.iter();
        all.group.inputs.extend(
            types.map(|ty| OperandType { shape: ty.shape.iter().map(moved).collect(), ..ty.clone() }),
        );
        all.inputs.extend(case.inputs.iter().cloned());
        all.sizes.extend(&case.sizes);
    }
    all.group.body = Some(Body::Updates(ops));
    all
}

fn bits(results: &[Host]) -> Vec<Vec<u64>> {
    results.iter().map(|host| host.floats().into_iter().map(f64::to_bits).collect()).collect()
}

fn updates_have_the_bits_of_single_ones<B: Backend>(backend: &B) {
    let mut cases = updates();
    assert!(cases.len() > 50, "only {} updates", cases.len());
    cases.retain(|case| backend.gathers(case.op()));
    for count in [2, 3, 16] {
        for cases in cases.chunks(count) {
            let alone: Vec<_> = cases.iter().flat_map(|case| bits(&case.run(backend).unwrap())).collect();
            assert!(bits(&together(cases).run(backend).unwrap()) == alone, "{:?}", cases[0].op());
        }
    }
}

#[test]
fn updates_have_the_same_bits_on_any_number_of_threads() {
    for cases in updates().chunks(16) {
        let case = together(cases);
        let run = |threads| bits(&case.run(&Cpu::with_threads(threads).unwrap()).unwrap());
        let one = run(1);
        for threads in [2, 3, 7] {
            assert!(run(threads) == one, "{:?} on {threads} threads", cases[0].op());
        }
    }
}

on_every_backend!(updates_have_the_bits_of_single_ones);
