//! What a device lacks runs on its fallback, and the plan shows what goes there and back.

use paddle_core::ops::Program;
use paddle_core::plan::{Backend, Executor, Side, Storage, side_of};
use paddle_core::text;
use paddle_kernels::Cpu;

use crate::lacking::Lacking;
use crate::queued::Queued;

fn device() -> Lacking<Queued> {
    let fallback = Cpu::with_threads(2).unwrap();
    Lacking { device: Queued(fallback.clone()), fallback }
}

/// A product, which the device lacks, between two operators that it has. Only the product reads `w`.
const PRODUCT: &str = "program {
  rows _
  parameter w: f32[2, 1] = fill_constant(value=2.0)
  block 0 (x: f32[_, 2]) {
    seen: f32[_, 2] = relu(x)
    y: f32[_, 1] = matmul_v2(seen, w)
    bent: f32[_, 1] = relu(y)
    return bent
  }
}";

fn side(device: &impl Backend, program: &Program, name: &str) -> Option<Side> {
    let ops = program.blocks().iter().flat_map(|block| &block.ops);
    let operator = ops.into_iter().find(|operator| operator.op.name() == name)?;
    Side::of(device, program, operator)
}

#[test]
fn transfers_are_in_the_plan_and_parameters_where_they_are_needed() {
    let (device, program) = (device(), text::parse(PRODUCT).unwrap());
    assert_eq!(side(&device, &program, "relu"), Some(Side::Own));
    assert_eq!(side(&device, &program, "matmul_v2"), Some(Side::Fallback));
    let (w, ty) = (program.find("w").unwrap(), program.ty(program.find("w").unwrap()));
    assert_eq!(side_of(&device, &program, w), Side::Fallback);
    let mut storage = Storage::new();
    storage.insert_on(Side::Fallback, 4, "w", ty).unwrap();
    let plan = Executor::new(device, &program, &storage).unwrap().plan().to_string();
    let lines: Vec<&str> = plan.lines().map(str::trim).filter(|line| line.contains("->")).collect();
    let [relu, there, product, back, last] = lines[..] else { panic!("{plan}") };
    assert!(relu.starts_with("relu(x: arena") && last.starts_with("relu(y: arena"), "{plan}");
    assert!(there.starts_with("transfer seen: arena") && there.contains("-> seen: fallback"), "{plan}");
    assert!(product.starts_with("matmul_v2(seen: fallback"), "{plan}");
    assert!(product.contains("w: fallback parameter 0") && product.contains("-> y: fallback"), "{plan}");
    assert!(back.starts_with("transfer y: fallback") && back.contains("-> y: arena"), "{plan}");
}
