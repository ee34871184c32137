//! What a trainer receives, and when: parameters come in front of the operators that use them, so that the program begins while others are
//! on their way.

use super::{BUNDLE, Placement};
use crate::ops::{FetchBarrier, Op, Operator, Prefetch, Program, Receive};
use crate::program::{BlockId, BuildError, Site, VarId};

/// Cuts what is received, in the order in which it is needed, into bundles: a value of [`BUNDLE`] elements begins one, and smaller ones come
/// with what is before them, until they are as many together.
#[derive(Debug, Default)]
pub struct Bundling {
    /// The elements of small values in the bundle, if there is one.
    small: Option<usize>,
}

impl Bundling {
    /// Whether a value of so many elements begins a bundle.
    pub fn begins(&mut self, elements: usize) -> bool {
        let begins = elements >= BUNDLE || self.small.is_none_or(|small| small >= BUNDLE);
        let before = self.small.filter(|_| !begins).unwrap_or(0);
        self.small = Some(if elements >= BUNDLE { 0 } else { before + elements });
        begins
    }
}

/// Inserts what receives parameters, each bundle in front of the first operator that uses something of it, and what gets the rows of tables,
/// in front of their lookups. Returns the names of the pieces of these tables.
pub(in crate::passes) fn receive(
    program: &mut Program,
    placement: &Placement,
) -> Result<Vec<String>, BuildError> {
    let site = Site::default();
    let (mut received, mut by_rows) = (Vec::new(), Vec::new());
    for parameter in program.parameters().collect::<Vec<_>>() {
        let name = program.var(parameter).name.clone();
        let Some(lookups) = lookups_of(program, parameter) else {
            received.push(parameter);
            continue;
        };
        by_rows.extend(placement.of(&name).map(|piece| piece.name.clone()));
        for ids in lookups {
            let reads = |operator: &Operator| {
                matches!(operator.op, Op::LookupTable(_)) && operator.inputs == [ids, parameter]
            };
            let at = program.block(Program::GLOBAL).ops.iter().position(reads).unwrap_or(0);
            for (k, piece) in placement.of(&name).enumerate() {
                let [begin, end] = [piece.rows.start as i64, piece.rows.end as i64];
                let op = Prefetch { piece: piece.name.clone(), from: piece.server.into(), begin, end };
                program.insert_at(Program::GLOBAL, at + k, op.into(), &[parameter, ids], site)?;
            }
        }
    }
    let uses = received.into_iter().map(|parameter| (first_use(program, parameter), parameter));
    let mut received: Vec<_> = uses.collect();
    let last = received.iter().filter_map(|&(at, _)| at).max().unwrap_or(0);
    // What nothing uses is received last.
    received.sort_by_key(|&(at, _)| at.unwrap_or(last));
    let (mut bundling, mut place) = (Bundling::default(), 0);
    let places = received.into_iter().map(|(at, parameter)| {
        let dims = program.ty(parameter).dims.iter();
        if bundling.begins(dims.map(|dim| dim.constant().unwrap_or(1).max(0) as usize).product()) {
            place = at.unwrap_or(last);
        }
        (place, parameter)
    });
    let places: Vec<_> = places.collect();
    program.insert_at(Program::GLOBAL, place, FetchBarrier.into(), &[], site)?;
    for (at, parameter) in places.into_iter().rev() {
        let name = program.var(parameter).name.clone();
        for piece in placement.of(&name).collect::<Vec<_>>().into_iter().rev() {
            let [begin, end] = [piece.rows.start as i64, piece.rows.end as i64];
            let op = Receive { piece: piece.name.clone(), from: piece.server.into(), begin, end };
            program.insert_at(Program::GLOBAL, at, op.into(), &[parameter], site)?;
        }
    }
    Ok(by_rows)
}

/// The position of the first operator that uses a value, perhaps in a block of its own.
fn first_use(program: &Program, value: VarId) -> Option<usize> {
    fn uses(program: &Program, operator: &Operator, value: VarId) -> bool {
        operator.inputs.contains(&value)
            || operator.blocks.iter().any(|&block| {
                let block = program.block(block);
                block.results.contains(&value) || block.ops.iter().any(|inner| uses(program, inner, value))
            })
    }
    program.block(Program::GLOBAL).ops.iter().position(|operator| uses(program, operator, value))
}

/// The ids by which a table is looked up, if nothing else reads its elements; each once.
fn lookups_of(program: &Program, table: VarId) -> Option<Vec<VarId>> {
    let mut all = Vec::new();
    for (at, block) in program.blocks().iter().enumerate() {
        for operator in block.ops.iter().filter(|operator| operator.read().any(|read| read == table)) {
            match (&operator.op, &operator.inputs[..]) {
                (Op::LookupTable(_), &[ids, _]) if BlockId(at as u32) == Program::GLOBAL => all.push(ids),
                _ => return None,
            }
        }
        if block.results.contains(&table) {
            return None;
        }
    }
    if all.is_empty() || program.outputs().contains(&table) {
        return None;
    }
    all.sort_unstable();
    all.dedup();
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_values_come_with_those_before_them() {
        let cut = |elements: &[usize]| {
            let mut bundling = Bundling::default();
            elements.iter().map(|&elements| bundling.begins(elements)).collect::<Vec<_>>()
        };
        let [large, small] = [BUNDLE, BUNDLE / 2];
        assert_eq!(cut(&[large, 1, large, 1, 1]), [true, false, true, false, false]);
        assert_eq!(cut(&[1, large, 0]), [true, true, false]);
        assert_eq!(cut(&[small, small, small, small, 1]), [true, false, true, false, true]);
    }
}
