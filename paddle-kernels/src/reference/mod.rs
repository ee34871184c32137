//! The reference backend: naive and obviously right, the oracle of every test.
//!
//! It computes one element at a time, and checks the runtime: memory that nothing has written may be copied, but not
//! be computed with, and operands must lie where [`Group`] allows. A violation is a mistake of the runtime, and
//! panics.
//!
//! Formulas of the element-wise table are evaluated in the stored type, so that every backend that rounds elementary
//! operations as IEEE 754 demands gives the same bits. Sums and exponentials are computed in `f64`, in the order of
//! the indices, and rounded once. Such an `f32` result is the best possible, and another backend's distance from it
//! is that backend's error alone. Products in bf16 are those of factors that are rounded before: no more is rounded.

mod buffer;
mod call;
mod candidates;
mod layout;
mod moves;
mod ops;
mod placement;
mod sequences;
mod shape;
mod values;

use paddle_core::memory::{OutOfMemory, TryGrow};
use paddle_core::ops::{Custom, Op};
use paddle_core::plan::{
    Backend, Body, Fault, Group, GroupOp, HostSlice, HostSliceMut, KernelError, Launch, Layout, Location,
    Memories, Operand, Piece, Precision, Takes, Token, Unsupported,
};
use paddle_core::program::DType;

pub use self::buffer::Buffer;
use self::call::Call;
use self::moves::Moving;
use self::values::Values;
use crate::queue::Queue;

/// A launch begins only if there is memory for this many `f64` copies of each element of its operands. The arithmetic
/// allocates without checks, and the process ends if memory runs out in the middle.
const COPIES: usize = 8;

/// The reference backend.
#[derive(Clone, Copy, Debug)]
pub struct Reference {
    width: Width,
    /// Whether the backend prefers images with the channels as the fastest axis.
    channels_last: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Width {
    Single,
    Double,
}

/// A group that the reference backend runs operator by operator.
pub struct Kernel {
    group: Group,
}

impl Reference {
    /// Keeps every value in its own element type.
    pub fn single() -> Self {
        Reference { width: Width::Single, channels_last: false }
    }

    /// Keeps `f32` values as `f64` too, so that the gradient of any program can be checked by differences. Host memory
    /// of either type may be copied from and to either.
    pub fn double() -> Self {
        Reference { width: Width::Double, channels_last: false }
    }

    /// The same backend, preferring images with the channels as the fastest axis between operators, as devices do.
    pub fn channels_last(self) -> Self {
        Reference { channels_last: true, ..self }
    }

    /// The type in which elements of a declared type are stored.
    fn stored(self, dtype: DType) -> DType {
        match (self.width, dtype) {
            (Width::Double, DType::F32) => DType::F64,
            _ => dtype,
        }
    }
}

impl Backend for Reference {
    type Buffer = Buffer;
    type Kernel = Kernel;
    type Queue = Queue<Values>;
    type Fallback = Reference;

    fn name(&self) -> &'static str {
        match self.width {
            Width::Single => "reference",
            Width::Double => "reference in double precision",
        }
    }

    fn element_bytes(&self, dtype: DType) -> usize {
        self.stored(dtype).bytes()
    }

    fn supports(&self, op: &Op, _: &[DType]) -> bool {
        ops::arithmetic(op).is_supported()
    }

    fn fuses(&self, body: &Op) -> bool {
        ops::arithmetic(body).is_supported()
    }

    fn gathers(&self, update: &Op) -> bool {
        ops::arithmetic(update).is_supported()
    }

    fn computes_in(&self, _: Precision) -> bool {
        true
    }

    fn prefers(&self, op: &Op) -> Option<Layout> {
        let is_of_images = matches!(
            op,
            Op::Conv2d(_) | Op::Conv2dGrad(_) | Op::Conv2dTranspose(_) | Op::Pool2d(_) | Op::Pool2dGrad(_)
        );
        (self.channels_last && is_of_images).then(Layout::channels_last)
    }

    fn takes(&self, op: &Op, _: usize, _: &Layout) -> Takes {
        match self.channels_last && ops::arithmetic(op).is_supported() {
            true if op.effects().element_wise => Takes::Alike,
            true => Takes::Each,
            false => Takes::RowMajor,
        }
    }

    fn compile(&self, group: &Group) -> Result<Kernel, Unsupported> {
        if let Some(GroupOp { op, .. }) = group.epilogue.iter().find(|op| !op.op.effects().element_wise) {
            let message = format!("`{}` is not element-wise, so it is a group of its own", op.name());
            return Err(Unsupported { message });
        }
        if let Some(GroupOp { op, .. }) = group.operators().find(|op| !ops::arithmetic(&op.op).is_supported())
        {
            let message = match op {
                Op::Custom(_) => Custom::NOT_LINKED.to_string(),
                op => format!("`{}` is no kernel", op.name()),
            };
            return Err(Unsupported { message });
        }
        Ok(Kernel { group: group.clone() })
    }

    fn allocate(&self, bytes: usize) -> Result<Buffer, OutOfMemory> {
        Buffer::with_bytes(bytes)
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

    fn duplicate(&self, buffer: &Buffer) -> Result<Buffer, OutOfMemory> {
        let mut other = self.allocate(buffer.len())?;
        other.copy_from(buffer, Piece { from: 0, to: 0, bytes: buffer.len() });
        Ok(other)
    }

    fn queue(&self) -> Result<Queue<Values>, OutOfMemory> {
        Ok(Queue::default())
    }

    fn rearrange(
        &self,
        _: &mut Queue<Values>,
        buffer: &mut Buffer,
        bytes: usize,
        pieces: &[Piece],
    ) -> Result<(), OutOfMemory> {
        let mut arranged = self.allocate(bytes)?;
        pieces.iter().for_each(|&piece| arranged.copy_from(buffer, piece));
        *buffer = arranged;
        Ok(())
    }

    fn launch(
        &self,
        queue: &mut Queue<Values>,
        kernel: &Kernel,
        launch: Launch<'_>,
        memories: &mut Memories<'_, Buffer>,
    ) {
        queue.run(launch.number, || {
            placement::check(*self, &kernel.group, launch);
            room(&kernel.group, launch)?;
            match kernel.group.body {
                Some(Body::Move(kind)) => {
                    Moving { backend: *self, group: &kernel.group, launch, memories }.run(kind)
                }
                Some(Body::Operator(_) | Body::Updates(_)) | None => kernel.compute(*self, launch, memories),
            }
        });
    }

    fn read(
        &self,
        queue: &mut Queue<Values>,
        at: Location,
        dtype: DType,
        count: usize,
        memories: &mut Memories<'_, Buffer>,
    ) -> Token {
        // Behind a fault the memory may hold anything.
        if queue.has_failed() {
            return queue.read(&[]);
        }
        let values = memory(memories, at).read_values(at.offset, self.stored(dtype), count);
        queue.read(&[values.expect("the host reads memory that nothing wrote")])
    }

    fn write(
        &self,
        queue: &mut Queue<Values>,
        from: HostSlice<'_>,
        to: Location,
        memories: &mut Memories<'_, Buffer>,
    ) {
        if !queue.has_failed() {
            self.upload(from, memory_mut(memories, to), to.offset);
        }
    }

    fn wait(&self, queue: &mut Queue<Values>, token: Token, to: HostSliceMut<'_>) -> Result<(), Fault> {
        queue.wait(token, |values| values[0].clone().to_host(to))
    }

    fn finish(&self, queue: &mut Queue<Values>) -> Result<(), Fault> {
        queue.finish()
    }
}

impl Kernel {
    /// Computes the operators, one after the other.
    fn compute(
        &self,
        backend: Reference,
        launch: Launch<'_>,
        memories: &mut Memories<'_, Buffer>,
    ) -> Result<(), KernelError> {
        let group = &self.group;
        let mut written = Vec::new();
        for op in group.operators() {
            let call = Call { backend, group, op, launch, memories, written: &written };
            let results = ops::arithmetic(&op.op).evaluate(&call)?;
            // The outputs, then the inputs that the operator changes in place.
            let targets: Vec<Operand> = op.outputs.iter().copied().chain(op.changed()).collect();
            assert_eq!(
                targets.len(),
                results.len(),
                "`{}` writes to too few or too many places",
                op.op.name()
            );
            written.extend(targets.into_iter().zip(results));
        }
        // An output may be at the location of an input, so memory changes only after everything is read.
        for (operand, values) in written {
            let (location, ty) = match operand {
                Operand::Input(i) => (launch.locations[i], &group.inputs[i]),
                Operand::Output(i) => (launch.locations[group.inputs.len() + i], &group.outputs[i]),
                Operand::Temporary(_) => continue,
            };
            let values = layout::from_row_major(values, ty, launch.sizes);
            memory_mut(memories, location).write_values(location.offset, &values);
        }
        Ok(())
    }
}

/// Errors if there is no memory for [`COPIES`] copies of the operands.
fn room(group: &Group, launch: Launch<'_>) -> Result<(), OutOfMemory> {
    let layouts = group.inputs.iter().chain(&group.outputs).chain(&group.temporaries);
    let elements = layouts.fold(0usize, |sum, layout| sum.saturating_add(layout.elements(launch.sizes)));
    Vec::<[f64; COPIES]>::new().try_grow(elements)
}

fn memory<'a>(memories: &'a Memories<'_, Buffer>, at: Location) -> &'a Buffer {
    memories.get(at.memory)
}

fn memory_mut<'a>(memories: &'a mut Memories<'_, Buffer>, at: Location) -> &'a mut Buffer {
    memories.get_mut(at.memory).expect("memory is written that others read")
}
