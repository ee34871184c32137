//! Programs that are made to do harm, or are broken: each is refused with its place and its reason.

use paddle_core::convert::{ConvertError, Fault, VariableFault, from_wire, legalise, to_wire};
use paddle_core::ops::Program;
use paddle_core::program::BuildError;
use paddle_core::wire::{AttrType, BlockDesc, OpAttr, OpDesc, ProgramDesc, VarDesc, VarKind, WireError};

use crate::build::{block, feed, fetch, float, holder, network, op, op2, parameter, program, var};
use crate::golden;

fn refuse(desc: &ProgramDesc) -> ConvertError {
    match from_wire(desc, None) {
        Ok(program) => panic!("it is read:\n{program}"),
        Err(error) => error,
    }
}

/// Our own program of this name on the wire, after a change.
fn changed(name: &str, change: impl FnOnce(&mut ProgramDesc)) -> ConvertError {
    let (_, program) = golden().into_iter().find(|(path, _)| path.ends_with(name)).expect("there is one");
    let mut desc = to_wire(&program).main;
    change(&mut desc);
    refuse(&desc)
}

/// The operator of this type in a block.
fn find<'a>(desc: &'a mut ProgramDesc, block: usize, kind: &str) -> &'a mut OpDesc {
    desc.blocks[block].ops.iter_mut().find(|op| op.r#type == kind).expect("there is one")
}

fn set_block(op: &mut OpDesc, name: &str, index: i32) {
    op.attrs.iter_mut().find(|attr| attr.name == name).expect("there is one").block_idx = Some(index);
}

#[test]
fn blocks_that_are_no_tree() {
    assert_eq!(refuse(&ProgramDesc::default()).fault, Fault::NoBlocks);
    let empty = |idx, parent| block(idx, parent, vec![], vec![]);
    let two = |idx, parent| program(vec![empty(0, -1), empty(idx, parent)]);
    assert_eq!(refuse(&two(7, 0)).fault, Fault::BlockIndex { block: 1, index: 7 });
    for parent in [1, 2, -1, i32::MIN, i32::MAX] {
        assert_eq!(refuse(&two(1, parent)).fault, Fault::BlockParent { block: 1, parent });
    }
    // A block that no operator owns is dead in PaddlePaddle's programs, and a mistake in ours.
    assert!(from_wire(&two(1, 0), None).is_ok());
    let ours = changed("while_scalar.txt", |desc| desc.blocks.push(empty(3, 0)));
    assert!(matches!(ours.fault, Fault::Verify(_)));
}

#[test]
fn blocks_in_blocks_in_blocks() {
    let chain = |depth| program((0..=depth).map(|at| block(at, at - 1, vec![], vec![])).collect());
    assert!(from_wire(&chain(Program::MAX_DEPTH as i32), None).is_ok());
    let expected = Fault::TooDeep { block: Program::MAX_DEPTH + 1, limit: Program::MAX_DEPTH };
    assert_eq!(refuse(&chain(10_000)).fault, expected);
}

/// As deep as is supported, in a thread with the smallest stack that Rust gives one.
#[test]
fn the_deepest_program_fits_the_stack() {
    let deep = |depth: usize| {
        let flag = |name: &str| var(name, VarKind::Bool, &[1]);
        let nest = |at: usize| {
            OpDesc::new("while")
                .with_input("Condition", ["c"])
                .with_attr(OpAttr::block("sub_block", at as i32 + 1))
        };
        let mut desc = network(&[flag("c")], &[], &[nest(0)], &["c"]);
        for at in 1..=depth {
            let mut ops = vec![op("logical_not", "c", "c")];
            if at < depth {
                ops.push(nest(at));
            }
            desc.blocks.push(block(at as i32, at as i32 - 1, vec![], ops));
        }
        desc
    };
    let program = from_wire(&deep(Program::MAX_DEPTH), None).expect("it is read");
    assert_eq!(program.blocks().len(), 2 * Program::MAX_DEPTH + 1);
    let wire = to_wire(&program);
    assert!(from_wire(&wire.main, Some(&wire.startup)).is_ok());
    assert!(legalise(&program).is_ok());
    assert!(matches!(refuse(&deep(Program::MAX_DEPTH + 1)).fault, Fault::TooDeep { .. }));
}

#[test]
fn references_to_blocks() {
    let reference = |attribute: &str, index| {
        let error =
            changed("while_scalar.txt", |desc| set_block(find(desc, 0, "rust.while"), attribute, index));
        match error.fault {
            Fault::BlockReference { reason, index: found, .. } => {
                assert_eq!(found, index);
                reason
            }
            fault => panic!("{fault}"),
        }
    };
    for index in [3, -1, i32::MIN, i32::MAX] {
        assert_eq!(reference("body_block", index), "which does not exist");
    }
    assert_eq!(reference("body_block", 0), "whose parent is not the block of this operator");
    assert_eq!(reference("body_block", 1), "which another operator owns");
    assert_eq!(reference("condition_block", 2), "which another operator owns");

    let missing = changed("while_scalar.txt", |desc| {
        find(desc, 0, "rust.while").attrs.retain(|attr| attr.name != "body_block");
    });
    assert_eq!(missing.fault, Fault::MissingAttribute { attribute: "body_block" });
    let wrong = changed("while_scalar.txt", |desc| {
        find(desc, 0, "rust.while").attrs.iter_mut().for_each(|attr| attr.r#type = AttrType::Int.into());
    });
    assert!(matches!(wrong.fault, Fault::Wire(WireError::AttrType { .. })));
    let nested = changed("if_in_while.txt", |desc| {
        let inner = desc.blocks.iter().position(|block| block.parent_idx == 2).expect("there is one");
        set_block(find(desc, 0, "rust.while"), "body_block", inner as i32);
    });
    assert!(matches!(nested.fault, Fault::BlockReference { .. }));
}

#[test]
fn gradient_blocks_of_nothing() {
    for forward in [0, 1, 3, -1, i32::MAX, i32::MIN] {
        let error =
            changed("while_scalar.backward.txt", |desc| desc.blocks[3].forward_block_idx = Some(forward));
        assert!(
            matches!(error.fault, Fault::BlockReference { .. } | Fault::Verify(_) | Fault::Undefined { .. }),
            "{forward}: {error}"
        );
    }
    let error = changed("while_scalar.txt", |desc| desc.blocks[2].forward_block_idx = Some(1));
    assert!(!matches!(error.fault, Fault::Wire(_)), "{error}");
}

#[test]
fn structure_that_is_not_known() {
    let conditional =
        OpDesc::new("conditional_block").with_input("Cond", ["x"]).with_attr(OpAttr::block("sub_block", 1));
    let mut desc = network(&[float("x", &[1])], &[], &[conditional], &["x"]);
    desc.blocks.push(block(1, 0, vec![], vec![]));
    let error = refuse(&desc);
    assert_eq!(error.fault, Fault::UnknownStructure);
    let place = error.place.expect("it has one");
    assert_eq!((place.block, place.operator, place.op_type.as_str()), (0, 1, "conditional_block"));
    let ours = op("rust.if", "x", "y").with_input("Cond", ["x"]).with_attr(OpAttr::block("true_block", 1));
    assert_eq!(refuse(&network(&[float("x", &[1])], &[], &[ours], &["x"])).fault, Fault::NoHeader);
}

/// The message has the place in the program, and the one in the source.
#[test]
fn messages() {
    let error = changed("linear_regression.txt", |desc| {
        let op = find(desc, 0, "elementwise_sub");
        op.inputs[1].arguments = vec!["nothing".into()];
        op.attrs.push(OpAttr::strings("op_callstack", ["src/a b:c.rs:14:48"]));
    });
    let expected = "`elementwise_sub` (src/a b:c.rs:14:48): `nothing` is read, but nothing has written it";
    assert!(error.to_string().ends_with(expected), "{error}");
    assert!(error.to_string().starts_with("block 0, operator "), "{error}");
}

#[test]
fn variables() {
    let x = [float("x", &[-1, 2])];
    let net = |others: &[VarDesc], op: OpDesc| refuse(&network(&x, others, &[op], &["x"])).fault;
    let named = |name: &str| name.to_string();
    assert_eq!(net(&[], op("relu", "y", "x")), Fault::Undefined { name: named("y") });
    assert_eq!(net(&[float("y", &[])], op("relu", "y", "x")), Fault::Undefined { name: named("y") });
    assert_eq!(net(&[], op("relu", "x", "y")), Fault::Undeclared { name: named("y") });
    let twice = Fault::DeclaredTwice { block: 0, name: named("x") };
    assert_eq!(net(&[float("x", &[])], op("relu", "x", "x")), twice);

    let input = |var: VarDesc| match refuse(&network(&[var], &[], &[], &["x"])).fault {
        Fault::Variable { reason, .. } => Some(reason),
        _ => None,
    };
    assert_eq!(input(var("x", VarKind::Complex64, &[1])), Some(VariableFault::Element(VarKind::Complex64)));
    assert_eq!(input(float("x", &[-1, -2])), Some(VariableFault::Dimensions(vec![-1, -2])));
    assert_eq!(
        input(holder("x", VarKind::LodTensorArray)),
        Some(VariableFault::Kind(VarKind::LodTensorArray))
    );
    let mut sequence = float("x", &[-1, 1]);
    sequence.r#type.lod_tensor.as_mut().expect("a tensor").lod_level = Some(3);
    assert_eq!(input(sequence), Some(VariableFault::Sequences));
    let mut unknown = float("x", &[1]);
    unknown.r#type.r#type = 99;
    assert_eq!(input(unknown), Some(VariableFault::Number(99)));
    let mut bare = float("x", &[1]);
    bare.r#type.lod_tensor = None;
    assert_eq!(input(bare), Some(VariableFault::NoTensor));

    let unread = op2("mul", "x", "w", "x");
    let parameter = parameter("w", &[-1, 2]);
    let negative = Fault::Variable { name: named("w"), reason: VariableFault::Dimensions(vec![-1, 2]) };
    assert_eq!(net(&[parameter], unread), negative);
}

#[test]
fn slots_and_attributes() {
    let x = [float("x", &[-1, 2])];
    let net = |op: OpDesc| refuse(&network(&x, &[float("y", &[])], &[op], &["y"])).fault;
    let slot = |slot, found| Fault::Slot { slot, found, expected: 1 };
    assert_eq!(net(OpDesc::new("relu").with_output("Out", ["y"])), slot("X", 0));
    assert_eq!(net(OpDesc::new("relu").with_input("X", ["x", "x"]).with_output("Out", ["y"])), slot("X", 2));
    assert_eq!(net(OpDesc::new("relu").with_input("X", ["x"])), slot("Out", 0));
    assert_eq!(net(OpDesc::new("elementwise_add").with_input("X", ["x"])), slot("Y", 0));
    let wrong = op("scale", "x", "y").with_attr(OpAttr::string("scale", "2"));
    assert!(matches!(net(wrong), Fault::Wire(WireError::AttrType { .. })));
    let role = op("relu", "x", "y").with_attr(OpAttr::string("op_role", "0"));
    assert!(matches!(net(role), Fault::Wire(WireError::AttrType { .. })));
    assert_eq!(net(op("cast", "x", "y")), Fault::MissingAttribute { attribute: "out_dtype" });
    let text = op("relu", "x", "y");
    let mismatch = op2("less_than", "x", "y", "x");
    assert!(matches!(
        refuse(&network(&[float("x", &[2]), float("y", &[3])], &[], &[mismatch], &["x"])).fault,
        Fault::Build(BuildError::Mismatch(_))
    ));
    assert!(from_wire(&network(&x, &[float("y", &[])], &[text], &["y"]), None).is_ok());
}

#[test]
fn columns() {
    let net = |ops: Vec<OpDesc>| {
        let vars = vec![float("x", &[1]), float("y", &[1]), holder("feed", VarKind::FeedMinibatch)];
        refuse(&program(vec![block(0, -1, vars, ops)])).fault
    };
    let wrong = |operator| Fault::Columns { operator, block: 0 };
    assert_eq!(net(vec![feed("x", 0), feed("y", 0)]), wrong("feed"));
    assert_eq!(net(vec![feed("x", 0), feed("y", 2)]), wrong("feed"));
    assert_eq!(net(vec![feed("x", -1), feed("y", 0)]), wrong("feed"));
    assert_eq!(net(vec![feed("x", i32::MAX)]), wrong("feed"));
    assert_eq!(net(vec![feed("x", 0), fetch("x", 1)]), wrong("fetch"));
    assert_eq!(net(vec![feed("x", 0), fetch("x", 0), fetch("x", 0)]), wrong("fetch"));
    // One variable in two columns, one that nobody declares, none.
    assert!(matches!(net(vec![feed("x", 0), feed("x", 1)]), Fault::Build(BuildError::NameTaken { .. })));
    assert_eq!(net(vec![feed("z", 0)]), Fault::Undeclared { name: "z".into() });
    assert!(matches!(net(vec![OpDesc::new("feed")]), Fault::MissingAttribute { attribute: "col" }));
    assert_eq!(net(vec![feed("x", 0), fetch("y", 0)]), Fault::Undefined { name: "y".into() });
}

#[test]
fn sizes_that_overflow() {
    let big = 1 << 40;
    for dims in [vec![big, big], vec![-1, big, big], vec![i64::MAX], vec![1; 17]] {
        let fault = refuse(&network(&[float("x", &dims)], &[], &[], &["x"])).fault;
        assert!(matches!(fault, Fault::Size { .. }), "{dims:?}: {fault}");
    }
    // Each fits, their combination does not.
    let inputs = [float("x", &[big, 1]), float("y", &[1, big])];
    let add = op2("elementwise_add", "x", "y", "z");
    let fault = refuse(&network(&inputs, &[float("z", &[])], &[add], &["z"])).fault;
    assert!(matches!(fault, Fault::Size { .. }), "{fault}");
    let fill = |dims: [i64; 2]| {
        let fill = OpDesc::new("fill_constant").with_output("Out", ["z"]);
        let fill = fill.with_attr(OpAttr::longs("shape", dims));
        refuse(&network(&[], &[float("z", &[])], &[fill], &["z"])).fault
    };
    let fault = fill([big, big]);
    assert!(matches!(fault, Fault::Size { .. }), "{fault}");
    let fault = fill([big, -2]);
    assert!(matches!(fault, Fault::Variable { reason: VariableFault::Dimensions(_), .. }), "{fault}");
    let parameter = parameter("w", &[big, big]);
    let read = op("relu", "w", "z");
    let fault = refuse(&network(&[], &[parameter, float("z", &[])], &[read], &["z"])).fault;
    assert!(matches!(fault, Fault::Size { .. }), "{fault}");
}

/// Values come into a block and leave it as its operator says.
#[test]
fn values_across_blocks() {
    let set = |block: usize, change: fn(&mut BlockDesc)| {
        changed("while_scalar.txt", |desc| change(&mut desc.blocks[block])).fault
    };
    let without_feed = |block: &mut BlockDesc| block.ops.retain(|op| op.r#type != "feed");
    assert!(matches!(set(2, without_feed), Fault::FeedCount { block: 2, found: 0, .. }));
    let without_fetch = |block: &mut BlockDesc| block.ops.retain(|op| op.r#type != "fetch");
    assert!(matches!(set(2, without_fetch), Fault::Build(BuildError::Mismatch(_))));
    assert!(matches!(set(1, without_fetch), Fault::Build(BuildError::Mismatch(_))));
    let outer = changed("while_scalar.txt", |desc| {
        let ops = &mut desc.blocks[2].ops;
        ops.insert(ops.len() - 2, op("relu", "x", "x"));
    });
    assert!(matches!(outer.fault, Fault::WritesOuter { .. }), "{outer}");
    let out = changed("while_scalar.txt", |desc| {
        let inner = desc.blocks[2].vars[0].name.clone();
        find(desc, 0, "fetch").inputs[0].arguments = vec![inner];
    });
    assert!(matches!(out.fault, Fault::Undefined { .. }), "{out}");
}

#[test]
fn the_tables_of_our_dialect() {
    let header = |change: fn(&mut Vec<OpAttr>)| {
        changed("if_per_row.txt", |desc| change(&mut find(desc, 0, "rust.program").attrs)).fault
    };
    assert_eq!(header(|attrs| attrs[0] = OpAttr::long("version", 2)), Fault::Newer { version: 2 });
    for shards in [0, -1, i64::MAX] {
        let fault = changed("if_per_row.txt", |desc| {
            find(desc, 0, "rust.program").attrs.push(OpAttr::long("shards", shards));
        });
        assert!(matches!(fault.fault, Fault::Attribute { attribute: "shards", .. }), "{fault}");
    }
    assert!(matches!(
        header(|attrs| drop(attrs.remove(3))),
        Fault::Attribute { attribute: "row_spaces", .. }
    ));
    assert!(matches!(
        header(|attrs| attrs[4].longs = vec![-1, 7, 0]),
        Fault::Attribute { attribute: "row_spaces", .. }
    ));
    let rows = |rows: &[i64]| {
        let rows = rows.to_vec();
        changed("if_per_row.txt", |desc| {
            let attrs = &mut find(desc, 0, "rust.if").attrs;
            attrs.iter_mut().find(|attr| attr.name == "row_spaces").expect("there is one").longs = rows;
        })
    };
    for wrong in [&[1, 1][..], &[0, 2], &[1], &[], &[1, 9], &[-1, 2], &[2, 2]] {
        let error = rows(wrong);
        assert!(!matches!(error.fault, Fault::Wire(_)), "{wrong:?}: {error}");
    }
    let second = changed("if_per_row.txt", |desc| {
        let header = find(desc, 0, "rust.program").clone();
        desc.blocks[1].ops.push(header);
    });
    assert_eq!(second.fault, Fault::UnknownOperator);
}
