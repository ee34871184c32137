//! Sizes that are not known when a program is made: what is left to be checked, and binding.

use paddle_core::ops::{Binary, BinaryKind, Matmul, Op, Program};
use paddle_core::program::{BindError, BuildError, Condition, DType, Dim, Site, SymbolId, Type, VarId};
use paddle_core::{convert, passes, text};

/// A program with two inputs of these types, and an operator on them.
fn apply(op: impl Into<Op>, x: &str, y: &str) -> Result<(Program, VarId), BuildError> {
    let declare = format!(
        "program {{ rows _ rows R size T size U size N outside size M outside block 0 (x: {x}, y: {y}) {{ return x }} }}"
    );
    let mut program = text::parse(&declare).unwrap();
    let inputs = program.inputs().to_vec();
    let out = program.append_op(Program::GLOBAL, op, &inputs, Site::default())?[0];
    program.set_outputs(&[out])?;
    Ok((program, out))
}

const ADD: Binary = Binary { kind: BinaryKind::Add };
const MATMUL: Matmul = Matmul { trans_x: false, trans_y: false };

/// The type that comes out, and the checks that are left; or the mistake.
fn outcome(op: impl Into<Op>, x: &str, y: &str) -> String {
    match apply(op, x, y) {
        Ok((program, out)) => {
            let size = |dim: &Dim| program.show_dim(dim);
            let checks = program.checks().iter().map(|check| match &check.condition {
                Condition::Equal(a, b) => format!("{} = {}", size(a), size(b)),
                Condition::Positive(size) => format!("{} > 0", program.show_dim(size)),
            });
            let checks: Vec<String> = checks.collect();
            format!("{} if {}", program.show(program.ty(out)), checks.join(", "))
        }
        Err(_) => "wrong".to_string(),
    }
}

#[test]
fn a_shape_test_has_three_answers() {
    for (x, y, expected) in [
        ("f32[_, T]", "f32[_, T]", "f32[_, T] if "),
        ("f32[_, T]", "f32[_, U]", "f32[_, T] if T = U"),
        ("f32[_, N]", "f32[_, M]", "f32[_, N] if N = M"),
        ("f32[_, T]", "f32[_, 3]", "f32[_, 3] if T = 3"),
        ("f32[_, 3]", "f32[_, N]", "f32[_, 3] if 3 = N"),
        ("f32[_, T, U]", "f32[_, U, T]", "f32[_, T, U] if T = U"),
        ("f32[_, 2 * T]", "f32[_, 3]", "wrong"),
        ("f32[_, T + 1]", "f32[_, T]", "wrong"),
        ("f32[_, 4]", "f32[_, 3]", "wrong"),
        // 1 is repeated; a symbol is itself.
        ("f32[_, 1]", "f32[_, N]", "f32[_, N] if "),
        ("f32[_, T]", "f32[_, 1]", "f32[_, T] if "),
        // Rows are not compared by their number.
        ("f32[_, T]", "f32[R, T]", "wrong"),
        ("f32[_, T]", "f32[3, T]", "wrong"),
        ("f32[1, (_)]", "f32[1, 3]", "wrong"),
        ("f32[1, (_)]", "f32[1, T]", "wrong"),
        ("f32[1, (_)]", "f32[1, (_)]", "f32[1, _] if "),
    ] {
        assert_eq!(outcome(ADD, x, y), expected, "{x} + {y}");
    }
    for (x, y, expected) in [
        ("f32[_, T]", "f32[T, 8]", "f32[_, 8] if "),
        ("f32[_, T]", "f32[U, 8]", "f32[_, 8] if T = U"),
        ("f32[_, 4]", "f32[N, 8]", "f32[_, 8] if 4 = N"),
        ("f32[_, R]", "f32[R, 8]", "wrong"),
        ("f32[_, 4]", "f32[R, 8]", "wrong"),
    ] {
        assert_eq!(outcome(MATMUL, x, y), expected, "{x} · {y}");
    }
}

#[test]
fn a_condition_is_checked_once() {
    let (mut program, out) = apply(ADD, "f32[_, T]", "f32[_, U]").unwrap();
    let inputs = program.inputs().to_vec();
    program.append_op(Program::GLOBAL, ADD, &inputs, Site::default()).unwrap();
    program.append_op(Program::GLOBAL, ADD, &[out, inputs[1]], Site::default()).unwrap();
    assert_eq!(program.checks().len(), 1);
    program.verify().unwrap();
}

#[test]
fn checks_survive_text_and_wire() {
    let (program, _) = apply(ADD, "f32[_, T, N]", "f32[_, U, 8]").unwrap();
    assert_eq!(program.checks().len(), 2);
    let printed = text::with_places(&program).to_string();
    assert!(printed.contains("  size N outside\n"), "{printed}");
    assert!(printed.contains("\n  check N = 8: \"`y` is"), "{printed}");
    assert_eq!(text::parse(&printed).unwrap(), program);
    // They are derived where they are not written.
    let lines: Vec<&str> = printed.lines().filter(|line| !line.contains(" check ")).collect();
    assert_eq!(text::parse(&lines.join("\n")).unwrap(), program);
    let wire = convert::to_wire(&program);
    let read = convert::from_wire(&wire.main, Some(&wire.startup)).unwrap();
    assert_eq!((read.checks(), read.symbols()), (program.checks(), program.symbols()));
}

fn ids(program: &Program) -> Vec<SymbolId> {
    program.outside_symbols().collect()
}

#[test]
fn binding_replaces_symbols_everywhere() {
    let mut program = text::parse(
        "program {
            size N outside rows _ size M outside size T
            parameter w: f32[N, 2 * M] = uniform_random(min=-1.0, max=1.0)
            block 0 (x: f32[_, N], y: f32[_, T], p: bool[]) {
                h: f32[_, 2 * M] = matmul_v2(x, w)
                r: f32[_, M, 2] = reshape2(h, dims=[M, 2])
                f: f32[_, M, 2] = fill_constant(value=1.0)
                i: f32[_, M, 2] = if(p) { block 1 { yield r } block 2 { yield f } }
                back: f32[_, 2 * M] = reshape2(i, dims=[2 * M])
                sum: f32[_, 2 * M] = elementwise_add(back, y)
                cost: f32[] = reduce_sum(sum)
                return cost
            }
        }",
    )
    .unwrap();
    let [n, m] = ids(&program)[..] else { panic!("two sizes come from outside") };
    let bound = program.bind(&[(m, 3), (n, 5)]).unwrap();
    bound.verify().unwrap();
    assert_eq!(
        bound.to_string(),
        r#"program {
  rows _
  size T
  check 6 = T: "`y` is f32[_, T], but `back` is f32[_, 2 * M]: `elementwise_add` needs shapes that agree, where `M` is 3"
  parameter w: f32[5, 6] = uniform_random()
  block 0 (x: f32[_, 5], y: f32[_, T], p: bool[]) {
    h: f32[_, 6] = matmul_v2(x, w)
    r: f32[_, 3, 2] = reshape2(h, dims=[3, 2])
    f: f32[_, 3, 2] = fill_constant(value=1.0)
    i: f32[_, 3, 2] = if(p) {
      block 1 {
        yield r
      }
      block 2 {
        yield f
      }
    }
    back: f32[_, 6] = reshape2(i, dims=[6])
    sum: f32[_, 6] = elementwise_add(back, y)
    cost: f32[] = reduce_sum(sum)
    return cost
  }
}
"#
    );
    // One after the other is the same, and so is what comes of it.
    let first = program.bind(&[(n, 5)]).unwrap();
    assert_eq!(first.bind(&[(ids(&first)[0], 3)]).unwrap(), bound);
    program = bound;
    passes::backward::backward(&mut program).unwrap();
    program.verify().unwrap();
}

#[test]
fn binding_decides_checks() {
    let (program, out) = apply(ADD, "f32[_, N]", "f32[_, M]").unwrap();
    let [n, m] = ids(&program)[..] else { panic!("two sizes come from outside") };
    let bound = program.bind(&[(n, 8), (m, 8)]).unwrap();
    assert_eq!((bound.show(bound.ty(out)), bound.checks().len()), ("f32[_, 8]".to_string(), 0));
    let error = program.bind(&[(n, 8), (m, 7)]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`y` is f32[_, M], but `x` is f32[_, N]: `elementwise_add` needs shapes that agree, where `N` is 8 and `M` is 7"
    );
    // A size that turns out to be 1 is not repeated along another one.
    assert!(matches!(program.bind(&[(n, 1), (m, 7)]), Err(BindError::Check { .. })));
    assert!(program.bind(&[(n, 1), (m, 1)]).is_ok());
    // The other one is known later.
    let half = program.bind(&[(n, 1)]).unwrap();
    half.verify().unwrap();
    assert!(half.bind(&[(ids(&half)[0], 7)]).is_err());
}

#[test]
fn nonsense_is_refused() {
    let (program, _) = apply(ADD, "f32[_, N * N]", "f32[_, T]").unwrap();
    let n = ids(&program)[0];
    assert_eq!(program.bind(&[(n, i64::MAX)]).unwrap_err().to_string(), "a size overflows 64-bit integers");
    assert!(matches!(program.bind(&[(n, 1), (n, 1)]), Err(BindError::NotOutside { .. })));
    let error = program.bind(&[(SymbolId(99), 1)]).unwrap_err();
    assert_eq!(error.to_string(), "`99` is not a size of this program that is given from outside");
    let fed = program.symbols().iter().position(|symbol| symbol.name == "T").unwrap();
    assert!(matches!(program.bind(&[(SymbolId(fed as u32), 1)]), Err(BindError::NotOutside { .. })));
    let mut program = Program::new();
    let n = program.create_outside_symbol("N");
    let half = Dim::from(8).floor_div(&Dim::symbol(n)).unwrap();
    program.create_input("x", Type { dtype: DType::F32, rows: None, dims: vec![half] }).unwrap();
    assert!(program.bind(&[(n, 0)]).is_err());
}
