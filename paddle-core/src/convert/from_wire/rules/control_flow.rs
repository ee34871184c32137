//! Rules for operators that own blocks: ours, and PaddlePaddle's `while`.

use std::collections::{BTreeMap, BTreeSet};

use crate::convert::derived::row_space;
use crate::convert::draft::MOST_ITERATIONS;
use crate::convert::from_wire::versions::written_outside;
use crate::convert::from_wire::{ConvertError, Fault, Reading, one};
use crate::ops::{Fill, For, If, LoopGrad, Number, Parts, While};
use crate::program::{BlockId, Dim, RowsId, Type, VarId};

impl<'a> Reading<'_, 'a> {
    /// The block in an attribute, if this operator can own it.
    pub(super) fn owned(&self, attribute: &'static str) -> Result<usize, Fault> {
        let index = self.desc.attr_block(attribute)?.ok_or(Fault::MissingAttribute { attribute })?;
        let wrong = |reason| Fault::BlockReference { attribute, index, reason };
        let blocks = &self.reader.blocks;
        let block = usize::try_from(index).ok().filter(|&block| block < blocks.len());
        let block = block.ok_or_else(|| wrong("which does not exist"))?;
        if blocks[block].parent != Some(self.block) {
            return Err(wrong("whose parent is not the block of this operator"));
        }
        if self.reader.versions.id(block).is_some() {
            return Err(wrong("which another operator owns"));
        }
        Ok(block)
    }

    /// A block of our own dialect, which keeps its number.
    fn ours(&self, attribute: &'static str) -> Result<(usize, BlockId), Fault> {
        if !self.reader.is_ours {
            return Err(Fault::NoHeader);
        }
        let block = self.owned(attribute)?;
        Ok((block, BlockId(block as u32)))
    }

    /// Notes the block that this one differentiates. It runs on the rows of that block, which has to be read already.
    /// That block has to be in the block around this operator, or in the one that it differentiates.
    fn differentiates(&mut self, attribute: &'static str, block: usize) -> Result<(), Fault> {
        let program = &mut self.reader.draft.program;
        let id = BlockId(block as u32);
        let forward = usize::try_from(self.reader.blocks[block].forward).ok();
        let forward = forward.filter(|&forward| forward < self.reader.blocks.len());
        if let Some(forward) = forward.and_then(|forward| self.reader.versions.id(forward)) {
            let (around, parent) = (program.block(forward).parent, program.block(id).parent);
            let outer = parent.and_then(|parent| program.block(parent).forward);
            if around.is_some() && (around == parent || around == outer) {
                let rows = program.block(forward).rows;
                (program.block_mut(id).forward, program.block_mut(id).rows) = (Some(forward), rows);
                return Ok(());
            }
        }
        let reason = "which does not say what block it differentiates";
        Err(Fault::BlockReference { attribute, index: block as i32, reason })
    }

    /// Reads a block that gets values of these types.
    fn nested(&mut self, block: usize, types: &[Type]) -> Result<(), ConvertError> {
        let id = BlockId(block as u32);
        self.reader.versions.enter(block, id, BTreeSet::new());
        self.reader.enter(block, id, types)?;
        let results = self.reader.block(block)?;
        self.reader.draft.program.set_results(id, &results)?;
        Ok(())
    }

    fn types(&self, vars: &[VarId]) -> Vec<Type> {
        vars.iter().map(|&var| self.ty(var).clone()).collect()
    }

    /// The variables in an output slot.
    fn outputs(&self, slot: &str) -> Vec<&'a str> {
        let desc = self.desc;
        desc.output(slot).iter().map(String::as_str).collect()
    }
}

/// Our `if`. Its blocks run on the rows that it chooses, or differentiate the blocks of another `if`.
pub(super) fn read_if(x: &mut Reading<'_, '_>) -> Result<bool, ConvertError> {
    let condition = x.input("Cond")?;
    let attributes = ["true_block", "false_block"];
    let rows = x.desc.attr_longs("row_spaces")?.unwrap_or_default();
    let mut ids = Vec::with_capacity(2);
    for (side, attribute) in attributes.into_iter().enumerate() {
        let (block, id) = x.ours(attribute)?;
        if x.reader.blocks[block].forward >= 0 {
            x.differentiates(attribute, block)?;
        } else {
            x.reader.draft.program.block_mut(id).rows = chosen(x, &rows, side)?;
        }
        x.nested(block, &[])?;
        ids.push(id);
    }
    x.define(If, &[condition], &ids, &x.outputs("Out"))
}

/// The row space of a side of an `if`, where it has one.
fn chosen(x: &Reading<'_, '_>, rows: &[i64], side: usize) -> Result<Option<RowsId>, Fault> {
    rows.get(side).map(|&number| row_space(&x.reader.draft.program, "row_spaces", number)).transpose()
}

/// Reads a body or a condition of a loop, which runs on `rows` and gets state and items.
fn iteration(
    x: &mut Reading<'_, '_>,
    attribute: &'static str,
    inputs: &[VarId],
    items: usize,
    rows: Option<RowsId>,
) -> Result<BlockId, ConvertError> {
    let (block, id) = x.ours(attribute)?;
    if x.reader.blocks[block].forward >= 0 {
        x.differentiates(attribute, block)?;
    } else {
        x.reader.draft.program.block_mut(id).rows = rows;
    }
    let (program, rows) = (&x.reader.draft.program, x.reader.draft.program.block(id).rows);
    let inside = |(k, mut ty): (usize, Type)| {
        if let (Some(of), Some(rows)) = (ty.rows, rows) {
            ty.rows = if k < items { program.find_iteration(of, rows) } else { Some(rows) };
        }
        ty
    };
    let types: Vec<Type> = x.types(inputs).into_iter().enumerate().map(inside).collect();
    x.nested(block, &types)?;
    Ok(id)
}

/// The number of items, which come before the other inputs.
fn items(x: &Reading<'_, '_>, inputs: &[VarId]) -> Result<usize, Fault> {
    let items = x.desc.attr_long("items")?.unwrap_or(0);
    let parts = Parts::new(items, inputs.len()).map(|parts| parts.items);
    let message = format!("there are {} inputs, not {items}", inputs.len());
    parts.ok_or(Fault::Attribute { attribute: "items", message })
}

/// Checks that the block of a loop differentiates no other one.
fn is_forward(x: &Reading<'_, '_>, id: BlockId, attribute: &'static str) -> Result<(), Fault> {
    if x.reader.draft.program.block(id).forward.is_none() {
        return Ok(());
    }
    let reason = "which differentiates another one, but this operator is no gradient";
    Err(Fault::BlockReference { attribute, index: id.0 as i32, reason })
}

/// Our `while`.
pub(super) fn read_while(x: &mut Reading<'_, '_>) -> Result<bool, ConvertError> {
    let state = x.inputs("X")?;
    let limit = x.desc.attr_long("limit")?.unwrap_or(While::DEFAULT_LIMIT);
    let rows = x.desc.attr_longs("row_spaces")?.unwrap_or_default();
    let mut ids = Vec::with_capacity(2);
    for (side, attribute) in ["condition_block", "body_block"].into_iter().enumerate() {
        let rows = chosen(x, &rows, side)?;
        let id = iteration(x, attribute, &state, 0, rows)?;
        is_forward(x, id, attribute)?;
        ids.push(id);
    }
    x.define(While { limit }, &state, &ids, &x.outputs("Out"))
}

/// Our `for`.
pub(super) fn read_for(x: &mut Reading<'_, '_>) -> Result<bool, ConvertError> {
    let inputs = x.inputs("X")?;
    let items = items(x, &inputs)?;
    let rows = x.desc.attr_longs("row_spaces")?.unwrap_or_default();
    let rows = chosen(x, &rows, 0)?;
    let id = iteration(x, "body_block", &inputs, items, rows)?;
    is_forward(x, id, "body_block")?;
    x.define(For { items: items as i64 }, &inputs, &[id], &x.outputs("Out"))
}

/// The gradient of our loops.
pub(super) fn read_loop_grad(x: &mut Reading<'_, '_>) -> Result<bool, ConvertError> {
    let inputs = x.inputs("Out@GRAD")?;
    let items = items(x, &inputs)?;
    let collected = x.desc.attr_long("collected")?.unwrap_or(0);
    let (block, _) = x.ours("body_block")?;
    x.differentiates("body_block", block)?;
    let id = iteration(x, "body_block", &inputs, items, None)?;
    x.define(LoopGrad { items: items as i64, collected }, &inputs, &[id], &x.outputs("X@GRAD"))
}

/// PaddlePaddle's `while`. If it is known how often it runs, and it cannot be ours, it is written out.
pub(super) fn raise_while(x: &mut Reading<'_, '_>) -> Result<bool, ConvertError> {
    if x.reader.is_ours {
        return Ok(false);
    }
    let block = x.owned("sub_block")?;
    let faults = match x.has_arrays(block) {
        true => Vec::new(),
        false => match attempt(x, block)? {
            Ok(known) => return Ok(known),
            Err(faults) => faults,
        },
    };
    let goes_on = x.input("Condition")?;
    match x.reader.draft.known_truth(goes_on) {
        Some(_) => written_out(x, block),
        None if faults.is_empty() => x.lacks("it has arrays, and the number of its iterations is not known"),
        None => x.fails(faults),
    }
}

/// A loop as our `while`, or what is wrong with that. Variables that have no value before the loop get zeros, of the types that
/// an iteration leaves.
fn attempt(x: &mut Reading<'_, '_>, block: usize) -> Result<Result<bool, Vec<ConvertError>>, ConvertError> {
    let before = x.reader.draft.program.mark(x.id());
    let (none, mut wanted) = (BTreeMap::new(), BTreeMap::new());
    let first = x.attempted(block, |x| match as_while(x, block, &none)? {
        Ok(known) => Ok(known),
        Err(types) => {
            wanted = types;
            let message = "a variable has no value before it".to_string();
            Err(Fault::Form { message }.into())
        }
    });
    let exists = |ty: &Type| {
        let sizes = ty.dims.iter().flat_map(Dim::symbols);
        ty.rows.is_none_or(|rows| before.has_rows(rows))
            && sizes.into_iter().all(|size| before.has_size(size))
    };
    if wanted.is_empty() || !wanted.values().all(exists) {
        return Ok(first);
    }
    let mut zeros = BTreeMap::new();
    for (name, ty) in wanted {
        zeros.insert(name, x.emit(Fill::zeros(ty), &[])?);
    }
    Ok(x.attempted(block, |x| match as_while(x, block, &zeros)? {
        Ok(known) => Ok(known),
        Err(_) => x.lacks("a variable has values of several types"),
    }))
}

/// The iterations of a loop one after the other.
fn written_out(x: &mut Reading<'_, '_>, block: usize) -> Result<bool, ConvertError> {
    for _ in 0..=MOST_ITERATIONS {
        let goes_on = x.input("Condition")?;
        match x.reader.draft.known_truth(goes_on) {
            Some(true) => x.inline(block)?,
            Some(false) => return Ok(true),
            None => return x.lacks("the number of its iterations is not known"),
        }
    }
    x.lacks("it has too many iterations")
}

/// As our `while`. The body overwrites variables of the blocks around it, the condition among them. These are the state
/// of ours, whose condition block only returns the condition that the body left.
///
/// `zeros` are the first values of variables that have none. If there are others without, their types are given back.
fn as_while<'a>(
    x: &mut Reading<'_, 'a>,
    block: usize,
    zeros: &BTreeMap<&'a str, VarId>,
) -> Result<Result<bool, BTreeMap<&'a str, Type>>, ConvertError> {
    let desc = x.desc;
    let condition = one(desc.input("Condition"), "Condition")?;
    let mut names = written_outside(&x.reader.blocks, block);
    names.insert(condition);
    // What nothing but loops reads is no state: a variable of an iteration, which has no value before the first of them.
    let is_state = |name: &&str| *name == condition || x.reader.is_read(name);
    let state: Vec<&'a str> = names.iter().copied().filter(is_state).collect();
    let first = |name: &&'a str| zeros.get(name).map_or_else(|| x.read(name), |&zeros| Ok(zeros));
    let initial = state.iter().map(first).collect::<Result<Vec<VarId>, Fault>>()?;
    let types = x.types(&initial);

    let outer = x.id();
    let ids = [
        x.reader.draft.program.create_block(outer, None)?,
        x.reader.draft.program.create_block(outer, None)?,
    ];
    for (&name, ty) in state.iter().zip(&types) {
        let param = x.reader.draft.block_parameter(ids[0], name, ty)?;
        if name == condition {
            x.reader.draft.program.set_results(ids[0], &[param])?;
        }
    }
    x.reader.versions.enter(block, ids[1], names);
    for (&name, ty) in state.iter().zip(&types) {
        let param = x.reader.draft.block_parameter(ids[1], name, ty)?;
        x.reader.versions.write(&x.reader.blocks, block, name, param)?;
    }
    let found = x.reader.count(block, "feed") + x.reader.block(block)?.len();
    if found > 0 {
        return Err(Fault::FeedCount { block, found, expected: 0 }.into());
    }
    let read = |name: &&'a str| x.reader.versions.read(&x.reader.blocks, block, name);
    let results = state.iter().map(read).collect::<Result<Vec<VarId>, Fault>>()?;
    let mut wanted = BTreeMap::new();
    for ((&name, &initial), &result) in state.iter().zip(&initial).zip(&results) {
        if x.ty(initial) != x.ty(result) && is_undefined(x, initial) {
            wanted.insert(name, x.ty(result).clone());
        }
    }
    if !wanted.is_empty() {
        return Ok(Err(wanted));
    }
    x.reader.draft.program.set_results(ids[1], &results)?;
    x.define(While { limit: While::DEFAULT_LIMIT }, &initial, &ids, &state).map(Ok)
}

/// What PaddlePaddle gives a variable of Python's that has no value yet.
const UNDEFINED: f32 = 1.77113e27;

fn is_undefined(x: &Reading<'_, '_>, value: VarId) -> bool {
    matches!(x.constant_of(value).as_deref(), Some([Number::Float(value)]) if *value as f32 == UNDEFINED)
}
