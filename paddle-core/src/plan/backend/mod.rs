//! The boundary between the runtime and the devices. It is narrow and takes groups of operators, not operators; the
//! runtime never reads an element.

mod group;
mod host;
mod memory;
mod moves;

use std::fmt;

pub use group::{Body, Extent, Group, GroupOp, Layout, Operand, OperandType};
pub(super) use host::HostVec;
pub use host::{HostSlice, HostSliceMut};
pub use memory::{ALIGNMENT, Location, Memories, Memory, OWN_MEMORIES, Piece, Values};
pub use moves::Move;

use crate::memory::OutOfMemory;
use crate::ops::Op;
use crate::program::DType;

/// A launch.
#[derive(Clone, Copy, Debug)]
pub struct Launch<'a> {
    /// The sizes that extents refer to.
    pub sizes: &'a [usize],
    /// Inputs, then outputs, of the group.
    pub locations: &'a [Location],
    /// The seed of random numbers, which differs between steps and between the iterations of a loop.
    pub seed: u64,
    /// Which launch of the plan it is, by which a [`Fault`] names it.
    pub number: u32,
    /// Of which version the parameters are: in launches of the same version the [constants](Group::constants) have the same elements.
    /// None if the run may change parameters: then a kernel keeps nothing of them.
    pub version: Option<u64>,
}

/// A group cannot be compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported {
    /// What is not supported.
    pub message: String,
}

/// A launch failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Its [number](Launch::number).
    pub launch: u32,
    /// Why.
    pub error: KernelError,
}

/// Why a launch failed.
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

/// Where something runs, or is: on a backend itself, or on its [fallback](Backend::fallback).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Side {
    /// On the backend.
    #[default]
    Own,
    /// On its fallback.
    Fallback,
}

impl Side {
    /// Where a backend has an operator run; none if it does not run at all.
    pub fn of<B: Backend>(backend: &B, op: &Op) -> Option<Side> {
        if backend.supports(op) {
            return Some(Side::Own);
        }
        backend.fallback().filter(|fallback| fallback.supports(op)).map(|_| Side::Fallback)
    }
}

/// Elements that were asked for, and that the host has not got yet.
#[derive(Debug)]
#[must_use = "what was read is waited for"]
pub struct Token(pub usize);

/// A device.
///
/// Work is put into a *queue*, one for each executor, and done in the order in which it was put there, at some time: [`launch`] and
/// [`read`] return at once. The host waits in two places only: for the elements of a [`Token`], where a size or a truth value decides
/// what comes next, and at the end of a run, for all of it.
///
/// A launch that fails leaves a *fault* in its queue. The launches behind it are not done, or write only what does not outlive the run;
/// the host is told when it next waits. Whatever a kernel is given, it stays within its operands.
///
/// Between runs a queue is empty. Memory is then read and written without it: [`upload`], [`download`].
///
/// [`launch`]: Backend::launch
/// [`read`]: Backend::read
/// [`upload`]: Backend::upload
/// [`download`]: Backend::download
pub trait Backend {
    /// A piece of memory.
    type Buffer;
    /// A compiled group.
    type Kernel;
    /// Work that is done in order.
    type Queue;
    /// The backend that runs what this one does not support.
    type Fallback: Backend;

    /// Its name in messages.
    fn name(&self) -> &'static str;

    /// Where operators run that it does not [support](Backend::supports); none if these are errors. What they read is copied there,
    /// what they write is copied back, and the plan shows it. The elements of both have the same bytes.
    fn fallback(&self) -> Option<&Self::Fallback> {
        None
    }

    /// Bytes that one element takes in its memory.
    fn element_bytes(&self, dtype: DType) -> usize;

    /// Whether it can run the operator.
    fn supports(&self, op: &Op) -> bool;

    /// Whether it compiles groups with this operator as body and an epilogue behind it.
    fn fuses(&self, _body: &Op) -> bool {
        false
    }

    /// The layout in which this operator is fastest, as far as its values have as many axes. It has to [take](Backend::takes) it.
    fn prefers(&self, _op: &Op) -> Option<Layout> {
        None
    }

    /// Whether it compiles the operator with operands in this layout, each by itself in it or in row-major order.
    fn takes(&self, _op: &Op, _layout: &Layout) -> bool {
        false
    }

    /// Compiles a group. Operands are in row-major order, or in a layout that all operators which read or write them take.
    fn compile(&self, group: &Group) -> Result<Self::Kernel, Unsupported>;

    /// Allocates memory.
    fn allocate(&self, bytes: usize) -> Result<Self::Buffer, OutOfMemory>;

    /// Called at the start of a run with memory whose contents are dead; a backend for tests fills it with garbage.
    fn poison(&self, _buffer: &mut Self::Buffer) {}

    /// Copies elements to the device. No queue has work that touches the buffer.
    fn upload(&self, from: HostSlice<'_>, to: &mut Self::Buffer, offset: usize);

    /// Copies elements from the device. No queue has work that writes the buffer.
    fn download(&self, from: &Self::Buffer, offset: usize, to: HostSliceMut<'_>);

    /// Another buffer with the same contents. No queue has work that writes the buffer.
    fn duplicate(&self, buffer: &Self::Buffer) -> Result<Self::Buffer, OutOfMemory>;

    /// An empty queue.
    fn queue(&self) -> Result<Self::Queue, OutOfMemory>;

    /// Makes a buffer `bytes` long, with pieces of what it holds, when the work before it is done, at new places. An error leaves it as
    /// it was.
    fn rearrange(
        &self,
        queue: &mut Self::Queue,
        buffer: &mut Self::Buffer,
        bytes: usize,
        pieces: &[Piece],
    ) -> Result<(), OutOfMemory>;

    /// Takes the memory that an update, launched with these sizes, needs beside its operands, so that its launch takes none:
    /// updates are run together or not at all.
    fn reserve(&self, _kernel: &Self::Kernel, _sizes: &[usize]) -> Result<(), OutOfMemory> {
        Ok(())
    }

    /// Runs a compiled group.
    fn launch(
        &self,
        queue: &mut Self::Queue,
        kernel: &Self::Kernel,
        launch: Launch<'_>,
        memories: &mut Memories<'_, Self::Buffer>,
    );

    /// Copies so many elements to the host, as they are when the work before it is done.
    fn read(
        &self,
        queue: &mut Self::Queue,
        at: Location,
        dtype: DType,
        count: usize,
        memories: &mut Memories<'_, Self::Buffer>,
    ) -> Token;

    /// Copies elements to the device, when the work before it is done. They are taken from the host at once.
    fn write(
        &self,
        queue: &mut Self::Queue,
        from: HostSlice<'_>,
        to: Location,
        memories: &mut Memories<'_, Self::Buffer>,
    );

    /// Waits for the elements of a token: as many, and of the type, as were asked for. An error if a launch before it failed.
    fn wait(&self, queue: &mut Self::Queue, token: Token, to: HostSliceMut<'_>) -> Result<(), Fault>;

    /// Waits for all work. If a launch failed since the last time, the first that did; then the queue goes on.
    fn finish(&self, queue: &mut Self::Queue) -> Result<(), Fault>;
}
