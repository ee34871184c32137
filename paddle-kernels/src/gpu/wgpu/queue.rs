//! Launches and copies, which a card does in order.

use std::sync::{Arc, PoisonError};

use paddle_core::memory::OutOfMemory;
use paddle_core::plan::{Fault, HostSliceMut, KernelError, Launch, Memories, Token};
use wgpu::{
    BindGroupDescriptor, BindGroupEntry, BindingResource, Buffer, BufferBinding, BufferUsages,
    CommandEncoder, CommandEncoderDescriptor, ComputePass, ComputePassDescriptor,
};

use super::Kernel;
use super::device::{Device, FIRST_MEMORY, LAUNCH_BYTES};
use crate::gpu::elements;
use crate::gpu::form::{Form, wgsl};
use crate::gpu::launch::{FAULT_BYTES, NO_FAULT, Place, Suspects, WORD, put_words};

/// The most launches that are submitted together.
const MOST_LAUNCHES: usize = 256;
/// Launches and copies of one executor.
pub struct Queue {
    device: Arc<Device>,
    encoder: Option<CommandEncoder>,
    pass: Option<ComputePass<'static>>,
    /// The words of the launches that are not submitted.
    words: Vec<u32>,
    buffer: Buffer,
    fault: Buffer,
    scratch: Vec<Buffer>,
    /// What the host has asked for: elements, and behind them the fault.
    reads: Vec<Option<Buffer>>,
    suspects: Suspects<Buffer>,
    /// A fault that the host has found.
    failed: Option<Fault>,
}

impl Queue {
    pub(super) fn new(device: Arc<Device>) -> Result<Queue, OutOfMemory> {
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_DST | BufferUsages::COPY_SRC;
        let fault = device.buffer(FAULT_BYTES, usage)?;
        let buffer = device.buffer(MOST_LAUNCHES * LAUNCH_BYTES, usage)?;
        let queue = Queue {
            encoder: None,
            pass: None,
            words: Vec::new(),
            buffer,
            fault,
            scratch: Vec::new(),
            reads: Vec::new(),
            suspects: Suspects::new(),
            failed: None,
            device,
        };
        queue.forget_fault();
        Ok(queue)
    }

    fn forget_fault(&self) {
        self.device.queue.write_buffer(&self.fault, 0, bytemuck::cast_slice(&NO_FAULT));
    }

    fn encoder(&mut self) -> &mut CommandEncoder {
        self.pass = None;
        let device = &self.device.device;
        self.encoder
            .get_or_insert_with(|| device.create_command_encoder(&CommandEncoderDescriptor::default()))
    }

    /// Gives the card the work that was put into the queue.
    pub(super) fn submit(&mut self) {
        self.pass = None;
        if let Some(encoder) = self.encoder.take() {
            if !self.words.is_empty() {
                self.device.queue.write_buffer(&self.buffer, 0, bytemuck::cast_slice(&self.words));
            }
            self.device.queue.submit([encoder.finish()]);
        }
        self.words.clear();
    }

    pub(super) fn launch(
        &mut self,
        kernel: &Kernel,
        launch: Launch<'_>,
        memories: &mut Memories<'_, super::Buffer>,
    ) {
        if self.failed.is_some() {
            return;
        }
        if let Err(error) = self.grow_scratch(kernel, launch) {
            self.failed = Some(Fault { launch: launch.number, error: error.into() });
            return;
        }
        for (stage, pipelines) in kernel.stages() {
            let groups = stage.groups(launch.sizes);
            if groups == 0 {
                continue;
            }
            // The memories of the operands, each once.
            let mut bound: Vec<&Buffer> = Vec::new();
            let mut named: Vec<Place> = Vec::new();
            let mut places = Vec::with_capacity(stage.form.operands.len());
            for &operand in &stage.form.operands {
                let place = Place::of(operand, launch);
                let at = named.iter().position(|other| *other == place).unwrap_or_else(|| {
                    named.push(place);
                    bound.push(match place {
                        Place::Memory(memory) => &memories.get(memory).buffer,
                        Place::Scratch(number) => &self.scratch[number],
                    });
                    named.len() - 1
                });
                places.push(at as u32);
            }
            let mut pipelines = pipelines.0.lock().unwrap_or_else(PoisonError::into_inner);
            let known = pipelines.iter().find(|(of, _)| *of == places).map(|(_, pipeline)| pipeline.clone());
            let pipeline = match known {
                Some(pipeline) => pipeline,
                None => {
                    let text = wgsl::print(&stage.form, &places);
                    match self.device.pipeline(text, bound.len() as u32) {
                        Ok(pipeline) => {
                            pipelines.push((places, pipeline.clone()));
                            pipeline
                        }
                        Err(error) => {
                            self.failed = Some(Fault { launch: launch.number, error });
                            return;
                        }
                    }
                }
            };
            drop(pipelines);
            let words = BufferBinding {
                buffer: &self.buffer,
                offset: 0,
                size: std::num::NonZeroU64::new(LAUNCH_BYTES as u64),
            };
            let mut entries = vec![
                BindGroupEntry { binding: 0, resource: BindingResource::Buffer(words) },
                BindGroupEntry { binding: 1, resource: self.fault.as_entire_binding() },
            ];
            for (binding, buffer) in (FIRST_MEMORY..).zip(&bound) {
                entries.push(BindGroupEntry { binding, resource: buffer.as_entire_binding() });
            }
            let group = self.device.device.create_bind_group(&BindGroupDescriptor {
                label: None,
                layout: &pipeline.layout,
                entries: &entries,
            });
            let offset = self.words.len() * WORD;
            self.put_words(&stage.form, launch);
            let mut pass = match self.pass.take() {
                Some(pass) => pass,
                None => {
                    self.encoder().begin_compute_pass(&ComputePassDescriptor::default()).forget_lifetime()
                }
            };
            pass.set_pipeline(&pipeline.pipeline);
            pass.set_bind_group(0, &group, &[offset as u32]);
            pass.dispatch_workgroups(groups as u32, 1, 1);
            self.pass = Some(pass);
            if self.words.len() * WORD >= MOST_LAUNCHES * LAUNCH_BYTES {
                self.submit();
            }
        }
        self.suspects.add(&kernel.kernel, launch, |memory| memories.get(memory).buffer.clone());
    }

    /// Appends the words of a launch, and makes them as many as there is room for.
    fn put_words(&mut self, form: &Form, launch: Launch<'_>) {
        let first = self.words.len();
        self.words.resize(first + LAUNCH_BYTES / WORD, 0);
        put_words(&mut self.words[first..], form, launch);
    }

    /// Makes room for what the kernel needs beside its operands.
    fn grow_scratch(&mut self, kernel: &Kernel, launch: Launch<'_>) -> Result<(), OutOfMemory> {
        for (number, scratch) in kernel.kernel.scratch.iter().enumerate() {
            let bytes = scratch.bytes(launch.sizes);
            if self.scratch.get(number).is_none_or(|buffer| buffer.size() < bytes as u64) {
                let buffer = self.device.allocate(bytes)?;
                match self.scratch.get_mut(number) {
                    Some(smaller) => *smaller = buffer,
                    None => self.scratch.push(buffer),
                }
            }
        }
        Ok(())
    }

    pub(super) fn read(&mut self, from: &Buffer, offset: usize, bytes: usize) -> Token {
        let usage = BufferUsages::MAP_READ | BufferUsages::COPY_DST;
        let staging = match self.failed {
            Some(_) => None,
            None => match self.device.buffer(bytes + FAULT_BYTES, usage) {
                Ok(staging) => Some(staging),
                Err(error) => {
                    let error = error.wanted_for("elements that the host reads").into();
                    self.failed = Some(Fault { launch: 0, error });
                    None
                }
            },
        };
        if let Some(staging) = &staging {
            let fault = self.fault.clone();
            let encoder = self.encoder();
            if bytes > 0 {
                encoder.copy_buffer_to_buffer(from, offset as u64, staging, 0, bytes as u64);
            }
            encoder.copy_buffer_to_buffer(&fault, 0, staging, bytes as u64, FAULT_BYTES as u64);
        }
        self.submit();
        self.reads.push(staging);
        Token(self.reads.len() - 1)
    }

    pub(super) fn wait(&mut self, token: Token, to: HostSliceMut<'_>) -> Result<(), Fault> {
        let staging = self.reads[token.0].take();
        if self.reads.iter().all(Option::is_none) {
            self.reads.clear();
        }
        if let (Some(staging), None) = (staging, &self.failed) {
            let mut fault = Vec::new();
            let taken = self.device.take(&staging, |bytes| {
                let (elements, behind) = bytes.split_at(bytes.len() - FAULT_BYTES);
                fault = bytemuck::pod_collect_to_vec(behind);
                elements::from_words(elements, to);
            });
            self.look(taken.map(|()| fault));
        }
        self.failed.clone().map_or(Ok(()), Err)
    }

    pub(super) fn finish(&mut self) -> Result<(), Fault> {
        self.reads.clear();
        self.submit();
        if self.failed.is_none() {
            let mut fault = Vec::new();
            let taken = self.device.download(&self.fault, 0, FAULT_BYTES, |bytes| {
                fault = bytemuck::pod_collect_to_vec(bytes);
            });
            self.look(taken.map(|()| fault));
        }
        self.suspects.clear();
        match self.failed.take() {
            None => Ok(()),
            Some(fault) => {
                self.forget_fault();
                Err(fault)
            }
        }
    }

    /// Finds the error behind the words of a fault, if there is one.
    fn look(&mut self, fault: Result<Vec<u32>, KernelError>) {
        let read = |buffer: &Buffer, at: usize| {
            let mut found = [0i64];
            // A card that is gone has other errors.
            let _ = self.device.download(buffer, at, size_of::<i64>(), |bytes| {
                elements::from_words(bytes, HostSliceMut::I64(&mut found));
            });
            found[0]
        };
        self.failed = match fault {
            Ok(words) => self.suspects.find(&words, read),
            Err(error) => Some(Fault { launch: 0, error }),
        };
    }
}
