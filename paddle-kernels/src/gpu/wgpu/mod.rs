//! The backend for every card of which the system has a driver for Vulkan, Metal or DirectX 12, by the crate `wgpu`.

mod device;
mod queue;

use std::sync::{Arc, Mutex};

use paddle_core::memory::OutOfMemory;
use paddle_core::ops::Op;
use paddle_core::plan::{
    Backend, Fault, Group, HostSlice, HostSliceMut, Launch, Location, Memories, Piece, Precision, Token,
    Unsupported,
};
use paddle_core::program::DType;

pub use self::device::cards;
use self::device::{BACKEND, Device, LAUNCH_BYTES, Pipeline};
pub use self::queue::Queue;
use super::card::{Card, CardError};
use super::elements;
use super::form::Word;
use super::kernel::{Abilities, Stage, unsupported};
use super::launch::WORD;
use super::tensor::words;
use crate::Cpu;

/// A card. Operators that it lacks run on the CPU.
#[derive(Clone)]
pub struct Wgpu {
    device: Arc<Device>,
    fallback: Cpu,
}

impl Wgpu {
    /// The card with this number among [`cards`]. Errors list the cards that there are.
    pub fn new(number: usize, fallback: Cpu) -> Result<Wgpu, CardError> {
        Ok(Wgpu { device: Arc::new(Device::new(number)?), fallback })
    }

    /// What the card is.
    pub fn card(&self) -> &Card {
        &self.device.card
    }
}

impl std::fmt::Debug for Wgpu {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Wgpu({})", self.device.card)
    }
}

/// Memory of a card.
pub struct Buffer {
    buffer: wgpu::Buffer,
    bytes: usize,
}

/// The pipelines of a stage, by the memories that its operands are in.
#[derive(Default)]
struct Pipelines(Mutex<Vec<(Vec<u32>, Arc<Pipeline>)>>);

/// A compiled group.
pub struct Kernel {
    kernel: super::Kernel,
    /// Of each stage.
    pipelines: Vec<Pipelines>,
}

impl Kernel {
    /// The stages, and the pipelines of each.
    fn stages(&self) -> impl Iterator<Item = (&Stage, &Pipelines)> {
        self.kernel.stages.iter().zip(&self.pipelines)
    }
}

impl Backend for Wgpu {
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
        super::supports(op, types)
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
        let kernel = super::compile(
            group,
            Abilities { products: false, convolutions: false, operands: self.device.most_memories },
        )?;
        for Stage { form, .. } in &kernel.stages {
            let words = Word::Size(form.sizes.len() as u32).place(form);
            if words * WORD > LAUNCH_BYTES || form.operands.len() > self.device.most_memories {
                return unsupported(format!("a group of {} operands", form.operands.len()));
            }
        }
        let pipelines = kernel.stages.iter().map(|_| Pipelines::default()).collect();
        Ok(Kernel { kernel, pipelines })
    }

    fn allocate(&self, bytes: usize) -> Result<Buffer, OutOfMemory> {
        let buffer = self.device.allocate(bytes)?;
        Ok(Buffer { buffer, bytes })
    }

    fn upload(&self, from: HostSlice<'_>, to: &mut Buffer, offset: usize) {
        if !from.is_empty() {
            self.device.queue.write_buffer(&to.buffer, offset as u64, &elements::to_words(from));
        }
    }

    fn download(&self, from: &Buffer, offset: usize, to: HostSliceMut<'_>) {
        let bytes = to.len() * self.element_bytes(to.dtype());
        if bytes > 0 {
            // A card that is gone is an error of the next run.
            let _ =
                self.device.download(&from.buffer, offset, bytes, |words| elements::from_words(words, to));
        }
    }

    fn duplicate(&self, buffer: &Buffer) -> Result<Buffer, OutOfMemory> {
        let other = self.allocate(buffer.bytes)?;
        let all = Piece { from: 0, to: 0, bytes: buffer.bytes };
        self.device.copy(&buffer.buffer, &other.buffer, &[all]);
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
        let arranged = self.allocate(bytes)?;
        queue.submit();
        self.device.copy(&buffer.buffer, &arranged.buffer, pieces);
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
        queue.read(&memories.get(at.memory).buffer, at.offset, count * self.element_bytes(dtype))
    }

    fn write(
        &self,
        queue: &mut Queue,
        from: HostSlice<'_>,
        to: Location,
        memories: &mut Memories<'_, Buffer>,
    ) {
        let buffer = memories.get_mut(to.memory).expect("memory is written that others read");
        if !from.is_empty() {
            // What is written here is in place before anything that is submitted later.
            queue.submit();
            self.device.queue.write_buffer(&buffer.buffer, to.offset as u64, &elements::to_words(from));
        }
    }

    fn wait(&self, queue: &mut Queue, token: Token, to: HostSliceMut<'_>) -> Result<(), Fault> {
        queue.wait(token, to)
    }

    fn finish(&self, queue: &mut Queue) -> Result<(), Fault> {
        queue.finish()
    }
}
