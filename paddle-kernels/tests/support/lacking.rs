//! A device for tests that lacks operators, and computes in `f32` alone. The CPU runs the operators, and their values are copied back and forth.

use std::time::Duration;

use paddle_core::memory::OutOfMemory;
use paddle_core::ops::Op;
use paddle_core::plan::{
    Backend, Fault, Group, HostSlice, HostSliceMut, Launch, Layout, Location, Memories, Piece, Takes, Token,
    Unsupported,
};
use paddle_core::program::DType;
use paddle_kernels::Cpu;

/// A device without every other operator, in the order of their names.
#[derive(Clone, Debug)]
pub(crate) struct Lacking<B> {
    pub(crate) device: B,
    pub(crate) fallback: Cpu,
}

impl<B: Backend> Backend for Lacking<B> {
    type Buffer = B::Buffer;
    type Kernel = B::Kernel;
    type Queue = B::Queue;
    type Fallback = Cpu;

    fn name(&self) -> &'static str {
        "lacking"
    }

    fn fallback(&self) -> Option<&Cpu> {
        Some(&self.fallback)
    }

    fn element_bytes(&self, dtype: DType) -> usize {
        self.device.element_bytes(dtype)
    }

    fn supports(&self, op: &Op, types: &[DType]) -> bool {
        let sum: u32 = op.name().bytes().map(u32::from).sum();
        sum.is_multiple_of(2) && self.device.supports(op, types)
    }

    fn fuses(&self, body: &Op) -> bool {
        self.device.fuses(body)
    }

    fn gathers(&self, update: &Op) -> bool {
        self.device.gathers(update)
    }

    fn prefers(&self, op: &Op) -> Option<Layout> {
        self.device.prefers(op)
    }

    fn takes(&self, op: &Op, operand: usize, layout: &Layout) -> Takes {
        self.device.takes(op, operand, layout)
    }

    fn compile(&self, group: &Group) -> Result<B::Kernel, Unsupported> {
        for op in group.operators() {
            assert!(self.supports(&op.op, &[]), "`{}` is compiled where it is not supported", op.op.name());
        }
        self.device.compile(group)
    }

    fn allocate(&self, bytes: usize) -> Result<B::Buffer, OutOfMemory> {
        self.device.allocate(bytes)
    }

    fn poison(&self, buffer: &mut B::Buffer) {
        self.device.poison(buffer);
    }

    fn upload(&self, from: HostSlice<'_>, to: &mut B::Buffer, offset: usize) {
        self.device.upload(from, to, offset);
    }

    fn download(&self, from: &B::Buffer, offset: usize, to: HostSliceMut<'_>) {
        self.device.download(from, offset, to);
    }

    fn duplicate(&self, buffer: &B::Buffer) -> Result<B::Buffer, OutOfMemory> {
        self.device.duplicate(buffer)
    }

    fn queue(&self) -> Result<B::Queue, OutOfMemory> {
        self.device.queue()
    }

    fn rearrange(
        &self,
        queue: &mut B::Queue,
        buffer: &mut B::Buffer,
        bytes: usize,
        pieces: &[Piece],
    ) -> Result<(), OutOfMemory> {
        self.device.rearrange(queue, buffer, bytes, pieces)
    }

    fn reserve(&self, kernel: &B::Kernel, sizes: &[usize]) -> Result<(), OutOfMemory> {
        self.device.reserve(kernel, sizes)
    }

    fn launch(
        &self,
        queue: &mut B::Queue,
        kernel: &B::Kernel,
        launch: Launch<'_>,
        memories: &mut Memories<'_, B::Buffer>,
    ) {
        self.device.launch(queue, kernel, launch, memories);
    }

    fn read(
        &self,
        queue: &mut B::Queue,
        at: Location,
        dtype: DType,
        count: usize,
        memories: &mut Memories<'_, B::Buffer>,
    ) -> Token {
        self.device.read(queue, at, dtype, count, memories)
    }

    fn write(
        &self,
        queue: &mut B::Queue,
        from: HostSlice<'_>,
        to: Location,
        memories: &mut Memories<'_, B::Buffer>,
    ) {
        self.device.write(queue, from, to, memories);
    }

    fn wait(&self, queue: &mut B::Queue, token: Token, to: HostSliceMut<'_>) -> Result<(), Fault> {
        self.device.wait(queue, token, to)
    }

    fn finish(&self, queue: &mut B::Queue) -> Result<(), Fault> {
        self.device.finish(queue)
    }

    fn measure(&self, queue: &mut B::Queue, on: bool) {
        self.device.measure(queue, on);
    }

    fn worked(&self, queue: &mut B::Queue) -> Option<Duration> {
        self.device.worked(queue)
    }
}
