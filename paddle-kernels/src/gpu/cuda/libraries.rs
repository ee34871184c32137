//! NVIDIA's libraries, for what they are better at than kernels of our own.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use cudarc::driver::sys::CUdeviceptr;
use paddle_core::plan::KernelError;

#[cfg(feature = "cudnn")]
use super::convolutions::Convolutions;
use super::device::Device;
use super::products::Products;
use crate::gpu::kernel::{Abilities, LibraryCall};

/// The most operands of a function: its parameters have 4,096 bytes, in which there are sizes, too.
const MOST_OPERANDS: usize = 256;

/// What a card can do with them.
pub(super) const ABILITIES: Abilities =
    Abilities { products: true, convolutions: cfg!(feature = "cudnn"), operands: MOST_OPERANDS };

/// The libraries, in a stream.
pub(super) struct Libraries {
    products: Products,
    #[cfg(feature = "cudnn")]
    convolutions: Convolutions,
}

impl Libraries {
    /// Errors name the library that is not there.
    #[cfg_attr(not(feature = "cudnn"), expect(unused_variables, reason = "cuDNN is told its stream once"))]
    pub(super) fn new(stream: &Arc<CudaStream>) -> Result<Libraries, String> {
        Ok(Libraries {
            products: Products::new()?,
            #[cfg(feature = "cudnn")]
            convolutions: Convolutions::new(stream)?,
        })
    }

    /// Puts work into the stream; `false` if the libraries do not take it.
    pub(super) fn put(
        &self,
        device: &Device,
        call: &LibraryCall,
        sizes: &[usize],
        address: &dyn Fn(usize) -> CUdeviceptr,
    ) -> Result<bool, KernelError> {
        match call {
            LibraryCall::Product(product) => self.products.put(device, product, sizes, address),
            #[cfg(feature = "cudnn")]
            LibraryCall::Convolution(convolution) => {
                self.convolutions.put(device, convolution, sizes, address)
            }
            #[cfg(not(feature = "cudnn"))]
            LibraryCall::Convolution(_) => Ok(false),
        }
    }
}
