//! Which values have a name: those that are read once and short stand where they are read.

use std::collections::{BTreeMap, BTreeSet};

use paddle_core::program::VarId;

use super::tree::{Body, Expr, Head, If, Loop, Statement};

/// The widest expression that gets no name.
const WIDTH: usize = 48;

/// The most parts of a condition that is written as one expression.
const MOST_PARTS: usize = 400;

/// Removes statements whose values nothing reads, the last ones first. `keeps` are those that are read later.
pub(super) fn drop_unread(body: &mut Body, keeps: &dyn Fn(VarId) -> bool) {
    let mut reads: BTreeMap<VarId, usize> = BTreeMap::new();
    body.results
        .iter()
        .for_each(|result| result.values(false, &mut |var, _| *reads.entry(var).or_default() += 1));
    let mut kept = Vec::with_capacity(body.statements.len());
    while let Some(mut statement) = body.statements.pop() {
        let is_read = |var: &VarId| reads.contains_key(var) || keeps(*var);
        match &mut statement {
            Statement::Let { outputs, .. } => {
                outputs.iter_mut().for_each(|output| *output = output.filter(|output| is_read(output)));
                if !outputs.is_empty() && outputs.iter().all(Option::is_none) {
                    continue;
                }
            }
            Statement::Loop(it) => {
                let is_used = it.states.iter().any(|state| is_read(&state.after))
                    || it.collected.iter().flatten().any(is_read);
                if !is_used {
                    continue;
                }
            }
            Statement::Assign { .. } | Statement::Chain(_) | Statement::Rows { .. } => {}
        }
        statement.values(false, &mut |var, _| *reads.entry(var).or_default() += 1);
        kept.push(statement);
    }
    kept.reverse();
    body.statements = kept;
}

/// A body as one expression, with its first result. What it has that is no expression is lost, with an error where it
/// would be read.
pub(super) fn as_one(mut body: Body) -> Expr {
    let mut known: BTreeMap<VarId, Expr> = BTreeMap::new();
    for statement in body.statements {
        let Statement::Let { outputs, mut value } = statement else { continue };
        value.replace(&mut |var| known.get(&var).cloned());
        if let ([Some(output)], true) = (&outputs[..], parts(&value) <= MOST_PARTS) {
            known.insert(*output, value);
        }
    }
    let mut result = if body.results.is_empty() { Expr::word(true) } else { body.results.swap_remove(0) };
    result.replace(&mut |var| known.get(&var).cloned());
    result
}

/// The number of parts of an expression.
fn parts(value: &Expr) -> usize {
    1 + match value {
        Expr::Value(_) | Expr::Word(_) | Expr::Text(_) | Expr::Lack(_) | Expr::If(_) => 0,
        Expr::List(parts) | Expr::Tuple(parts) => parts.iter().map(self::parts).sum(),
        Expr::Call(call) => {
            let named = call.named.iter().map(|(_, value)| value);
            call.positional.iter().chain(named).map(self::parts).sum::<usize>()
        }
        Expr::Infix(_, sides) => sides.iter().map(self::parts).sum(),
        Expr::Prefix(_, x) => self::parts(x),
    }
}

/// Puts short values that are read once where they are read. `keeps` are those that keep their names.
pub(super) fn inline(body: &mut Body, keeps: &dyn Fn(VarId) -> bool) {
    let mut reads: BTreeMap<VarId, Reads> = BTreeMap::new();
    body.values(false, &mut |var, inside| {
        let reads = reads.entry(var).or_default();
        reads.times += 1;
        reads.is_inside |= inside;
    });
    let once = |var: &VarId| reads.get(var).is_some_and(|reads| reads.times == 1 && !reads.is_inside);
    // What a variable of a loop is at first has its name.
    let first: BTreeSet<VarId> = body.statements.iter().flat_map(initials).collect();
    let mut waiting: BTreeMap<VarId, Expr> = BTreeMap::new();
    let mut kept = Vec::with_capacity(body.statements.len());
    for mut statement in std::mem::take(&mut body.statements) {
        let mut put = |var| waiting.remove(&var);
        match &mut statement {
            Statement::Let { value, .. } | Statement::Assign { value, .. } => {
                value.replace(&mut put);
                if let Expr::If(branch) = value {
                    let If { branches, .. } = &mut **branch;
                    branches.iter_mut().for_each(|branch| inline(branch, keeps));
                }
            }
            Statement::Chain(chain) => chain.initial.replace(&mut put),
            Statement::Rows { of, .. } => of.replace(&mut put),
            Statement::Loop(Loop { head, states, body, .. }) => {
                states.iter_mut().for_each(|state| state.initial.replace(&mut put));
                if let Head::For(items) = head {
                    items.iter_mut().for_each(|(_, items)| items.replace(&mut put));
                }
                inline(body, keeps);
            }
        }
        match statement {
            Statement::Let { outputs, value }
                if matches!(outputs[..], [Some(output)] if once(&output) && !keeps(output))
                    && !value.has_parameters()
                    && width(&value) <= WIDTH
                    || matches!(outputs[..], [Some(output)] if once(&output) && first.contains(&output)) =>
            {
                waiting.extend(outputs.into_iter().flatten().map(|output| (output, value.clone())));
            }
            statement => kept.push(statement),
        }
    }
    body.results.iter_mut().for_each(|result| result.replace(&mut |var| waiting.remove(&var)));
    // What is bound last and given at once needs no name.
    if let (Some(Statement::Let { outputs, value }), [Expr::Value(result)]) =
        (kept.last_mut(), &body.results[..])
        && let [Some(output)] = outputs[..]
        && output == *result
        && once(&output)
        && !keeps(output)
    {
        body.results = vec![std::mem::replace(value, Expr::Value(output))];
        kept.pop();
    }
    body.statements = kept;
}

/// The values that are those of a loop's variables at first.
fn initials(statement: &Statement) -> Vec<VarId> {
    let initials: Vec<&Expr> = match statement {
        Statement::Loop(it) => it.states.iter().map(|state| &state.initial).collect(),
        Statement::Chain(chain) => vec![&chain.initial],
        Statement::Let { .. } | Statement::Assign { .. } | Statement::Rows { .. } => Vec::new(),
    };
    initials
        .into_iter()
        .filter_map(|value| if let Expr::Value(var) = value { Some(*var) } else { None })
        .collect()
}

#[derive(Default)]
struct Reads {
    times: usize,
    /// Whether it is read in a body inside of the one that has it.
    is_inside: bool,
}

/// About how many characters an expression takes.
fn width(value: &Expr) -> usize {
    match value {
        Expr::Value(_) => 6,
        Expr::Word(word) => word.len(),
        Expr::Text(text) => text.len() + 2,
        Expr::List(parts) | Expr::Tuple(parts) => 2 + parts.iter().map(|part| width(part) + 2).sum::<usize>(),
        Expr::Call(call) => {
            let named = call.named.iter().map(|(name, value)| name.len() + 5 + width(value));
            let positional = call.positional.iter().map(|value| width(value) + 2);
            call.layer.len() + 2 + named.chain(positional).sum::<usize>()
        }
        Expr::Infix(_, sides) => 3 + sides.iter().map(width).sum::<usize>(),
        Expr::Prefix(_, x) => 1 + width(x),
        Expr::If(_) | Expr::Lack(_) => WIDTH + 1,
    }
}
