//! Images in the layout that a device prefers: the same values as in row-major order.

use paddle_core::ops::Program;
use paddle_core::passes::backward::gradients;
use paddle_core::plan::{Backend, Executor, Storage};
use paddle_core::program::VarId;
use paddle_core::text;
use paddle_kernels::reference::Reference;

use crate::draw::Draw;
use crate::fed::on_grid;
use crate::gradients::{Run, feeds};
use crate::on_every_device;

/// Convolutions, with what stands between them: a bias for each channel, a shortcut, pooling, a branch that reads an image.
const IMAGES: &str = "program {
  rows _
  block 0 (x: f32[_, 3, 9, 8], v: f32[4, 3, 3, 3], b: f32[4, 1, 1], w: f32[2, 4, 3, 3]) {
    seen: f32[_, 4, 7, 6] = conv2d(x, v)
    biased: f32[_, 4, 7, 6] = elementwise_add(seen, b)
    bent: f32[_, 4, 7, 6] = tanh(biased)
    twice: f32[_, 4, 7, 6] = elementwise_mul(bent, seen)
    small: f32[_, 4, 3, 3] = pool2d(twice, pooling_type=\"avg\", ksize=[2, 2], strides=[2, 2])
    last: f32[_, 2, 1, 1] = conv2d(small, w)
    cost: f32[] = reduce_mean(last)
    return cost, last
  }
}";

/// The program, with the gradient of the cost with respect to each input.
fn program() -> Program {
    let mut program = text::parse(IMAGES).unwrap_or_else(|error| panic!("{error:?}"));
    let inputs: Vec<VarId> = program.inputs().to_vec();
    let found = gradients(&mut program, &inputs).unwrap();
    let found = found.into_iter().map(|gradient| gradient.expect("the cost depends on all of them"));
    let outputs: Vec<VarId> = program.outputs().iter().copied().chain(found).collect();
    program.set_outputs(&outputs).unwrap();
    program
}

fn images_agree<B: Backend + Clone>(backend: &B) {
    let program = program();
    let mut draw = Draw::new(8);
    let feeds = feeds(&program, 3, &mut draw, |draw, _, _, count| on_grid(draw, count, (-1.0, 1.0)));
    let expected = Run::new(Reference::double(), &program).outputs(&feeds);
    let found = Run::new(backend.clone(), &program).outputs(&feeds);
    for (k, (found, expected)) in found.iter().zip(&expected).enumerate() {
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert!(
                (found - expected).abs() < 1e-4 * (1.0 + expected.abs()),
                "output {k}: {found}, {expected}"
            );
        }
    }
}

on_every_device!(images_agree);

#[test]
fn the_plan_shows_what_is_not_in_row_major_order() {
    let plan = |backend: Reference| {
        let executor = Executor::new(backend, &program(), &Storage::new()).unwrap();
        executor.plan().to_string()
    };
    assert!(!plan(Reference::single()).contains("[0, 2, 3, 1]"));
    let plan = plan(Reference::single().channels_last());
    for image in ["seen", "small"] {
        assert!(plan.contains(&format!("{image}[0, 2, 3, 1]: ")), "{image}: {plan}");
    }
    // Inputs and outputs are as the caller has them.
    assert!(plan.contains("x: arena") && plan.contains("last: pool"), "{plan}");
}
