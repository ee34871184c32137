//! Memory of the host that the card reads by itself: bytes are copied to one part of it while the card takes another one.

#![allow(unsafe_code, reason = "calls the driver")]

use cudarc::driver::{CudaEvent, PinnedHostSlice, result};
use paddle_core::plan::KernelError;

use super::device::{Device, Memory, failure, pinned};

/// The bytes of a part.
const PART: usize = 1 << 20;
/// Below so many bytes the driver's own way is as fast.
const FEW: usize = 1 << 14;

/// What is on its way to the card.
pub(super) struct Staging {
    parts: [Part; 2],
    next: usize,
}

struct Part {
    memory: PinnedHostSlice<u8>,
    /// Comes when the card has taken what is in the memory.
    taken: Option<CudaEvent>,
}

impl Staging {
    pub(super) fn new(device: &Device) -> Result<Staging, KernelError> {
        let part = || -> Result<Part, KernelError> {
            Ok(Part { memory: pinned(&device.context, PART)?, taken: None })
        };
        Ok(Staging { parts: [part()?, part()?], next: 0 })
    }

    /// Whether so many bytes are worth it.
    pub(super) fn pays(bytes: usize) -> bool {
        bytes >= FEW
    }

    /// Copies bytes to the card, in the order of its stream. They are read before the call returns.
    pub(super) fn upload(
        &mut self,
        device: &Device,
        from: &[u8],
        to: &Memory,
        offset: usize,
    ) -> Result<(), KernelError> {
        assert!(offset + from.len() <= to.bytes(), "bytes are copied past the end of a memory");
        for (at, bytes) in (offset..).step_by(PART).zip(from.chunks(PART)) {
            let part = &mut self.parts[self.next];
            self.next = 1 - self.next;
            if let Some(taken) = part.taken.take() {
                device.wait(&taken)?;
            }
            let memory = &mut part.memory.as_mut_slice().map_err(failure)?[..bytes.len()];
            memory.copy_from_slice(bytes);
            // SAFETY: the place is inside of its memory, and the host does not touch the part until the event has come.
            unsafe { result::memcpy_htod_async(to.at(at), memory, device.stream.cu_stream()) }
                .map_err(failure)?;
            part.taken = Some(device.event()?);
        }
        Ok(())
    }
}
