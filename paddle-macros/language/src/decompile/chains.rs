//! Calls of one function, each of what the one before gives, as a `for` over their numbers.

use std::collections::BTreeMap;

use paddle_core::program::VarId;

use super::factor::Function;
use super::tree::{Body, Chain, Expr, Statement};

/// The fewest calls that become a loop.
const FEWEST: usize = 3;

/// Makes loops of chains of calls.
pub(super) fn chain(functions: &[Function], body: &mut Body) {
    let mut reads: BTreeMap<VarId, usize> = BTreeMap::new();
    body.values(false, &mut |var, _| *reads.entry(var).or_default() += 1);
    let mut kept: Vec<Statement> = Vec::with_capacity(body.statements.len());
    let mut run: Vec<Statement> = Vec::new();
    for statement in std::mem::take(&mut body.statements) {
        let goes_on = run.last().and_then(step).zip(step(&statement)).is_some_and(|(before, this)| {
            this.value == Some(before.output)
                && this.function == before.function
                && reads.get(&before.output) == Some(&1)
        });
        if !goes_on {
            end(functions, std::mem::take(&mut run), &mut kept);
        }
        run.push(statement);
    }
    end(functions, run, &mut kept);
    body.statements = kept;
}

/// A call of a function of one value and of numbers.
struct Step<'a> {
    function: &'a str,
    /// The value, if it is one that has a name.
    value: Option<VarId>,
    first: &'a Expr,
    numbers: Vec<&'a str>,
    output: VarId,
}

fn step(statement: &Statement) -> Option<Step<'_>> {
    let Statement::Let { outputs, value: Expr::Call(call) } = statement else { return None };
    let ([Some(output)], [first, numbers @ ..]) = (&outputs[..], &call.positional[..]) else { return None };
    let words = numbers.iter().map(word).collect::<Option<Vec<_>>>()?;
    let value = if let Expr::Value(var) = first { Some(*var) } else { None };
    call.is_of_function().then_some(Step {
        function: &call.layer,
        value,
        first,
        numbers: words,
        output: *output,
    })
}

fn word(value: &Expr) -> Option<&str> {
    if let Expr::Word(word) = value { Some(word) } else { None }
}

/// Writes what was found one behind the other.
fn end(functions: &[Function], run: Vec<Statement>, kept: &mut Vec<Statement>) {
    let steps: Option<Vec<Step<'_>>> = run.iter().map(step).collect();
    let chained = steps.filter(|steps| steps.len() >= FEWEST).and_then(|steps| {
        let (first, last) = (steps.first()?, steps.last()?);
        let function = functions.iter().find(|function| function.name == first.function)?;
        // Numbers that are the same in all calls are none of the loop.
        let changes = |at: usize| steps.iter().any(|step| step.numbers.get(at) != first.numbers.get(at));
        let names = function.numbers.iter().enumerate();
        let arguments = names.map(|(at, name)| match changes(at) {
            true => (name.clone(), true),
            false => (first.numbers[at].to_string(), false),
        });
        let row = |step: &Step<'_>| {
            let numbers = step.numbers.iter().enumerate();
            numbers.filter(|(at, _)| changes(*at)).map(|(_, number)| number.to_string()).collect()
        };
        let chain = Chain {
            state: last.output,
            initial: first.first.clone(),
            function: function.name.clone(),
            arguments: arguments.collect(),
            rows: steps.iter().map(row).collect(),
        };
        (!chain.rows[0].is_empty()).then_some(chain)
    });
    match chained {
        Some(chain) => kept.push(Statement::Chain(chain)),
        None => kept.extend(run),
    }
}
