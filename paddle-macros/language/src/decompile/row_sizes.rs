//! Names for numbers of rows that only a run knows: behind the first value that has the rows stands `let _: Tensor<i64, N> =
//! all_rows(row_numbers(value));`, if a size is written with `N`.

use std::collections::{BTreeMap, BTreeSet};

use paddle_core::ops::Program;
use paddle_core::program::{RowOrigin, RowSpace, RowsId, VarId};

use super::error::Lack;
use super::sizes::{fed_with, has_name, named, symbol_name};
use super::tree::{Body, Expr, Head, If, Statement};

/// Puts the names where they are needed. A name that is needed, but that no value gives in front of it, is what the language lacks.
pub(super) fn bind(program: &Program, body: &mut Body) -> Vec<Lack> {
    let spaces = (0..program.row_spaces().len() as u32).map(RowsId);
    let made = spaces.filter(|rows| has_name(program, *rows) && fed_with(program, *rows).is_none());
    let names: BTreeMap<RowsId, String> =
        made.map(|rows| (rows, symbol_name(program, program.row_space(rows).size))).collect();
    let all = names.values().cloned().collect();
    let mut used = BTreeSet::new();
    body.walk(&mut |part| {
        if let Expr::Word(word) = part {
            used.extend(named(word, &all).map(str::to_string));
        }
    });
    let named: BTreeMap<String, RowsId> =
        names.into_iter().filter(|(_, name)| used.contains(name)).map(|(rows, name)| (name, rows)).collect();
    let mut binder = Binder { program, all: used, named, lacks: BTreeSet::new() };
    if !binder.named.is_empty() {
        binder.body(body, [], &BTreeSet::new());
    }
    let why = |rows: &RowsId| {
        let rows = &program.row_space(*rows).name;
        Lack::of_value(
            rows,
            "no value tells the number of these rows in front of where it is read".to_string(),
        )
    };
    binder.lacks.iter().map(why).collect()
}

/// The rows whose number a value tells: those of what a loop collects are tokens.
pub(super) fn counted_rows(program: &Program, var: VarId) -> Option<RowsId> {
    let rows = program.ty(var).rows?;
    match program.row_space(rows) {
        RowSpace { origin: RowOrigin::Steps | RowOrigin::Rounds, parent, .. } => *parent,
        _ => Some(rows),
    }
}

struct Binder<'p> {
    program: &'p Program,
    /// The names that are needed.
    all: BTreeSet<String>,
    named: BTreeMap<String, RowsId>,
    /// The rows whose number was read before a value told it.
    lacks: BTreeSet<RowsId>,
}

impl Binder<'_> {
    /// Binds names in a body that begins with these values.
    fn body(&mut self, body: &mut Body, first: impl IntoIterator<Item = VarId>, outside: &BTreeSet<RowsId>) {
        let mut bound = outside.clone();
        let mut statements = Vec::with_capacity(body.statements.len());
        statements.extend(first.into_iter().filter_map(|var| self.name(var, &mut bound)));
        for mut statement in std::mem::take(&mut body.statements) {
            let given: Vec<VarId> = match &mut statement {
                Statement::Let { outputs, value } => {
                    self.expr(value, &bound);
                    outputs.iter().flatten().copied().collect()
                }
                Statement::Assign { value, .. } | Statement::Rows { of: value, .. } => {
                    self.expr(value, &bound);
                    Vec::new()
                }
                Statement::Chain(chain) => {
                    self.expr(&mut chain.initial, &bound);
                    vec![chain.state]
                }
                Statement::Loop(it) => {
                    it.states.iter_mut().for_each(|state| self.expr(&mut state.initial, &bound));
                    let mut inside: Vec<VarId> =
                        it.states.iter().filter_map(|state| state.before.last().copied()).collect();
                    match &mut it.head {
                        Head::While(condition) => self.expr(condition, &bound),
                        Head::For(items) => {
                            for (item, of) in items {
                                self.expr(of, &bound);
                                inside.push(*item);
                            }
                        }
                    }
                    self.body(&mut it.body, inside, &bound);
                    let after = it.states.iter().map(|state| state.after);
                    after.chain(it.collected.iter().flatten().copied()).collect()
                }
            };
            statements.push(statement);
            statements.extend(given.into_iter().filter_map(|var| self.name(var, &mut bound)));
        }
        body.statements = statements;
        body.results.iter_mut().for_each(|result| self.expr(result, &bound));
    }

    /// The statement that names the number of a value's rows, if it is needed and has no name yet.
    fn name(&self, var: VarId, bound: &mut BTreeSet<RowsId>) -> Option<Statement> {
        self.program.vars().get(var.0 as usize)?;
        let rows = counted_rows(self.program, var)?;
        let name = symbol_name(self.program, self.program.row_space(rows).size);
        let is_new = self.named.get(&name) == Some(&rows) && bound.insert(rows);
        is_new.then_some(Statement::Rows { name, of: Expr::Value(var) })
    }

    /// Notes what is read too early, and binds names in branches.
    fn expr(&mut self, value: &mut Expr, bound: &BTreeSet<RowsId>) {
        let mut stack = vec![&mut *value];
        while let Some(part) = stack.pop() {
            match part {
                Expr::Word(word) => {
                    let read = named(word, &self.all).filter_map(|name| self.named.get(name));
                    self.lacks.extend(read.filter(|rows| !bound.contains(rows)));
                }
                Expr::Value(_) | Expr::Text(_) | Expr::Lack(_) => {}
                Expr::List(parts) | Expr::Tuple(parts) => stack.extend(parts),
                Expr::Call(call) => {
                    stack.extend(
                        call.positional.iter_mut().chain(call.named.iter_mut().map(|(_, value)| value)),
                    );
                }
                Expr::Infix(_, sides) => stack.extend(sides.iter_mut()),
                Expr::Prefix(_, x) => stack.push(x),
                Expr::If(branch) => {
                    let If { condition, branches } = &mut **branch;
                    stack.push(condition);
                    branches.iter_mut().for_each(|branch| self.body(branch, [], bound));
                }
            }
        }
    }
}
