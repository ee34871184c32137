//! Random numbers are the same on all backends, bit for bit.

use paddle_core::ops::{GaussianRandom, Op, Sample, TruncatedGaussianRandom, UniformRandom};
use paddle_core::plan::Backend;
use paddle_core::program::{DType, RowsId, Type};
use paddle_kernels::Cpu;

use crate::draw::Draw;
use crate::host::Host;
use crate::on_every_backend;
use crate::run::Case;

/// So many that numbers of all sizes occur.
const COUNT: i64 = 200_000;

fn bits(case: &Case, backend: &impl Backend) -> Vec<u32> {
    match case.run(backend).unwrap().remove(0) {
        Host::F32(numbers) => numbers.into_iter().map(f32::to_bits).collect(),
        other => panic!("{other:?} is not in single precision"),
    }
}

fn draws_the_bits_of_the_cpu<B: Backend>(backend: &B) {
    if backend.element_bytes(DType::F32) != DType::F32.bytes() {
        return;
    }
    let (cpu, all) = (Cpu::with_threads(1).unwrap(), Type::new(DType::F32, [COUNT]));
    let of_rows = Type { rows: Some(RowsId(0)), ..Type::new(DType::F32, [3]) };
    let normal = |mean, std, ty| GaussianRandom { mean, std, fan: None, path: String::new(), ty };
    let uniform =
        |min, max| Op::from(UniformRandom { min, max, fan: None, path: String::new(), ty: all.clone() });
    let samples = [
        Sample::of(uniform(-0.1, 0.3)),
        Sample::of(uniform(1.0, f64::from(1_f32.next_up()))),
        Sample::of(uniform(2.0, 2.0)),
        Sample::of(normal(0.0, 1.0, all.clone())),
        Sample::of(normal(-3.0, 0.02, all.clone())),
        Sample::of(normal(0.5, 2.0, of_rows)).rows(700, &[]).dtype(DType::I64).within(-9e18, 9e18),
        Sample::of(TruncatedGaussianRandom { mean: 0.0, std: 0.5, ty: all.clone() }),
    ];
    for sample in samples {
        let case = Case::of(&sample, &mut Draw::new(1));
        let (found, expected) = (bits(&case, backend), bits(&case, &cpu));
        let differ = found.iter().zip(&expected).filter(|(x, y)| x != y).count();
        assert_eq!(differ, 0, "{differ} of {} numbers of {sample:?} differ", found.len());
    }
}

on_every_backend!(draws_the_bits_of_the_cpu);
