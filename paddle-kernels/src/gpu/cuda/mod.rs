//! The backend for NVIDIA's cards, by the driver, NVRTC and cuBLASLt, which are opened when a program runs.

mod cache;
mod compiler;
#[cfg(feature = "cudnn")]
mod convolutions;
mod copies;
mod device;
mod libraries;
mod products;
mod queue;
mod staging;

use std::sync::{Arc, OnceLock};

use paddle_core::memory::OutOfMemory;
use paddle_core::ops::Op;
use paddle_core::plan::{
    Backend, Body, Extent, Fault, Group, HostSlice, HostSliceMut, Launch, Location, Memories, Move, Piece,
    Precision, Token, Unsupported,
};
use paddle_core::program::DType;

use self::compiler::Function;
pub use self::compiler::compile_for;
pub use self::device::cards;
use self::device::{BACKEND, Device, Memory};
use self::libraries::ABILITIES;
pub use self::queue::Queue;
use super::card::{Card, CardError};
use super::elements;
use super::kernel::Stage;
use super::launch::WORD;
use super::tensor::words;
use crate::Cpu;

/// A card. Operators that it lacks run on the CPU.
#[derive(Clone)]
pub struct Cuda {
    device: Arc<Device>,
    fallback: Cpu,
}

impl Cuda {
    /// The card with this number among [`cards`]. Errors list the cards that there are.
    pub fn new(number: usize, fallback: Cpu) -> Result<Cuda, CardError> {
        Ok(Cuda { device: Arc::new(Device::new(number)?), fallback })
    }

    /// What the card is.
    pub fn card(&self) -> &Card {
        &self.device.card
    }
}

impl std::fmt::Debug for Cuda {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Cuda({})", self.device.card)
    }
}

/// Memory of a card.
pub struct Buffer {
    memory: Arc<Memory>,
}

/// A compiled group.
pub struct Kernel {
    kernel: super::Kernel,
    /// Of each stage, once it was launched.
    functions: Vec<OnceLock<Function>>,
    /// The value that it copies, if that is all it does.
    copies: Option<CopiedValue>,
}

/// A value that is copied.
struct CopiedValue {
    /// Of both operands: as much is copied as both have.
    shapes: [Vec<Extent>; 2],
    element_bytes: usize,
}

impl Kernel {
    /// The stages, and the function of each.
    fn stages(&self) -> impl Iterator<Item = (&Stage, &OnceLock<Function>)> {
        self.kernel.stages.iter().zip(&self.functions)
    }
}

impl Backend for Cuda {
    type Buffer = Buffer;
    type Kernel = Kernel;
    type Queue = Queue;
    type Fallback = Cpu;

    fn name(&self) -> &'static str {
        BACKEND
    }

    fn fallback(&self) -> Option<&Cpu> {
        Some(&self.fallback)
    }

    fn element_bytes(&self, dtype: DType) -> usize {
        words(dtype) * WORD
    }

    fn supports(&self, op: &Op, types: &[DType]) -> bool {
        super::ops::supports(op, types)
    }

    fn fuses(&self, body: &Op) -> bool {
        super::ops::finishes(body)
    }

    fn gathers(&self, update: &Op) -> bool {
        matches!(update, Op::Update(_)) && self.supports(update, &[])
    }

    fn computes_in(&self, _: Precision) -> bool {
        true
    }

    fn compile(&self, group: &Group) -> Result<Kernel, Unsupported> {
        let kernel = super::compile(group, ABILITIES)?;
        let functions = kernel.stages.iter().map(|_| OnceLock::new()).collect();
        let copies = matches!(group.body, Some(Body::Move(Move::Copy))).then(|| CopiedValue {
            shapes: [group.inputs[0].shape.clone(), group.outputs[0].shape.clone()],
            element_bytes: self.element_bytes(group.inputs[0].dtype),
        });
        Ok(Kernel { kernel, functions, copies })
    }

    fn allocate(&self, bytes: usize) -> Result<Buffer, OutOfMemory> {
        Ok(Buffer { memory: self.device.allocate(bytes)? })
    }

    fn upload(&self, from: HostSlice<'_>, to: &mut Buffer, offset: usize) {
        self.device.upload(&elements::to_words(from), &to.memory, offset);
    }

    fn download(&self, from: &Buffer, offset: usize, to: HostSliceMut<'_>) {
        let bytes = to.len() * self.element_bytes(to.dtype());
        // A card that is gone is an error of the next run.
        if let Ok(words) = self.device.download(&from.memory, offset, bytes) {
            elements::from_words(&words, to);
        }
    }

    fn duplicate(&self, buffer: &Buffer) -> Result<Buffer, OutOfMemory> {
        let bytes = buffer.memory.bytes();
        let other = self.allocate(bytes)?;
        self.device.copy(&buffer.memory, &other.memory, &[Piece { from: 0, to: 0, bytes }]);
        Ok(other)
    }

    fn queue(&self) -> Result<Queue, OutOfMemory> {
        Queue::new(self.device.clone())
    }

    fn rearrange(
        &self,
        queue: &mut Queue,
        buffer: &mut Buffer,
        bytes: usize,
        pieces: &[Piece],
    ) -> Result<(), OutOfMemory> {
        queue.flush();
        let arranged = self.allocate(bytes)?;
        self.device.copy(&buffer.memory, &arranged.memory, pieces);
        *buffer = arranged;
        Ok(())
    }

    fn launch(
        &self,
        queue: &mut Queue,
        kernel: &Kernel,
        launch: Launch<'_>,
        memories: &mut Memories<'_, Buffer>,
    ) {
        queue.launch(kernel, launch, memories);
    }

    fn read(
        &self,
        queue: &mut Queue,
        at: Location,
        dtype: DType,
        count: usize,
        memories: &mut Memories<'_, Buffer>,
    ) -> Token {
        queue.read(&memories.get(at.memory).memory, at.offset, count * self.element_bytes(dtype))
    }

    fn write(
        &self,
        queue: &mut Queue,
        from: HostSlice<'_>,
        to: Location,
        memories: &mut Memories<'_, Buffer>,
    ) {
        queue.flush();
        let buffer = memories.get_mut(to.memory).expect("memory is written that others read");
        self.device.upload(&elements::to_words(from), &buffer.memory, to.offset);
    }

    fn wait(&self, queue: &mut Queue, token: Token, to: HostSliceMut<'_>) -> Result<(), Fault> {
        queue.wait(token, to)
    }

    fn finish(&self, queue: &mut Queue) -> Result<(), Fault> {
        queue.finish()
    }
}
