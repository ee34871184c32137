//! Wire programs by hand, as PaddlePaddle would write them.

use paddle_core::wire::{
    BlockDesc, LodTensorDesc, OpAttr, OpDesc, ProgramDesc, TensorDesc, VarDesc, VarKind, VarType,
};

pub(crate) fn var(name: &str, element: VarKind, dims: &[i64]) -> VarDesc {
    let tensor = TensorDesc { data_type: element.into(), dims: dims.to_vec(), ..Default::default() };
    let lod_tensor = LodTensorDesc { tensor, ..Default::default() };
    let r#type =
        VarType { r#type: VarKind::LodTensor.into(), lod_tensor: Some(lod_tensor), ..Default::default() };
    VarDesc { name: name.into(), r#type, ..Default::default() }
}

pub(crate) fn float(name: &str, dims: &[i64]) -> VarDesc {
    var(name, VarKind::Fp32, dims)
}

pub(crate) fn parameter(name: &str, dims: &[i64]) -> VarDesc {
    VarDesc { persistable: Some(true), ..float(name, dims) }
}

pub(crate) fn holder(name: &str, kind: VarKind) -> VarDesc {
    let r#type = VarType { r#type: kind.into(), ..Default::default() };
    VarDesc { name: name.into(), r#type, persistable: Some(true), ..Default::default() }
}

pub(crate) fn feed(name: &str, column: i32) -> OpDesc {
    OpDesc::new("feed")
        .with_input("X", ["feed"])
        .with_output("Out", [name])
        .with_attr(OpAttr::int("col", column))
}

pub(crate) fn fetch(name: &str, column: i32) -> OpDesc {
    OpDesc::new("fetch")
        .with_input("X", [name])
        .with_output("Out", ["fetch"])
        .with_attr(OpAttr::int("col", column))
}

/// An operator from one variable to another.
pub(crate) fn op(kind: &str, x: &str, out: &str) -> OpDesc {
    OpDesc::new(kind).with_input("X", [x]).with_output("Out", [out])
}

/// An operator on two variables.
pub(crate) fn op2(kind: &str, x: &str, y: &str, out: &str) -> OpDesc {
    OpDesc::new(kind).with_input("X", [x]).with_input("Y", [y]).with_output("Out", [out])
}

pub(crate) fn block(idx: i32, parent_idx: i32, vars: Vec<VarDesc>, ops: Vec<OpDesc>) -> BlockDesc {
    BlockDesc { idx, parent_idx, vars, ops, ..Default::default() }
}

pub(crate) fn program(blocks: Vec<BlockDesc>) -> ProgramDesc {
    ProgramDesc { blocks, ..Default::default() }
}

/// A program of one block that feeds `inputs`, in this order, runs `ops` and fetches `outputs`.
pub(crate) fn network(
    inputs: &[VarDesc],
    others: &[VarDesc],
    ops: &[OpDesc],
    outputs: &[&str],
) -> ProgramDesc {
    let mut vars = [inputs, others].concat();
    vars.extend([holder("feed", VarKind::FeedMinibatch), holder("fetch", VarKind::FetchList)]);
    let fed = inputs.iter().enumerate().map(|(column, input)| feed(&input.name, column as i32));
    let fetched = outputs.iter().enumerate().map(|(column, output)| fetch(output, column as i32));
    let ops = fed.chain(ops.iter().cloned()).chain(fetched).collect();
    program(vec![block(0, -1, vars, ops)])
}
