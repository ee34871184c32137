//! `turn`: which matrices are turned, and where.

use paddle_core::ops::Op;
use paddle_core::passes::turn::turn;
use paddle_core::program::BlockId;
use paddle_core::text;

/// The program after the pass, as text.
fn turned(body: &str) -> String {
    let source = format!(
        "program {{
          rows _
          parameter w: f32[5, 3] = fill_constant(value=0.5)
          parameter v: f32[3, 5] = fill_constant(value=0.5)
          {body}
        }}"
    );
    let mut program = text::parse(&source).unwrap_or_else(|error| panic!("{error}\n{source}"));
    program.verify().unwrap();
    turn(&mut program).unwrap();
    program.verify().unwrap_or_else(|error| panic!("{error}\n{program}"));
    let names = |block: u32| {
        let operators = program.block(BlockId(block)).ops.iter();
        let name = |op: &Op| match op {
            Op::Matmul(matmul) if matmul.trans_y => "matmul_v2 of a transpose",
            op => op.name(),
        };
        operators.map(|operator| name(&operator.op)).collect::<Vec<_>>().join(", ")
    };
    (0..program.blocks().len() as u32).map(names).collect::<Vec<_>>().join("; ")
}

#[test]
fn a_parameter_is_turned_once_for_all_products() {
    let body = "block 0 (x: f32[_, 3]) {
        y: f32[_, 5] = matmul_v2(x, w, trans_y=true)
        z: f32[_, 5] = matmul_v2(x, w, trans_y=true)
        u: f32[_, 3] = matmul_v2(z, w)
        return y, u
      }";
    assert_eq!(turned(body), "transpose2, matmul_v2, matmul_v2, matmul_v2");
}

#[test]
fn what_follows_from_parameters_is_turned_behind_its_operator() {
    let body = "block 0 (x: f32[_, 3]) {
        twice: f32[5, 3] = scale(w, scale=2.0)
        y: f32[_, 5] = matmul_v2(x, twice, trans_y=true)
        return y
      }";
    assert_eq!(turned(body), "scale, transpose2, matmul_v2");
}

#[test]
fn values_of_a_run_stay_as_they_are() {
    let body = "block 0 (x: f32[_, 3], m: f32[5, 3]) {
        sum: f32[5, 3] = elementwise_add(m, w)
        y: f32[_, 5] = matmul_v2(x, m, trans_y=true)
        z: f32[_, 5] = matmul_v2(x, sum, trans_y=true)
        return y, z
      }";
    assert_eq!(turned(body), "elementwise_add, matmul_v2 of a transpose, matmul_v2 of a transpose");
}
