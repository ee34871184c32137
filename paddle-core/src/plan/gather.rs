//! Gathering: operators that update parameters become one launch, whose work is handed out to threads once.

use std::collections::BTreeSet;

use super::backend::{Backend, Side};
use super::schedule::Unit;
use crate::ops::Operator;
use crate::program::{Role, VarId};

/// The largest number of updates in a launch. Each operand is compared with each other one when the launch begins.
const MOST: usize = 16;

/// Gathers the updates among the units of a block with these operators. An update moves to the place of the last one that it
/// is launched with, if nothing on the way reads what it changes, or changes what it reads.
pub(super) fn gather<B: Backend>(backend: &B, ops: &[Operator], units: Vec<Unit>) -> Vec<Unit> {
    let mut gathered = Vec::with_capacity(units.len());
    let mut open = Updates::default();
    for unit in units {
        let first = &ops[unit.operators[0]];
        let gathers = match unit.side {
            Side::Own => backend.gathers(&first.op),
            Side::Fallback => backend.fallback().is_some_and(|fallback| fallback.gathers(&first.op)),
        };
        let is_update = gathers && unit.operators.len() == 1 && first.outputs.is_empty();
        let is_free = open.is_free_of(ops, &unit);
        if !is_free || is_update && !open.has_room(&unit) {
            open.close(&mut gathered);
        }
        match is_update {
            true => open.add(ops, unit),
            false => gathered.push(unit),
        }
    }
    open.close(&mut gathered);
    gathered
}

/// The updates of a launch so far.
#[derive(Default)]
struct Updates {
    unit: Option<Unit>,
    role: Option<Role>,
    read: BTreeSet<VarId>,
    changed: BTreeSet<VarId>,
}

impl Updates {
    /// Whether a unit is in the same part of a step, and neither reads nor changes what the updates change, nor changes what
    /// they read. What a block does is not looked into.
    fn is_free_of(&self, ops: &[Operator], unit: &Unit) -> bool {
        self.unit.is_none()
            || unit.operators.iter().map(|&at| &ops[at]).all(|operator| {
                self.role == Some(operator.site.role)
                    && !operator.op.effects().blocks
                    && operator.read().all(|var| !self.changed.contains(&var))
                    && operator.changed().all(|var| !self.read.contains(&var))
            })
    }

    fn has_room(&self, unit: &Unit) -> bool {
        self.unit.as_ref().is_none_or(|open| open.side == unit.side && open.operators.len() < MOST)
    }

    fn add(&mut self, ops: &[Operator], unit: Unit) {
        for operator in unit.operators.iter().map(|&at| &ops[at]) {
            self.role = Some(operator.site.role);
            self.read.extend(operator.read());
            self.changed.extend(operator.changed());
        }
        match &mut self.unit {
            None => self.unit = Some(unit),
            Some(open) => {
                open.operators.extend(unit.operators);
                open.is_gathered = true;
            }
        }
    }

    /// Launches the updates behind the units so far.
    fn close(&mut self, units: &mut Vec<Unit>) {
        units.extend(self.unit.take());
        *self = Updates::default();
    }
}
