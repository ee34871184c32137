//! Programs made by hand, by the public functions.

use paddle_core::ops::{Program, Unary, UnaryKind};
use paddle_core::program::{BuildError, DType, Site, Type, VarId};

const TANH: Unary = Unary::of(UnaryKind::Tanh);

fn scalar() -> Type {
    Type::scalar(DType::F32)
}

fn input() -> (Program, VarId) {
    let mut program = Program::new();
    let x = program.create_input("x", scalar()).unwrap();
    (program, x)
}

fn into(program: &mut Program, from: VarId, to: VarId) -> Result<(), BuildError> {
    program.append_op_into(Program::GLOBAL, TANH, &[from], &[to], &[], Site::default())
}

/// Ends soon only if neither the names nor the values of the operators before are gone through for each one.
#[test]
fn many_operators_of_one_name() {
    let (mut program, mut x) = input();
    for number in 0..100_000 {
        x = program.append_op(Program::GLOBAL, TANH, &[x], Site::default()).unwrap()[0];
        let into_name = format!("into_{number}");
        let to = program.create_var(Program::GLOBAL, &into_name, scalar()).unwrap();
        into(&mut program, x, to).unwrap();
    }
    assert_eq!(program.var(x).name, "tanh_99999");
    program.set_outputs(&[x]).unwrap();
    program.verify().unwrap();
}

/// Names in use at every place where a free suffix is looked for.
#[test]
fn names_that_are_in_the_way() {
    let (mut program, x) = input();
    for name in (0..64).map(|power| format!("tanh_{}", 1_u64 << power)).chain(["tanh".to_string()]) {
        program.create_input(&name, scalar()).unwrap();
    }
    let y = program.append_op(Program::GLOBAL, TANH, &[x], Site::default()).unwrap()[0];
    assert_eq!(program.find(&program.var(y).name), Some(y));
}

#[test]
fn a_value_is_written_once() {
    let (mut program, x) = input();
    let y = program.create_var(Program::GLOBAL, "y", scalar()).unwrap();
    let two = Type::new(DType::F32, [2]);
    let z = program.create_var(Program::GLOBAL, "z", two).unwrap();
    into(&mut program, x, y).unwrap();
    for (to, name) in [(y, "y"), (x, "x"), (z, "z")] {
        let error = into(&mut program, x, to).unwrap_err();
        assert_eq!(error, BuildError::NotWritable { name: name.to_string() });
    }
    let outer = program.create_var(Program::GLOBAL, "outer", scalar()).unwrap();
    let inner = program.create_block(Program::GLOBAL, None).unwrap();
    let error = program.append_op_into(inner, TANH, &[x], &[outer], &[], Site::default()).unwrap_err();
    assert_eq!(error, BuildError::NotWritable { name: "outer".to_string() });
    assert_eq!(program.block(Program::GLOBAL).ops.len(), 1);
}
