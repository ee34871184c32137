//! PaddlePaddle's `while`: as ours, which collects what its iterations write into arrays; or, if it is known how often it runs, written out.

use std::collections::BTreeMap;

use super::array_loops::ArrayLoop;
use super::arrays::{Array, ArrayName};
use super::loop_frames::Frame;
use crate::convert::draft::MOST_ITERATIONS;
use crate::convert::from_wire::versions::written_outside;
use crate::convert::from_wire::{ConvertError, Fault, Reading, one};
use crate::ops::{Fill, Number};
use crate::program::{DType, Dim, Type, VarId};

/// PaddlePaddle's `while`. If it is known how often it runs, and it cannot be ours, it is written out.
pub(super) fn raise_while(x: &mut Reading<'_, '_>) -> Result<bool, ConvertError> {
    let block = x.owned("sub_block")?;
    let goes_on = x.input("Condition")?;
    let (has_arrays, is_known) = (x.has_arrays(block), x.reader.draft.known_truth(goes_on).is_some());
    // The places of arrays are known where iterations are.
    if has_arrays && is_known {
        return written_out(x, block);
    }
    match attempt(x, block)? {
        Ok(known) => Ok(known),
        Err(_) if is_known => written_out(x, block),
        Err(faults) => x.fails(faults),
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
/// of ours, whose condition block only returns the condition that the body left. Behind them come, if the body writes into arrays, the number
/// of the iteration and the values in the last places of arrays.
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
    let mut initial = state.iter().map(first).collect::<Result<Vec<VarId>, Fault>>()?;
    let Some(arrays) = ArrayLoop::of(x, block)? else {
        return x
            .lacks("it writes into arrays in its branches, or into some whose places before it are not known")
            .map(Ok);
    };
    if arrays.is_any() {
        initial.push(x.emit(Fill::zeros(Type::new(DType::I64, [1])), &[])?);
        initial.extend(arrays.values_before());
    }

    let types = x.types(&initial);
    let frame = Frame::of(x, &types, arrays.collects())?;
    let called = |at: usize| state.get(at).copied().unwrap_or("iteration");
    let mut params = Vec::with_capacity(types.len());
    for (at, ty) in types.iter().enumerate() {
        let goes_on = frame.parameter(x, 0, called(at), ty)?;
        if state.get(at) == Some(&condition) {
            x.reader.draft.program.set_results(frame.blocks[0], &[goes_on])?;
        }
        params.push(frame.parameter(x, 1, called(at), ty)?);
    }
    x.reader.versions.enter(block, frame.blocks[1], names);
    for (param, ty) in params.iter_mut().zip(&types) {
        *param = frame.inside(x, *param, ty)?;
    }
    let inside = params;
    for (&name, &value) in state.iter().zip(&inside) {
        x.reader.versions.write(&x.reader.blocks, block, name, value)?;
    }
    let arrays = arrays.begun(x, &initial, &inside, state.len());
    x.reader.array_loops.push(arrays);
    let found = x.reader.count(block, "feed") + x.reader.block(block)?.len();
    let Some(mut arrays) = x.reader.array_loops.pop().filter(|_| found == 0) else {
        return Err(Fault::FeedCount { block, found, expected: 0 }.into());
    };
    let read = |name: &&'a str| x.reader.versions.read(&x.reader.blocks, block, name);
    let mut results = state.iter().map(read).collect::<Result<Vec<VarId>, Fault>>()?;
    let mut wanted = BTreeMap::new();
    for ((&name, &initial), &result) in state.iter().zip(&initial).zip(&results) {
        if x.ty(initial) != x.ty(result) && is_undefined(x, initial) {
            wanted.insert(name, x.ty(result).clone());
        }
    }
    if !wanted.is_empty() {
        return Ok(Err(wanted));
    }
    if !arrays.hold(x, &inside, &results) {
        return x
            .lacks(
                "an iteration does not write the next place of an array, or it is not known whether it does",
            )
            .map(Ok);
    }
    if arrays.is_any() {
        results.push(frame.body(x).scaled(inside[state.len()], 1.0, 1.0)?);
        results.extend(arrays.values_behind());
    }
    let of_condition = state.iter().position(|&name| name == condition);
    let count = of_condition
        .filter(|_| arrays.collects())
        .and_then(|at| arrays.count(x, [initial[at], results[at]], (&inside, &results)));
    let collected: Vec<(ArrayName<'a>, VarId)> = arrays.collected().collect();
    let elements: Vec<Type> = collected.iter().map(|&(_, value)| x.ty(value).clone()).collect();
    results.extend(collected.iter().map(|&(_, value)| value));
    for result in &mut results {
        *result = frame.result(x, *result)?;
    }
    x.reader.draft.program.set_results(frame.blocks[1], &results)?;
    for value in &mut initial {
        *value = frame.initial(x, *value)?;
    }
    let mut outputs = frame.append(x, &initial, results.len())?;
    let given = outputs.split_off(types.len());
    for ((&name, &value), ty) in state.iter().zip(&outputs).zip(&types) {
        let value = frame.last(x, value, ty)?;
        x.named_value(name, value)?;
    }
    for (((array, _), ty), value) in collected.into_iter().zip(elements).zip(given) {
        let rest = frame.collected(x, value, count.as_ref())?;
        let before = arrays.before(array);
        x.reader.arrays.insert(array, Array::Collected { before, rest, ty });
    }
    Ok(Ok(true))
}

/// What PaddlePaddle gives a variable of Python's that has no value yet.
const UNDEFINED: f32 = 1.77113e27;

fn is_undefined(x: &Reading<'_, '_>, value: VarId) -> bool {
    matches!(x.constant_of(value).as_deref(), Some([Number::Float(value)]) if *value as f32 == UNDEFINED)
}
