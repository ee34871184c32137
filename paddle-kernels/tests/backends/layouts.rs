//! Images in the layout that a device prefers: the same values as in row-major order.

use paddle_core::ops::Program;
use paddle_core::passes::backward::gradients;
use paddle_core::plan::{Backend, Executor, Storage};
use paddle_core::program::VarId;
use paddle_core::text;
use paddle_kernels::Cpu;
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

/// Enough channels for all ways to compute convolutions; regions that end at operators that take no layout, and at sums.
const DEEP: &str = "program {
  rows _
  block 0 (x: f32[_, 16, 13, 11], v: f32[24, 16, 3, 3], b: f32[24, 1, 1], w: f32[24, 24, 5, 5], d: f32[24, 1, 3, 3], p: f32[9, 48, 1, 1]) {
    first: f32[_, 24, 13, 11] = conv2d(x, v, paddings=[1, 1])
    biased: f32[_, 24, 13, 11] = elementwise_add(first, b)
    bent: f32[_, 24, 13, 11] = tanh(biased)
    second: f32[_, 24, 13, 11] = conv2d(bent, w, paddings=[2, 2])
    sum: f32[_, 24, 13, 11] = elementwise_add(second, bent)
    deep: f32[_, 24, 7, 6] = conv2d(sum, d, groups=24, paddings=[1, 1], strides=[2, 2])
    pooled: f32[_, 24, 7, 6] = pool2d(sum, pooling_type=\"max\", ksize=[3, 3], strides=[2, 2], paddings=[1, 1])
    joined: f32[_, 48, 7, 6] = concat(deep, pooled, axis=1)
    curved: f32[_, 48, 7, 6] = tanh(joined)
    narrow: f32[_, 9, 7, 6] = conv2d(curved, p)
    turned: f32[_, 7, 6, 48] = transpose2(curved, perm=[0, 2, 3, 1])
    squared: f32[_, 7, 6, 48] = square(turned)
    crossed: f32[_, 6, 7, 48] = transpose2(curved, perm=[0, 3, 2, 1])
    bowed: f32[_, 6, 7, 48] = tanh(crossed)
    of_turned: f32[] = reduce_mean(squared)
    of_crossed: f32[] = reduce_mean(bowed)
    of_narrow: f32[] = reduce_mean(narrow)
    of_both: f32[] = elementwise_add(of_turned, of_crossed)
    cost: f32[] = elementwise_add(of_both, of_narrow)
    return cost, narrow
  }
}";

/// Groups and images of other sizes between convolutions: channels that fill no register, and groups of one and of several.
const NORMALISED: &str = "program {
  rows _
  block 0 (x: f32[_, 3, 7, 6], v: f32[40, 3, 3, 3], s: f32[40], b: f32[40], w: f32[18, 40, 1, 1], t: f32[18], c: f32[18], p: f32[5, 18, 3, 3]) {
    wide: f32[_, 40, 7, 6] = conv2d(x, v, paddings=[1, 1])
    ten: f32[_, 40, 7, 6], m: f32[_, 10], n: f32[_, 10] = group_norm(wide, s, b, groups=10)
    bent: f32[_, 40, 7, 6] = swish(ten)
    larger: f32[_, 40, 15, 11] = bilinear_interp_v2(bent, size=[15, 11])
    narrow: f32[_, 18, 15, 11] = conv2d(larger, w)
    each: f32[_, 18, 15, 11], o: f32[_, 18], q: f32[_, 18] = group_norm(narrow, t, c, groups=18)
    smaller: f32[_, 18, 5, 8] = nearest_interp_v2(each, size=[5, 8])
    last: f32[_, 5, 3, 6] = conv2d(smaller, p)
    one: f32[_, 18, 5, 8], r: f32[_, 1], u: f32[_, 1] = group_norm(smaller, t, c, groups=1)
    cubes: f32[_, 18, 5, 8] = square(one)
    of_one: f32[] = reduce_mean(cubes)
    of_last: f32[] = reduce_mean(last)
    cost: f32[] = elementwise_add(of_one, of_last)
    return cost, last, cubes
  }
}";

/// A program, with the gradient of the cost with respect to each input.
fn program(text: &str) -> Program {
    let mut program = text::parse(text).unwrap_or_else(|error| panic!("{error:?}"));
    let inputs: Vec<VarId> = program.inputs().to_vec();
    let found = gradients(&mut program, &inputs).unwrap();
    let found = found.into_iter().map(|gradient| gradient.expect("the cost depends on all of them"));
    let outputs: Vec<VarId> = program.outputs().iter().copied().chain(found).collect();
    program.set_outputs(&outputs).unwrap();
    program
}

fn images_agree<B: Backend + Clone>(backend: &B) {
    agree(backend, IMAGES);
}

fn deep_images_agree<B: Backend + Clone>(backend: &B) {
    agree(backend, DEEP);
}

fn normalised_images_agree<B: Backend + Clone>(backend: &B) {
    agree(backend, NORMALISED);
}

fn agree<B: Backend + Clone>(backend: &B, text: &str) {
    let program = program(text);
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

on_every_device!(images_agree, deep_images_agree, normalised_images_agree);

#[test]
fn images_have_the_same_bits_on_any_number_of_threads() {
    let program = program(DEEP);
    let feeds = feeds(&program, 5, &mut Draw::new(9), |draw, _, _, count| on_grid(draw, count, (-1.0, 1.0)));
    let outputs = |threads| Run::new(Cpu::with_threads(threads).unwrap(), &program).outputs(&feeds);
    let one = outputs(1);
    for threads in [2, 3, 7] {
        assert!(outputs(threads) == one, "{threads} threads");
    }
}

#[test]
fn the_plan_shows_what_is_not_in_row_major_order() {
    let plan = |backend: Reference| {
        let executor = Executor::new(backend, &program(IMAGES), &Storage::new()).unwrap();
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

#[test]
fn regions_change_their_layout_at_their_borders() {
    let executor = Executor::new(Cpu::with_threads(1).unwrap(), &program(DEEP), &Storage::new()).unwrap();
    let plan = executor.plan().to_string();
    // What an epilogue takes up, `first` and `second`, has no memory.
    for image in ["bent", "sum", "deep", "pooled", "joined", "curved"] {
        assert!(
            plan.contains(&format!("-> {image}[0, 2, 3, 1]: "))
                || plan.contains(&format!(", {image}[0, 2, 3, 1]: ")),
            "{image}: {plan}"
        );
    }
    // A transpose to the order of memory moves nothing.
    assert!(plan.contains("turned: in curved"), "{plan}");
    // Only where an operator takes no layout: around the other transpose, and for the gradient that an expansion makes.
    let relayouts: Vec<&str> = plan.lines().filter(|line| line.contains("relayout ")).collect();
    assert!(relayouts.iter().any(|line| line.contains("relayout curved[0, 2, 3, 1]")), "{plan}");
    assert!(relayouts.len() <= 4, "{relayouts:#?}");
}
