//! Products in bf16: against the reference, whose factors are rounded before, within the same class as other products.

use paddle_core::ops::{Contract, Matmul, Op, Sample};
use paddle_core::plan::{Arithmetic, Backend, Executor, PlanError, Precision, Storage};
use paddle_core::program::DType;
use paddle_kernels::Cpu;
use paddle_kernels::cpu::isa::Isa;
use paddle_kernels::reference::Reference;

use crate::draw::Draw;
use crate::host::Host;
use crate::lacking::Lacking;
use crate::machines;
use crate::run::Case;
use crate::samples::every_sample;
use crate::tolerance;

/// The products of `f32` among the samples, in bf16.
fn products() -> Vec<(Sample, Case)> {
    let in_half = |sample: Sample| {
        let mut case = Case::of(&sample, &mut Draw::new(1));
        case.group.precision = Precision::Bf16;
        (sample, case)
    };
    let products = every_sample().into_iter().filter(|sample| sample.op.effects().products).map(in_half);
    products.filter(|(_, case)| case.group.outputs[0].dtype == DType::F32).collect()
}

/// The nearest number that bf16 has. Of two that are as near it is the even one.
fn nearest(x: f32) -> f32 {
    let below = x.to_bits() & 0xFFFF_0000;
    let [low, high] = [below, below + 0x1_0000].map(f32::from_bits);
    let [from_low, to_high] = [f64::from(x) - f64::from(low), f64::from(high) - f64::from(x)].map(f64::abs);
    if from_low < to_high || (from_low == to_high && below & 0x1_0000 == 0) { low } else { high }
}

/// The numbers of a result.
fn numbers(host: &Host) -> Vec<f64> {
    match host {
        Host::F32(numbers) => numbers.iter().map(|x| f64::from(*x)).collect(),
        Host::F64(numbers) => numbers.clone(),
        other => panic!("{other:?} is no product"),
    }
}

/// The sum of the distances of all numbers.
fn far(found: &[Host], exact: &[Host]) -> f64 {
    let pairs = found.iter().flat_map(numbers).zip(exact.iter().flat_map(numbers));
    pairs.map(|(found, exact)| (found - exact).abs()).sum()
}

/// Checks what a product in bf16 has computed: it is a product of numbers, which are rounded before. Those of convolutions may be as they are.
fn check(case: &Case, found: &[Host], sample: &Sample) {
    let exact = case.run(&Reference::double()).unwrap();
    let mut plain = case.clone();
    plain.group.precision = Precision::F32;
    let unrounded = plain.run(&Reference::double()).unwrap();
    if !matches!(sample.op, Op::Matmul(_) | Op::Contract(_)) && far(found, &unrounded) < far(found, &exact) {
        return tolerance::check(&plain, found, &unrounded, sample);
    }
    for input in &mut plain.inputs {
        if let Host::F32(numbers) = input {
            numbers.iter_mut().for_each(|x| *x = nearest(*x));
        }
    }
    assert_eq!(exact, plain.run(&Reference::double()).unwrap(), "{sample:?}");
    tolerance::check(&plain, found, &exact, sample);
}

fn agrees<B: Backend>(backend: &B) {
    for (sample, case) in products() {
        check(&case, &case.run(backend).unwrap(), &sample);
    }
}

crate::on_every_backend!(agrees);

/// Products of sums of two numbers in bf16: within 2⁻¹⁵ of the sum of the absolute values of the terms. Where a backend has no
/// instructions for them, they are as exact as any.
fn agrees_in_sums<B: Backend>(backend: &B) {
    for (sample, mut case) in products() {
        case.group.precision = Precision::Bf16x3;
        let found = case.run(backend).unwrap();
        let exact = case.run(&Reference::double()).unwrap();
        for input in &mut case.inputs {
            if let Host::F32(numbers) = input {
                numbers.iter_mut().for_each(|x| *x = x.abs());
            }
        }
        let scale = case.run(&Reference::double()).unwrap();
        for ((found, exact), scale) in found.iter().zip(&exact).zip(&scale) {
            for ((found, exact), scale) in numbers(found).iter().zip(numbers(exact)).zip(numbers(scale)) {
                let far = (found - exact).abs();
                assert!(far <= 2f64.powi(-15) * scale, "{found}, not {exact}: {sample:?}");
            }
        }
    }
}

mod in_sums {
    use super::*;

    // Cards compute them by their kernels for `f32`, which other tests run.
    crate::on_every_processor!(agrees_in_sums);

    #[test]
    fn every_instruction_set_agrees() {
        for isa in Isa::available() {
            agrees_in_sums(&Cpu::with_isa(2, isa).unwrap());
        }
    }
}

#[test]
fn there_are_products_to_test() {
    assert!(products().len() > 100, "{}", products().len());
}

#[test]
fn every_instruction_set_agrees() {
    for isa in Isa::available() {
        agrees(&Cpu::with_isa(2, isa).unwrap());
    }
}

/// So large that threads share them, and so deep that panels cut them.
#[test]
fn large_products_agree_and_have_the_same_bits_on_any_number_of_threads() {
    let plain = |trans_x, trans_y| Sample::of(Matmul { trans_x, trans_y });
    let samples = [
        plain(false, false).rows(130, &[301]).dense(&[301, 70]),
        plain(false, true).rows(70, &[900]).dense(&[65, 900]),
        plain(true, false).dense(&[77, 90]).dense(&[77, 210]),
        plain(false, false).dense(&[5, 40, 61]).dense(&[5, 61, 90]),
        plain(true, true).dense(&[3, 61, 40]).dense(&[3, 90, 61]),
        plain(false, false).rows(4000, &[65]).dense(&[65, 1]),
        Sample::of(Contract).rows(301, &[80]).rows(301, &[70]),
    ];
    let machines = [1, 2, 3, 7].map(|threads| Cpu::with_threads(threads).unwrap());
    for sample in samples {
        let mut case = Case::of(&sample, &mut Draw::new(2));
        case.group.precision = Precision::Bf16;
        let one = machines::results(&case, &machines[0], 0xFF);
        for cpu in &machines[1..] {
            let found = machines::results(&case, cpu, 0x3C);
            assert!(found == one, "on {} threads: {sample:?}", cpu.threads());
        }
        let found = case.run(&machines[1]).unwrap();
        check(&case, &found, &sample);
        let mut in_singles = case.clone();
        in_singles.group.precision = Precision::F32;
        assert_ne!(in_singles.run(&machines[1]).unwrap(), found, "nothing was rounded: {sample:?}");
    }
}

fn arithmetic(precision: Precision) -> Arithmetic {
    Arithmetic { precision, ..Arithmetic::default() }
}

/// The plan of a product of two values of this type.
fn plan<B: Backend>(backend: B, dtype: DType, precision: Precision) -> Result<String, PlanError> {
    let mut sample = Sample::of(Matmul::PLAIN).rows(3, &[4]).dense(&[4, 5]);
    sample.inputs.iter_mut().for_each(|input| input.dtype = dtype);
    let program = sample.program().unwrap();
    let none = Storage::new();
    let executor = Executor::with_states(backend, &program, &none, &none, arithmetic(precision))?;
    Ok(executor.plan().to_string())
}

#[test]
fn plans_show_products_in_bf16_and_those_of_other_types_are_as_the_program_says() {
    let cpu = Cpu::with_threads(1).unwrap();
    assert!(plan(cpu.clone(), DType::F32, Precision::Bf16).unwrap().contains(" in bf16("));
    for (dtype, precision) in [(DType::F32, Precision::F32), (DType::F64, Precision::Bf16)] {
        assert!(!plan(cpu.clone(), dtype, precision).unwrap().contains("bf16"), "{dtype}");
    }
}

#[test]
fn a_backend_that_does_not_compute_in_bf16_says_so() {
    let cpu = Cpu::with_threads(1).unwrap();
    let lacking = Lacking { device: cpu.clone(), fallback: cpu };
    assert!(plan(lacking.clone(), DType::F32, Precision::F32).is_ok());
    let error = plan(lacking, DType::F32, Precision::Bf16).unwrap_err();
    assert_eq!(error, PlanError::Precision { precision: Precision::Bf16, backend: "lacking" });
    assert_eq!(error.to_string(), "`lacking` does not compute products in bf16; leave the precision at f32");
}
