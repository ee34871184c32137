//! PaddlePaddle's `while`: as ours, which collects what its iterations write into arrays; or, if it is known how often it runs, written out.

use std::collections::BTreeMap;

use super::array_loops::ArrayLoop;
use super::arrays::{Array, ArrayName};
use super::iteration_bound::{Bound, States};
use super::loop_frames::Frame;
use super::varying_sizes::{Axis, Change, Varying};
use crate::convert::draft::MOST_ITERATIONS;
use crate::convert::from_wire::versions::written_outside;
use crate::convert::from_wire::{ConvertError, Fault, Reading, one};
use crate::ops::{Fill, Number};
use crate::program::{DType, Dim, SymbolId, Type, VarId};

/// PaddlePaddle's `while`. If it is known how often it runs, and it cannot be ours as it is, it is written out.
pub(super) fn raise_while(x: &mut Reading<'_, '_>) -> Result<bool, ConvertError> {
    let block = x.owned("sub_block")?;
    let goes_on = x.input("Condition")?;
    let (has_arrays, is_known) = (x.has_arrays(block), x.reader.draft.known_truth(goes_on).is_some());
    // The places of arrays are known where iterations are.
    let seen = if has_arrays && is_known { None } else { Some(as_it_is(x, block)?) };
    let seen = match seen {
        Some(As::Read(known)) => return Ok(known),
        Some(As::Varies(zeros, changes)) if !is_known => return with_buffers(x, block, &zeros, changes),
        Some(As::Refused(faults)) if !is_known => return x.fails(faults),
        seen => seen,
    };
    let versions = x.reader.versions.clone();
    let written = x.attempted(block, |x| written_out(x, block));
    if let Ok(true) = written {
        return Ok(true);
    }
    x.reader.versions = versions;
    x.reader.versions.leave(&x.reader.blocks, block);
    // A condition that is known before the loop may not be known behind an iteration.
    let lack = x.lack.take();
    match seen.map_or_else(|| as_it_is(x, block), Ok)? {
        As::Read(known) => Ok(known),
        As::Varies(zeros, changes) => with_buffers(x, block, &zeros, changes),
        As::Refused(_) => {
            x.lack = lack;
            written.or_else(|faults| x.fails(faults))
        }
    }
}

/// What a loop becomes.
enum As<'a> {
    Read(bool),
    /// Variables have other sizes behind an iteration. With first values for those that have none.
    Varies(Zeros<'a>, Vec<(Axis<'a>, Change)>),
    Refused(Vec<ConvertError>),
}

/// The first values of variables that have none.
type Zeros<'a> = BTreeMap<&'a str, VarId>;

/// What a loop's body says.
enum Outcome<'a> {
    Read(bool),
    /// Variables have no value before the loop, and these types behind an iteration.
    Undefined(BTreeMap<&'a str, Type>),
    /// Variables have other sizes behind an iteration.
    Varies(Vec<(Axis<'a>, Change)>),
    /// The sizes that are told by symbols, as iterations leave them, and how often there is one.
    Sizes(Vec<(SymbolId, Dim, Dim)>, Option<Bound>),
}

/// A loop as our `while`. Variables that have no value before the loop get zeros, of the types that an iteration leaves.
fn as_it_is<'a>(x: &mut Reading<'_, 'a>, block: usize) -> Result<As<'a>, ConvertError> {
    let before = x.reader.draft.program.mark(x.id());
    let (mut zeros, none) = (Zeros::new(), Varying::default());
    for _ in 0..2 {
        let wanted = match tried(x, block, &zeros, &none) {
            Err(faults) => return Ok(As::Refused(faults)),
            Ok(Outcome::Varies(changes)) => return Ok(As::Varies(zeros, changes)),
            Ok(Outcome::Undefined(wanted)) => wanted,
            Ok(Outcome::Read(known)) => return Ok(As::Read(known)),
            Ok(Outcome::Sizes(..)) => break,
        };
        let exists = |ty: &Type| {
            let sizes = ty.dims.iter().flat_map(Dim::symbols);
            ty.rows.is_none_or(|rows| before.has_rows(rows))
                && sizes.into_iter().all(|size| before.has_size(size))
        };
        if !zeros.is_empty() || !wanted.values().all(exists) {
            break;
        }
        for (name, ty) in wanted {
            zeros.insert(name, x.emit(Fill::zeros(ty), &[])?);
        }
    }
    let message = match zeros.is_empty() {
        true => "a variable has no value before it",
        false => "a variable has values of several types",
    };
    Ok(As::Refused(vec![Fault::Form { message: message.to_string() }.into()]))
}

/// A loop as our `while`, whose variables of varying sizes are in buffers.
fn with_buffers<'a>(
    x: &mut Reading<'_, 'a>,
    block: usize,
    zeros: &Zeros<'a>,
    changes: Vec<(Axis<'a>, Change)>,
) -> Result<bool, ConvertError> {
    let before = x.reader.draft.program.mark(x.id());
    let (mut varying, mut more) = (Varying::default(), changes);
    while !more.is_empty() {
        if !varying.add(more) {
            return x.lacks("many variables have other sizes behind an iteration");
        }
        more = match tried(x, block, zeros, &varying) {
            Err(faults) => return x.fails(faults),
            Ok(Outcome::Varies(changes)) => changes,
            Ok(Outcome::Sizes(sizes, bound)) => match varying.with_lengths(before, &sizes, bound)? {
                Ok(with_lengths) => {
                    varying = with_lengths;
                    Vec::new()
                }
                Err(unknown) => return x.lacks(unknown),
            },
            Ok(Outcome::Undefined(_)) => return x.lacks("a variable has no value before it"),
            Ok(Outcome::Read(known)) => return Ok(known),
        };
    }
    match tried(x, block, zeros, &varying) {
        Err(faults) => x.fails(faults),
        Ok(Outcome::Read(known)) => Ok(known),
        Ok(_) => x.lacks("variables have other sizes in each iteration"),
    }
}

/// A loop as our `while`, or what its body says without one: then nothing is left of the attempt.
fn tried<'a>(
    x: &mut Reading<'_, 'a>,
    block: usize,
    zeros: &Zeros<'a>,
    varying: &Varying<'a>,
) -> Result<Outcome<'a>, Vec<ConvertError>> {
    // What takes time and appends nothing is counted, too.
    let takes = 64 * (1 + x.reader.blocks[block].desc.ops.len());
    x.reader.draft.spend(takes).map_err(|fault| vec![fault.into()])?;
    let mut outcome = None;
    let read = x.attempted(block, |x| match as_while(x, block, zeros, varying)? {
        Outcome::Read(known) => Ok(known),
        other => {
            outcome = Some(other);
            Err(Fault::Form { message: String::new() }.into())
        }
    });
    match (read, outcome) {
        (Ok(known), _) => Ok(Outcome::Read(known)),
        (Err(faults), Some(outcome)) if faults.len() == 1 => Ok(outcome),
        (Err(mut faults), outcome) => {
            // The last one stands for the outcome.
            faults.truncate(faults.len() - usize::from(outcome.is_some()));
            Err(faults)
        }
    }
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
/// `zeros` are the first values of variables that have none.
fn as_while<'a>(
    x: &mut Reading<'_, 'a>,
    block: usize,
    zeros: &Zeros<'a>,
    varying: &Varying<'a>,
) -> Result<Outcome<'a>, ConvertError> {
    let before = x.reader.draft.program.mark(x.id());
    let desc = x.desc;
    let condition = one(desc.input("Condition"), "Condition")?;
    let mut names = written_outside(&x.reader.blocks, block);
    names.insert(condition);
    // What nothing but loops reads is no state: a variable of an iteration, which has no value before the first of them.
    let is_state = |name: &&str| *name == condition || x.reader.read.contains(name);
    let state: Vec<&'a str> = names.iter().copied().filter(is_state).collect();
    let first = |name: &&'a str| zeros.get(name).map_or_else(|| x.read(name), |&zeros| Ok(zeros));
    let mut initial = state.iter().map(first).collect::<Result<Vec<VarId>, Fault>>()?;
    let Some(arrays) = ArrayLoop::of(x, block)? else {
        return x
            .lacks("it writes into arrays in its branches, or into some whose places before it are not known")
            .map(Outcome::Read);
    };
    if arrays.is_any() {
        initial.push(x.emit(Fill::zeros(Type::new(DType::I64, [1])), &[])?);
        initial.extend(arrays.values_before());
    }
    let sizes = varying.begun(&mut x.at(), &state, &mut initial)?;

    let mut types = x.types(&initial);
    for (&name, ty) in state.iter().zip(&mut types) {
        varying.symbolic(&sizes, name, ty);
    }
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
    let mut inside = params;
    varying.taken(&mut frame.body(x), &sizes, &state, &mut inside)?;
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
        return Ok(Outcome::Undefined(wanted));
    }
    let (changes, behind) = changes(x, &state, [&inside, &results], varying);
    if !changes.is_empty() {
        return Ok(Outcome::Varies(changes));
    }
    let of_condition = state.iter().position(|&name| name == condition);
    if !sizes.symbols.is_empty() {
        if behind.len() < sizes.symbols.len() {
            return x.lacks("a variable has values of several types").map(Outcome::Read);
        }
        let (found, states) = (
            varying.known(&sizes.symbols, &behind),
            States { initial: &initial, inside: &inside, results: &results },
        );
        let bound =
            of_condition.and_then(|at| Bound::of(&x.reader.draft, before, results[at], &states, &found));
        return Ok(Outcome::Sizes(found, bound));
    }
    if !arrays.hold(x, &inside, &results) {
        return x
            .lacks(
                "an iteration does not write the next place of an array, or it is not known whether it does",
            )
            .map(Outcome::Read);
    }
    if arrays.is_any() {
        results.push(frame.body(x).scaled(inside[state.len()], 1.0, 1.0)?);
        results.extend(arrays.values_behind());
    }
    let count = of_condition
        .filter(|_| arrays.collects())
        .and_then(|at| arrays.count(x, [initial[at], results[at]], (&inside, &results)));
    let collected: Vec<(ArrayName<'a>, VarId)> = arrays.collected().collect();
    let elements: Vec<Type> = collected.iter().map(|&(_, value)| x.ty(value).clone()).collect();
    varying.filled(&mut frame.body(x), &sizes, &state, &mut results)?;
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
    for (value, ty) in outputs.iter_mut().zip(&types) {
        *value = frame.last(x, *value, ty)?;
    }
    varying.taken(&mut x.at(), &sizes, &state, &mut outputs)?;
    for (&name, &value) in state.iter().zip(&outputs) {
        x.named_value(name, value)?;
    }
    for (((array, _), ty), value) in collected.into_iter().zip(elements).zip(given) {
        let rest = frame.collected(x, value, count.as_ref())?;
        let before = arrays.before(array);
        x.reader.arrays.insert(array, Array::Collected { before, rest, ty });
    }
    Ok(Outcome::Read(true))
}

/// The sizes that variables do not have in an iteration as they have them behind it, if they differ in nothing else; and, of the sizes that
/// vary already, what they are behind it.
fn changes<'a>(
    x: &Reading<'_, '_>,
    names: &[&'a str],
    [inside, results]: [&[VarId]; 2],
    varying: &Varying<'a>,
) -> (Vec<(Axis<'a>, Change)>, Vec<Dim>) {
    let (mut changes, mut behind) = (Vec::new(), BTreeMap::new());
    for ((&name, &from), &to) in names.iter().zip(inside).zip(results) {
        let (from, to) = (x.ty(from), x.ty(to));
        if (from.dtype, from.rows, from.dims.len()) != (to.dtype, to.rows, to.dims.len()) {
            return Default::default();
        }
        for (axis, (from, to)) in from.dims.iter().zip(&to.dims).enumerate() {
            let is_new = match varying.size(&(name, axis)) {
                None => from != to,
                // Axes of one size are told apart where it turns out to be several.
                Some(size) => behind.entry(size).or_insert(to) != &to,
            };
            if is_new {
                changes.push(((name, axis), [from.clone(), to.clone()]));
            }
        }
    }
    (changes, behind.into_values().cloned().collect())
}

/// What PaddlePaddle gives a variable of Python's that has no value yet.
const UNDEFINED: f32 = 1.77113e27;

fn is_undefined(x: &Reading<'_, '_>, value: VarId) -> bool {
    matches!(x.constant_of(value).as_deref(), Some([Number::Float(value)]) if *value as f32 == UNDEFINED)
}
