//! A card: its memory, and the pipelines that are compiled for it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use paddle_core::memory::OutOfMemory;
use paddle_core::plan::{KernelError, Piece};
use pollster::block_on;
use wgpu::{
    Adapter, Backends, BindGroupLayout, BindGroupLayoutEntry, BindingType, Buffer, BufferBindingType,
    BufferDescriptor, BufferUsages, CommandEncoderDescriptor, ComputePipeline, DeviceDescriptor, ErrorFilter,
    Instance, InstanceDescriptor, MapMode, PollType, ShaderStages,
};

use crate::gpu::card::{Card, CardError};

/// The room of a launch's words in their buffer: offsets of bindings are multiples of it on every card.
pub(super) const LAUNCH_BYTES: usize = 256;
/// The bindings in front of the memories: the words of the launch, and the fault.
pub(super) const FIRST_MEMORY: u32 = 2;

/// The name of the backend.
pub(super) const BACKEND: &str = "wgpu";

/// How long the host waits for a card. A single kernel takes less.
const PATIENCE: Duration = Duration::from_secs(120);

/// The cards of this machine, fast ones first.
pub fn cards() -> Vec<Card> {
    adapters().into_iter().map(|(card, _)| card).collect()
}

fn adapters() -> Vec<(Card, Adapter)> {
    static INSTANCE: OnceLock<Instance> = OnceLock::new();
    let instance = INSTANCE.get_or_init(|| {
        let mut descriptor = InstanceDescriptor::new_without_display_handle();
        descriptor.backends = Backends::VULKAN | Backends::METAL | Backends::DX12;
        Instance::new(descriptor)
    });
    let mut adapters = block_on(instance.enumerate_adapters(Backends::all()));
    let kind = |adapter: &Adapter| match adapter.get_info().device_type {
        wgpu::DeviceType::DiscreteGpu => (0, "a card of its own"),
        wgpu::DeviceType::IntegratedGpu => (1, "part of the processor"),
        wgpu::DeviceType::VirtualGpu => (2, "virtual"),
        wgpu::DeviceType::Cpu => (3, "a program on the processor"),
        wgpu::DeviceType::Other => (4, "of another kind"),
    };
    adapters.sort_by_key(|adapter| kind(adapter).0);
    let describe = |(number, adapter): (usize, Adapter)| {
        let info = adapter.get_info();
        let is_real = info.device_type != wgpu::DeviceType::Cpu;
        let details = format!("{}, {}", kind(&adapter).1, info.backend);
        (Card { backend: BACKEND, number, name: info.name, details, is_real }, adapter)
    };
    adapters.into_iter().enumerate().map(describe).collect()
}

/// A compiled kernel.
pub(super) struct Pipeline {
    pub(super) pipeline: ComputePipeline,
    pub(super) layout: BindGroupLayout,
}

pub(super) struct Device {
    pub(super) card: Card,
    pub(super) device: wgpu::Device,
    pub(super) queue: wgpu::Queue,
    /// The most bytes of a buffer.
    largest: u64,
    /// The most memories that a kernel binds.
    pub(super) most_memories: usize,
    pipelines: Mutex<HashMap<String, Arc<Pipeline>>>,
    /// Why the card is gone.
    lost: Arc<Mutex<Option<String>>>,
}

impl Device {
    pub(super) fn new(number: usize) -> Result<Device, CardError> {
        let mut adapters = adapters();
        let found = || adapters.iter().map(|(card, _)| card.clone()).collect();
        if number >= adapters.len() {
            let reason = "no driver for Vulkan, Metal or DirectX 12 shows any card".into();
            return Err(CardError::Missing { backend: BACKEND, number, found: found(), reason });
        }
        let (card, adapter) = adapters.swap_remove(number);
        let limits = adapter.limits();
        let largest = limits.max_buffer_size.min(limits.max_storage_buffer_binding_size);
        let most_memories = (limits.max_storage_buffers_per_shader_stage - FIRST_MEMORY) as usize;
        let descriptor = DeviceDescriptor { required_limits: limits, ..DeviceDescriptor::default() };
        let (device, queue) = block_on(adapter.request_device(&descriptor)).map_err(|error| {
            CardError::Refused { card: Box::new(card.clone()), message: error.to_string() }
        })?;
        let lost = Arc::new(Mutex::new(None));
        let why = lost.clone();
        device.set_device_lost_callback(move |_, message| {
            *why.lock().unwrap_or_else(PoisonError::into_inner) =
                Some(format!("the card is gone: {message}"));
        });
        Ok(Device { card, device, queue, largest, most_memories, pipelines: Mutex::default(), lost })
    }

    /// A buffer that kernels use.
    pub(super) fn allocate(&self, bytes: usize) -> Result<Buffer, OutOfMemory> {
        // A binding is never empty.
        self.buffer(bytes.max(4), BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST)
    }

    pub(super) fn buffer(&self, bytes: usize, usage: BufferUsages) -> Result<Buffer, OutOfMemory> {
        let refused = || OutOfMemory::of(bytes);
        if bytes as u64 > self.largest {
            return Err(refused());
        }
        let size = (bytes as u64).next_multiple_of(4);
        let scope = self.device.push_error_scope(ErrorFilter::OutOfMemory);
        let buffer = self.device.create_buffer(&BufferDescriptor {
            label: None,
            size,
            usage,
            mapped_at_creation: false,
        });
        match block_on(scope.pop()) {
            None => Ok(buffer),
            Some(_) => Err(refused()),
        }
    }

    /// Copies pieces of a buffer to another one.
    pub(super) fn copy(&self, from: &Buffer, to: &Buffer, pieces: &[Piece]) {
        let mut encoder = self.device.create_command_encoder(&CommandEncoderDescriptor::default());
        for piece in pieces.iter().filter(|piece| piece.bytes > 0) {
            encoder.copy_buffer_to_buffer(from, piece.from as u64, to, piece.to as u64, piece.bytes as u64);
        }
        self.queue.submit([encoder.finish()]);
    }

    /// Gives the bytes of a buffer to the host.
    pub(super) fn download(
        &self,
        from: &Buffer,
        offset: usize,
        bytes: usize,
        take: impl FnOnce(&[u8]),
    ) -> Result<(), KernelError> {
        let usage = BufferUsages::MAP_READ | BufferUsages::COPY_DST;
        let staging = self.buffer(bytes, usage)?;
        self.copy(from, &staging, &[Piece { from: offset, to: 0, bytes }]);
        self.take(&staging, take)
    }

    /// Waits for a buffer that the host reads. A card that does not answer for [`PATIENCE`] has failed.
    pub(super) fn take(&self, staging: &Buffer, take: impl FnOnce(&[u8])) -> Result<(), KernelError> {
        let slice = staging.slice(..);
        slice.map_async(MapMode::Read, |_| {});
        let waits = PollType::Wait { submission_index: None, timeout: Some(PATIENCE) };
        let polled = self.device.poll(waits).map_err(|error| error.to_string());
        let mapped = polled.and_then(|_| slice.get_mapped_range().map_err(|error| error.to_string()));
        let mapped = mapped.map_err(|message| self.failure(message))?;
        take(&mapped);
        drop(mapped);
        staging.unmap();
        Ok(())
    }

    /// The error of a device that does not answer; why it is gone, if it is.
    fn failure(&self, message: String) -> KernelError {
        let lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner).clone();
        KernelError::Device { message: lost.unwrap_or(message) }
    }

    /// The pipeline of a text that binds this many memories. Errors if the driver refuses it.
    pub(super) fn pipeline(&self, text: String, memories: u32) -> Result<Arc<Pipeline>, KernelError> {
        let pipelines = || self.pipelines.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pipeline) = pipelines().get(&text) {
            return Ok(pipeline.clone());
        }
        let scope = self.device.push_error_scope(ErrorFilter::Validation);
        let pipeline = Arc::new(self.build(&text, memories));
        if let Some(error) = block_on(scope.pop()) {
            return Err(KernelError::Device { message: format!("a kernel is refused: {error}\n{text}") });
        }
        pipelines().insert(text, pipeline.clone());
        Ok(pipeline)
    }

    fn build(&self, text: &str, memories: u32) -> Pipeline {
        let entry = |binding: u32| BindGroupLayoutEntry {
            binding,
            visibility: ShaderStages::COMPUTE,
            ty: BindingType::Buffer {
                ty: BufferBindingType::Storage { read_only: binding == 0 },
                has_dynamic_offset: binding == 0,
                min_binding_size: None,
            },
            count: None,
        };
        let entries: Vec<_> = (0..FIRST_MEMORY + memories).map(entry).collect();
        let descriptor = wgpu::BindGroupLayoutDescriptor { label: None, entries: &entries };
        let layout = self.device.create_bind_group_layout(&descriptor);
        let module = self.device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: None,
            source: wgpu::ShaderSource::Wgsl(text.into()),
        });
        let of_pipeline = self.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: None,
            bind_group_layouts: &[Some(&layout)],
            ..Default::default()
        });
        let pipeline = self.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: None,
            layout: Some(&of_pipeline),
            module: &module,
            entry_point: None,
            compilation_options: wgpu::PipelineCompilationOptions {
                zero_initialize_workgroup_memory: false,
                ..Default::default()
            },
            cache: None,
        });
        Pipeline { pipeline, layout }
    }
}
