//! Chains of element-wise operators behind convolutions, products and normalisation, which devices compute together with them.

use paddle_core::ops::Program;
use paddle_core::plan::{Backend, Executor, Storage};
use paddle_core::program::{DType, Type};
use paddle_core::text;
use paddle_kernels::Cpu;
use paddle_kernels::reference::Reference;

use crate::draw::Draw;
use crate::fed::on_grid;
use crate::gradients::{Run, feeds};
use crate::host::Host;
use crate::on_every_device;

/// What stands in front of an epilogue: its inputs, the operator, and the dimensions of its result.
type Body = (&'static str, &'static str, &'static str, [usize; 3]);

/// One for each way to compute a convolution, and others.
const BODIES: [Body; 17] = [
    ("filters of one element", "x: f32[_, 24, 7, 6], w: f32[40, 24, 1, 1]", "conv2d(x, w)", [40, 7, 6]),
    (
        "filters of one element with a stride",
        "x: f32[_, 5, 7, 6], w: f32[21, 5, 1, 1]",
        "conv2d(x, w, strides=[2, 2])",
        [21, 4, 3],
    ),
    (
        "groups of one channel",
        "x: f32[_, 21, 13, 11], w: f32[21, 1, 3, 3]",
        "conv2d(x, w, groups=21, paddings=[1, 1])",
        [21, 13, 11],
    ),
    (
        "groups of one channel with a stride",
        "x: f32[_, 16, 13, 11], w: f32[16, 1, 3, 3]",
        "conv2d(x, w, groups=16, paddings=[1, 1], strides=[2, 2])",
        [16, 7, 6],
    ),
    (
        "groups of one channel with two filters",
        "x: f32[_, 9, 8, 7], w: f32[18, 1, 3, 3]",
        "conv2d(x, w, groups=9, paddings=[1, 1])",
        [18, 8, 7],
    ),
    ("tiles", "x: f32[_, 16, 13, 11], w: f32[24, 16, 3, 3]", "conv2d(x, w, paddings=[1, 1])", [24, 13, 11]),
    (
        "many tiles",
        "x: f32[_, 4, 17, 41], w: f32[19, 4, 3, 3]",
        "conv2d(x, w, paddings=[1, 1])",
        [19, 17, 41],
    ),
    (
        "tiles of large filters",
        "x: f32[_, 16, 9, 12], w: f32[8, 16, 5, 5]",
        "conv2d(x, w, paddings=[2, 2])",
        [8, 9, 12],
    ),
    (
        "few channels",
        "x: f32[_, 3, 21, 20], w: f32[21, 3, 3, 3]",
        "conv2d(x, w, paddings=[1, 1], strides=[2, 2])",
        [21, 11, 10],
    ),
    (
        "long lines",
        "x: f32[_, 4, 2, 600], w: f32[35, 4, 1, 3]",
        "conv2d(x, w, paddings=[0, 1])",
        [35, 2, 600],
    ),
    (
        "groups",
        "x: f32[_, 8, 9, 7], w: f32[12, 4, 3, 3]",
        "conv2d(x, w, groups=2, paddings=[1, 1])",
        [12, 9, 7],
    ),
    ("large filters", "x: f32[_, 2, 66, 66], w: f32[3, 2, 65, 65]", "conv2d(x, w)", [3, 2, 2]),
    (
        "a transposed convolution",
        "x: f32[_, 6, 5, 4], w: f32[6, 7, 3, 3]",
        "conv2d_transpose(x, w, strides=[2, 2])",
        [7, 11, 9],
    ),
    ("one channel", "x: f32[_, 1, 9, 8], w: f32[1, 1, 3, 3]", "conv2d(x, w)", [1, 7, 6]),
    ("images of one element", "x: f32[_, 5, 1, 1], w: f32[17, 5, 1, 1]", "conv2d(x, w)", [17, 1, 1]),
    ("products of matrices", "x: f32[_, 3, 20, 30], w: f32[30, 133]", "matmul_v2(x, w)", [3, 20, 133]),
    ("rows of a table", "x: i64[_, 3, 20], w: f32[9, 33]", "lookup_table_v2(x, w)", [3, 20, 33]),
];

/// The chains: operators behind `y`, the result of the body. `TYPE` stands for its type.
const CHAINS: [&str; 10] = [
    "a: TYPE = elementwise_mul(y, factor) b: TYPE = elementwise_add(a, shift) z: TYPE = relu(b)",
    "a: TYPE = elementwise_add(y, shift) b: TYPE = elementwise_add(other, a) z: TYPE = relu6(b)",
    "a: TYPE = elementwise_add(y, other) z: TYPE = relu(a)",
    "a: TYPE = elementwise_mul(y, factor) z: TYPE = elementwise_add(a, other)",
    "z: TYPE = relu(y)",
    "a: TYPE = tanh(y) b: TYPE = elementwise_mul(a, y) z: TYPE = elementwise_sub(b, shift)",
    "a: TYPE = relu(y) b: TYPE = elementwise_add(a, shift) z: TYPE = relu(b)",
    "a: TYPE = elementwise_add(shift, y) b: TYPE = swish(a) z: TYPE = elementwise_mul(b, factor)",
    "a: TYPE = elementwise_mul(y, factor) b: TYPE = elementwise_add(a, shift) c: TYPE = tanh(b) z: TYPE = elementwise_mul(c, b)",
    "a: TYPE = elementwise_mul(y, factor) b: TYPE = elementwise_add(a, shift) c: TYPE = swish(b) z: TYPE = elementwise_add(c, a)",
];

/// The program of a body and a chain. With `is_kept`, the result of the body is an output, too.
fn program(body: &Body, chain: &str, is_kept: bool) -> Program {
    let (_, inputs, op, [c, h, w]) = body;
    let ty = format!("f32[_, {c}, {h}, {w}]");
    let chain = chain.replace("TYPE", &ty);
    let kept = if is_kept { ", y" } else { "" };
    let text = format!(
        "program {{ rows _ block 0 ({inputs}, factor: f32[{c}, 1, 1], shift: f32[{c}, 1, 1], other: {ty}) {{
          y: {ty} = {op} {chain}
          return z{kept} }} }}"
    );
    text::parse(&text).unwrap_or_else(|error| panic!("{error:?}\n{text}"))
}

fn cases() -> impl Iterator<Item = (&'static Body, &'static str, bool)> {
    let chains = CHAINS.into_iter().flat_map(|chain| [(chain, false), (chain, true)]);
    chains.flat_map(|(chain, is_kept)| BODIES.iter().map(move |body| (body, chain, is_kept)))
}

/// Numbers on the grid, or rows of a table.
fn arbitrary(draw: &mut Draw, ty: &Type, count: usize, range: (f64, f64)) -> Host {
    match ty.dtype {
        DType::F32 => on_grid(draw, count, range),
        dtype => draw.elements(dtype, count, (0.0, 8.0)),
    }
}

fn epilogues_agree<B: Backend + Clone>(backend: &B) {
    let mut draw = Draw::new(21);
    for (at, (body, chain, is_kept)) in cases().enumerate() {
        let program = program(body, chain, is_kept);
        let rows = [2, 1, 3, 0][at % 4];
        let feeds =
            feeds(&program, rows, &mut draw, |draw, _, ty, count| arbitrary(draw, ty, count, (-0.5, 0.5)));
        let expected = Run::new(Reference::double(), &program).outputs(&feeds);
        let found = Run::new(backend.clone(), &program).outputs(&feeds);
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(found.len(), expected.len());
            for (found, expected) in found.iter().zip(expected) {
                assert!(
                    (found - expected).abs() < 2e-4 * (1.0 + expected.abs()),
                    "{} with `{chain}`: {found}, {expected}",
                    body.0
                );
            }
        }
    }
}

#[test]
fn epilogues_have_the_same_bits_on_any_number_of_threads() {
    let mut draw = Draw::new(22);
    for (body, chain, is_kept) in cases() {
        let program = program(body, chain, is_kept);
        let feeds =
            feeds(&program, 2, &mut draw, |draw, _, ty, count| arbitrary(draw, ty, count, (-1.0, 1.0)));
        let outputs = |threads| Run::new(Cpu::with_threads(threads).unwrap(), &program).outputs(&feeds);
        let one = outputs(1);
        for threads in [2, 3, 7] {
            assert!(outputs(threads) == one, "{} with `{chain}` on {threads} threads", body.0);
        }
    }
}

#[test]
fn a_body_and_its_epilogue_are_one_launch() {
    for (body, chain, is_kept) in cases() {
        let program = program(body, chain, is_kept);
        let executor = Executor::new(Cpu::with_threads(1).unwrap(), &program, &Storage::new()).unwrap();
        let plan = executor.plan().to_string();
        let launches = plan.lines().filter(|line| line.contains(" -> ") && !line.contains("relayout "));
        assert_eq!(launches.count(), 1, "{}: {plan}", body.0);
    }
}

/// Normalisation by the statistics of the batch has further results, and changes parameters.
const NORMALISED: &str = "program {
  rows _
  block 0 (x: f32[_, 9, 8, 7], w: f32[20, 9, 3, 3], scale: f32[20], bias: f32[20], mean: f32[20], variance: f32[20], other: f32[_, 20, 8, 7]) {
    y: f32[_, 20, 8, 7] = conv2d(x, w, paddings=[1, 1])
    n: f32[_, 20, 8, 7], saved_mean: f32[20], saved_variance: f32[20] = batch_norm(y, scale, bias, mean, variance, is_test=true)
    a: f32[_, 20, 8, 7] = elementwise_add(n, other)
    z: f32[_, 20, 8, 7] = relu(a)
    return z, saved_mean, saved_variance
  }
}";

/// Layers are normalised with further results, and so are their gradients.
const LAYERS: &str = "program {
  rows _
  block 0 (x: f32[_, 6, 50], scale: f32[50], bias: f32[50], other: f32[_, 6, 50]) {
    n: f32[_, 6, 50], mean: f32[_, 6], variance: f32[_, 6] = layer_norm(x, scale, bias, begin_norm_axis=2)
    y: f32[_, 6, 50] = relu(n)
    g: f32[_, 6, 50], scale_grad: f32[50], bias_grad: f32[50] = layer_norm_grad(x, scale, mean, variance, y, begin_norm_axis=2)
    total: f32[50] = reduce_sum(y, axes=[0, 1])
    z: f32[_, 6, 50] = elementwise_add(other, g)
    return y, z, total, scale_grad, bias_grad
  }
}";

/// A sum stands between the gradient and the addition, which ends its launch all the same.
#[test]
fn bodies_move_to_their_epilogues() {
    let program = text::parse(LAYERS).unwrap_or_else(|error| panic!("{error:?}"));
    let executor = Executor::new(Cpu::with_threads(1).unwrap(), &program, &Storage::new()).unwrap();
    let plan = executor.plan().to_string();
    assert!(
        plan.contains("layer_norm + relu(") && plan.contains("layer_norm_grad + elementwise_add("),
        "{plan}"
    );
    assert_eq!(plan.matches(" -> ").count(), 3, "{plan}");
}

fn layers_have_epilogues<B: Backend + Clone>(backend: &B) {
    let program = text::parse(LAYERS).unwrap_or_else(|error| panic!("{error:?}"));
    let mut draw = Draw::new(24);
    for rows in [3, 0, 40] {
        let feeds = feeds(&program, rows, &mut draw, |draw, _, _, count| on_grid(draw, count, (0.1, 1.0)));
        let expected = Run::new(Reference::double(), &program).outputs(&feeds);
        let found = Run::new(backend.clone(), &program).outputs(&feeds);
        for (found, expected) in found.iter().flatten().zip(expected.iter().flatten()) {
            assert!((found - expected).abs() < 2e-3 * (1.0 + expected.abs()), "{found}, {expected}");
        }
    }
}

fn normalisation_has_epilogues<B: Backend + Clone>(backend: &B) {
    let program = text::parse(NORMALISED).unwrap_or_else(|error| panic!("{error:?}"));
    let mut draw = Draw::new(23);
    let feeds = feeds(&program, 3, &mut draw, |draw, _, _, count| on_grid(draw, count, (0.1, 1.0)));
    let expected = Run::new(Reference::double(), &program).outputs(&feeds);
    let found = Run::new(backend.clone(), &program).outputs(&feeds);
    for (found, expected) in found.iter().flatten().zip(expected.iter().flatten()) {
        assert!((found - expected).abs() < 1e-4 * (1.0 + expected.abs()), "{found}, {expected}");
    }
}

on_every_device!(epilogues_agree, layers_have_epilogues, normalisation_has_epilogues);
