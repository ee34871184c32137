//! Independence of rows: generated programs give the same outputs and gradients for all rows at once and for each row
//! alone.

use std::collections::BTreeMap;
use std::panic::{RefUnwindSafe, catch_unwind};

use paddle_core::convert::{from_wire, to_wire};
use paddle_core::ops::{Op, Program};
use paddle_core::passes::hoist::hoist;
use paddle_core::passes::map::map;
use paddle_core::passes::sink::sink;
use paddle_core::passes::split::split;
use paddle_core::text;
use paddle_core::wire::ProgramDesc;
use paddle_kernels::Cpu;
use paddle_kernels::differences::Differentiated;
use paddle_kernels::reference::Reference;

use super::batch::{Spread, draw_batch, row};
use super::build::{Built, line};
use super::outline::{Form, Outline};
use crate::draw::Draw;
use crate::fed::Fed;
use crate::gradients::{Run, differentiate};
use crate::programs::assert_close;

/// The number of programs, unless `PADDLE_GENERATED_PROGRAMS` sets it. 2,000 take minutes in a debug build.
const PROGRAMS: usize = 400;

fn count() -> usize {
    std::env::var("PADDLE_GENERATED_PROGRAMS").ok().and_then(|count| count.parse().ok()).unwrap_or(PROGRAMS)
}

/// The program after the passes that every network goes through: products are split, values that do not depend on loops
/// are hoisted, and their results are sunk.
fn moved(program: &Program) -> Program {
    let mut moved = program.clone();
    for pass in [split, map, hoist, sink] {
        pass(&mut moved).unwrap_or_else(|error| panic!("{error}\n{program}"));
        moved.verify().unwrap_or_else(|error| panic!("{error}\n{moved}"));
    }
    moved
}

/// Checks that text and wire keep the program.
fn check_round_trips(program: &Program) {
    let shown = program.to_string();
    let read = text::parse(&shown).unwrap_or_else(|error| panic!("{error}\n{shown}"));
    assert_eq!(read.to_string(), shown);
    let wire = to_wire(program);
    let bytes = wire.main.encode_to_vec();
    let main = ProgramDesc::decode(&bytes).unwrap();
    let read = from_wire(&main, Some(&wire.startup)).unwrap_or_else(|error| panic!("{error}\n{shown}"));
    assert_eq!(read.to_string(), shown);
}

/// The rows of a batch, each alone.
fn alone(program: &Program, feeds: &[Fed], rows: usize) -> Vec<Vec<Fed>> {
    (0..rows).map(|at| row(program, feeds, at)).collect()
}

/// Checks that the outputs of all rows together are those of each row, one after the other.
fn check_outputs(program: &Program, whole: &[Vec<f64>], parts: &[Vec<Vec<f64>>]) {
    for (output, whole) in whole.iter().enumerate() {
        let joined: Vec<f64> = parts.iter().flat_map(|part| part[output].iter().copied()).collect();
        assert_eq!(whole, &joined, "output {output}\n{program}");
    }
}

const BATCHES: [(usize, Spread); 4] =
    [(8, Spread::Even), (5, Spread::Arbitrary), (3, Spread::OneSided), (2, Spread::Empty)];

pub(crate) fn draw_program(seed: usize) -> (Draw, Built) {
    let mut draw = Draw::new(seed as u64 + 1000);
    let outline = Outline::block(&mut draw, 0);
    let built = Built::new(&outline, &mut draw);
    built.program.verify().unwrap_or_else(|error| panic!("{outline:?}: {error}\n{}", built.program));
    (draw, built)
}

/// Checks programs one by one, and returns the results. Panics with the numbers of those that fail.
fn check_programs<T>(check: impl Fn(usize) -> T + RefUnwindSafe) -> Vec<T> {
    let results: Vec<_> = (0..count()).map(|seed| catch_unwind(|| check(seed))).collect();
    let failed: Vec<usize> =
        results.iter().enumerate().filter(|(_, result)| result.is_err()).map(|(seed, _)| seed).collect();
    assert!(failed.is_empty(), "programs {failed:?} of {} fail", results.len());
    results.into_iter().flatten().collect()
}

/// Checks that at least nine of ten programs have a property.
fn assert_most(programs: &[bool], what: &str) {
    let having = programs.iter().filter(|&&has| has).count();
    println!("{having} of {} programs: {what}", programs.len());
    assert!(having * 10 >= programs.len() * 9, "{having} of {} programs: {what}", programs.len());
}

/// Whether every branch is entered by some but not all of the rows that reach it, and whether rows leave every loop at
/// different times. This follows from the products that were launched for each row alone.
fn is_entered_by_some(built: &Built, rows: &[BTreeMap<u32, u64>]) -> bool {
    let count = |row: &BTreeMap<u32, u64>, block| row.get(&line(block)).copied().unwrap_or(0);
    built.entries.iter().all(|entry| {
        let visits = rows.iter().map(|row| (count(row, entry.within), count(row, entry.block)));
        let visits: Vec<(u64, u64)> = visits.filter(|&(comes, _)| comes > 0).collect();
        let (comes, enters) = visits.iter().fold((0, 0), |sum, visit| (sum.0 + visit.0, sum.1 + visit.1));
        match entry.is_loop {
            // The numbers of iterations differ.
            true => visits.iter().any(|&(row_comes, row_enters)| row_enters * comes != enters * row_comes),
            false => 0 < enters && enters < comes,
        }
    })
}

#[test]
fn rows_of_generated_programs_are_independent() {
    let entered = check_programs(|seed| {
        let (mut draw, built) = draw_program(seed);
        let program = &built.program;
        check_round_trips(program);
        let moved = moved(program);
        check_round_trips(&moved);
        let mut run = Run::new(Reference::single(), program);
        let mut run_moved = Run::new(Reference::single(), &moved);
        let mut cpu = Run::new(Cpu::with_threads(2).unwrap(), &moved);
        let mut visits = Vec::new();
        for (rows, spread) in [BATCHES[0], BATCHES[1 + seed % 3]] {
            let feeds = draw_batch(&built, program, rows, spread, &mut draw);
            let alone = alone(program, &feeds, rows);
            let whole = run.outputs(&feeds);
            run.take_visits();
            let parts: Vec<_> = alone
                .iter()
                .map(|row| {
                    let outputs = run.outputs(row);
                    visits.push(run.take_visits());
                    outputs
                })
                .collect();
            check_outputs(program, &whole, &parts);
            let whole_moved = run_moved.outputs(&feeds);
            let parts: Vec<_> = alone.iter().map(|row| run_moved.outputs(row)).collect();
            check_outputs(&moved, &whole_moved, &parts);
            assert_close(&whole_moved, &whole, &moved);
            assert_close(&cpu.outputs(&feeds), &whole, &moved);
        }
        is_entered_by_some(&built, &visits[..BATCHES[0].0])
    });
    assert_most(&entered, "some, but not all rows enter every branch and every loop");
}

/// Whether a loop along sequences is in the body of another loop.
fn has_nested_for(program: &Program) -> bool {
    let nested = program.blocks()[1..].iter().flat_map(|block| &block.ops);
    nested.into_iter().any(|operator| matches!(operator.op, Op::For(_)))
}

#[test]
fn loops_along_the_sequences_of_tokens_become_one_loop() {
    let mut draw = Draw::new(41);
    let programs: Vec<bool> = (0..100)
        .map(|_| {
            let outline = Outline::around(Form::Texts, Vec::new());
            let program = Built::new(&[outline], &mut draw).program;
            assert!(has_nested_for(&program), "{program}");
            !has_nested_for(&moved(&program))
        })
        .collect();
    // Sequences that are made for each token stay in the loop, and what depends on them.
    let without = programs.iter().filter(|&&without| without).count();
    println!("{without} of {} programs have no nested loop", programs.len());
    assert!(without * 10 >= programs.len() * 6, "{without} of {}", programs.len());
}

/// Checks that the gradients of the rows of inputs are those of each row alone, and those of weights the sums over the
/// rows. Returns whether every weight has a gradient that is not zero.
fn check_gradients(
    built: &Built,
    differentiated: &Differentiated,
    program: &Program,
    feeds: &[Fed],
    rows: usize,
) -> (BTreeMap<usize, Vec<f64>>, bool) {
    let mut run = Run::new(Reference::double(), program);
    let whole = run.outputs(feeds);
    let parts: Vec<_> = alone(program, feeds, rows).iter().map(|row| run.outputs(row)).collect();
    let mut nonzero = 0;
    for ((k, whole), input) in whole.iter().enumerate().skip(1).zip(differentiated.inputs()) {
        let input = program.inputs()[input];
        let of_rows = parts.iter().map(|part| &part[k]);
        if program.ty(input).rows.is_some() {
            let joined: Vec<f64> = of_rows.flatten().copied().collect();
            assert_eq!(whole, &joined, "`{}`\n{program}", program.var(input).name);
            continue;
        }
        for (element, found) in whole.iter().enumerate() {
            let (sum, size) = of_rows
                .clone()
                .fold((0.0, 0.0), |(sum, size), part| (sum + part[element], size + f64::abs(part[element])));
            let name = &program.var(input).name;
            assert!((found - sum).abs() <= 1e-12 * size, "`{name}`: {found}, not {sum}\n{program}");
        }
        nonzero += usize::from(built.weights.contains(&input) && whole.iter().any(|&part| part != 0.0));
    }
    let gradients = differentiated.inputs().zip(whole.into_iter().skip(1)).collect();
    (gradients, nonzero == built.weights.len())
}

#[test]
fn gradients_of_generated_programs_are_those_of_their_rows() {
    let nonzero = check_programs(|seed| {
        let (mut draw, built) = draw_program(seed);
        let plain = differentiate(built.program.clone());
        let (rows, spread) = BATCHES[0];
        let feeds = draw_batch(&built, plain.program(), rows, spread, &mut draw);
        check_gradients(&built, &plain, plain.program(), &feeds, rows).1
    });
    assert_most(&nonzero, "no gradient of a parameter is zero");
}

#[test]
fn gradients_behind_passes_are_those_of_their_rows() {
    check_programs(|seed| {
        let (mut draw, built) = draw_program(seed);
        let moved = differentiate(moved(&built.program));
        let mut sunk = moved.program().clone();
        sink(&mut sunk).unwrap_or_else(|error| panic!("{error}\n{sunk}"));
        sunk.verify().unwrap_or_else(|error| panic!("{error}\n{sunk}"));
        let (rows, spread) = BATCHES[0];
        let feeds = draw_batch(&built, moved.program(), rows, spread, &mut draw);
        let (found, _) = check_gradients(&built, &moved, &sunk, &feeds, rows);
        let plain = differentiate(built.program.clone());
        let (expected, _) = check_gradients(&built, &plain, plain.program(), &feeds, rows);
        // An input that no path leads to has no gradient in one of them, and zeros in the other.
        for (input, expected) in &expected {
            let zeros = vec![0.0; expected.len()];
            let found = found.get(input).unwrap_or(&zeros);
            assert_close(std::slice::from_ref(found), std::slice::from_ref(expected), &sunk);
        }
    });
}
