//! Chains of element-wise operators as one kernel: a small program that runs over tiles which stay in the cache.
//!
//! Values inside the chain live in scratch of one tile. Constants, single elements and repeated operands are spread
//! over such a tile, so that every loop runs over plain slices of one length.
#![allow(unsafe_code, reason = "runs loops over operands whose type is known only when a group is compiled")]

use std::mem::MaybeUninit;
use std::ops::Range;
use std::slice::{from_raw_parts, from_raw_parts_mut};

use paddle_core::ops::{Coefficients, Number, Op};
use paddle_core::plan::{Group, GroupOp, KernelError, Layout, Operand, Unsupported};
use paddle_core::program::DType;

use super::broadcast::{Broadcast, Form};
use super::fill;
use super::kernel::{Body, Compiled, Machine, unsupported};
use super::operands::{Operands, Signature, elements};

mod loops;

use loops::{Loop, SOURCES};

/// Bytes of scratch, on the stack of the thread: half of a first-level cache.
const SCRATCH: usize = 16 * 1024;
/// Elements of a tile, where scratch does not make it smaller.
const LONGEST_TILE: usize = 2048;
/// The distance between values in scratch is a multiple of a cache line.
const LINE: usize = 64;
/// times steps, that one thread takes at a time: some microseconds of work.
const CHUNK: usize = 1 << 15;

/// Where a step finds or puts a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// An operand that is read, of the shape of the group.
    Read(usize),
    /// The same, if no output is on top of it; else what was saved of it.
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
    bits: u64,
    bytes: usize,
    to: usize,
}

/// A tile of an operand of another shape than the group.
#[derive(Debug)]
struct Spread {
    read: usize,
    broadcast: Broadcast,
    to: usize,
}

/// A tile of an operand that an output may be on top of.
#[derive(Debug)]
struct Saved {
    read: usize,
    to: usize,
}

/// A compiled chain.
#[derive(Debug)]
struct Program {
    constants: Vec<Constant>,
    spreads: Vec<Spread>,
    /// Operands that an output may be on top of: where it is, they are copied to scratch before the steps.
    saved: Vec<Saved>,
    steps: Vec<Step>,
    /// The shape of the group.
    layout: Layout,
    /// Types of the operands, for their sizes.
    reads: Vec<Layout>,
    writes: Vec<Layout>,
    /// Bytes of the widest element.
    widest: usize,
    /// How many tiles of scratch there are.
    scratch: usize,
    /// The longest tile of which scratch holds so many.
    tile: usize,
}

/// Compiles a group of element-wise operators.
pub(super) fn compile(group: &Group) -> Result<Compiled, Unsupported> {
    let mut compiler = Compiler::new(group)?;
    for (i, op) in group.ops.iter().enumerate() {
        compiler.operator(i, op)?;
    }
    compiler.finish()
}

struct Compiler<'a> {
    group: &'a Group,
    program: Program,
    /// Which read operand an input is, once something reads it, and where it is found.
    inputs: Vec<Option<Place>>,
    temporaries: Vec<Option<Place>>,
    /// The last operator that reads a temporary.
    last_use: Vec<usize>,
    /// Scratch whose value nobody reads any more.
    free: Vec<usize>,
    signature: Signature,
}

impl<'a> Compiler<'a> {
    fn new(group: &'a Group) -> Result<Self, Unsupported> {
        let Some(layout) = group.outputs.first() else {
            return unsupported("a group of element-wise operators without an output");
        };
        if group.outputs.iter().any(|output| output.shape != layout.shape) {
            return unsupported("a group of element-wise operators whose outputs differ in shape");
        }
        let mut last_use = vec![0; group.temporaries.len()];
        for (i, op) in group.ops.iter().enumerate() {
            for operand in op.inputs.iter().chain(&op.outputs) {
                if let Operand::Temporary(t) = operand {
                    last_use[*t] = i;
                }
            }
        }
        let layouts = group.inputs.iter().chain(&group.outputs).chain(&group.temporaries);
        let writes = group.outputs.iter().enumerate().map(|(o, out)| (group.inputs.len() + o, out.clone()));
        Ok(Compiler {
            group,
            program: Program {
                constants: Vec::new(),
                spreads: Vec::new(),
                saved: Vec::new(),
                steps: Vec::new(),
                layout: layout.clone(),
                reads: Vec::new(),
                writes: group.outputs.clone(),
                widest: layouts.map(|layout| layout.dtype.bytes()).max().unwrap_or(1),
                scratch: 0,
                tile: LONGEST_TILE,
            },
            inputs: vec![None; group.inputs.len()],
            temporaries: vec![None; group.temporaries.len()],
            last_use,
            free: Vec::new(),
            signature: Signature { reads: Vec::new(), writes: writes.collect(), in_place: true },
        })
    }

    fn operator(&mut self, index: usize, op: &GroupOp) -> Result<(), Unsupported> {
        let not_here = || unsupported(&format!("`{}` in this group of element-wise operators", op.op.name()));
        let [output] = op.outputs[..] else { return not_here() };
        let from = op.inputs.iter().map(|operand| self.source(*operand)).collect::<Result<Vec<_>, _>>()?;
        let dtype = match op.inputs.first() {
            Some(operand) => self.layout(*operand).dtype,
            None => self.layout(output).dtype,
        };
        // Loops trust the types of their operands, and that what they write is not what they read.
        let result = match &op.op {
            Op::Cast(cast) => cast.dtype,
            Op::Compare(_) => DType::Bool,
            _ => dtype,
        };
        let alike = op.inputs.iter().all(|operand| self.layout(*operand).dtype == dtype);
        let complete = op.inputs.len() == op.op.schema().inputs.len() && !op.inputs.contains(&output);
        if !alike || !complete || self.layout(output).dtype != result {
            return unsupported(&format!("`{}` on these operands", op.op.name()));
        }
        let mut coefficients = [0.0; 3];
        let run = match &op.op {
            Op::Fill(fill) => {
                let constant = self.constant(fill.value, dtype)?;
                if let Operand::Temporary(t) = output {
                    self.temporaries[t] = Some(constant);
                } else {
                    let to = self.destination(output)?;
                    self.step(loops::copy(dtype), coefficients, &[constant], to);
                }
                return Ok(());
            }
            Op::Scale(scale) => {
                coefficients = [scale.scale, scale.bias, 0.0];
                loops::scale(dtype)
            }
            Op::Unary(unary) => {
                coefficients = unary.coefficients;
                loops::unary(unary.kind, dtype)
            }
            Op::UnaryGrad(unary) => {
                coefficients = unary.coefficients;
                loops::unary_grad(unary.kind, dtype)
            }
            Op::Assign(_) => Some(loops::copy(dtype)),
            Op::Binary(binary) => loops::binary(binary.kind, dtype),
            Op::Cast(cast) => Some(loops::cast(dtype, cast.dtype)),
            Op::Compare(compare) => Some(loops::compare(compare.kind, dtype)),
            Op::RankLoss(_) => loops::rank_loss(dtype),
            Op::Logical(logical) => (dtype == DType::Bool).then(|| loops::logical(logical.kind)),
            Op::Not(_) => (dtype == DType::Bool).then(loops::not),
            Op::Accuracy(_)
            | Op::AssignValue(_)
            | Op::Auc(_)
            | Op::BatchNorm(_)
            | Op::BatchNormGrad(_)
            | Op::Concat(_)
            | Op::Contract(_)
            | Op::Conv2d(_)
            | Op::Conv2dGrad(_)
            | Op::CrossEntropy(_)
            | Op::CrossEntropyGrad(_)
            | Op::CumSum(_)
            | Op::Dropout(_)
            | Op::DropoutGrad(_)
            | Op::Expand(_)
            | Op::Custom(_)
            | Op::Foreign(_)
            | Op::Gather(_)
            | Op::GatherGrad(_)
            | Op::GatherNd(_)
            | Op::GatherRows(_)
            | Op::GaussianRandom(_)
            | Op::GroupNorm(_)
            | Op::GroupNormGrad(_)
            | Op::If(_)
            | Op::LayerNorm(_)
            | Op::LayerNormGrad(_)
            | Op::LookupTable(_)
            | Op::LookupTableGrad(_)
            | Op::Matmul(_)
            | Op::OneHot(_)
            | Op::Pad(_)
            | Op::Pool2d(_)
            | Op::Pool2dGrad(_)
            | Op::Range(_)
            | Op::Reduce(_)
            | Op::Reshape(_)
            | Op::RowNumbers(_)
            | Op::Scatter(_)
            | Op::ScatterNdAdd(_)
            | Op::SequencePool(_)
            | Op::SequencePoolGrad(_)
            | Op::Size(_)
            | Op::Slice(_)
            | Op::SliceGrad(_)
            | Op::Softmax(_)
            | Op::SoftmaxGrad(_)
            | Op::SoftmaxWithCrossEntropy(_)
            | Op::SoftmaxWithCrossEntropyGrad(_)
            | Op::Split(_)
            | Op::Store(_)
            | Op::TakeAlongAxis(_)
            | Op::TakeAlongAxisGrad(_)
            | Op::Tile(_)
            | Op::TopK(_)
            | Op::Transpose(_)
            | Op::UniformRandom(_)
            | Op::Update(_)
            | Op::UpdateRows(_)
            | Op::While(_)
            | Op::WhileGrad(_) => return not_here(),
        };
        let Some(run) = run else {
            return unsupported(&format!("`{}` of {dtype}", op.op.name()));
        };
        let to = self.destination(output)?;
        self.step(run, coefficients, &from, to);
        self.release(index);
        Ok(())
    }

    fn layout(&self, operand: Operand) -> &'a Layout {
        match operand {
            Operand::Input(i) => &self.group.inputs[i],
            Operand::Output(o) => &self.group.outputs[o],
            Operand::Temporary(t) => &self.group.temporaries[t],
        }
    }

    /// Where an operand is found when a step reads it.
    fn source(&mut self, operand: Operand) -> Result<Place, Unsupported> {
        match operand {
            Operand::Output(o) => Ok(Place::Write(o)),
            Operand::Temporary(t) => match self.temporaries[t] {
                Some(place) => Ok(place),
                None => unsupported("a group that reads a value before it is written"),
            },
            Operand::Input(i) => {
                if self.inputs[i].is_none() {
                    self.inputs[i] = Some(self.input(i)?);
                }
                Ok(self.inputs[i].expect("set above"))
            }
        }
    }

    /// Where an input is found, once it is in the program.
    fn input(&mut self, i: usize) -> Result<Place, Unsupported> {
        let layout = &self.group.inputs[i];
        let read = self.signature.reads.len();
        self.signature.reads.push((i, layout.clone()));
        self.program.reads.push(layout.clone());
        let Some(broadcast) = Broadcast::new(&layout.shape, &self.program.layout.shape) else {
            return unsupported(&format!(
                "an operand of shape {:?} over the shape {:?}",
                layout.shape, self.program.layout.shape
            ));
        };
        if broadcast.form() == Form::Whole {
            if self.group.outputs.contains(layout) {
                let to = self.lasting_scratch();
                self.program.saved.push(Saved { read, to });
                return Ok(Place::Saved(self.program.saved.len() - 1));
            }
            return Ok(Place::Read(read));
        }
        let to = self.lasting_scratch();
        self.program.spreads.push(Spread { read, broadcast, to });
        Ok(Place::Scratch(to))
    }

    fn destination(&mut self, operand: Operand) -> Result<Place, Unsupported> {
        match operand {
            Operand::Output(o) => Ok(Place::Write(o)),
            Operand::Temporary(t) => {
                if self.group.temporaries[t].shape != self.program.layout.shape {
                    return unsupported("a group of element-wise operators whose values differ in shape");
                }
                let place = Place::Scratch(self.scratch());
                self.temporaries[t] = Some(place);
                Ok(place)
            }
            Operand::Input(_) => unsupported("a group that writes its input"),
        }
    }

    fn constant(&mut self, value: Number, dtype: DType) -> Result<Place, Unsupported> {
        let Some(bits) = fill::bits(value, dtype) else {
            return unsupported(&format!("`{value}` as {dtype}"));
        };
        let to = self.lasting_scratch();
        self.program.constants.push(Constant { bits, bytes: dtype.bytes(), to });
        Ok(Place::Scratch(to))
    }

    /// Scratch whose value lasts for all tiles.
    fn lasting_scratch(&mut self) -> usize {
        self.program.scratch += 1;
        self.program.scratch - 1
    }

    /// Scratch for a value that lasts for some steps.
    fn scratch(&mut self) -> usize {
        self.free.pop().unwrap_or_else(|| self.lasting_scratch())
    }

    fn step(&mut self, run: Loop, coefficients: Coefficients, from: &[Place], to: Place) {
        let from = std::array::from_fn(|i| *from.get(i).unwrap_or(&from[0]));
        self.program.steps.push(Step { run, from, coefficients, to });
    }

    /// Frees the scratch of temporaries that no operator after this one reads.
    fn release(&mut self, index: usize) {
        for (t, last_use) in self.last_use.iter().enumerate() {
            if let (true, Some(Place::Scratch(scratch))) = (*last_use == index, self.temporaries[t]) {
                let is_constant = self.program.constants.iter().any(|constant| constant.to == scratch);
                if !is_constant {
                    self.free.push(scratch);
                }
            }
        }
    }

    fn finish(mut self) -> Result<Compiled, Unsupported> {
        let Program { scratch, widest, tile, .. } = &mut self.program;
        if let Some(bytes) = SCRATCH.checked_div(*scratch) {
            *tile = (bytes / LINE * LINE / *widest).min(*tile);
        }
        if *tile == 0 {
            return unsupported("a group of element-wise operators with hundreds of values at a time");
        }
        Ok((self.signature, Box::new(self.program)))
    }
}

#[repr(align(64))]
struct Scratch(#[allow(dead_code, reason = "reached through its pointer")] MaybeUninit<[u8; SCRATCH]>);

impl Program {
    /// The length of tiles in a launch: such that operands which repeat look alike in every tile, where that can be.
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
        let tile = self.tile_for(operands.sizes());
        let run =
            Run { program: self, machine, operands: &operands, tile, replaced: self.replaced(&operands) };
        if count <= tile {
            if count > 0 {
                run.chunk(0..count);
            }
            return Ok(());
        }
        let chunk = (CHUNK / self.steps.len().max(1)).max(tile) / tile * tile;
        machine.team.run(count.div_ceil(chunk), &|index| {
            let first = index * chunk;
            run.chunk(first..count.min(first + chunk));
        });
        Ok(())
    }
}

impl Program {
    /// Which of the operands that outputs may be on top of have to be saved: a bit for each, of those beyond the
    /// 64th all.
    fn replaced(&self, operands: &Operands<'_>) -> u64 {
        self.saved.iter().take(64).enumerate().fold(0, |bits, (i, saved)| {
            let address = operands.read_address(saved.read);
            let mut writes = (0..self.writes.len()).map(|write| operands.write_address(write).cast_const());
            bits | u64::from(writes.any(|write| write == address)) << i
        })
    }
}

/// A launch.
struct Run<'a> {
    program: &'a Program,
    machine: &'a Machine,
    operands: &'a Operands<'a>,
    tile: usize,
    replaced: u64,
}

impl Run<'_> {
    /// Runs a part of the group that no other thread works on.
    fn chunk(&self, range: Range<usize>) {
        let Program { constants, spreads, saved, steps, .. } = self.program;
        let mut scratch = Scratch(MaybeUninit::uninit());
        let scratch = (&raw mut scratch).cast::<u8>();
        let longest = self.tile.min(range.len());
        for constant in constants {
            // SAFETY: scratch holds a tile there.
            unsafe { fill::fill(constant.bits, constant.bytes, self.scratch(scratch, constant.to), longest) };
        }
        // A chunk starts with a tile: at the first element of every period that divides it.
        let repeats = |spread: &Spread| {
            let period = spread.broadcast.period(self.operands.sizes());
            period.is_some_and(|period| self.tile.is_multiple_of(period.max(1)))
        };
        for spread in spreads.iter().filter(|spread| repeats(spread)) {
            self.spread(spread, scratch, 0, longest);
        }
        let mut first = range.start;
        while first < range.end {
            let count = self.tile.min(range.end - first);
            for spread in spreads.iter().filter(|spread| !repeats(spread)) {
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
                let from = [
                    self.address(x, scratch, first).cast_const(),
                    self.address(y, scratch, first).cast_const(),
                    self.address(z, scratch, first).cast_const(),
                ];
                let to = self.address(step.to, scratch, first);
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

    /// Whether an output is at the place of this operand.
    #[inline]
    fn is_replaced(&self, saved: usize) -> bool {
        saved >= 64 || self.replaced >> saved & 1 == 1
    }

    /// Where element `first` of a value is.
    #[inline]
    fn address(&self, place: Place, scratch: *mut u8, first: usize) -> *mut u8 {
        match place {
            Place::Scratch(index) => self.scratch(scratch, index),
            Place::Write(write) => {
                let bytes = self.program.writes[write].dtype.bytes();
                self.operands.write_address(write).wrapping_add(first * bytes)
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
