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

/// A program with attention of matrices. `steps` are between the product of `q` and `k` and the weights `w`, and `rest` is behind the
/// means `y`.
fn of_matrices(before: &str, product: &str, steps: &str, rest: &str) -> Program {
    let source = format!(
        "program {{
          rows _
          block 0 (q: f32[_, 2, 3, 4], k: f32[_, 2, 5, 4], v: f32[_, 2, 5, 6], p: f32[_, 3, 2, 4], l: f32[_, 5, 2, 4],
                   m: bool[3, 5], n: f32[_, 1, 1, 5], a: f32[2, 3, 1]) {{
            {before}
            s: f32[_, 2, 3, 5] = matmul_v2({product})
            {steps}
            y: f32[_, 2, 3, 6] = matmul_v2(w, v)
            {rest}
          }}
        }}"
    );
    let program = text::parse(&source).unwrap_or_else(|error| panic!("{error}\n{source}"));
    program.verify().unwrap();
    program
}

/// The text of the program's block behind the pass, without its braces.
fn text_of(mut program: Program) -> String {
    combine(&mut program, &|_, _| true).unwrap();
    program.verify().unwrap_or_else(|error| panic!("{error}\n{program}"));
    let text = program.to_string();
    let lines = text.lines().skip_while(|line| !line.contains("block 0")).skip(1);
    let lines: Vec<&str> = lines.map(str::trim).take_while(|line| !line.starts_with('}')).collect();
    lines.join("\n")
}

const PLAIN: &str = "q, k, trans_y=true";
const WEIGHTS: &str = "w: f32[_, 2, 3, 5] = softmax(s)";

#[test]
fn attention_of_matrices_becomes_one_operator() {
    for (steps, expected) in [
        (WEIGHTS, "attend(q, k, v)"),
        (
            "t: f32[_, 2, 3, 5] = scale(s, scale=0.5)\nw: f32[_, 2, 3, 5] = softmax(t)",
            "attend(q, k, v, scale=0.5)",
        ),
        (
            "d: f32[1] = fill_constant(value=4.0)
             t: f32[_, 2, 3, 5] = elementwise_div(s, d)
             u: f32[_, 2, 3, 5] = elementwise_add(n, t)
             w: f32[_, 2, 3, 5] = softmax(u)",
            "attend(q, k, v, n, scale=0.25)",
        ),
        (
            "d: f32[] = fill_constant(value=-1000.0)
             t: f32[_, 2, 3, 5] = where(m, s, d)
             w: f32[_, 2, 3, 5] = softmax(t)",
            "attend(q, k, v, m, masked=-1000.0)",
        ),
        (
            "d: f32[] = fill_constant(value=-1000.0)
             t: f32[_, 2, 3, 5] = where(m, d, s)
             w: f32[_, 2, 3, 5] = softmax(t)",
            "attend(q, k, v, m, kept=false, masked=-1000.0)",
        ),
        (
            "t: f32[_, 2, 3, 5] = softmax(s)
             w: f32[_, 2, 3, 5] = assign(t)",
            "attend(q, k, v)",
        ),
        ("t: f32[_, 2, 3, 5] = elementwise_add(s, a)\nw: f32[_, 2, 3, 5] = softmax(t)", "attend(q, k, v, a)"),
    ] {
        let expected = format!("y: f32[_, 2, 3, 6], attend_1: f32[_, 2, 3] = {expected}\nreturn y");
        assert_eq!(text_of(of_matrices("", PLAIN, steps, "return y")), expected);
    }
}

/// Factors of queries and keys are factors of the scores.
#[test]
fn queries_and_keys_may_be_scaled() {
    let before = "i: f32[_, 2, 3, 4] = scale(q, scale=0.5)
                  o: f32[_, 2, 4, 5] = transpose2(k, perm=[0, 1, 3, 2])
                  g: i64[1] = fill_constant(value=8)
                  h: i64[1] = fill_constant(value=4)
                  e: i64[2] = concat(g, h, axis=0)
                  f: i64[1] = slice(e, axes=[0], starts=[-1], ends=[9])
                  u: f32[1] = cast(f, dtype=f32)
                  r: f32[1] = sqrt(u)
                  c: f32[1] = assign_value(values=[0.5])
                  d: f32[1] = elementwise_div(c, r)
                  j: f32[_, 2, 4, 5] = elementwise_mul(o, d)";
    let all = text_of(of_matrices(before, "i, j", WEIGHTS, "return y"));
    // What computes the factor is left: the plan drops what nobody reads.
    assert!(all.ends_with("attend_1: f32[_, 2, 3] = attend(q, k, v, scale=0.125)\nreturn y"), "{all}");
    assert!(!all.contains("elementwise_mul") && !all.contains("transpose2"), "{all}");
}

/// Heads behind the places, as layers have them: transposes are in the operator, but those that something else reads.
#[test]
fn heads_may_be_behind_the_places() {
    let before = "i: f32[_, 2, 3, 4] = transpose2(p, perm=[0, 2, 1, 3])
                  j: f32[_, 2, 4, 5] = transpose2(l, perm=[0, 2, 3, 1])";
    let behind = "z: f32[_, 3, 2, 6] = transpose2(y, perm=[0, 2, 1, 3])";
    let one = text_of(of_matrices(before, "i, j", WEIGHTS, &format!("{behind}\nreturn z")));
    assert_eq!(
        one,
        "z: f32[_, 3, 2, 6], attend_3: f32[_, 2, 3] = attend(p, l, v, heads_last=[1, 1, 0, 1])\nreturn z"
    );
    let both = text_of(of_matrices(before, "i, j", WEIGHTS, &format!("{behind}\nreturn z, y, i")));
    assert_eq!(
        both,
        "i: f32[_, 2, 3, 4] = transpose2(p, perm=[0, 2, 1, 3])
y: f32[_, 2, 3, 6], attend_1: f32[_, 2, 3] = attend(p, l, v, heads_last=[1, 1, 0, 0])
z: f32[_, 3, 2, 6] = transpose2(y, perm=[0, 2, 1, 3])
return z, y, i"
    );
}

#[test]
fn what_is_not_attention_stays() {
    let is_left = |program: Program| !text_of(program).contains("attend");
    // Something else reads the scores or the weights.
    assert!(is_left(of_matrices("", PLAIN, WEIGHTS, "return y, w")));
    assert!(is_left(of_matrices("", PLAIN, WEIGHTS, "return y, s")));
    // The mask makes more scores than there are products, or something else is between them.
    let wider = "b: f32[_, 2, 3, 5] = square(s)\nw: f32[_, 2, 3, 5] = softmax(b)";
    assert!(is_left(of_matrices("", PLAIN, wider, "return y")));
    let twice = "t: f32[_, 2, 3, 5] = elementwise_add(s, a)
                 u: f32[_, 2, 3, 5] = elementwise_add(t, n)
                 w: f32[_, 2, 3, 5] = softmax(u)";
    assert!(is_left(of_matrices("", PLAIN, twice, "return y")));
    let of_scores = "t: f32[_, 2, 3, 5] = elementwise_add(s, s)\nw: f32[_, 2, 3, 5] = softmax(t)";
    assert!(is_left(of_matrices("", PLAIN, of_scores, "return y")));
    assert!(is_left(of_matrices(
        "",
        PLAIN,
        "t: f32[_, 2, 3, 5] = scale(s, bias=1.0)\nw: f32[_, 2, 3, 5] = softmax(t)",
        "return y"
    )));
}

/// A program with values between `x` and the result `y`.
fn of_function(steps: &str) -> Program {
    let source = format!(
        "program {{
          rows _
          block 0 (x: f32[_, 4], z: f32[_, 4]) {{
            root: f32[] = assign_value(values=[1.4142135])
            one: f32[] = fill_constant(value=1.0)
            half: f32[1] = fill_constant(value=0.5)
            {steps}
          }}
        }}"
    );
    let program = text::parse(&source).unwrap_or_else(|error| panic!("{error}\n{source}"));
    program.verify().unwrap();
    program
}

const ERF: &str =
    "a: f32[_, 4] = elementwise_div(x, root)\ne: f32[_, 4] = erf(a)\np: f32[_, 4] = elementwise_add(e, one)";

#[test]
fn gelu_is_recognised_as_models_write_it() {
    for rest in [
        "m: f32[_, 4] = elementwise_mul(x, p)\ny: f32[_, 4] = elementwise_mul(m, half)",
        "m: f32[_, 4] = elementwise_mul(p, x)\ny: f32[_, 4] = scale(m, scale=0.5)",
        "m: f32[_, 4] = elementwise_mul(half, x)\ny: f32[_, 4] = elementwise_mul(m, p)",
        "m: f32[_, 4] = scale(p, scale=0.5)\ny: f32[_, 4] = elementwise_mul(x, m)",
        "m: f32[_, 4] = elementwise_mul(x, p)\ntwo: f32[] = fill_constant(value=2.0)\ny: f32[_, 4] = elementwise_div(m, two)",
    ] {
        let found = text_of(of_function(&format!("{ERF}\n{rest}\nreturn y")));
        assert!(found.contains("y: f32[_, 4] = gelu(x)") && !found.contains("erf"), "{found}");
    }
}

#[test]
fn what_is_nearly_gelu_stays() {
    for steps in [
        // Another factor, another value, and a value in between that is read.
        format!(
            "{ERF}\nm: f32[_, 4] = elementwise_mul(x, p)\ny: f32[_, 4] = elementwise_mul(m, root)\nreturn y"
        ),
        format!(
            "{ERF}\nm: f32[_, 4] = elementwise_mul(z, p)\ny: f32[_, 4] = elementwise_mul(m, half)\nreturn y"
        ),
        format!(
            "{ERF}\nm: f32[_, 4] = elementwise_mul(x, p)\ny: f32[_, 4] = elementwise_mul(m, half)\nreturn y, e"
        ),
        format!(
            "{ERF}\nm: f32[_, 4] = elementwise_mul(p, p)\ny: f32[_, 4] = elementwise_mul(m, half)\nreturn y"
        ),
    ] {
        let found = text_of(of_function(&steps));
        assert!(found.contains("erf") && !found.contains("gelu"), "{found}");
    }
}
