//! Tests of the programs that networks are lowered to, as text.

use paddle_core::ops::Program;

use crate::tests::analyse;

/// The program of the only network, or of the first one.
fn program(source: &str) -> Program {
    let analysis = analyse(source.parse().unwrap());
    let messages: Vec<String> = analysis.reports.iter().map(|report| report.message.to_string()).collect();
    assert!(messages.is_empty(), "{messages:?}");
    let program = analysis.lowered.into_iter().find_map(|(_, lowered)| lowered.program).unwrap();
    program.verify().unwrap();
    program
}

#[track_caller]
fn assert_program(source: &str, expected: &str) {
    assert_eq!(program(source).to_string().trim(), expected.trim());
}

#[test]
fn the_seed() {
    let source = "|x: Tensor<f32, _, 1>, z: Tensor<f32, _, 1>, y: Tensor<f32>| {
        let (o1, o2) = if x > 15.0 {
            let d = x + y;
            (d, softmax(d))
        } else {
            let d = fc(z, 1);
            (d, d + 1.0)
        };
        (o1, o2)
    }";
    let expected = "
program {
  rows _
  parameter d.w: f32[1, 1] = uniform_random(min=-1.7320508075688772, max=1.7320508075688772)
  parameter d.b: f32[1] = fill_constant(value=0.0)
  block 0 (x: f32[_, 1], z: f32[_, 1], y: f32[]) {
    fill_constant: f32[] = fill_constant(value=15.0)
    greater_than: bool[_, 1] = greater_than(x, fill_constant)
    o1: f32[_, 1], o2: f32[_, 1] = if(greater_than) {
      block 1 on _.1 of _ {
        x_1: f32[_.1, 1] = gather_rows(x)
        d: f32[_.1, 1] = elementwise_add(x_1, y)
        softmax: f32[_.1, 1] = softmax(d)
        yield d, softmax
      }
      block 2 on _.2 of _ {
        z_1: f32[_.2, 1] = gather_rows(z)
        matmul_v2: f32[_.2, 1] = matmul_v2(z_1, d.w)
        d_1: f32[_.2, 1] = elementwise_add(matmul_v2, d.b)
        scale: f32[_.2, 1] = scale(d_1, bias=1.0)
        yield d_1, scale
      }
    }
    return o1, o2
  }
}";
    assert_program(source, expected);
}

#[test]
fn a_variable_assigned_in_one_branch_keeps_its_value_on_the_other_rows() {
    let source = "|x: Tensor<f32, _, 2>, c: Tensor<bool, _>| {
        let mut h = x;
        let mut zero = 0.0;
        if c {
            h = h + x;
            zero = sum(x) * h;
        }
        (h, zero)
    }";
    let expected = "
program {
  rows _
  block 0 (x: f32[_, 2], c: bool[_]) {
    h: f32[_, 2], zero: f32[_, 2] = if(c) {
      block 1 on _.1 of _ {
        x_1: f32[_.1, 2] = gather_rows(x)
        h_1: f32[_.1, 2] = elementwise_add(x_1, x_1)
        reduce_sum: f32[] = reduce_sum(x_1)
        zero_1: f32[_.1, 2] = elementwise_mul(reduce_sum, h_1)
        yield h_1, zero_1
      }
      block 2 on _.2 of _ {
        x_2: f32[_.2, 2] = gather_rows(x)
        fill_constant: f32[_.2, 2] = fill_constant(value=0.0)
        yield x_2, fill_constant
      }
    }
    return h, zero
  }
}";
    assert_program(source, expected);
}

#[test]
fn a_loop_in_a_branch() {
    let source = "|x: Tensor<f32, _, 1>, n: Tensor<i64>| {
        let mut h = x;
        if h > 0.0 {
            let mut i = 0;
            while i < n {
                h += x;
                i += 1;
            }
        }
        h
    }";
    let expected = "
program {
  rows _
  block 0 (x: f32[_, 1], n: i64[]) {
    fill_constant: f32[] = fill_constant(value=0.0)
    greater_than: bool[_, 1] = greater_than(x, fill_constant)
    h: f32[_, 1] = if(greater_than) {
      block 1 on _.1 of _ {
        x_1: f32[_.1, 1] = gather_rows(x)
        fill_constant_1: i64[] = fill_constant(value=0)
        h_3: f32[_.1, 1], i_3: i64[] = while(x_1, fill_constant_1) {
          block 3 (h_4: f32[_.1, 1], i: i64[]) {
            less_than: bool[] = less_than(i, n)
            yield less_than
          }
          block 4 (h_1: f32[_.1, 1], i_1: i64[]) {
            h_2: f32[_.1, 1] = elementwise_add(h_1, x_1)
            fill_constant_2: i64[] = fill_constant(value=1)
            i_2: i64[] = elementwise_add(i_1, fill_constant_2)
            yield h_2, i_2
          }
        }
        yield h_3
      }
      block 2 on _.2 of _ {
        x_2: f32[_.2, 1] = gather_rows(x)
        yield x_2
      }
    }
    return h
  }
}";
    assert_program(source, expected);
}

/// The names of a network's parameters.
pub(super) fn parameters(source: &str) -> Vec<String> {
    let program = program(source);
    program.parameters().map(|id| program.var(id).name.clone()).collect()
}

#[test]
fn parameters_are_named_by_calls_and_bindings() {
    let source = "pub mod m {
        fn pair(x: _) -> _ {
            let hidden = fc(fc(x, 3), 3);
            fc(hidden, 3)
        }
        pub fn net(x: Tensor<f32, _, 3>) -> _ {
            let out = pair(pair(x), param = \"pair_1\");
            let named = pair(out, param = \"shared\") + pair(x, param = \"shared\");
            let f = |x| fc(x, 3);
            f(named) + fc(x, 3, param = \"a.b\")
        }
    }";
    let weights: Vec<String> = parameters(source).into_iter().filter(|name| name.ends_with(".w")).collect();
    let expected = [
        "pair.hidden_fc.w",
        "pair.hidden.w",
        "pair.fc.w",
        "pair_1.hidden_fc.w",
        "pair_1.hidden.w",
        "pair_1.fc.w",
        "shared.hidden_fc.w",
        "shared.hidden.w",
        "shared.fc.w",
        "f.fc.w",
        "a.b.w",
    ];
    assert_eq!(weights, expected);
}

#[test]
fn a_closure_captures_values() {
    let source = "|x: Tensor<f32, _, 1>| {
        let mut y = x;
        let add = |z| z + y;
        y = y * 2.0;
        add(y)
    }";
    let expected = "
program {
  rows _
  block 0 (x: f32[_, 1]) {
    y: f32[_, 1] = scale(x, scale=2.0)
    elementwise_add: f32[_, 1] = elementwise_add(y, x)
    return elementwise_add
  }
}";
    assert_program(source, expected);
}

#[test]
fn numbers_are_computed_and_adapt() {
    let source = "pub mod m {
        const B: f32 = 0.5 * A;
        const A: f32 = 3.0;
        const N: usize = (7 % 4) * -2 + 8;
        pub fn net(x: Tensor<f32, _, { N * 3 }>, i: Tensor<i64, _, 1>) -> _ {
            (2 * x - B, 1 - x, x / 2, i / 2, i % N < 2 + 1)
        }
    }";
    let expected = "
program {
  rows _
  block 0 (x: f32[_, 6], i: i64[_, 1]) {
    scale: f32[_, 6] = scale(x, scale=2.0)
    scale_1: f32[_, 6] = scale(scale, bias=-1.5)
    scale_2: f32[_, 6] = scale(x, scale=-1.0, bias=1.0)
    fill_constant: f32[] = fill_constant(value=2.0)
    elementwise_div: f32[_, 6] = elementwise_div(x, fill_constant)
    fill_constant_1: i64[] = fill_constant(value=2)
    elementwise_div_1: i64[_, 1] = elementwise_div(i, fill_constant_1)
    fill_constant_2: i64[] = fill_constant(value=2)
    elementwise_mod: i64[_, 1] = elementwise_mod(i, fill_constant_2)
    fill_constant_3: i64[] = fill_constant(value=3)
    less_than: bool[_, 1] = less_than(elementwise_mod, fill_constant_3)
    return scale_1, scale_2, elementwise_div, elementwise_div_1, less_than
  }
}";
    assert_program(source, expected);
}

#[test]
fn arithmetic_on_numbers_is_that_of_rust() {
    const REMAINDERS: [i64; 2] = [-7 % 3, 7 % -3];
    let scale = |number: &str| {
        let text = program(&format!("|x: Tensor<f32, _, 1>| x + {number}")).to_string();
        text.split("bias=")
            .nth(1)
            .and_then(|rest| rest.split(')').next())
            .map(|bias| bias.parse::<f64>().unwrap())
    };
    assert_eq!(scale("(-7 % 3)"), Some(REMAINDERS[0] as f64));
    assert_eq!(scale("(7 % -3)"), Some(REMAINDERS[1] as f64));
    assert_eq!(scale("(-7 / 2)"), Some((-7 / 2) as f64));
    assert_eq!(scale("(-7.5 % 2.0)"), Some(-7.5 % 2.0));
}

#[test]
fn every_operator_has_its_place() {
    let program = program("|x: Tensor<f32, _, 2>| {\n    let y = x +\n        fc(x, 2);\n    mean(y)\n}");
    let places: Vec<(u32, u32)> = program.blocks()[0]
        .ops
        .iter()
        .map(|operator| operator.site.place.map(|place| (place.line, place.column)).unwrap())
        .collect();
    // The places of the two operators of `fc`, of `+`, and of `mean`.
    assert_eq!(places, [(3, 9), (3, 9), (2, 15), (4, 5)]);
}

#[test]
fn trailing_dimensions_are_flattened() {
    let source = "|x: Tensor<f32, _, 2, 3>| fc(x, 1)";
    let text = program(source).to_string();
    assert!(text.contains("reshape2: f32[_, 6] = reshape2(x, dims=[6])"), "{text}");
}
