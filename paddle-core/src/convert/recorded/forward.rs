//! The forward part of a recorded training as a program of its own, which fetches the cost.

use std::collections::{BTreeMap, BTreeSet};

use super::form;
use crate::convert::dialect::ROLE;
use crate::convert::error::ConvertError;
use crate::convert::types::dtype;
use crate::wire::{AttrType, BlockDesc, OpAttr, OpDesc, ProgramDesc, VarDesc, VarKind};

/// The end of the name of a gradient.
pub(super) const GRADIENT: &str = "@GRAD";

/// The role of an operator that computes a learning rate.
const SCHEDULE: i32 = 16;

/// What an operator of a recorded training does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Forward,
    /// It begins the gradients, with that of the cost.
    Seed,
    Backward,
    /// It computes a learning rate.
    Schedule,
    Update,
}

/// The part to which an operator belongs, by its `op_role`.
pub(super) fn part(op: &OpDesc) -> Part {
    let role = op.attr_int(ROLE).ok().flatten().unwrap_or(0);
    match role {
        _ if role & 2 != 0 => Part::Update,
        _ if role & 1 != 0 && role & 256 != 0 => Part::Seed,
        _ if role & 1 != 0 => Part::Backward,
        _ if role & SCHEDULE != 0 => Part::Schedule,
        _ => Part::Forward,
    }
}

/// The forward part of a training, which fetches its cost and these variables.
pub(super) fn forward(main: &ProgramDesc, fetch: &[&str]) -> Result<ProgramDesc, ConvertError> {
    let Some(block) = main.blocks.first() else { return Err(form("the program has no block")) };
    let cost = cost(block)?;
    let kept = kept(main);
    let numbers: BTreeMap<usize, i32> = kept.iter().copied().zip(0..).collect();
    let read: BTreeSet<&str> = kept
        .iter()
        .flat_map(|&at| &main.blocks[at].ops)
        .filter(|op| part(op) == Part::Forward)
        .flat_map(|op| &op.inputs)
        .flat_map(|slot| slot.arguments.iter().map(String::as_str))
        .collect();
    let mut found = main.clone();
    found.blocks = kept.iter().map(|&at| renumbered(main, at, &numbers, &read)).collect();
    let ops = &mut found.blocks[0].ops;
    ops.retain(|op| op.r#type != "fetch");
    let fetched = std::iter::once(cost).chain(fetch.iter().copied()).zip(0..);
    ops.extend(fetched.map(|(name, column)| {
        OpDesc::new("fetch").with_input("X", [name]).with_attr(OpAttr::int("col", column))
    }));
    Ok(found)
}

/// The variable with whose gradient the gradients begin.
fn cost(block: &BlockDesc) -> Result<&str, ConvertError> {
    let mut seeds = block.ops.iter().filter(|op| part(op) == Part::Seed);
    let Some(seed) = seeds.next() else {
        return Err(form("no gradients are recorded: no operator has the role of their beginning"));
    };
    if seeds.next().is_some() {
        return Err(form("gradients of several costs are recorded; one is supported"));
    }
    let value = seed.attr_float("value")?.unwrap_or(0.0);
    if seed.r#type != "fill_constant" || value != 1.0 {
        return Err(form(format!(
            "the gradient of the cost is `{}` of {value}; it has to be 1",
            seed.r#type
        )));
    }
    let name = seed.output("Out").first().and_then(|name| name.strip_suffix(GRADIENT));
    name.ok_or_else(|| {
        form(format!("what begins the gradients writes no variable that ends in `{GRADIENT}`"))
    })
}

/// Block 0 and the blocks that its forward operators own, in order.
fn kept(main: &ProgramDesc) -> BTreeSet<usize> {
    let mut kept = BTreeSet::from([0]);
    let mut left = vec![0];
    while let Some(at) = left.pop() {
        let ops = main.blocks[at].ops.iter().filter(|op| part(op) == Part::Forward);
        for inside in ops.flat_map(owned) {
            let inside = usize::try_from(inside).ok().filter(|&inside| inside < main.blocks.len());
            left.extend(inside.filter(|&inside| kept.insert(inside)));
        }
    }
    kept
}

/// The blocks that an operator owns.
fn owned(op: &OpDesc) -> impl Iterator<Item = i32> {
    op.attrs.iter().filter(|attr| attr.r#type == i32::from(AttrType::Block)).filter_map(|attr| attr.block_idx)
}

/// A block with the numbers that blocks have now, without the operators that are no forward ones. Behind an operator
/// that writes a variable through which no gradient passes stands one that says so.
fn renumbered(
    main: &ProgramDesc,
    at: usize,
    numbers: &BTreeMap<usize, i32>,
    read: &BTreeSet<&str>,
) -> BlockDesc {
    let block = &main.blocks[at];
    // A block that is not there is reported when the program is read.
    let now = |index: i32| {
        usize::try_from(index).ok().and_then(|index| numbers.get(&index)).copied().unwrap_or(index)
    };
    let mut ops = Vec::with_capacity(block.ops.len());
    for op in block.ops.iter().filter(|op| part(op) == Part::Forward) {
        let mut op = op.clone();
        for attr in &mut op.attrs {
            attr.block_idx = attr.block_idx.map(now);
        }
        let written = op.outputs.iter().flat_map(|slot| &slot.arguments);
        let stops = written.filter(|name| read.contains(name.as_str()) && stops(main, at, name));
        let behind: Vec<OpDesc> = stops
            .map(|name| OpDesc::new("share_data").with_input("X", [name]).with_output("Out", [name]))
            .collect();
        ops.push(op);
        ops.extend(behind);
    }
    // A parameter that no operator reads is another name for several of them, in one piece of memory.
    let is_used = |var: &&VarDesc| var.is_parameter != Some(true) || read.contains(var.name.as_str());
    let vars = block.vars.iter().filter(is_used).cloned().collect();
    BlockDesc { vars, ops, idx: now(block.idx), parent_idx: now(block.parent_idx), ..block.clone() }
}

/// Whether the declaration of a variable says that no gradient passes through it, which matters for numbers of a run.
fn stops(main: &ProgramDesc, block: usize, name: &str) -> bool {
    let Some(var) = declaration(main, block, name) else { return false };
    let element = var.r#type.lod_tensor.as_ref().map(|of| of.tensor.data_type);
    let element = element.and_then(|number| VarKind::try_from(number).ok()).and_then(dtype);
    var.stop_gradient == Some(true)
        && var.persistable != Some(true)
        && element.is_some_and(|element| element.is_float())
}

/// The declaration of a variable that is visible in a block.
fn declaration<'a>(main: &'a ProgramDesc, block: usize, name: &str) -> Option<&'a VarDesc> {
    let mut at = Some(block);
    while let Some(block) = at.and_then(|at| main.blocks.get(at)) {
        if let Some(var) = block.vars.iter().find(|var| var.name == name) {
            return Some(var);
        }
        // A parent comes before its children, or the program is refused later.
        at = usize::try_from(block.parent_idx).ok().filter(|&parent| Some(parent) < at);
    }
    None
}
