//! What an iteration gives to the next one, as assignments to the variables of the loop.

use std::collections::{BTreeMap, BTreeSet};

use paddle_core::program::VarId;

use super::tree::{Body, Expr, Loop, Statement};

/// The values that are the same variable: for each, the one that the variable is named after.
#[derive(Default)]
pub(super) struct Variables {
    same: BTreeMap<VarId, VarId>,
    /// The first id that the program does not use.
    fresh: u32,
}

impl Variables {
    /// Turns the results of all iterations of a body into assignments.
    pub(super) fn of(body: &mut Body, vars: usize) -> Self {
        let mut variables = Variables { same: BTreeMap::new(), fresh: vars as u32 };
        variables.body(body);
        variables
    }

    /// The value that a variable is named after.
    pub(super) fn named_after(&self, var: VarId) -> VarId {
        self.same.get(&var).copied().unwrap_or(var)
    }

    fn body(&mut self, body: &mut Body) {
        for statement in &mut body.statements {
            match statement {
                Statement::Let { value, .. } | Statement::Assign { value, .. } => self.branches(value),
                Statement::Loop(it) => {
                    it.states.iter_mut().for_each(|state| self.branches(&mut state.initial));
                    self.body(&mut it.body);
                    self.assign(it);
                }
                Statement::Chain(chain) => self.branches(&mut chain.initial),
                Statement::Rows { .. } => {}
            }
        }
        body.results.iter_mut().for_each(|result| self.branches(result));
    }

    fn branches(&mut self, value: &mut Expr) {
        if let Expr::If(branch) = value {
            branch.branches.iter_mut().for_each(|branch| self.body(branch));
        }
    }

    fn assign(&mut self, it: &mut Loop) {
        let count = it.states.len();
        let mut next = std::mem::take(&mut it.body.results);
        let mut collected = next.split_off(count.min(next.len()));
        for state in &it.states {
            self.same.extend(state.before.iter().map(|before| (*before, state.after)));
        }
        // A value that is only computed to be the next one is assigned where it is computed.
        let mut left = Vec::new();
        for (at, value) in next.iter().enumerate() {
            let others = next.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, other)| other);
            let behind: Vec<&Expr> = others.chain(&collected).collect();
            let computed = if let Expr::Value(var) = value { Some(*var) } else { None };
            let state = &it.states[at];
            match computed.filter(|_| state.before.iter().all(|before| !reads(&behind, *before))) {
                Some(var) if assign_early(&mut it.body, var, &state.before, state.after) => {
                    self.same.insert(var, state.after);
                }
                _ => left.push((at, value.clone())),
            }
        }
        let changed: BTreeSet<VarId> =
            left.iter().flat_map(|(at, _)| it.states[*at].before.iter().copied()).collect();
        let reads_changed = |value: &Expr, but: &[VarId]| {
            let mut found = false;
            value.values(false, &mut |var, _| found |= changed.contains(&var) && !but.contains(&var));
            found
        };
        // What is collected is the value from before the assignments.
        for value in &mut collected {
            if reads_changed(value, &[]) {
                let var = VarId(self.fresh);
                self.fresh += 1;
                let value = std::mem::replace(value, Expr::Value(var));
                it.body.statements.push(Statement::Let { outputs: vec![Some(var)], value });
            }
        }
        let together =
            left.len() > 1 && left.iter().any(|(at, value)| reads_changed(value, &it.states[*at].before));
        let after = |at: usize| it.states[at].after;
        if together {
            let targets = left.iter().map(|(at, _)| after(*at)).collect();
            let value = Expr::Tuple(left.into_iter().map(|(_, value)| value).collect());
            it.body.statements.push(Statement::Assign { targets, value });
        } else {
            let assigned =
                left.into_iter().map(|(at, value)| Statement::Assign { targets: vec![after(at)], value });
            it.body.statements.extend(assigned);
        }
        it.body.results = collected;
    }
}

fn reads(values: &[&Expr], wanted: VarId) -> bool {
    let mut found = false;
    values.iter().for_each(|value| value.values(false, &mut |var, _| found |= var == wanted));
    found
}

/// Assigns a value to a variable where it is computed, if nothing behind reads what the variable was before.
fn assign_early(body: &mut Body, var: VarId, before: &[VarId], after: VarId) -> bool {
    let binds = |statement: &Statement| matches!(statement, Statement::Let { outputs, .. } if outputs[..] == [Some(var)]);
    let Some(at) = body.statements.iter().position(binds) else { return false };
    let mut found = false;
    for statement in &body.statements[at + 1..] {
        statement.values(false, &mut |read, _| found |= before.contains(&read));
    }
    let Statement::Let { value, .. } = &mut body.statements[at] else { return false };
    if found {
        return false;
    }
    let value = std::mem::replace(value, Expr::word(0));
    body.statements[at] = Statement::Assign { targets: vec![after], value };
    true
}
