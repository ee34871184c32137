//! Chains of element-wise operators of any length.

use paddle_core::ops::{Program, Scale};
use paddle_core::plan::{Buffers, Executor, Feed, HostSlice, HostSliceMut, Part, Storage};
use paddle_core::program::{DType, Site, Type};
use paddle_kernels::Cpu;

/// A thousand operators, each with constants of its own, which is more than one group can hold.
#[test]
fn a_chain_of_many_constants() {
    let mut program = Program::new();
    let rows = program.create_rows("_");
    let mut h = program.create_input("x", Type::with_rows(DType::F32, rows, [3])).unwrap();
    let bias = |i: usize| i as f64 / 8.0;
    for i in 0..1000 {
        let scale = Scale { scale: -1.0, bias: bias(i) };
        h = program.append_op(Program::GLOBAL, scale, &[h], Site::default()).unwrap()[0];
    }
    program.set_outputs(&[h]).unwrap();
    let cpu = Cpu::with_threads(2).unwrap();
    let mut executor = Executor::new(cpu.clone(), &program, &Storage::new()).unwrap();
    let x: Vec<f32> = (0..15_000).map(|i| i as f32).collect();
    executor.begin(&|_| Feed { values: HostSlice::F32(&x), shape: &[5000, 3], offsets: &[] }).unwrap();
    executor.run(Part::Compute, &mut Buffers::default()).unwrap();
    let mut found = vec![0.0; x.len()];
    executor.fetch(0, HostSliceMut::F32(&mut found));
    let expected = x.iter().map(|&x| (0..1000).fold(x, |h, i| -h + bias(i) as f32));
    assert!(found.iter().copied().eq(expected));
}
