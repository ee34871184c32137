//! The reference backend: naive and obviously right, the oracle of every test.
//!
//! It computes one element at a time, and watches what it is asked to do: memory that nothing wrote may be copied but
//! not computed with, operands lie where [`Group`] allows. A violation is a mistake of the runtime and panics.
//!
//! Formulas of the element-wise table are evaluated in the stored type, so that any backend whose elementary operations
//! round as IEEE 754 says gives the same bits. Everything that sums or needs exponentials is computed in `f64`, in the
//! order of the indices, and rounded once: an `f32` result is then the best one, and another backend's distance from it
//! is that backend's error alone.

mod buffer;
mod call;
mod ops;
mod placement;
mod sequences;
mod shape;
mod values;

use paddle_core::memory::{OutOfMemory, TryGrow};
use paddle_core::ops::{Custom, Op};
use paddle_core::plan::{
    Backend, Elements, Group, GroupOp, HostSlice, HostSliceMut, KernelError, Launch, Location, Move, Operand,
    Rows, Unsupported,
};
use paddle_core::program::DType;

pub use self::buffer::Buffer;
use self::call::{Arithmetic, Call};
use self::values::Values;

/// Copies of each element of the operands of a launch that there has to be memory for before it begins: the arithmetic takes
/// memory as it comes, and where it cannot be had in the middle, the process ends.
const COPIES: usize = 8;

/// The reference backend.
#[derive(Clone, Copy, Debug)]
pub struct Reference {
    precision: Precision,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Precision {
    Single,
    Double,
}

/// A group that the reference backend runs operator by operator.
pub struct Kernel {
    group: Group,
    steps: Vec<Arithmetic>,
}

impl Reference {
    /// Keeps every value in its own element type.
    pub fn single() -> Self {
        Reference { precision: Precision::Single }
    }

    /// Keeps `f32` values as `f64` too, so that the gradient of any program can be checked by differences. Host memory
    /// of either type may be copied from and to either.
    pub fn double() -> Self {
        Reference { precision: Precision::Double }
    }

    /// The type that elements of a declared type are kept in.
    fn stored(self, dtype: DType) -> DType {
        match (self.precision, dtype) {
            (Precision::Double, DType::F32) => DType::F64,
            _ => dtype,
        }
    }
}

impl Backend for Reference {
    type Buffer = Buffer;
    type Kernel = Kernel;

    fn name(&self) -> &'static str {
        match self.precision {
            Precision::Single => "reference",
            Precision::Double => "reference in double precision",
        }
    }

    fn element_bytes(&self, dtype: DType) -> usize {
        self.stored(dtype).bytes()
    }

    fn supports(&self, op: &Op) -> bool {
        ops::arithmetic(op).is_some()
    }

    fn compile(&self, group: &Group) -> Result<Kernel, Unsupported> {
        let mut steps = Vec::with_capacity(group.ops.len());
        for GroupOp { op, .. } in &group.ops {
            if group.ops.len() > 1 && !op.effects().element_wise {
                let message = format!("`{}` is not element-wise, so it is a group of its own", op.name());
                return Err(Unsupported { message });
            }
            let why = || match op {
                Op::Custom(_) => Custom::NOT_LINKED.to_string(),
                op => format!("`{}` is no kernel", op.name()),
            };
            steps.push(ops::arithmetic(op).ok_or_else(|| Unsupported { message: why() })?);
        }
        Ok(Kernel { group: group.clone(), steps })
    }

    fn allocate(&self, bytes: usize) -> Result<Buffer, OutOfMemory> {
        let mut buffer = Buffer::default();
        buffer.grow(bytes)?;
        Ok(buffer)
    }

    fn grow(&self, buffer: &mut Buffer, bytes: usize) -> Result<(), OutOfMemory> {
        buffer.grow(bytes)
    }

    fn rearrange(&self, buffer: &mut Buffer, bytes: usize, moves: &[Move]) -> Result<(), OutOfMemory> {
        let mut arranged = self.allocate(bytes)?;
        moves.iter().for_each(|&piece| arranged.copy_from(buffer, piece));
        *buffer = arranged;
        Ok(())
    }

    fn share(&self, buffer: &Buffer) -> Buffer {
        buffer.share()
    }

    fn poison(&self, buffer: &mut Buffer) {
        buffer.forget();
    }

    fn upload(&self, from: HostSlice<'_>, to: &mut Buffer, offset: usize) {
        to.write_values(offset, &Values::from_host(from).stored_as(self.stored(from.dtype())));
    }

    fn download(&self, from: &Buffer, offset: usize, to: HostSliceMut<'_>) {
        let stored = from.read_values(offset, self.stored(to.dtype()), to.len());
        stored.expect("a download reads memory that nothing wrote").to_host(to);
    }

    fn launch(&self, kernel: &Kernel, launch: Launch<'_>, buffers: &mut [Buffer]) -> Result<(), KernelError> {
        let group = &kernel.group;
        placement::check(*self, group, launch);
        room(group, launch)?;
        let mut written = Vec::new();
        for (op, step) in group.ops.iter().zip(&kernel.steps) {
            let results = step(&Call { backend: *self, group, op, launch, buffers, written: &written })?;
            // Outputs, then the inputs that an operator changes in place.
            let targets: Vec<Operand> = op.outputs.iter().copied().chain(op.changed()).collect();
            assert_eq!(
                targets.len(),
                results.len(),
                "`{}` writes to too few or too many places",
                op.op.name()
            );
            written.extend(targets.into_iter().zip(results));
        }
        // Outputs may be in place of inputs, so memory changes after everything is read.
        for (operand, values) in written {
            let location = match operand {
                Operand::Input(i) => launch.locations[i],
                Operand::Output(i) => launch.locations[group.inputs.len() + i],
                Operand::Temporary(_) => continue,
            };
            memory_mut(buffers, location).write_values(location.offset, &values);
        }
        Ok(())
    }

    fn test(&self, at: Location, buffers: &[Buffer]) -> bool {
        let value = memory(buffers, at).read::<bool>(at.offset, 1);
        value.expect("a condition reads memory that nothing wrote")[0]
    }

    fn select(
        &self,
        mask: Location,
        rows: usize,
        yes: Location,
        no: Location,
        buffers: &mut [Buffer],
    ) -> usize {
        let holds = memory(buffers, mask).read::<bool>(mask.offset, rows);
        let holds = holds.expect("the mask of a selection has rows that nothing wrote");
        let chosen = |side: bool| -> Vec<u32> {
            let rows = (0u32..).zip(&holds).filter(|&(_, &holds)| holds == side);
            rows.map(|(row, _)| row).collect()
        };
        let (true_rows, false_rows) = (chosen(true), chosen(false));
        memory_mut(buffers, yes).write(yes.offset, &true_rows);
        memory_mut(buffers, no).write(no.offset, &false_rows);
        true_rows.len()
    }

    fn gather(&self, rows: Rows, from: Location, index: Location, to: Location, buffers: &mut [Buffer]) {
        for (row, chosen) in row_numbers(rows, index, buffers).into_iter().enumerate() {
            let bytes = memory(buffers, from).copy_out(from.offset + chosen * rows.bytes, rows.bytes);
            memory_mut(buffers, to).copy_in(to.offset + row * rows.bytes, &bytes);
        }
    }

    fn scatter(&self, rows: Rows, from: Location, index: Location, to: Location, buffers: &mut [Buffer]) {
        for (row, chosen) in row_numbers(rows, index, buffers).into_iter().enumerate() {
            let bytes = memory(buffers, from).copy_out(from.offset + row * rows.bytes, rows.bytes);
            memory_mut(buffers, to).copy_in(to.offset + chosen * rows.bytes, &bytes);
        }
    }

    fn add_rows(
        &self,
        rows: Rows,
        dtype: DType,
        from: Location,
        index: Location,
        to: Location,
        buffers: &mut [Buffer],
    ) {
        let count = rows.bytes / self.element_bytes(dtype);
        for (row, chosen) in row_numbers(rows, index, buffers).into_iter().enumerate() {
            let from = Location { offset: from.offset + row * rows.bytes, ..from };
            let to = Location { offset: to.offset + chosen * rows.bytes, ..to };
            self.add(Elements { count, dtype }, from, to, buffers);
        }
    }

    fn compact(&self, rows: Rows, index: Location, at: Location, buffers: &mut [Buffer]) {
        self.gather(rows, at, index, at, buffers);
    }

    fn number(&self, count: usize, to: Location, buffers: &mut [Buffer]) {
        let numbers: Vec<u32> = (0..count as u32).collect();
        memory_mut(buffers, to).write(to.offset, &numbers);
    }

    fn order(
        &self,
        sequences: usize,
        offsets: Location,
        order: Location,
        steps: Location,
        counts: &mut Vec<usize>,
        buffers: &mut [Buffer],
    ) -> Result<(), OutOfMemory> {
        let offsets = read_offsets(sequences, offsets, buffers);
        let length = |sequence: usize| offsets[sequence + 1] - offsets[sequence];
        let mut sorted: Vec<usize> = (0..sequences).collect();
        sorted.sort_by_key(|&sequence| std::cmp::Reverse(length(sequence)));
        let mut tokens: Vec<u32> = Vec::new();
        counts.clear();
        for step in 0.. {
            let active = sorted.iter().take_while(|&&sequence| length(sequence) > step);
            let before = tokens.len();
            tokens.extend(active.map(|&sequence| (offsets[sequence] + step) as u32));
            if tokens.len() == before {
                break;
            }
            counts.push(tokens.len() - before);
        }
        let sorted: Vec<u32> = sorted.into_iter().map(|sequence| sequence as u32).collect();
        memory_mut(buffers, order).write(order.offset, &sorted);
        memory_mut(buffers, steps).write(steps.offset, &tokens);
        Ok(())
    }

    fn take_sequences(
        &self,
        sequences: usize,
        offsets: Location,
        index: Location,
        to: Location,
        tokens: Location,
        buffers: &mut [Buffer],
    ) -> usize {
        let (mut taken, mut ends) = (Vec::<u32>::new(), vec![0i64]);
        for sequence in row_numbers(Rows { count: sequences, bytes: 0 }, index, buffers) {
            let read = |at: usize| {
                let at = offsets.offset + at * size_of::<i64>();
                memory(buffers, offsets).read::<i64>(at, 1).expect("offsets are read before they are written")
                    [0]
            };
            taken.extend((read(sequence)..read(sequence + 1)).map(|token| token as u32));
            ends.push(taken.len() as i64);
        }
        memory_mut(buffers, to).write(to.offset, &ends);
        memory_mut(buffers, tokens).write(tokens.offset, &taken);
        taken.len()
    }

    fn rebase(&self, count: usize, from: Location, to: Location, buffers: &mut [Buffer]) {
        let offsets = read_offsets(count - 1, from, buffers);
        let rebased: Vec<i64> = offsets.iter().map(|offset| (offset - offsets[0]) as i64).collect();
        memory_mut(buffers, to).write(to.offset, &rebased);
    }

    fn collect(
        &self,
        rows: usize,
        tokens: usize,
        rounds: Location,
        offsets: Location,
        buffers: &mut [Buffer],
    ) {
        let of_tokens = row_numbers(Rows { count: tokens, bytes: 0 }, rounds, buffers);
        let mut ends = vec![0i64; rows + 1];
        for &row in &of_tokens {
            ends[row + 1] += 1;
        }
        for row in 0..rows {
            ends[row + 1] += ends[row];
        }
        let mut next = ends.clone();
        let mut number = |&row: &usize| {
            next[row] += 1;
            (next[row] - 1) as u32
        };
        let numbers: Vec<u32> = of_tokens.iter().map(&mut number).collect();
        memory_mut(buffers, rounds).write(rounds.offset, &numbers);
        memory_mut(buffers, offsets).write(offsets.offset, &ends);
    }

    fn copy(&self, bytes: usize, from: Location, to: Location, buffers: &mut [Buffer]) {
        let bytes = memory(buffers, from).copy_out(from.offset, bytes);
        memory_mut(buffers, to).copy_in(to.offset, &bytes);
    }

    fn zero(&self, elements: Elements, at: Location, buffers: &mut [Buffer]) {
        let zeros = Values::zeros(self.stored(elements.dtype), elements.count);
        memory_mut(buffers, at).write_values(at.offset, &zeros);
    }

    fn add(&self, elements: Elements, from: Location, to: Location, buffers: &mut [Buffer]) {
        let read = |at: Location| {
            let values =
                memory(buffers, at).read_values(at.offset, self.stored(elements.dtype), elements.count);
            values.expect("an addition reads memory that nothing wrote")
        };
        let sum = ops::elementwise::add(&read(to), &read(from));
        memory_mut(buffers, to).write_values(to.offset, &sum);
    }
}

/// Fails where there is no memory for some copies of the operands, which the arithmetic makes as it likes.
fn room(group: &Group, launch: Launch<'_>) -> Result<(), OutOfMemory> {
    let layouts = group.inputs.iter().chain(&group.outputs).chain(&group.temporaries);
    let elements = layouts.fold(0usize, |sum, layout| sum.saturating_add(layout.elements(launch.sizes)));
    Vec::<[f64; COPIES]>::new().try_grow(elements)
}

fn memory(buffers: &[Buffer], at: Location) -> &Buffer {
    &buffers[at.memory as usize]
}

fn memory_mut(buffers: &mut [Buffer], at: Location) -> &mut Buffer {
    &mut buffers[at.memory as usize]
}

/// Offsets of so many sequences.
fn read_offsets(sequences: usize, at: Location, buffers: &[Buffer]) -> Vec<usize> {
    let offsets = memory(buffers, at).read::<i64>(at.offset, sequences + 1);
    let offsets = offsets.expect("offsets are read before they are written");
    offsets.into_iter().map(|offset| offset as usize).collect()
}

/// The numbers of chosen rows.
fn row_numbers(rows: Rows, index: Location, buffers: &[Buffer]) -> Vec<usize> {
    let numbers = memory(buffers, index).read::<u32>(index.offset, rows.count);
    let numbers = numbers.expect("the row numbers are read before a selection wrote them");
    numbers.into_iter().map(|row| row as usize).collect()
}
