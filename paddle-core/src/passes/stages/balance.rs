//! `balance`: cuts a network into parts of about equal work, where nothing in it says where to cut.

use std::collections::{BTreeMap, BTreeSet};

use super::place::{Devices, read_from_global, read_instead, says_where};
use crate::ops::{GradientError, Operator, Program, ToDevice};
use crate::passes::pipeline::PassError;
use crate::program::{BlockId, Definition, Dim, RowOrigin, Site, SymbolId, VarId};

/// So many tokens a sequence has, and so many iterations a loop, as far as work is estimated.
const TOKENS: u64 = 16;

/// A network with what brings values to devices: as it is, if it says so itself; otherwise cut into as many parts of about equal work as
/// there are devices, or into fewer, if it has no more places where it can be cut.
///
/// Errors if it has none.
pub fn balanced(network: &Program, devices: u32) -> Result<Program, PassError> {
    let mut program = network.clone();
    if devices < 2 || says_where(&program) {
        return Ok(program);
    }
    let borders = Lengths::of(&program).borders(devices);
    if borders.is_empty() {
        let message = "the network has no place where it can be cut into stages: say `to_device(x, 1)` where you want it to be cut, to see why it cannot";
        return Err(GradientError { place: None, message: message.to_string() }.into());
    }
    // From the last to the first, so that places stay.
    for (before, &at) in borders.iter().enumerate().rev() {
        bring(&mut program, at, before as i64 + 1)?;
    }
    Ok(program)
}

/// Brings what operators from a place on read from before it to a device.
fn bring(program: &mut Program, at: usize, device: i64) -> Result<(), PassError> {
    let operators = &program.block(Program::GLOBAL).ops;
    let before: BTreeSet<VarId> =
        operators[..at].iter().flat_map(|operator| operator.outputs.iter().copied()).collect();
    let crosses = |var: &VarId| before.contains(var) || program.var(*var).definition == Definition::Input;
    let read = operators[at..].iter().flat_map(|operator| read_from_global(program, operator));
    let crossing: BTreeSet<VarId> = read.filter(crosses).collect();
    for (count, var) in crossing.into_iter().enumerate() {
        let op = ToDevice { device, from: 0 };
        let there = program.insert_at(Program::GLOBAL, at + count, op.into(), &[var], Site::default())?[0];
        for reader in at + count + 1..program.block(Program::GLOBAL).ops.len() {
            read_instead(program, reader, var, there);
        }
    }
    Ok(())
}

/// The work of a network along its operators.
struct Lengths {
    /// The work in front of each operator, and at last all of it.
    work: Vec<u64>,
    /// The elements that cross the place in front of an operator. `None` where it cannot be cut.
    crossing: Vec<Option<u64>>,
}

impl Lengths {
    fn of(program: &Program) -> Self {
        let operators = &program.block(Program::GLOBAL).ops;
        let devices = Devices::of(program);
        let fed: BTreeSet<_> = program.inputs().iter().filter_map(|&input| program.ty(input).rows).collect();
        let mut work = vec![0_u64];
        let (mut first, mut last) = (BTreeMap::new(), BTreeMap::new());
        for (at, operator) in operators.iter().enumerate() {
            work.push(work[at].saturating_add(work_of(program, operator, 0)));
            for var in read_from_global(program, operator) {
                first.entry(var).or_insert(at);
                last.insert(var, at);
            }
        }
        let mut crossing = vec![Some(0_u64); operators.len() + 1];
        for (at, operator) in operators.iter().enumerate() {
            // What follows from inputs alone is computed wherever it is read.
            for &output in operator.outputs.iter().filter(|&&output| devices.of_var(output).is_some()) {
                let Some(&last) = last.get(&output) else { continue };
                let ty = program.ty(output);
                let can_cross = ty.rows.is_none_or(|rows| fed.contains(&rows));
                let elements = elements(program, &program.shape(ty));
                for place in &mut crossing[at + 1..=last] {
                    *place = place.filter(|_| can_cross).map(|sum| sum.saturating_add(elements));
                }
            }
        }
        // A parameter, which may be a large table, goes nowhere.
        for parameter in program.parameters() {
            if let (Some(&first), Some(&last)) = (first.get(&parameter), last.get(&parameter)) {
                crossing[first + 1..=last].fill(None);
            }
        }
        // In front of everything, and behind it, there is nothing to cut.
        crossing[0] = None;
        crossing[operators.len()] = None;
        Lengths { work, crossing }
    }

    /// The last place from which on a part beginning at `start` has at most so much work; the end, if that is within it.
    fn reach(&self, start: usize, most: u64) -> Option<usize> {
        let end = self.work.len() - 1;
        let fits = |&place: &usize| self.work[place] - self.work[start] <= most;
        let mut places = (start + 1..=end).rev().filter(fits);
        places.find(|&place| place == end || self.crossing[place].is_some())
    }

    /// Whether what begins at `start` fits into so many parts.
    fn fits(&self, mut start: usize, parts: u32, most: u64) -> bool {
        let end = self.work.len() - 1;
        for _ in 0..parts {
            match self.reach(start, most) {
                Some(place) if place == end => return true,
                Some(place) => start = place,
                None => return false,
            }
        }
        false
    }

    /// The places where parts begin, but the first: so that the largest part is as small as can be, and, among places that hardly differ in
    /// that, where the fewest elements cross.
    fn borders(&self, parts: u32) -> Vec<usize> {
        let end = self.work.len() - 1;
        let (mut low, mut high) = (0, self.work[end]);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.fits(0, parts, middle) { high = middle } else { low = middle + 1 }
        }
        let (mut borders, mut start) = (Vec::new(), 0);
        for left in (1..parts).rev() {
            let Some(last) = self.reach(start, high).filter(|&place| place < end) else { break };
            let enough = high - high / 8;
            let near = (start + 1..=last)
                .filter(|&place| self.work[place] - self.work[start] >= enough || place == last);
            let fitting =
                near.filter(|&place| self.crossing[place].is_some() && self.fits(place, left, high));
            start = fitting.min_by_key(|&place| self.crossing[place]).unwrap_or(last);
            borders.push(start);
        }
        borders
    }
}

/// The multiplications of an operator for a row, and of those in its blocks.
fn work_of(program: &Program, operator: &Operator, depth: usize) -> u64 {
    let own = match operator.op.operation().multiplications(program, operator) {
        Some(sizes) => elements(program, &sizes),
        None => {
            let outputs =
                operator.outputs.iter().map(|&output| elements(program, &program.shape(program.ty(output))));
            outputs.fold(0, u64::saturating_add)
        }
    };
    if depth > Program::MAX_DEPTH {
        return own;
    }
    let of_block = |&block: &BlockId| {
        let block = program.block(block);
        let once =
            block.ops.iter().map(|inner| work_of(program, inner, depth + 1)).fold(0, u64::saturating_add);
        // In an iteration, a row has one token.
        let repeats =
            block.rows.is_some_and(|rows| matches!(program.row_space(rows).origin, RowOrigin::Active { .. }));
        once.saturating_mul(if repeats { TOKENS } else { 1 })
    };
    operator.blocks.iter().map(of_block).fold(own, u64::saturating_add)
}

/// The number of elements for a row of the batch.
fn elements(program: &Program, shape: &[Dim]) -> u64 {
    let tokens: BTreeSet<SymbolId> = program
        .row_spaces()
        .iter()
        .filter(|space| matches!(space.origin, RowOrigin::Tokens))
        .map(|space| space.size)
        .collect();
    let size = |dim: &Dim| match dim.constant() {
        Some(size) => u64::try_from(size).unwrap_or(1),
        None if dim.symbols().iter().any(|symbol| tokens.contains(symbol)) => TOKENS,
        None => 1,
    };
    shape.iter().map(size).fold(1, u64::saturating_mul)
}
