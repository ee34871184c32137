//! The outcome of a program: it is refused, it fails, or it runs.

use std::collections::BTreeMap;

use paddle_core::ops::{Op, Program};
use paddle_core::plan::{Backend, Buffers, Executor, Part, RunError, Storage, initialize};
use paddle_core::program::{RowOrigin, RowsId, SymbolId, Type};
use paddle_kernels::Cpu;
use paddle_kernels::reference::Reference;

use super::changes::Random;
use crate::draw::Draw;
use crate::fed::Fed;
use crate::host::Host;
use crate::run::kept_as;

/// How far a program gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum End {
    /// It cannot be read.
    Unread,
    /// It is read, but not well-formed.
    Unverified,
    /// It may run for longer than a test.
    Endless,
    /// It is well-formed, but cannot be planned.
    Unplanned,
    /// It does not run on any of the batches.
    Failed,
    /// It runs on some of the batches.
    Ran,
}

/// The most iterations of loops that are run.
const LIMIT: i64 = 100;

/// The most elements that are fed.
const MOST: usize = 1 << 16;

/// Plans and runs a program, on one backend or the other.
pub(super) fn run(program: &Program, random: &mut Random, seed: u64) -> End {
    let mut operators = program.blocks().iter().flat_map(|block| &block.ops);
    if operators.any(|operator| matches!(&operator.op, Op::While(op) if op.limit > LIMIT)) {
        return End::Endless;
    }
    match random.below(2) {
        0 => run_on(&Reference::single(), program, random, seed),
        _ => run_on(&Cpu::with_threads(1).expect("one thread"), program, random, seed),
    }
}

fn run_on<B: Backend + Clone>(backend: &B, program: &Program, random: &mut Random, seed: u64) -> End {
    let mut storage = Storage::new();
    for var in program.parameters() {
        let (name, ty) = (&program.var(var).name, program.ty(var));
        if storage.insert(backend.element_bytes(ty.dtype), name, ty).is_err() {
            return End::Unplanned;
        }
    }
    let mut parameters = Buffers::default();
    if storage.allocate(backend, &mut parameters, "the parameters").is_err() {
        return End::Unplanned;
    }
    if initialize(backend, program, &storage, &|_| true, &mut parameters, seed).is_err() {
        return End::Unplanned;
    }
    let Ok(mut executor) = Executor::new(backend.clone(), program, &storage) else { return End::Unplanned };
    assert!(!executor.plan().to_string().is_empty());
    let (mut draw, mut end) = (Draw::new(seed), End::Failed);
    for rows in [2 + random.below(4), 0, 1] {
        let mut feeds = feeds(program, rows, &mut draw);
        if random.below(4) == 0 {
            spoil(&mut feeds, random);
        }
        match try_batch(backend, &mut executor, &mut parameters, &feeds) {
            Ok(()) => end = End::Ran,
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    end
}

fn try_batch<B: Backend>(
    backend: &B,
    executor: &mut Executor<B>,
    parameters: &mut Buffers<B>,
    feeds: &[Fed],
) -> Result<(), RunError> {
    executor.begin(&|i| feeds[i].feed())?;
    executor.run(Part::Compute, parameters)?;
    executor.run(Part::Update, parameters)?;
    for output in 0..executor.output_count() {
        let elements = executor.output_shape(output).iter().product();
        let mut host = Host::zeros(kept_as(backend, executor.output_dtype(output)), elements);
        executor.fetch(output, host.slice_mut());
        let levels: Vec<usize> = executor.output_offsets(output).collect();
        for (level, count) in levels.into_iter().enumerate() {
            executor.fetch_offsets(output, level, &mut vec![0; count]);
        }
    }
    Ok(())
}

/// A batch of so many rows, as the inputs say; sizes that have names are small.
fn feeds(program: &Program, rows: usize, draw: &mut Draw) -> Vec<Fed> {
    let mut offsets: BTreeMap<RowsId, Vec<i64>> = BTreeMap::new();
    let mut sizes: BTreeMap<SymbolId, i64> = BTreeMap::new();
    let mut feed = |ty: &Type, name: &str| {
        let mut levels = Vec::new();
        for tokens in program.levels(ty) {
            let around = program.row_space(tokens).parent.and_then(|parent| offsets.get(&parent));
            let count = around.map_or(rows, |offsets| offsets.last().map_or(0, |&end| end as usize));
            let of_tokens = offsets.entry(tokens).or_insert_with(|| {
                let lengths = (0..count).scan(0, |end, _| {
                    *end += draw.below(4) as i64;
                    Some(*end)
                });
                std::iter::once(0).chain(lengths).collect()
            });
            levels.push(of_tokens.clone());
        }
        let leading = match levels.last() {
            Some(offsets) => offsets.last().map(|&end| end as usize),
            None => ty.rows.map(|_| rows),
        };
        let value = |symbol: SymbolId| {
            let space = program.row_spaces().iter().find(|space| space.size == symbol);
            match space {
                Some(space) if space.origin == RowOrigin::Root => Some(rows as i64),
                _ => Some(*sizes.entry(symbol).or_insert(i64::from(symbol.0 % 4))),
            }
        };
        let value = std::cell::RefCell::new(value);
        let dims = ty.dims.iter().map(|dim| {
            let size = dim.evaluate(&|symbol| (value.borrow_mut())(symbol));
            size.and_then(|size| usize::try_from(size).ok()).unwrap_or(0)
        });
        let shape: Vec<usize> = leading.into_iter().chain(dims).collect();
        let count = shape.iter().try_fold(1usize, |product, &size| product.checked_mul(size));
        // A value that is too large is fed without its elements.
        let count = count.filter(|&count| count <= MOST).unwrap_or(0);
        let range = if name.starts_with('c') { (-1.0, 3.0) } else { (-1.5, 2.5) };
        Fed { values: draw.elements(ty.dtype, count, range), shape, offsets: levels }
    };
    program.inputs().iter().map(|&input| feed(program.ty(input), &program.var(input).name)).collect()
}

/// Changes one thing in a batch.
fn spoil(feeds: &mut [Fed], random: &mut Random) {
    let number = random.number();
    let Some(fed) = random.pick(feeds) else { return };
    match random.below(6) {
        0 => random.shuffle(&mut fed.shape),
        1 => random.shuffle(&mut fed.offsets),
        2 | 3 => {
            let Some(offsets) = random.pick(&mut fed.offsets) else { return };
            match random.below(2) {
                0 => random.shuffle(offsets),
                _ => {
                    if let Some(offset) = random.pick(offsets) {
                        *offset = number;
                    }
                }
            }
        }
        4 => {
            if let Some(size) = random.pick(&mut fed.shape) {
                *size = number as usize;
            }
        }
        _ => match &mut fed.values {
            Host::I64(values) => values.fill(number),
            Host::I32(values) => values.fill(number as i32),
            Host::F32(values) => values.fill(f32::NAN),
            Host::F64(values) => values.fill(f64::NAN),
            Host::Bool(values) => *values = vec![true; values.len() / 2],
        },
    }
}
