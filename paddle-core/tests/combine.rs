//! `combine`: what becomes one operator, and what stays because something else is read, or the device has no kernel.

use paddle_core::ops::{Op, Program};
use paddle_core::passes::combine::combine;
use paddle_core::program::{BlockId, DType};
use paddle_core::text;

/// A program with attention over pairs. `rest` is what is behind the means `y`, and `of_sum` the positions of the sum.
fn attention(of_sum: &str, rest: &str) -> Program {
    let source = format!(
        "program {{
          rows _
          tokens _.x of _
          tokens _.y of _
          tokens _.x.pairs of _.x
          block 0 (q: f32[_.x, 2, 3], k: f32[_.y, 2, 3], v: f32[_.y, 2, 5], at: i64[_.x.pairs], or: i64[_.x.pairs]) {{
            s: f32[_.x.pairs, 2] = sequence_product(q, k, at)
            w: f32[_.x.pairs, 2] = sequence_softmax(s)
            y: f32[_.x, 2, 5] = sequence_weigh(w, v, {of_sum}, q)
            {rest}
          }}
        }}"
    );
    let program = text::parse(&source).unwrap_or_else(|error| panic!("{error}\n{source}"));
    program.verify().unwrap();
    program
}

/// The operators after the pass, on a device that has kernels for these.
fn combined(mut program: Program, supports: &dyn Fn(&Op, &[DType]) -> bool) -> Vec<&'static str> {
    combine(&mut program, supports).unwrap();
    program.verify().unwrap_or_else(|error| panic!("{error}\n{program}"));
    program.block(BlockId(0)).ops.iter().map(|operator| operator.op.name()).collect()
}

const APART: [&str; 3] = ["sequence_product", "sequence_softmax", "sequence_weigh"];

#[test]
fn attention_becomes_one_operator() {
    let types = [DType::F32, DType::F32, DType::F32, DType::I64, DType::F32, DType::F32];
    let supports = |op: &Op, of: &[DType]| op.name() == "sequence_attend" && of == types;
    assert_eq!(combined(attention("at", "return y"), &supports), ["sequence_attend"]);
    let twice = "z: f32[_.x, 2, 5] = relu(y)
                 return z, y";
    let mut program = attention("at", twice);
    combine(&mut program, &supports).unwrap();
    let [attend, relu] = &program.block(BlockId(0)).ops[..] else { panic!("{program}") };
    assert_eq!(relu.inputs, attend.outputs[..1]);
    assert_eq!(program.outputs(), [relu.outputs[0], attend.outputs[0]]);
    assert_eq!(program.var(attend.outputs[0]).name, "y");
}

#[test]
fn it_stays_where_weights_are_read() {
    for rest in ["return y, w", "return y, s", "z: f32[_.x.pairs, 2] = relu(w)\nreturn y, z"] {
        let names = combined(attention("at", rest), &|_, _| true);
        assert_eq!(names[..3], APART, "{rest}");
    }
}

#[test]
fn it_stays_where_positions_differ() {
    assert_eq!(combined(attention("or", "return y"), &|_, _| true), APART);
}

#[test]
fn it_stays_on_devices_without_a_kernel() {
    assert_eq!(combined(attention("at", "return y"), &|_, _| false), APART);
}
