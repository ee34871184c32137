//! Copies that come one behind the other, as one launch: loops copy each part of their state, which is little, and a launch costs more
//! than a copy.

#![allow(unsafe_code, reason = "launches a kernel")]

use std::ffi::c_void;

use cudarc::driver::result;
use cudarc::driver::sys::CUdeviceptr;
use paddle_core::plan::KernelError;

use super::compiler::Function;
use super::device::{Device, failure};
use crate::gpu::form::cuda::ENTRY;
use crate::gpu::launch::WORD;

/// The most copies of a launch.
const MOST: usize = 8;
/// The threads of a block, and the most blocks.
const THREADS: usize = 256;
const MOST_BLOCKS: usize = 1024;

/// Copies that are not launched yet. They are independent of each other.
#[derive(Default)]
pub(super) struct Copies {
    pending: Vec<Copy>,
    function: Option<Function>,
}

/// Bytes that are copied, a number of whole words.
#[derive(Clone, Copy)]
pub(super) struct Copy {
    pub(super) from: CUdeviceptr,
    pub(super) to: CUdeviceptr,
    pub(super) bytes: usize,
}

/// The parameter of the kernel.
#[repr(C)]
struct Launch {
    from: [CUdeviceptr; MOST],
    to: [CUdeviceptr; MOST],
    words: [u64; MOST],
}

fn text() -> String {
    format!(
        "struct Launch {{ unsigned* from[{MOST}]; unsigned* to[{MOST}]; unsigned long long words[{MOST}]; }};\n\
         extern \"C\" __global__ void {ENTRY}(const __grid_constant__ Launch launch) {{\n\
         const unsigned long long first = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;\n\
         const unsigned long long step = gridDim.x * (unsigned long long)blockDim.x;\n\
         #pragma unroll\n\
         for (int k = 0; k < {MOST}; k++) {{\n\
         for (unsigned long long at = first; at < launch.words[k]; at += step) {{\n\
         launch.to[k][at] = launch.from[k][at];\n}}\n}}\n}}\n"
    )
}

fn overlap(one: CUdeviceptr, bytes: usize, other: CUdeviceptr, its_bytes: usize) -> bool {
    one < other + its_bytes as u64 && other < one + bytes as u64
}

impl Copies {
    /// Adds a copy. It is behind those that wait, so what it reads may have to come from where they read it.
    pub(super) fn add(&mut self, device: &Device, mut copy: Copy) -> Result<(), KernelError> {
        if copy.bytes == 0 {
            return Ok(());
        }
        let before = self.pending.iter().rfind(|before| before.to == copy.from && before.bytes == copy.bytes);
        if let Some(before) = before {
            copy.from = before.from;
        }
        let meets = |before: &Copy| {
            let Copy { from, to, bytes } = *before;
            overlap(to, bytes, copy.from, copy.bytes)
                || overlap(to, bytes, copy.to, copy.bytes)
                || overlap(from, bytes, copy.to, copy.bytes)
        };
        if self.pending.len() == MOST || self.pending.iter().any(meets) {
            self.flush(device)?;
        }
        self.pending.push(copy);
        Ok(())
    }

    /// Leaves out what waits, behind a failure.
    pub(super) fn forget(&mut self) {
        self.pending.clear();
    }

    /// Launches what waits.
    pub(super) fn flush(&mut self, device: &Device) -> Result<(), KernelError> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let mut launch = Launch { from: [0; MOST], to: [0; MOST], words: [0; MOST] };
        let mut most = 0;
        for (k, copy) in self.pending.drain(..).enumerate() {
            (launch.from[k], launch.to[k]) = (copy.from, copy.to);
            launch.words[k] = (copy.bytes / WORD) as u64;
            most = most.max(copy.bytes / WORD);
        }
        let function = match &self.function {
            Some(function) => function,
            None => {
                let compiled = device.compiler.function(&device.context, text());
                self.function.insert(compiled.map_err(|message| KernelError::Device { message })?)
            }
        };
        let blocks = most.div_ceil(THREADS).min(MOST_BLOCKS) as u32;
        let mut parameters = [std::ptr::from_mut(&mut launch).cast::<c_void>()];
        // SAFETY: the parameter is that of the text above. The places are operands, whose memories live as long as the work of the
        // stream, since they are freed in the stream; no copy writes what another one reads or writes.
        unsafe {
            result::launch_kernel(
                function.cu_function(),
                (blocks, 1, 1),
                (THREADS as u32, 1, 1),
                0,
                device.stream.cu_stream(),
                &mut parameters,
            )
        }
        .map_err(failure)
    }
}

#[cfg(test)]
mod tests {
    use super::overlap;

    #[test]
    fn places_that_touch_do_not_overlap() {
        assert!(!overlap(0, 8, 8, 8));
        assert!(!overlap(8, 8, 0, 8));
        assert!(overlap(0, 9, 8, 8));
        assert!(overlap(4, 1, 0, 8));
        assert!(overlap(0, 8, 4, 1));
    }
}
