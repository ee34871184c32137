//! A card: its memory, its stream, and what is compiled for it.

#![allow(unsafe_code, reason = "calls the driver")]

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys::{CUdeviceptr, CUevent_flags};
use cudarc::driver::{CudaContext, CudaEvent, CudaSlice, CudaStream, DevicePtr, PinnedHostSlice, sys};
use paddle_core::memory::OutOfMemory;
use paddle_core::plan::{KernelError, Piece};

use super::compiler::Compiler;
use super::libraries::Libraries;
use super::staging::Staging;
use crate::gpu::card::{Card, CardError};
use crate::gpu::launch::WORD;

/// The name of the backend.
pub(super) const BACKEND: &str = "cuda";

/// How long the host waits for a card. A single kernel takes less.
const PATIENCE: Duration = Duration::from_secs(120);
/// How long it asks again and again. What takes longer is asked for in intervals.
const EAGER: Duration = Duration::from_millis(5);
const INTERVAL: Duration = Duration::from_micros(100);

/// NVIDIA's cards in this machine.
pub fn cards() -> Vec<Card> {
    found().unwrap_or_default()
}

fn found() -> Result<Vec<Card>, String> {
    // SAFETY: the library is opened, which runs its constructors; the driver's do nothing before `cuInit`.
    if !unsafe { sys::is_culib_present() } {
        return Err("NVIDIA's driver (`libcuda.so`) is not found".into());
    }
    let count = CudaContext::device_count().map_err(|error| format!("NVIDIA's driver fails: {error}"))?;
    (0..count).map(|number| describe(number as usize).map_err(|error| error.to_string())).collect()
}

fn describe(number: usize) -> Result<Card, DriverError> {
    let device = result::device::get(number as i32)?;
    // SAFETY: the device is the driver's.
    let bytes = unsafe { result::device::total_mem(device) }?;
    let details = format!("{:.1} GiB", bytes as f64 / (1u64 << 30) as f64);
    Ok(Card { backend: BACKEND, number, name: result::device::get_name(device)?, details, is_real: true })
}

/// Memory of a card, which is never empty.
pub(super) struct Memory(CudaSlice<u8>);

impl Memory {
    pub(super) fn bytes(&self) -> usize {
        self.0.num_bytes()
    }

    /// The address of a byte.
    pub(super) fn at(&self, offset: usize) -> CUdeviceptr {
        // All that is done with memory is done in the order of one stream, so nothing is tracked.
        let (first, _) = self.0.device_ptr(self.0.stream());
        first + offset as CUdeviceptr
    }
}

/// A card. All that it does is in one stream, so it is done in order.
pub(super) struct Device {
    pub(super) card: Card,
    pub(super) context: Arc<CudaContext>,
    pub(super) stream: Arc<CudaStream>,
    pub(super) compiler: Compiler,
    pub(super) libraries: Libraries,
    staging: Mutex<Option<Staging>>,
}

impl Device {
    pub(super) fn new(number: usize) -> Result<Device, CardError> {
        let missing = |found, reason| CardError::Missing { backend: BACKEND, number, found, reason };
        let mut cards = found().map_err(|reason| missing(Vec::new(), reason))?;
        if number >= cards.len() {
            return Err(missing(cards, "the driver shows none".into()));
        }
        let card = cards.swap_remove(number);
        let refused = |message: String| CardError::Refused { card: Box::new(card.clone()), message };
        let driver = |error: DriverError| refused(error.to_string());
        let context = CudaContext::new(number).map_err(driver)?;
        // SAFETY: memory is used in one stream only, so no stream has to wait for another one.
        unsafe { context.disable_event_tracking() };
        let stream = context.new_stream().map_err(driver)?;
        let compiler = Compiler::new(context.compute_capability().map_err(driver)?).map_err(refused)?;
        let libraries = Libraries::new(&stream).map_err(refused)?;
        Ok(Device { context, stream, compiler, libraries, staging: Mutex::default(), card })
    }

    pub(super) fn allocate(&self, bytes: usize) -> Result<Arc<Memory>, OutOfMemory> {
        let whole = bytes.max(WORD).checked_next_multiple_of(WORD).ok_or(OutOfMemory::of(bytes))?;
        // SAFETY: whatever the memory has in it are bytes, and kernels read no others than were written.
        let memory = unsafe { self.stream.alloc::<u8>(whole) };
        memory.map(|memory| Arc::new(Memory(memory))).map_err(|_| OutOfMemory::of(bytes))
    }

    /// Copies bytes to the card. They are read before the call returns.
    pub(super) fn upload(&self, from: &[u8], to: &Memory, offset: usize) {
        // A card that is gone, or does not answer, is an error of the next run.
        self.context.record_err(self.context.bind_to_thread());
        let mut staging = self.staging.lock().unwrap_or_else(PoisonError::into_inner);
        if staging.is_none() && Staging::pays(from.len()) {
            // Where there is no such memory, the driver copies in its own way.
            *staging = Staging::new(self).ok();
        }
        match &mut *staging {
            Some(staging) if Staging::pays(from.len()) => {
                let _ = staging.upload(self, from, to, offset);
            }
            _ => self.copy_to(from, to, offset),
        }
    }

    fn copy_to(&self, from: &[u8], to: &Memory, offset: usize) {
        if from.is_empty() {
            return;
        }
        assert!(offset + from.len() <= to.bytes(), "bytes are copied past the end of a memory");
        // SAFETY: the bytes are inside of the memory. The driver has read memory of this kind when the call returns.
        let copied = unsafe { result::memcpy_htod_async(to.at(offset), from, self.stream.cu_stream()) };
        self.context.record_err(copied);
    }

    /// Waits, and gives bytes to the host.
    pub(super) fn download(
        &self,
        from: &Memory,
        offset: usize,
        bytes: usize,
    ) -> Result<Vec<u8>, KernelError> {
        let mut to = vec![0; bytes];
        if bytes == 0 {
            return Ok(to);
        }
        assert!(offset + bytes <= from.bytes(), "bytes are copied from behind the end of a memory");
        self.wait(&self.event()?)?;
        // SAFETY: the bytes are inside of the memory, and nothing that the stream does writes them any more.
        unsafe { result::memcpy_dtoh_sync(&mut to, from.at(offset)) }.map_err(failure)?;
        Ok(to)
    }

    /// Copies pieces of a memory to another one.
    pub(super) fn copy(&self, from: &Memory, to: &Memory, pieces: &[Piece]) {
        self.context.record_err(self.context.bind_to_thread());
        for piece in pieces.iter().filter(|piece| piece.bytes > 0) {
            assert!(piece.from + piece.bytes <= from.bytes() && piece.to + piece.bytes <= to.bytes());
            // SAFETY: both places are inside of their memories.
            self.context.record_err(unsafe {
                let (from, to) = (from.at(piece.from), to.at(piece.to));
                result::memcpy_dtod_async(to, from, piece.bytes, self.stream.cu_stream())
            });
        }
    }

    /// An event behind all that was put into the stream.
    pub(super) fn event(&self) -> Result<CudaEvent, KernelError> {
        let event = self.context.new_event(Some(CUevent_flags::CU_EVENT_DISABLE_TIMING)).map_err(failure)?;
        event.record(&self.stream).map_err(failure)?;
        Ok(event)
    }

    /// Waits for an event. A card that does not answer for [`PATIENCE`] has failed.
    pub(super) fn wait(&self, event: &CudaEvent) -> Result<(), KernelError> {
        let start = Instant::now();
        while !event.try_is_complete().map_err(failure)? {
            let waited = start.elapsed();
            if waited > PATIENCE {
                let message = format!("the card has not answered for {} s", PATIENCE.as_secs());
                return Err(KernelError::Device { message });
            }
            match waited > EAGER {
                true => std::thread::sleep(INTERVAL),
                false => std::hint::spin_loop(),
            }
        }
        Ok(())
    }
}

/// Memory of the host that the card reads and writes by itself.
pub(super) fn pinned(context: &Arc<CudaContext>, bytes: usize) -> Result<PinnedHostSlice<u8>, KernelError> {
    // SAFETY: whatever the memory has in it are bytes; they are written before anybody looks at them. Not memory that combines
    // writes, which the host reads slowly.
    unsafe { context.alloc_pinned_with_flags::<u8>(bytes, 0) }
        .map_err(|_| OutOfMemory::of(bytes).wanted_for("copies between the card and the host").into())
}

/// What the driver says.
pub(super) fn failure(error: DriverError) -> KernelError {
    KernelError::Device { message: format!("the card fails: {error}") }
}
