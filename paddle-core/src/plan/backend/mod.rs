//! The boundary between the runtime and the devices: a device implements [`Backend`].
//!
//! When a program is planned, the runtime asks the backend which operators it supports, which it fuses and which
//! layouts it takes. Then the backend compiles each [`Group`] of operators to a kernel. A run puts launches of the
//! kernels into a queue. A [`Launch`] has the sizes and the [`Location`] of each operand; the buffers come beside it,
//! as [`Memories`]. The runtime itself never touches an element in a buffer: it asks the backend to read or write it.

mod group;
mod host;
mod memory;
mod moves;

use std::fmt;
use std::time::Duration;

pub use group::{Body, Extent, Group, GroupOp, Layout, Operand, OperandType, Takes};
pub(super) use host::HostVec;
pub use host::{HostSlice, HostSliceMut};
pub(super) use memory::no_memories;
pub use memory::{ALIGNMENT, Location, Memories, Memory, OWN_MEMORIES, Piece, Reach, Values};
pub use moves::Move;

use super::Precision;
use crate::memory::OutOfMemory;
use crate::ops::{Op, Operator, Program};
use crate::program::DType;

/// One run of a compiled group.
#[derive(Clone, Copy, Debug)]
pub struct Launch<'a> {
    /// The sizes that [`Extent::Bound`] refers to.
    pub sizes: &'a [usize],
    /// Where the operands are: the inputs of the group, then its outputs.
    pub locations: &'a [Location],
    /// The seed of random numbers, which differs between steps and between the iterations of a loop.
    pub seed: u64,
    /// The number of the launch in the plan. A [`Fault`] names the launch by it.
    pub number: u32,
    /// The version of the parameters. In all launches of one version the [constants](Group::constants) have the same
    /// elements. None for a launch beside any run: then a kernel keeps nothing that it made of them.
    pub version: Option<u64>,
}

/// The error of a backend that cannot compile a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported {
    /// The reason.
    pub message: String,
}

/// The error of a launch that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The [number](Launch::number) of the launch.
    pub launch: u32,
    /// The reason.
    pub error: KernelError,
}

/// The reason why a launch failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KernelError {
    /// An operator does not accept the value of an element: a class id without a class.
    Value {
        /// The value that was found, and the values that are expected.
        message: String,
    },
    /// The operator needs memory beside its operands, and there is none.
    OutOfMemory(OutOfMemory),
    /// The device, or its driver, does not do what it is asked to.
    Device {
        /// What the driver says.
        message: String,
    },
}

impl fmt::Display for KernelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KernelError::Value { message } | KernelError::Device { message } => f.write_str(message),
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

/// Where an operator runs, or where a value is: on the backend itself, or on its [fallback](Backend::fallback).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Side {
    /// On the backend.
    #[default]
    Own,
    /// On its fallback.
    Fallback,
}

impl Side {
    /// The side on which an operator of a program runs; none if neither side supports it.
    pub fn of<B: Backend>(backend: &B, program: &Program, operator: &Operator) -> Option<Side> {
        let operands = operator.inputs.iter().chain(&operator.outputs);
        let types: Vec<DType> = operands.map(|&var| program.ty(var).dtype).collect();
        if backend.supports(&operator.op, &types) {
            return Some(Side::Own);
        }
        let fallback = backend.fallback().filter(|fallback| fallback.supports(&operator.op, &types));
        fallback.map(|_| Side::Fallback)
    }
}

/// Stands for elements that the runtime has asked for and the host has not got yet.
#[derive(Debug)]
#[must_use = "what was read is waited for"]
pub struct Token(pub usize);

/// A device.
///
/// Each executor has a *queue*. [`launch`], [`read`] and [`write`] put work into it and may return before the work is
/// done. The device does the work of a queue in order. The host waits in two places only: for the elements of a
/// [`Token`], if a size or a truth value decides what comes next, and for all work at the end of a run.
///
/// A launch that fails leaves a *fault* in its queue. The launches behind it are left out, or write only memory that
/// does not outlive the run. The host gets the fault when it next waits. Whatever values a kernel reads, it never
/// accesses memory outside of its operands.
///
/// Between runs a queue is empty. Then [`upload`] and [`download`] access memory without a queue.
///
/// [`launch`]: Backend::launch
/// [`read`]: Backend::read
/// [`write`]: Backend::write
/// [`upload`]: Backend::upload
/// [`download`]: Backend::download
pub trait Backend {
    /// A buffer of the device's memory.
    type Buffer;
    /// A compiled group.
    type Kernel;
    /// Launches and copies, which the device does in order.
    type Queue;
    /// The backend that runs the operators that this one does not support.
    type Fallback: Backend;

    /// The name of the backend in messages.
    fn name(&self) -> &'static str;

    /// The backend that runs operators which this one does not [support](Backend::supports); without one they are
    /// errors. The plan copies the inputs of such operators to the fallback, and their outputs back; its text shows
    /// these copies. They go through the host, so an element may have other bytes on each side.
    fn fallback(&self) -> Option<&Self::Fallback> {
        None
    }

    /// The size of one element in the memory of the device, in bytes.
    fn element_bytes(&self, dtype: DType) -> usize;

    /// Whether the backend can run the operator on inputs and outputs of these element types, in this order.
    fn supports(&self, op: &Op, types: &[DType]) -> bool;

    /// Whether the backend compiles groups that have this operator as body and an epilogue behind it.
    fn fuses(&self, _body: &Op) -> bool {
        false
    }

    /// Whether the backend compiles groups of several such operators, which change parameters and states and have no outputs.
    fn gathers(&self, _update: &Op) -> bool {
        false
    }

    /// Whether the backend computes products in this precision. Each computes in `f32`.
    fn computes_in(&self, precision: Precision) -> bool {
        precision == Precision::F32
    }

    /// The layout in which this operator is fastest.
    fn prefers(&self, _op: &Op) -> Option<Layout> {
        None
    }

    /// How the backend takes an operand of an operator in this layout; the operand has as many axes. Inputs are numbered
    /// first, then outputs. If an operator is element-wise, its operands with fewer axes are in row-major order, aligned at
    /// the last axes, and the order of their elements is the same in both.
    fn takes(&self, _op: &Op, _operand: usize, _layout: &Layout) -> Takes {
        Takes::RowMajor
    }

    /// Compiles a group. Each operand is in row-major order, or in a layout in which the backend takes it. A value may be two
    /// operands, one in each layout. An operand is said to be in row-major order if its layout makes no difference.
    fn compile(&self, group: &Group) -> Result<Self::Kernel, Unsupported>;

    /// Allocates memory.
    fn allocate(&self, bytes: usize) -> Result<Self::Buffer, OutOfMemory>;

    /// Called at the start of a run for a buffer whose contents nothing reads any more. A backend for tests fills it
    /// with garbage.
    fn poison(&self, _buffer: &mut Self::Buffer) {}

    /// Copies elements to the device, to the byte offset `offset`. No queue has work that touches the buffer.
    fn upload(&self, from: HostSlice<'_>, to: &mut Self::Buffer, offset: usize);

    /// Copies elements from the device, from the byte offset `offset`. No queue has work that writes the buffer.
    fn download(&self, from: &Self::Buffer, offset: usize, to: HostSliceMut<'_>);

    /// Allocates a buffer with the same contents. No queue has work that writes `buffer`.
    fn duplicate(&self, buffer: &Self::Buffer) -> Result<Self::Buffer, OutOfMemory>;

    /// Creates an empty queue.
    fn queue(&self) -> Result<Self::Queue, OutOfMemory>;

    /// Gives a buffer a length of `bytes`, and moves pieces of its contents to new places in it. The pieces have the
    /// contents that the work before it in the queue leaves. An error leaves the buffer as it was.
    fn rearrange(
        &self,
        queue: &mut Self::Queue,
        buffer: &mut Self::Buffer,
        bytes: usize,
        pieces: &[Piece],
    ) -> Result<(), OutOfMemory>;

    /// Allocates the memory that an update, launched with these sizes, needs beside its operands, so that its launch
    /// allocates none. The runtime calls it for all updates before it launches the first: updates are run together or
    /// not at all.
    fn reserve(&self, _kernel: &Self::Kernel, _sizes: &[usize]) -> Result<(), OutOfMemory> {
        Ok(())
    }

    /// Puts a launch of a compiled group into the queue.
    fn launch(
        &self,
        queue: &mut Self::Queue,
        kernel: &Self::Kernel,
        launch: Launch<'_>,
        memories: &mut Memories<'_, Self::Buffer>,
    );

    /// Puts into the queue a copy of `count` elements to the host: the elements are those that the work before it
    /// leaves.
    fn read(
        &self,
        queue: &mut Self::Queue,
        at: Location,
        dtype: DType,
        count: usize,
        memories: &mut Memories<'_, Self::Buffer>,
    ) -> Token;

    /// Puts into the queue a copy of elements to the device. `from` is read before the call returns.
    fn write(
        &self,
        queue: &mut Self::Queue,
        from: HostSlice<'_>,
        to: Location,
        memories: &mut Memories<'_, Self::Buffer>,
    );

    /// Waits for the elements of a token. `to` has as many elements as were asked for, and the same type. Errors if a
    /// launch before the read failed.
    fn wait(&self, queue: &mut Self::Queue, token: Token, to: HostSliceMut<'_>) -> Result<(), Fault>;

    /// Waits for all work in the queue. Errors with the first launch that failed since the last `finish`; the queue
    /// can be used again afterwards.
    fn finish(&self, queue: &mut Self::Queue) -> Result<(), Fault>;

    /// Has the queue measure, or no longer measure, how long the device works on launches: for profiles. A device that has
    /// done a launch when the call returns needs no clock beside the host's.
    fn measure(&self, _queue: &mut Self::Queue, _on: bool) {}

    /// How long the device has worked on the launches since the last call, all of which the host has waited for. None if
    /// the device has no clock, or the queue does not measure.
    fn worked(&self, _queue: &mut Self::Queue) -> Option<Duration> {
        None
    }
}
