//! The boundary between the runtime and the devices. It is narrow and takes groups of operators, not operators; the
//! runtime never reads an element.

use std::fmt;

use crate::memory::OutOfMemory;
use crate::ops::Op;
use crate::program::DType;

/// Elements in host memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum HostSlice<'a> {
    /// Truth values.
    Bool(&'a [bool]),
    /// 32-bit integers.
    I32(&'a [i32]),
    /// 64-bit integers.
    I64(&'a [i64]),
    /// Single precision.
    F32(&'a [f32]),
    /// Double precision.
    F64(&'a [f64]),
}

/// Room for elements in host memory.
#[derive(Debug, PartialEq)]
pub enum HostSliceMut<'a> {
    /// Truth values.
    Bool(&'a mut [bool]),
    /// 32-bit integers.
    I32(&'a mut [i32]),
    /// 64-bit integers.
    I64(&'a mut [i64]),
    /// Single precision.
    F32(&'a mut [f32]),
    /// Double precision.
    F64(&'a mut [f64]),
}

macro_rules! host_slice {
    ($type:ident) => {
        impl $type<'_> {
            /// The element type.
            pub fn dtype(&self) -> DType {
                match self {
                    $type::Bool(_) => DType::Bool,
                    $type::I32(_) => DType::I32,
                    $type::I64(_) => DType::I64,
                    $type::F32(_) => DType::F32,
                    $type::F64(_) => DType::F64,
                }
            }

            /// The number of elements.
            pub fn len(&self) -> usize {
                match self {
                    $type::Bool(slice) => slice.len(),
                    $type::I32(slice) => slice.len(),
                    $type::I64(slice) => slice.len(),
                    $type::F32(slice) => slice.len(),
                    $type::F64(slice) => slice.len(),
                }
            }

            /// Whether there are none.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }
        }
    };
}
host_slice!(HostSlice);
host_slice!(HostSliceMut);

/// The memories of a run. A backend's launches get one buffer for each, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Memory {
    /// Values within a run, placed by their lifetimes.
    Arena,
    /// What grows as loops run: values that they save for the backward pass, and that they collect. Each has a lane.
    Tape,
    /// What leaves the run: outputs, gradients.
    Pool,
    /// The parameters, which live longer than a run.
    Parameters,
    /// What updaters keep of the parameters, which lives as long as they do.
    States,
}

impl Memory {
    /// The number of memories.
    pub const COUNT: usize = 5;
}

/// Where a value is: a byte offset in a memory. Offsets are multiples of [`ALIGNMENT`]; those of the rows of an iteration,
/// which lie among those of all iterations, of the size of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    /// Which memory.
    pub memory: Memory,
    /// Bytes from its start.
    pub offset: usize,
}

/// Every value starts at a multiple of this many bytes: a cache line, the widest vector register.
pub const ALIGNMENT: usize = 64;

/// A size that a kernel needs: known when it is compiled, or an index into the sizes that it is launched with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extent {
    /// Known.
    Fixed(usize),
    /// `sizes[i]` of the launch.
    Bound(usize),
}

impl Extent {
    /// The size in a launch.
    #[inline]
    pub fn get(self, sizes: &[usize]) -> usize {
        match self {
            Extent::Fixed(size) => size,
            Extent::Bound(at) => sizes[at],
        }
    }
}

/// Element type and shape of an operand, dense and row-major; rows, where there are any, are the first dimension.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OperandType {
    /// Element type.
    pub dtype: DType,
    /// Dimensions.
    pub shape: Vec<Extent>,
}

impl OperandType {
    /// The number of elements in a launch.
    #[inline]
    pub fn elements(&self, sizes: &[usize]) -> usize {
        // Large sizes before one of zero may have a product that is out of range.
        self.shape.iter().fold(1, |count: usize, extent| count.saturating_mul(extent.get(sizes)))
    }
}

/// A value of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// The i-th input of the group.
    Input(usize),
    /// The i-th output of the group.
    Output(usize),
    /// A value that does not leave the group.
    Temporary(usize),
}

/// An operator of a group.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupOp {
    /// Kind and attributes.
    pub op: Op,
    /// What it reads, in the order of the schema; then the offsets of each operand whose sequences the operator goes
    /// along ([`Schema::offsets`](crate::ops::Schema::offsets)), i64: one more than sequences, the first 0, none below
    /// the one before it, the last the number of tokens.
    pub inputs: Vec<Operand>,
    /// What it writes.
    pub outputs: Vec<Operand>,
}

impl GroupOp {
    /// What it changes in place.
    pub fn changed(&self) -> impl Iterator<Item = Operand> + '_ {
        self.inputs
            .iter()
            .enumerate()
            .filter(|(k, _)| self.op.operation().input(*k).is_changed)
            .map(|(_, &input)| input)
    }
}

/// Operators that are launched as one kernel: a single operator, or a chain of element-wise operators over one shape,
/// that of every output and temporary.
///
/// Inputs of which operators look at the shape only (`Operation::reads`) may be anywhere, written or not.
///
/// Every element of every output is written. Outputs overlap neither each other nor inputs, except that an output of an
/// element-wise group may be at exactly the location of an input of the same layout. An operator whose schema says
/// `state` changes the inputs in place that `Operation::changes` names, which overlap nothing else.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// In order.
    pub ops: Vec<GroupOp>,
    /// What it reads.
    pub inputs: Vec<OperandType>,
    /// What it writes.
    pub outputs: Vec<OperandType>,
    /// What stays inside.
    pub temporaries: Vec<OperandType>,
    /// Distinguishes random numbers of different operators: a hash of the path name of what is drawn.
    pub random_stream: u64,
}

/// A launch.
#[derive(Clone, Copy, Debug)]
pub struct Launch<'a> {
    /// The sizes that extents refer to.
    pub sizes: &'a [usize],
    /// Inputs, then outputs, of the group.
    pub locations: &'a [Location],
    /// The seed of random numbers, which differs between steps and between the iterations of a loop.
    pub seed: u64,
}

/// A group cannot be compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported {
    /// What is not supported.
    pub message: String,
}

/// A launch failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KernelError {
    /// A value was outside of what an operator accepts: a class id without a class.
    Value {
        /// What was found and what is expected.
        message: String,
    },
    /// The operator needs memory beside its operands, which cannot be had.
    OutOfMemory(OutOfMemory),
}

impl fmt::Display for KernelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KernelError::Value { message } => f.write_str(message),
            KernelError::OutOfMemory(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for KernelError {}

impl From<OutOfMemory> for KernelError {
    fn from(error: OutOfMemory) -> Self {
        KernelError::OutOfMemory(error)
    }
}

/// A device.
///
/// A compiled group is used by one executor, in the order of its launches; executors may run at the same time. Buffers are passed as
/// one slice, indexed by [`Memory`].
pub trait Backend {
    /// A piece of memory.
    type Buffer;
    /// A compiled group.
    type Kernel;

    /// Its name in messages.
    fn name(&self) -> &'static str;

    /// Bytes that one element takes in its memory.
    fn element_bytes(&self, dtype: DType) -> usize;

    /// Whether it can run the operator.
    fn supports(&self, op: &Op) -> bool;

    /// Compiles a group.
    fn compile(&self, group: &Group) -> Result<Self::Kernel, Unsupported>;

    /// Allocates memory.
    fn allocate(&self, bytes: usize) -> Result<Self::Buffer, OutOfMemory>;

    /// Makes a buffer at least `bytes` long, keeping its contents. An error leaves it as it was.
    fn grow(&self, buffer: &mut Self::Buffer, bytes: usize) -> Result<(), OutOfMemory>;

    /// Makes a buffer `bytes` long, with pieces of what it held at new places. An error leaves it as it was.
    fn rearrange(&self, buffer: &mut Self::Buffer, bytes: usize, moves: &[Move]) -> Result<(), OutOfMemory>;

    /// Another buffer with the same contents, in the same memory: several runs read it at a time. While there are both,
    /// writing to one of them is a mistake of the runtime, and panics.
    fn share(&self, buffer: &Self::Buffer) -> Self::Buffer;

    /// Called at the start of a run with memory whose contents are dead; a backend for tests fills it with garbage.
    fn poison(&self, _buffer: &mut Self::Buffer) {}

    /// Copies elements to the device.
    fn upload(&self, from: HostSlice<'_>, to: &mut Self::Buffer, offset: usize);

    /// Copies elements from the device.
    fn download(&self, from: &Self::Buffer, offset: usize, to: HostSliceMut<'_>);

    /// Takes the memory that an update, launched with these sizes, needs beside its operands, so that its launch takes none:
    /// updates are run together or not at all.
    fn reserve(&self, _kernel: &Self::Kernel, _sizes: &[usize]) -> Result<(), OutOfMemory> {
        Ok(())
    }

    /// Runs a compiled group.
    fn launch(
        &self,
        kernel: &Self::Kernel,
        launch: Launch<'_>,
        buffers: &mut [Self::Buffer],
    ) -> Result<(), KernelError>;

    /// Reads a truth value.
    fn test(&self, at: Location, buffers: &[Self::Buffer]) -> bool;

    /// Splits `rows` rows by a mask: writes the numbers of the true rows to `yes` and of the false ones to `no`, as
    /// `u32` in ascending order, and returns how many are true.
    fn select(
        &self,
        mask: Location,
        rows: usize,
        yes: Location,
        no: Location,
        buffers: &mut [Self::Buffer],
    ) -> usize;

    /// Copies row `index[i]` of `from` to row `i` of `to`.
    fn gather(&self, rows: Rows, from: Location, index: Location, to: Location, buffers: &mut [Self::Buffer]);

    /// Copies row `i` of `from` to row `index[i]` of `to`.
    fn scatter(
        &self,
        rows: Rows,
        from: Location,
        index: Location,
        to: Location,
        buffers: &mut [Self::Buffer],
    );

    /// Adds row `i` of `from` to row `index[i]` of `to`; no row is named twice.
    fn add_rows(
        &self,
        rows: Rows,
        dtype: DType,
        from: Location,
        index: Location,
        to: Location,
        buffers: &mut [Self::Buffer],
    );

    /// Moves row `index[i]` to row `i`, in place; `index` ascends.
    fn compact(&self, rows: Rows, index: Location, at: Location, buffers: &mut [Self::Buffer]);

    /// Writes 0, 1, 2, … as `u32`.
    fn number(&self, count: usize, to: Location, buffers: &mut [Self::Buffer]);

    /// Sorts sequences by length, the longest first, those of one length in their order: writes their numbers to `order`, and
    /// to `steps` the number of each token in the order in which a loop comes to them, as `u32`. Sets `counts` to how many
    /// sequences have a first token, how many a second, and so on.
    fn order(
        &self,
        sequences: usize,
        offsets: Location,
        order: Location,
        steps: Location,
        counts: &mut Vec<usize>,
        buffers: &mut [Self::Buffer],
    ) -> Result<(), OutOfMemory>;

    /// Takes the sequences whose numbers are in `index`: writes their offsets to `to`, the number of each of their tokens to
    /// `tokens`, as `u32`, and returns how many tokens there are.
    fn take_sequences(
        &self,
        sequences: usize,
        offsets: Location,
        index: Location,
        to: Location,
        tokens: Location,
        buffers: &mut [Self::Buffer],
    ) -> usize;

    /// Writes `count` offsets so that the first is 0.
    fn rebase(&self, count: usize, from: Location, to: Location, buffers: &mut [Self::Buffer]);

    /// Makes sequences of what a loop gave. `rounds` has the row of each of `tokens` values, `u32`, in the order in which they
    /// came; their sequences' offsets go to `offsets`, and to `rounds` the number of each among the tokens.
    fn collect(
        &self,
        rows: usize,
        tokens: usize,
        rounds: Location,
        offsets: Location,
        buffers: &mut [Self::Buffer],
    );

    /// Copies bytes.
    fn copy(&self, bytes: usize, from: Location, to: Location, buffers: &mut [Self::Buffer]);

    /// Fills elements with zero.
    fn zero(&self, elements: Elements, at: Location, buffers: &mut [Self::Buffer]);

    /// Adds the elements of `from` to those of `to`.
    fn add(&self, elements: Elements, from: Location, to: Location, buffers: &mut [Self::Buffer]);
}

/// A piece of a buffer that gets another place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// Where it was.
    pub from: usize,
    /// Where it goes.
    pub to: usize,
    /// Its length.
    pub bytes: usize,
}

/// How many rows, of how many bytes each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows {
    /// How many.
    pub count: usize,
    /// Bytes of one.
    pub bytes: usize,
}

/// How many elements, of what type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elements {
    /// How many.
    pub count: usize,
    /// Their type.
    pub dtype: DType,
}
