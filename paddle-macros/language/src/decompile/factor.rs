//! Statements that are repeated, with other numbers, as a `fn` that is called.

use std::collections::{BTreeMap, BTreeSet};

use paddle_core::layers::Layer;
use paddle_core::ops::Program;
use paddle_core::program::VarId;

use super::parameters::Parameters;
use super::shape::{COUNTED, Part, Place, Shape};
use super::sizes::of_the_network;
use super::tree::{Body, Call, Expr, FUNCTION, Statement};

/// The longest part of a body that is looked for elsewhere, and the longest body that is searched.
const LONGEST: usize = 48;
const MOST_STATEMENTS: usize = 1_000;

/// The most arguments, the most results, and the most functions.
const MOST_ARGUMENTS: usize = 7;
const MOST_RESULTS: usize = 3;
const MOST_FUNCTIONS: usize = 8;

/// A sub-network.
#[derive(Clone, Debug)]
pub(super) struct Function {
    pub(super) name: String,
    /// The values that it takes, as they are called in its body.
    pub(super) values: Vec<VarId>,
    /// The names of the numbers that it takes.
    pub(super) numbers: Vec<String>,
    /// Numbers that are sums of others: their names, and what they are.
    pub(super) sums: Vec<(String, String)>,
    pub(super) body: Body,
}

/// Makes functions of what is repeated in a body. They have no `reserved` names.
pub(super) fn factor(
    program: &Program,
    parameters: &Parameters,
    reserved: &[String],
    body: &mut Body,
) -> Vec<Function> {
    let (mut functions, sizes) = (Vec::new(), of_the_network(program));
    let names = (1..).map(|number| format!("{FUNCTION}{number}"));
    let mut names = names.filter(|name| !reserved.contains(name));
    if body.statements.len() > MOST_STATEMENTS {
        return functions;
    }
    while functions.len() < MOST_FUNCTIONS {
        let mut words = BTreeMap::new();
        let mut shape =
            |statement| Shape::of(program, (parameters, &sizes), &functions, &mut words, statement);
        let shapes: Vec<Option<Shape>> = body.statements.iter().map(&mut shape).collect();
        let Some(found) = best(body, &shapes) else { break };
        let Some(name) = names.next() else { break };
        functions.push(found.taken_out(&name, body, &shapes));
    }
    functions
}

/// Parts of a body that differ in numbers only.
struct Repetition {
    starts: Vec<usize>,
    length: usize,
    /// For each part, the values from in front of it.
    values: Vec<Vec<VarId>>,
    /// For each number that differs, which one it is, where it stands, and what it is in all parts.
    numbers: Vec<(usize, Place, Vec<i64>)>,
    /// The statements whose values are read behind a part, and which of their outputs.
    results: Vec<(usize, usize)>,
}

/// The parts that are worth a function most.
fn best(body: &Body, shapes: &[Option<Shape>]) -> Option<Repetition> {
    let mut best: Option<(i64, Repetition)> = None;
    // Parts can be alike only where their statements are, one by one.
    let mut kinds: BTreeMap<Vec<Part>, usize> = BTreeMap::new();
    let mut kind = |shape: &Shape| {
        let count = kinds.len();
        *kinds.entry(Shape::together(&[shape])).or_insert(count)
    };
    let kinds: Vec<Option<usize>> = shapes.iter().map(|shape| shape.as_ref().map(&mut kind)).collect();
    for length in (1..=LONGEST.min(shapes.len() / 2)).rev() {
        let mut of_kinds: BTreeMap<&[Option<usize>], Vec<usize>> = BTreeMap::new();
        for (start, window) in kinds.windows(length).enumerate() {
            of_kinds.entry(window).or_default().push(start);
        }
        let mut alike: BTreeMap<Vec<Part>, Vec<usize>> = BTreeMap::new();
        for start in of_kinds.into_values().filter(|starts| starts.len() > 1).flatten() {
            let window = shapes[start..start + length].iter().map(Option::as_ref).collect::<Option<Vec<_>>>();
            let Some(window) = window.filter(|window| is_a_part(window)) else { continue };
            let starts = alike.entry(Shape::together(&window)).or_default();
            // Parts do not overlap.
            if starts.last().is_none_or(|last| last + length <= start) {
                starts.push(start);
            }
        }
        for starts in alike.into_values() {
            // A single layer is worth a function only where each takes what the one before gives.
            let starts = if length == 1 { longest_chain(shapes, starts) } else { starts };
            let Some(found) = Repetition::of(body, shapes, starts, length) else { continue };
            let worth = found.worth();
            if worth > 0 && best.as_ref().is_none_or(|(most, _)| worth > *most) {
                best = Some((worth, found));
            }
        }
    }
    best.map(|(_, found)| found)
}

/// Whether statements may be a function of their own.
fn is_a_part(window: &[&Shape]) -> bool {
    // A call of a function beside one layer is no function yet.
    let is_long = window.len() > 2 || !window.iter().any(|shape| shape.is_of_function);
    window[0].begins_a_part && is_long && !is_periodic(window)
}

/// Whether statements consist of shorter parts that are alike.
fn is_periodic(window: &[&Shape]) -> bool {
    let is_period = |period: &usize| {
        let mut parts = window.chunks(*period).map(Shape::together);
        let first = parts.next();
        parts.all(|part| Some(part) == first)
    };
    (1..window.len()).filter(|period| window.len().is_multiple_of(*period)).any(|period| is_period(&period))
}

/// The longest run of statements of which each takes what the one before gives, and nothing else.
fn longest_chain(shapes: &[Option<Shape>], starts: Vec<usize>) -> Vec<usize> {
    let takes = |from: usize, by: usize| {
        let (Some(Some(from)), Some(Some(by))) = (shapes.get(from), shapes.get(by)) else { return false };
        !by.is_of_function
            && from.outputs.len() == 1
            && from.outputs[0].is_some_and(|output| Shape::values_from_outside(&[by]) == [output])
    };
    let runs = starts.chunk_by(|from, by| from + 1 == *by && takes(*from, *by));
    runs.max_by_key(|run| run.len()).map(<[usize]>::to_vec).unwrap_or_default()
}

impl Repetition {
    fn of(body: &Body, shapes: &[Option<Shape>], starts: Vec<usize>, length: usize) -> Option<Self> {
        if starts.len() < 2 {
            return None;
        }
        let windows: Vec<Vec<&Shape>> =
            starts.iter().map(|start| shapes[*start..start + length].iter().flatten().collect()).collect();
        let values: Vec<Vec<VarId>> =
            windows.iter().map(|window| Shape::values_from_outside(window)).collect();
        let all: Vec<Vec<i64>> = windows
            .iter()
            .map(|window| window.iter().flat_map(|shape| &shape.numbers).map(|(_, n)| *n).collect())
            .collect();
        let places = windows.first()?.iter().flat_map(|shape| &shape.numbers).map(|(place, _)| place);
        let column = |at: usize| -> Vec<i64> { all.iter().map(|numbers| numbers[at]).collect() };
        let numbers = places.enumerate().map(|(at, place)| (at, place.clone(), column(at)));
        let numbers =
            numbers.filter(|(.., column)| column.iter().any(|number| *number != column[0])).collect();
        let mut results: BTreeSet<(usize, usize)> = BTreeSet::new();
        for start in &starts {
            results.extend(read_behind(body, *start, length));
        }
        let results: Vec<(usize, usize)> = results.into_iter().collect();
        ((1..=MOST_RESULTS).contains(&results.len())).then_some(Repetition {
            starts,
            length,
            values,
            numbers,
            results,
        })
    }

    /// How many statements a function saves, less what it takes to read it.
    fn worth(&self) -> i64 {
        let arguments = self.values[0].len() + self.columns().1.len();
        if arguments > MOST_ARGUMENTS {
            return 0;
        }
        let (count, length) = (self.starts.len() as i64, self.length as i64);
        (count - 2) * length - 2 * arguments as i64 - self.results.len() as i64
    }

    /// What each number that differs is: an argument, and how much more than it. The arguments are columns of these numbers.
    #[expect(clippy::type_complexity, reason = "a table and its columns")]
    fn columns(&self) -> (Vec<(usize, i64)>, Vec<(&Place, &Vec<i64>)>) {
        let mut arguments: Vec<(&Place, &Vec<i64>)> = Vec::new();
        let mut columns = Vec::new();
        for (_, place, column) in &self.numbers {
            let more = |(of, argument): &(&Place, &Vec<i64>)| {
                let more = column[0] - argument[0];
                let fits = column.iter().zip(*argument).all(|(number, argument)| number - argument == more);
                // Names of parameters are counted; of other numbers a sum would be by chance.
                let is_counted = [*of, place].iter().all(|place| matches!(place, Place::Text));
                (fits && (more == 0 || (is_counted && (0..100).contains(&more)))).then_some(more)
            };
            let found = arguments.iter().enumerate().find_map(|(argument, it)| Some((argument, more(it)?)));
            columns.push(found.unwrap_or_else(|| {
                arguments.push((place, column));
                (arguments.len() - 1, 0)
            }));
        }
        (columns, arguments)
    }

    /// Replaces the parts by calls of a function.
    fn taken_out(self, name: &str, body: &mut Body, shapes: &[Option<Shape>]) -> Function {
        let first: Vec<&Shape> =
            shapes[self.starts[0]..self.starts[0] + self.length].iter().flatten().collect();
        let (columns, arguments) = self.columns();
        let mut names = Vec::new();
        for (place, _) in &arguments {
            let base = match place {
                Place::Text => COUNTED,
                Place::Argument(name) if Layer::find(name).is_none() => {
                    name.trim_end_matches(|c: char| c.is_ascii_digit())
                }
                Place::Argument(_) => "number",
            };
            names.push(free(base, &names));
        }
        let mut sums: Vec<(String, String)> = Vec::new();
        let mut words: BTreeMap<usize, String> = BTreeMap::new();
        for ((at, ..), (base, more)) in self.numbers.iter().zip(&columns) {
            let sum = if *more == 0 { names[*base].clone() } else { format!("{} + {more}", names[*base]) };
            let word = match sums.iter().find(|(_, is)| *is == sum) {
                Some((name, _)) => name.clone(),
                None if *more == 0 => sum,
                None => {
                    let known: Vec<String> =
                        names.iter().chain(sums.iter().map(|(name, _)| name)).cloned().collect();
                    let name = free(COUNTED, &known);
                    sums.push((name.clone(), sum));
                    name
                }
            };
            words.insert(*at, word);
        }
        let mut at = 0;
        let mut statements: Vec<Statement> = Vec::new();
        for shape in &first {
            statements.push(shape.with_numbers(&mut |number| {
                at += 1;
                words.get(&(at - 1)).cloned().unwrap_or_else(|| number.to_string())
            }));
        }
        let output = |statement: &Statement, place: usize| match statement {
            Statement::Let { outputs, .. } => outputs.get(place).copied().flatten(),
            Statement::Assign { .. } | Statement::Loop(_) | Statement::Chain(_) | Statement::Rows { .. } => {
                None
            }
        };
        let results: Vec<Expr> = self
            .results
            .iter()
            .filter_map(|(of, place)| output(&body.statements[self.starts[0] + of], *place).map(Expr::Value))
            .collect();
        let inner = Body { statements, results };
        // The last part first, so that places stay.
        for (part, start) in self.starts.iter().enumerate().rev() {
            let outputs: Vec<Option<VarId>> =
                self.results.iter().map(|(of, place)| output(&body.statements[start + of], *place)).collect();
            let values = self.values[part].iter().map(|value| Expr::Value(*value));
            let numbers = arguments.iter().map(|(_, column)| Expr::word(column[part]));
            let call = Call::of(name.to_string(), values.chain(numbers).collect());
            let call = Statement::Let { outputs, value: call.into() };
            body.statements.splice(*start..start + self.length, [call]);
        }
        Function { name: name.to_string(), values: self.values[0].clone(), numbers: names, sums, body: inner }
    }
}

/// A name with the first number behind it that none of the others has.
fn free(name: &str, others: &[String]) -> String {
    let is_free = |free: &String| !others.contains(free);
    let numbered = (2..).map(|number| format!("{name}{number}"));
    std::iter::once(name.to_string()).chain(numbered).find(is_free).unwrap_or_default()
}

/// The outputs of the statements of a part that are read behind it.
fn read_behind(body: &Body, start: usize, length: usize) -> BTreeSet<(usize, usize)> {
    let mut places: BTreeMap<VarId, (usize, usize)> = BTreeMap::new();
    for (of, statement) in body.statements[start..start + length].iter().enumerate() {
        if let Statement::Let { outputs, .. } = statement {
            let named = outputs.iter().enumerate().filter_map(|(place, output)| Some((place, (*output)?)));
            places.extend(named.map(|(place, output)| (output, (of, place))));
        }
    }
    let mut read = BTreeSet::new();
    let mut note = |var: VarId, _: bool| read.extend(places.get(&var).copied());
    body.statements[start + length..].iter().for_each(|statement| statement.values(false, &mut note));
    body.results.iter().for_each(|result| result.values(false, &mut note));
    read
}
