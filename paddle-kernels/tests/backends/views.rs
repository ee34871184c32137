//! Values in the memory of others: parts and other shapes, which are not copied.

use paddle_core::ops::Program;
use paddle_core::plan::{Backend, Executor, Storage};
use paddle_core::text;
use paddle_kernels::Cpu;
use paddle_kernels::reference::Reference;

use crate::draw::Draw;
use crate::fed::on_grid;
use crate::gradients::{Run, feeds};
use crate::on_every_device;

/// Views of results, of inputs and of views, each read behind what else is computed; and the same values without views, by
/// operators that move elements.
const VIEWS: &str = "program {
  rows _
  block 0 (x: f32[_, 2, 3], w: f32[5, 4], v: f32[4]) {
    a: f32[_, 2, 3] = tanh(x)
    flat: f32[_, 6] = reshape2(a, dims=[6])
    again: f32[_, 3, 2] = reshape2(flat, dims=[3, 2])
    fed: f32[_, 6] = reshape2(x, dims=[6])
    first: f32[2, 4], second: f32[3, 4] = split(w, axis=0, sections=[2, 3])
    middle: f32[2, 4] = slice(w, axes=[0], starts=[1], ends=[3])
    last: f32[1, 4] = slice(second, axes=[0], starts=[2], ends=[3])
    row: f32[4] = reshape2(last, dims=[4])
    b: f32[_, 6] = elementwise_mul(flat, fed)
    c: f32[_, 6] = softmax(b)
    d: f32[_, 6] = elementwise_add(c, flat)
    swapped: f32[_, 2, 3] = transpose2(again, perm=[0, 2, 1])
    e: f32[2, 4] = elementwise_mul(first, middle)
    f: f32[2, 4] = elementwise_add(e, row)
    g: f32[3, 4] = elementwise_mul(second, v)
    out: f32[_, 6] = reshape2(swapped, dims=[6])
    return d, out, f, g, swapped
  }
}";

fn program() -> Program {
    text::parse(VIEWS).unwrap_or_else(|error| panic!("{error:?}"))
}

/// What [`VIEWS`] computes, from its definition.
fn expected(x: &[f64], w: &[f64], v: &[f64]) -> Vec<Vec<f64>> {
    let (mut d, mut out) = (Vec::new(), Vec::new());
    for x in x.chunks(6) {
        let a: Vec<f64> = x.iter().map(|x| x.tanh()).collect();
        let e: Vec<f64> = a.iter().zip(x).map(|(a, x)| (a * x).exp()).collect();
        let sum: f64 = e.iter().sum();
        d.extend(e.iter().zip(&a).map(|(e, a)| e / sum + a));
        out.extend((0..6).map(|i| a[i % 3 * 2 + i / 3]));
    }
    let f = (0..8).map(|i| w[i] * w[i + 4] + w[16 + i % 4]).collect();
    let g = (0..12).map(|i| w[8 + i] * v[i % 4]).collect();
    vec![d, out.clone(), f, g, out]
}

fn views_are_parts_of_values<B: Backend + Clone>(backend: &B) {
    let program = program();
    let mut run = Run::new(backend.clone(), &program);
    let mut draw = Draw::new(41);
    for rows in [3, 0, 1, 40] {
        let feeds = feeds(&program, rows, &mut draw, |draw, _, _, count| on_grid(draw, count, (-1.0, 1.0)));
        let [x, w, v] = [0, 1, 2].map(|input| feeds[input].values.floats());
        let found = run.outputs(&feeds);
        for (found, expected) in found.iter().zip(expected(&x, &w, &v)) {
            assert_eq!(found.len(), expected.len());
            assert!(
                found.iter().zip(&expected).all(|(found, expected)| (found - expected).abs() < 1e-5),
                "{found:?} is not {expected:?}"
            );
        }
    }
}

#[test]
fn only_what_leaves_the_run_is_copied() {
    for double in [false, true] {
        let plan = match double {
            false => plan(Cpu::with_threads(1).unwrap()),
            true => plan(Reference::double()),
        };
        let copies = plan
            .lines()
            .filter(|line| ["reshape2(", "split(", "slice("].iter().any(|op| line.trim().starts_with(op)));
        assert_eq!(copies.count(), 1, "{plan}");
        assert!(plan.contains("again: in flat") && plan.contains("row: in last"), "{plan}");
    }
}

fn plan<B: Backend>(backend: B) -> String {
    Executor::new(backend, &program(), &Storage::new()).unwrap().plan().to_string()
}

on_every_device!(views_are_parts_of_values);
