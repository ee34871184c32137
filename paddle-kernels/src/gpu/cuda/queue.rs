//! Launches and copies, which a card does in order.

#![allow(unsafe_code, reason = "launches kernels")]

use std::ffi::c_void;
use std::sync::{Arc, OnceLock};

use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::{CudaEvent, PinnedHostSlice, result};
use paddle_core::memory::OutOfMemory;
use paddle_core::plan::{Fault, HostSliceMut, KernelError, Launch, Memories, Memory, Token};

use super::Kernel;
use super::compiler::Function;
use super::copies::{Copies, Copy};
use super::device::{Device, Memory as DeviceMemory, failure, pinned};
use crate::gpu::elements;
use crate::gpu::form::{LANES, cuda};
use crate::gpu::kernel::{Stage, product};
use crate::gpu::launch::{FAULT_BYTES, NO_FAULT, Place, Suspects, offset, put_words};

/// What the host has asked for: elements, and behind them the fault.
struct Read {
    staging: PinnedHostSlice<u8>,
    bytes: usize,
    event: CudaEvent,
}

/// Launches and copies of one executor.
pub struct Queue {
    device: Arc<Device>,
    fault: Arc<DeviceMemory>,
    scratch: Vec<Arc<DeviceMemory>>,
    reads: Vec<Option<Read>>,
    /// Memory of the host that was read into, for the next time.
    idle: Vec<PinnedHostSlice<u8>>,
    suspects: Suspects<Arc<DeviceMemory>>,
    copies: Copies,
    /// A fault that the host has found.
    failed: Option<Fault>,
    /// Those of the function that is launched.
    parameters: Vec<CUdeviceptr>,
}

impl Queue {
    pub(super) fn new(device: Arc<Device>) -> Result<Queue, OutOfMemory> {
        let queue = Queue {
            fault: device.allocate(FAULT_BYTES)?,
            scratch: Vec::new(),
            reads: Vec::new(),
            idle: Vec::new(),
            suspects: Suspects::new(),
            copies: Copies::default(),
            failed: None,
            parameters: Vec::new(),
            device,
        };
        queue.forget_fault();
        Ok(queue)
    }

    fn forget_fault(&self) {
        self.device.upload(bytemuck::cast_slice(&NO_FAULT), &self.fault, 0);
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
        if let Err(error) = self.put(kernel, launch, memories) {
            self.failed = Some(Fault { launch: launch.number, error });
            return;
        }
        self.suspects.add(&kernel.kernel, launch, |memory| memories.get(memory).memory.clone());
    }

    /// Launches the copies that wait.
    pub(super) fn flush(&mut self) {
        if self.failed.is_none()
            && let Err(error) = self.copies.flush(&self.device)
        {
            self.failed = Some(Fault { launch: 0, error });
        }
    }

    fn put(
        &mut self,
        kernel: &Kernel,
        launch: Launch<'_>,
        memories: &Memories<'_, super::Buffer>,
    ) -> Result<(), KernelError> {
        self.device.context.bind_to_thread().map_err(failure)?;
        let outlives =
            launch.locations.iter().any(|at| matches!(at.memory, Memory::Parameter(_) | Memory::State(_)));
        if let Some(value) = &kernel.copies
            && !outlives
        {
            let [from, to] = [0, 1].map(|operand| {
                let location = launch.locations[operand];
                memories.get(location.memory).memory.at(location.offset)
            });
            let count = value.shapes.iter().map(|shape| product(shape, launch.sizes)).min().unwrap_or(0);
            return self.copies.add(&self.device, Copy { from, to, bytes: count * value.element_bytes });
        }
        self.copies.flush(&self.device)?;
        self.grow_scratch(kernel, launch)?;
        for (stage, function) in kernel.stages() {
            let groups = stage.groups(launch.sizes);
            if groups == 0 {
                continue;
            }
            let address = |operand: usize| match Place::of(operand, launch) {
                Place::Memory(memory) => memories.get(memory).memory.at(offset(operand, launch)),
                Place::Scratch(number) => self.scratch[number].at(0),
            };
            if let Some(call) = &stage.library
                && self.device.libraries.put(&self.device, call, launch.sizes, &address)?
            {
                continue;
            }
            // Addresses, and behind them words, two in each number.
            let addresses = 1 + stage.form.operands.len();
            self.parameters.clear();
            // Behind a launch that failed nothing may change what outlives the run. Whatever else is computed, nobody gets to see.
            let looks = outlives || stage.form.fails;
            self.parameters.push(if looks { self.fault.at(0) } else { 0 });
            self.parameters.extend(stage.form.operands.iter().map(|&operand| address(operand)));
            self.parameters.resize(addresses + cuda::words(&stage.form).div_ceil(2), 0);
            let words = bytemuck::cast_slice_mut(&mut self.parameters[addresses..]);
            put_words(words, &stage.form, launch);
            let function = self.function(stage, function)?;
            let mut parameters = [self.parameters.as_mut_ptr().cast::<c_void>()];
            // SAFETY: the parameter is that of the function's text: addresses of memories that live as long as the work of the
            // stream, since they are freed in the stream, and words. Kernels stay within their operands.
            unsafe {
                result::launch_kernel(
                    function.cu_function(),
                    (groups as u32, 1, 1),
                    (LANES, 1, 1),
                    0,
                    self.device.stream.cu_stream(),
                    &mut parameters,
                )
            }
            .map_err(failure)?;
        }
        Ok(())
    }

    /// The function of a stage, which is compiled when it is first launched.
    fn function<'a>(
        &self,
        stage: &Stage,
        function: &'a OnceLock<Function>,
    ) -> Result<&'a Function, KernelError> {
        if let Some(function) = function.get() {
            return Ok(function);
        }
        let compiled = self.device.compiler.function(&self.device.context, cuda::print(&stage.form));
        let compiled = compiled.map_err(|message| KernelError::Device { message })?;
        Ok(function.get_or_init(|| compiled))
    }

    /// Makes room for what the kernel needs beside its operands.
    fn grow_scratch(&mut self, kernel: &Kernel, launch: Launch<'_>) -> Result<(), OutOfMemory> {
        for (number, scratch) in kernel.kernel.scratch.iter().enumerate() {
            let bytes = scratch.bytes(launch.sizes);
            if self.scratch.get(number).is_none_or(|memory| memory.bytes() < bytes) {
                let memory = self.device.allocate(bytes)?;
                match self.scratch.get_mut(number) {
                    Some(smaller) => *smaller = memory,
                    None => self.scratch.push(memory),
                }
            }
        }
        Ok(())
    }

    pub(super) fn read(&mut self, from: &DeviceMemory, offset: usize, bytes: usize) -> Token {
        self.flush();
        let read = match self.failed {
            Some(_) => None,
            None => match self.ask(from, offset, bytes) {
                Ok(read) => Some(read),
                Err(error) => {
                    self.failed = Some(Fault { launch: 0, error });
                    None
                }
            },
        };
        self.reads.push(read);
        Token(self.reads.len() - 1)
    }

    /// Copies bytes and the fault to memory of the host.
    fn ask(&mut self, from: &DeviceMemory, offset: usize, bytes: usize) -> Result<Read, KernelError> {
        assert!(offset + bytes <= from.bytes(), "bytes are read behind the end of a memory");
        let wanted = bytes + FAULT_BYTES;
        let mut staging = match self.idle.iter().position(|idle| idle.len() >= wanted) {
            Some(fits) => self.idle.swap_remove(fits),
            None => pinned(&self.device.context, wanted.next_power_of_two())?,
        };
        let to = staging.as_mut_slice().map_err(failure)?;
        let stream = self.device.stream.cu_stream();
        let (elements, behind) = to[..wanted].split_at_mut(bytes);
        // SAFETY: the places are inside of their memories. The host does not touch its own until the event has come.
        unsafe {
            if bytes > 0 {
                result::memcpy_dtoh_async(elements, from.at(offset), stream).map_err(failure)?;
            }
            result::memcpy_dtoh_async(behind, self.fault.at(0), stream).map_err(failure)?;
        }
        Ok(Read { staging, bytes, event: self.device.event()? })
    }

    pub(super) fn wait(&mut self, token: Token, to: HostSliceMut<'_>) -> Result<(), Fault> {
        let read = self.reads[token.0].take();
        if self.reads.iter().all(Option::is_none) {
            self.reads.clear();
        }
        if let (Some(read), None) = (read, &self.failed) {
            let taken = self.take(read, Some(to));
            self.look(taken);
        }
        self.failed.clone().map_or(Ok(()), Err)
    }

    /// Waits for what was asked for, and gives its elements; and the fault behind them.
    fn take(&mut self, read: Read, to: Option<HostSliceMut<'_>>) -> Result<Vec<u32>, KernelError> {
        self.device.wait(&read.event)?;
        let bytes = read.staging.as_slice().map_err(failure)?;
        let (elements, behind) = bytes[..read.bytes + FAULT_BYTES].split_at(read.bytes);
        if let Some(to) = to {
            elements::from_words(elements, to);
        }
        let fault = bytemuck::pod_collect_to_vec(behind);
        self.idle.push(read.staging);
        Ok(fault)
    }

    pub(super) fn finish(&mut self) -> Result<(), Fault> {
        self.flush();
        self.reads.clear();
        if self.failed.is_none() {
            let fault = self.fault.clone();
            let taken = self.ask(&fault, 0, 0).and_then(|read| self.take(read, None));
            self.look(taken);
        }
        self.suspects.clear();
        self.copies.forget();
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
        let read = |memory: &Arc<DeviceMemory>, at: usize| {
            // A card that is gone has other errors.
            let bytes = self.device.download(memory, at, size_of::<i64>()).unwrap_or_default();
            bytes.try_into().map_or(0, i64::from_ne_bytes)
        };
        self.failed = match fault {
            Ok(words) => self.suspects.find(&words, read),
            Err(error) => Some(Fault { launch: 0, error }),
        };
    }
}

impl Drop for Queue {
    /// What the host reads is written into memory that is freed with the queue.
    fn drop(&mut self) {
        if self.reads.iter().any(Option::is_some) {
            self.device.context.record_err(self.device.stream.synchronize());
        }
    }
}
