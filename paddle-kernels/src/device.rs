//! A device that is chosen when a program runs: the CPU or a card.

use std::time::Duration;

use paddle_core::memory::OutOfMemory;
use paddle_core::ops::Op;
use paddle_core::plan::{
    Backend, Fault, Group, HostSlice, HostSliceMut, Launch, Layout, Location, Memories, Memory, Piece,
    Precision, Reach, Takes, Token, Unsupported,
};
use paddle_core::program::DType;

#[cfg(feature = "cuda")]
use crate::gpu::cuda::{self, Cuda};
#[cfg(feature = "wgpu")]
use crate::gpu::wgpu::{self, Wgpu};
use crate::{Cpu, cpu, memory, queue};

/// The CPU or a card.
#[derive(Clone, Debug)]
pub enum Device {
    /// The CPU.
    Cpu(Cpu),
    /// A card, by its driver for Vulkan, Metal or DirectX 12.
    #[cfg(feature = "wgpu")]
    Wgpu(Wgpu),
    /// A card of NVIDIA's.
    #[cfg(feature = "cuda")]
    Cuda(Cuda),
}

impl From<Cpu> for Device {
    fn from(cpu: Cpu) -> Self {
        Device::Cpu(cpu)
    }
}

macro_rules! of_devices {
    ($($(#[doc = $doc:literal])* $name:ident($cpu:ty, $wgpu:ty, $cuda:ty);)*) => {$(
        $(#[doc = $doc])*
        pub enum $name {
            /// Of the CPU.
            Cpu($cpu),
            /// Of a card, by its driver for Vulkan, Metal or DirectX 12.
            #[cfg(feature = "wgpu")]
            Wgpu($wgpu),
            /// Of a card of NVIDIA's.
            #[cfg(feature = "cuda")]
            Cuda($cuda),
        }
    )*};
}
of_devices! {
    /// Memory of a device.
    Buffer(memory::Buffer, wgpu::Buffer, cuda::Buffer);
    /// A compiled group.
    Kernel(cpu::Kernel, wgpu::Kernel, cuda::Kernel);
    /// Launches and copies of an executor.
    Queue(queue::Queue<u8>, Box<wgpu::Queue>, Box<cuda::Queue>);
}

/// What belongs to one device is used with another one: a mistake of the runtime.
#[cold]
fn mixed() -> ! {
    panic!("buffers, kernels and queues belong to the device that made them")
}

/// The buffers of a run, all of which are of one kind of device.
struct Within<'a, 'b>(&'a mut Memories<'b, Buffer>);

macro_rules! reaches {
    ($($(#[$feature:meta])? $kind:ident($buffer:ty)),* $(,)?) => {$(
        $(#[$feature])?
        impl Reach<$buffer> for Within<'_, '_> {
            fn get(&self, memory: Memory) -> &$buffer {
                match self.0.get(memory) {
                    Buffer::$kind(buffer) => buffer,
                    _ => mixed(),
                }
            }

            fn get_mut(&mut self, memory: Memory) -> Option<&mut $buffer> {
                match self.0.get_mut(memory)? {
                    Buffer::$kind(buffer) => Some(buffer),
                    _ => mixed(),
                }
            }

            fn is_writable(&self, memory: Memory) -> bool {
                self.0.is_writable(memory)
            }
        }
    )*};
}
reaches!(
    Cpu(memory::Buffer),
    #[cfg(feature = "wgpu")]
    Wgpu(wgpu::Buffer),
    #[cfg(feature = "cuda")]
    Cuda(cuda::Buffer),
);

/// Calls a method of the device, whatever it is; what belongs to it is taken out of its wrapper.
macro_rules! on {
    ($self:ident($($of:ident: $type:ident),*) |$device:ident| $value:expr) => {
        match ($self, $($of),*) {
            (Device::Cpu($device), $($type::Cpu($of)),*) => $value,
            #[cfg(feature = "wgpu")]
            (Device::Wgpu($device), $($type::Wgpu($of)),*) => $value,
            #[cfg(feature = "cuda")]
            (Device::Cuda($device), $($type::Cuda($of)),*) => $value,
            #[allow(unreachable_patterns, reason = "nothing else belongs to the device")]
            _ => mixed(),
        }
    };
}

/// Wraps what a device makes.
macro_rules! made {
    ($self:ident $type:ident |$device:ident| $value:expr) => {
        match $self {
            Device::Cpu($device) => $value.map($type::Cpu),
            #[cfg(feature = "wgpu")]
            Device::Wgpu($device) => $value.map($type::Wgpu),
            #[cfg(feature = "cuda")]
            Device::Cuda($device) => $value.map($type::Cuda),
        }
    };
}

impl Backend for Device {
    type Buffer = Buffer;
    type Kernel = Kernel;
    type Queue = Queue;
    type Fallback = Cpu;

    fn name(&self) -> &'static str {
        on!(self() | device | device.name())
    }

    fn fallback(&self) -> Option<&Cpu> {
        on!(self() | device | device.fallback())
    }

    fn element_bytes(&self, dtype: DType) -> usize {
        on!(self() | device | device.element_bytes(dtype))
    }

    fn supports(&self, op: &Op, types: &[DType]) -> bool {
        on!(self() | device | device.supports(op, types))
    }

    fn fuses(&self, body: &Op) -> bool {
        on!(self() | device | device.fuses(body))
    }

    fn gathers(&self, update: &Op) -> bool {
        on!(self() | device | device.gathers(update))
    }

    fn computes_in(&self, precision: Precision) -> bool {
        on!(self() | device | device.computes_in(precision))
    }

    fn prefers(&self, op: &Op) -> Option<Layout> {
        on!(self() | device | device.prefers(op))
    }

    fn takes(&self, op: &Op, operand: usize, layout: &Layout) -> Takes {
        on!(self() | device | device.takes(op, operand, layout))
    }

    fn compile(&self, group: &Group) -> Result<Kernel, Unsupported> {
        made!(self Kernel |device| device.compile(group))
    }

    fn allocate(&self, bytes: usize) -> Result<Buffer, OutOfMemory> {
        made!(self Buffer |device| device.allocate(bytes))
    }

    fn upload(&self, from: HostSlice<'_>, buffer: &mut Buffer, offset: usize) {
        on!(self(buffer: Buffer) | device | device.upload(from, buffer, offset));
    }

    fn download(&self, buffer: &Buffer, offset: usize, to: HostSliceMut<'_>) {
        on!(self(buffer: Buffer) | device | device.download(buffer, offset, to));
    }

    fn duplicate(&self, buffer: &Buffer) -> Result<Buffer, OutOfMemory> {
        match (self, buffer) {
            (Device::Cpu(device), Buffer::Cpu(buffer)) => device.duplicate(buffer).map(Buffer::Cpu),
            #[cfg(feature = "wgpu")]
            (Device::Wgpu(device), Buffer::Wgpu(buffer)) => device.duplicate(buffer).map(Buffer::Wgpu),
            #[cfg(feature = "cuda")]
            (Device::Cuda(device), Buffer::Cuda(buffer)) => device.duplicate(buffer).map(Buffer::Cuda),
            _ => mixed(),
        }
    }

    fn queue(&self) -> Result<Queue, OutOfMemory> {
        match self {
            Device::Cpu(device) => device.queue().map(Queue::Cpu),
            #[cfg(feature = "wgpu")]
            Device::Wgpu(device) => device.queue().map(|queue| Queue::Wgpu(Box::new(queue))),
            #[cfg(feature = "cuda")]
            Device::Cuda(device) => device.queue().map(|queue| Queue::Cuda(Box::new(queue))),
        }
    }

    fn rearrange(
        &self,
        queue: &mut Queue,
        buffer: &mut Buffer,
        bytes: usize,
        pieces: &[Piece],
    ) -> Result<(), OutOfMemory> {
        on!(self(queue: Queue, buffer: Buffer) | device | device.rearrange(queue, buffer, bytes, pieces))
    }

    fn reserve(&self, kernel: &Kernel, sizes: &[usize]) -> Result<(), OutOfMemory> {
        on!(self(kernel: Kernel) | device | device.reserve(kernel, sizes))
    }

    fn launch(
        &self,
        queue: &mut Queue,
        kernel: &Kernel,
        launch: Launch<'_>,
        memories: &mut Memories<'_, Buffer>,
    ) {
        on!(self(queue: Queue, kernel: Kernel) | device | {
            device.launch(queue, kernel, launch, &mut Memories::Within(&mut Within(memories)));
        });
    }

    fn read(
        &self,
        queue: &mut Queue,
        at: Location,
        dtype: DType,
        count: usize,
        memories: &mut Memories<'_, Buffer>,
    ) -> Token {
        on!(self(queue: Queue) | device | {
            device.read(queue, at, dtype, count, &mut Memories::Within(&mut Within(memories)))
        })
    }

    fn write(
        &self,
        queue: &mut Queue,
        from: HostSlice<'_>,
        to: Location,
        memories: &mut Memories<'_, Buffer>,
    ) {
        on!(self(queue: Queue)
            | device
            | device.write(queue, from, to, &mut Memories::Within(&mut Within(memories))));
    }

    fn wait(&self, queue: &mut Queue, token: Token, to: HostSliceMut<'_>) -> Result<(), Fault> {
        on!(self(queue: Queue) | device | device.wait(queue, token, to))
    }

    fn finish(&self, queue: &mut Queue) -> Result<(), Fault> {
        on!(self(queue: Queue) | device | device.finish(queue))
    }

    fn measure(&self, queue: &mut Queue, on: bool) {
        on!(self(queue: Queue) | device | device.measure(queue, on));
    }

    fn worked(&self, queue: &mut Queue) -> Option<Duration> {
        on!(self(queue: Queue) | device | device.worked(queue))
    }
}
