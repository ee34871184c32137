//! Chains of element-wise operators as one kernel: a small program that runs over tiles which stay in the cache.
//!
//! Values inside the chain live in tiles of scratch. Constants, single elements and repeated operands are spread over
//! such a tile, so that every loop runs over plain slices of one length.
#![allow(unsafe_code, reason = "runs loops over operands whose type is known only when a group is compiled")]

use std::mem::MaybeUninit;
use std::ops::Range;
use std::slice::{from_raw_parts, from_raw_parts_mut};

use paddle_core::ops::{Coefficients, Number};
use paddle_core::plan::{Extent, KernelError, OperandType};
use paddle_core::program::DType;

use super::{expand, fill};
use crate::cpu::broadcast::Broadcast;
use crate::cpu::epilogue::{InRegisters, Pattern};
use crate::cpu::kernel::{Body, Machine};
use crate::cpu::number::Float;
use crate::cpu::operands::{Operands, elements};
use crate::team::Team;

mod compile;
mod links;
mod loops;

pub(super) use compile::{compile, compile_epilogue};
pub(super) use links::Link;
use loops::{Loop, SOURCES};

/// The number of bytes of scratch on the stack of a thread: half of a first-level cache.
const SCRATCH: usize = 16 * 1024;
/// The most elements of a tile. Scratch may limit it further.
const LONGEST_TILE: usize = 2048;
/// The distance between values in scratch is a multiple of a cache line.
const LINE: usize = 64;
/// The number of elements times steps that one thread takes at a time: some microseconds of work.
const CHUNK: usize = 1 << 15;

/// The source or destination of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// An operand that is read. It has the shape of the group.
    Read(usize),
    /// An operand that is read, or its saved copy if an output replaces it.
    Saved(usize),
    /// An operand that is written.
    Write(usize),
    /// A tile of scratch.
    Scratch(usize),
}

/// One loop over a tile.
#[derive(Debug)]
struct Step {
    run: Loop,
    from: [Place; SOURCES],
    coefficients: Coefficients,
    to: Place,
}

/// A tile of one value.
#[derive(Debug)]
struct Constant {
    value: Value,
    dtype: DType,
    to: usize,
}

/// The value of a constant.
#[derive(Debug)]
enum Value {
    /// The bits of one that is known.
    Bits(u64),
    /// The product of these sizes.
    Count(Vec<Extent>),
}

impl Constant {
    /// The bits in a launch with these sizes.
    fn bits(&self, sizes: &[usize]) -> u64 {
        match &self.value {
            Value::Bits(bits) => *bits,
            Value::Count(extents) => {
                let count = Number::Float(expand::product(extents, sizes));
                fill::bits(count, self.dtype).expect("a floating-point type")
            }
        }
    }
}

/// A tile of an operand whose shape differs from that of the group.
#[derive(Debug)]
struct Spread {
    read: usize,
    broadcast: Broadcast,
    to: usize,
}

/// A tile of an operand that an output may replace.
#[derive(Debug)]
struct Saved {
    read: usize,
    to: usize,
}

/// A compiled chain.
#[derive(Debug)]
pub(in crate::cpu) struct Program {
    constants: Vec<Constant>,
    spreads: Vec<Spread>,
    /// Operands that an output may replace. If one does, they are copied to scratch before the steps.
    saved: Vec<Saved>,
    steps: Vec<Step>,
    /// The shape of the group.
    layout: OperandType,
    /// The types of the operands, from which their sizes follow.
    reads: Vec<OperandType>,
    writes: Vec<OperandType>,
    /// In an epilogue, the operand that is written where the result of the body is.
    landing: Option<usize>,
    /// The ending with which the epilogue begins, and what is left behind it. Their operands are numbered among `reads`.
    ending: Option<(Pattern, Option<Box<Program>>)>,
    /// Bytes of the widest element.
    widest: usize,
    /// The number of tiles of scratch.
    scratch: usize,
    /// The length of the longest tiles that fit into scratch.
    tile: usize,
}

#[repr(align(64))]
struct Scratch(#[allow(dead_code, reason = "reached through its pointer")] MaybeUninit<[u8; SCRATCH]>);

impl Program {
    /// The length of tiles in a launch. If possible, operands that repeat have the same elements in every tile.
    fn tile_for(&self, sizes: &[usize]) -> usize {
        let periods = self.spreads.iter().filter_map(|spread| spread.broadcast.period(sizes));
        match periods.filter(|period| (2..=self.tile).contains(period)).max() {
            Some(period) => self.tile / period * period,
            None => self.tile,
        }
    }
}

impl Body for Program {
    fn launch(&self, machine: &Machine, operands: Operands<'_>) -> Result<(), KernelError> {
        let count = elements(&self.layout, operands.sizes());
        let run = Run::new(self, machine, &operands);
        run.in_chunks(&machine.team, count, &|part| {
            // SAFETY: there is no other result.
            unsafe { run.chunk(std::ptr::null_mut(), part) }
        });
        Ok(())
    }
}

impl Program {
    /// The program with other numbers of the operands that it reads: those of another program, which writes the same ones.
    fn renumbered(mut self, other: &Program, number: impl Fn(usize) -> usize) -> Program {
        self.spreads.iter_mut().for_each(|spread| spread.read = number(spread.read));
        self.saved.iter_mut().for_each(|saved| saved.read = number(saved.read));
        for place in self.steps.iter_mut().flat_map(|step| &mut step.from) {
            if let Place::Read(read) = place {
                *read = number(*read);
            }
        }
        self.reads.clone_from(&other.reads);
        self
    }

    /// The operands that have to be saved, because an output replaces them: one bit for each. Operands beyond the 64th
    /// are always saved.
    fn replaced(&self, operands: &Operands<'_>) -> u64 {
        self.saved.iter().take(64).enumerate().fold(0, |bits, (i, saved)| {
            let address = operands.read_address(saved.read);
            let mut writes = (0..self.writes.len()).map(|write| operands.write_address(write).cast_const());
            bits | u64::from(writes.any(|write| write == address)) << i
        })
    }
}

/// One launch of the program.
pub(in crate::cpu) struct Run<'a> {
    program: &'a Program,
    machine: &'a Machine,
    operands: &'a Operands<'a>,
    tile: usize,
    replaced: u64,
}

impl<'a> Run<'a> {
    pub(in crate::cpu) fn new(
        program: &'a Program,
        machine: &'a Machine,
        operands: &'a Operands<'a>,
    ) -> Self {
        let (tile, replaced) = (program.tile_for(operands.sizes()), program.replaced(operands));
        Run { program, machine, operands, tile, replaced }
    }

    /// The ending with which the epilogue begins, if it does.
    pub(in crate::cpu) fn ending<T: Float>(&self) -> Option<InRegisters<T>> {
        let (ending, _) = self.program.ending.as_ref()?;
        Some(ending.at(|read| self.operands.read_address(read)))
    }

    /// What the epilogue has behind that.
    pub(in crate::cpu) fn behind_ending(&self) -> Option<Run<'a>> {
        let (_, rest) = self.program.ending.as_ref()?;
        rest.as_ref().map(|rest| Run::new(rest, self.machine, self.operands))
    }

    /// Shares out `count` elements among threads.
    pub(in crate::cpu) fn in_chunks(&self, team: &Team, count: usize, run: &(dyn Fn(Range<usize>) + Sync)) {
        if count <= self.tile {
            if count > 0 {
                run(0..count);
            }
            return;
        }
        let chunk = (CHUNK / self.program.steps.len().max(1)).max(self.tile) / self.tile * self.tile;
        team.run(count.div_ceil(chunk), &|index| {
            let first = index * chunk;
            run(first..count.min(first + chunk));
        });
    }

    /// Runs the program on a part of the group that no other thread works on. `landing` is the beginning of the operand that
    /// is [written where the body's result is](Program::landing).
    ///
    /// # Safety
    /// If there is such an operand, `landing` is valid for reading and writing this part.
    pub(in crate::cpu) unsafe fn chunk(&self, landing: *mut u8, range: Range<usize>) {
        let Program { constants, spreads, saved, steps, .. } = self.program;
        let mut scratch = Scratch(MaybeUninit::uninit());
        let scratch = (&raw mut scratch).cast::<u8>();
        let longest = self.tile.min(range.len());
        for constant in constants {
            let bits = constant.bits(self.operands.sizes());
            // SAFETY: scratch holds a tile there.
            unsafe { fill::fill(bits, constant.dtype.bytes(), self.scratch(scratch, constant.to), longest) };
        }
        // What repeats with a period that divides the length of tiles and the first element is the same in each tile.
        let period = |spread: &Spread| {
            let period = spread.broadcast.period(self.operands.sizes()).map(|period| period.max(1));
            period.filter(|&period| self.tile.is_multiple_of(period) && range.start.is_multiple_of(period))
        };
        for (spread, period) in spreads.iter().filter_map(|spread| Some((spread, period(spread)?))) {
            self.spread(spread, scratch, 0, longest.min(period));
            self.repeat(spread, scratch, period, longest);
        }
        let mut first = range.start;
        while first < range.end {
            let count = self.tile.min(range.end - first);
            for spread in spreads.iter().filter(|spread| period(spread).is_none()) {
                self.spread(spread, scratch, first, count);
            }
            for (_, saved) in saved.iter().enumerate().filter(|(i, _)| self.is_replaced(*i)) {
                let bytes = self.program.reads[saved.read].dtype.bytes();
                // SAFETY: the tile is inside the operand and inside scratch, which do not overlap.
                unsafe {
                    let from = self.operands.read_address(saved.read).add(first * bytes);
                    from.copy_to_nonoverlapping(self.scratch(scratch, saved.to), count * bytes);
                }
            }
            for step in steps {
                let [x, y, z] = step.from;
                let address = |place| self.address(place, scratch, landing, first);
                let from = [address(x).cast_const(), address(y).cast_const(), address(z).cast_const()];
                let to = address(step.to);
                // SAFETY: operands are as long as the group, scratch is as long as a tile, and their types are those
                // that the loop was chosen for. A step writes other scratch than it reads; what is written does not
                // overlap what is read, unless that was saved; and other threads work on other elements.
                unsafe { (step.run)(self.machine.isa, from, step.coefficients, to, count) };
            }
            first += count;
        }
    }

    fn scratch(&self, start: *mut u8, index: usize) -> *mut u8 {
        start.wrapping_add(index * (self.tile * self.program.widest).next_multiple_of(LINE))
    }

    /// Whether an output replaces this operand.
    #[inline]
    fn is_replaced(&self, saved: usize) -> bool {
        saved >= 64 || self.replaced >> saved & 1 == 1
    }

    /// The address of element `first` of a value.
    #[inline]
    fn address(&self, place: Place, scratch: *mut u8, landing: *mut u8, first: usize) -> *mut u8 {
        match place {
            Place::Scratch(index) => self.scratch(scratch, index),
            Place::Write(write) => {
                let bytes = self.program.writes[write].dtype.bytes();
                let start = match self.program.landing == Some(write) {
                    true => landing,
                    false => self.operands.write_address(write),
                };
                start.wrapping_add(first * bytes)
            }
            Place::Saved(saved) => {
                let Saved { read, to } = self.program.saved[saved];
                match self.is_replaced(saved) {
                    true => self.scratch(scratch, to),
                    false => self.read(read, first),
                }
            }
            Place::Read(read) => self.read(read, first),
        }
    }

    #[inline]
    fn read(&self, read: usize, first: usize) -> *mut u8 {
        let bytes = self.program.reads[read].dtype.bytes();
        self.operands.read_address(read).cast_mut().wrapping_add(first * bytes)
    }

    /// Repeats the first `period` elements of a tile of scratch up to `count` elements.
    fn repeat(&self, spread: &Spread, scratch: *mut u8, period: usize, count: usize) {
        let bytes = self.program.reads[spread.read].dtype.bytes();
        let to = self.scratch(scratch, spread.to);
        let (mut done, count) = (period * bytes, count * bytes);
        while done < count {
            let more = done.min(count - done);
            // SAFETY: scratch has room for a tile, whose first `done` bytes have been written; both parts are inside of it, and
            // do not overlap.
            unsafe { to.copy_to_nonoverlapping(to.add(done), more) };
            done += more;
        }
    }

    /// Fills scratch with the elements of a repeated operand that belong to elements `first..first + count`.
    fn spread(&self, spread: &Spread, scratch: *mut u8, first: usize, count: usize) {
        let sizes = self.operands.sizes();
        let layout = &self.program.reads[spread.read];
        let len = elements(layout, sizes);
        let (from, to) = (self.operands.read_address(spread.read), self.scratch(scratch, spread.to));
        macro_rules! spread_as {
            ($type:ident) => {{
                // SAFETY: the operand has `len` elements of this size, and nothing written overlaps it, since its
                // layout is not that of an output; scratch has room for a tile, and the `MaybeUninit` says that
                // nothing is there yet.
                let (from, to) = unsafe {
                    (
                        from_raw_parts(from.cast::<MaybeUninit<$type>>(), len),
                        from_raw_parts_mut(to.cast::<MaybeUninit<$type>>(), count),
                    )
                };
                spread.broadcast.spread(sizes, from, first, to)
            }};
        }
        match layout.dtype {
            DType::Bool => spread_as!(u8),
            DType::I32 | DType::F32 => spread_as!(u32),
            DType::I64 | DType::F64 => spread_as!(u64),
        }
    }
}
