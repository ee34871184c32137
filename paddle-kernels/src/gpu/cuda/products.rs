//! Products of matrices by cuBLAS.

#![allow(unsafe_code, reason = "calls cuBLAS")]

use std::ffi::{c_int, c_longlong};
use std::sync::{Arc, Mutex, PoisonError};

use cudarc::cublas::sys::{
    cublasComputeType_t as Compute, cublasGemmAlgo_t as Algorithm, cublasOperation_t as Operation,
    cudaDataType, is_culib_present,
};
use cudarc::cublas::{CudaBlas, result};
use cudarc::driver::CudaStream;
use cudarc::driver::sys::CUdeviceptr;
use paddle_core::plan::{KernelError, Precision};

use crate::gpu::kernel::{MatrixProduct, product};

/// cuBLAS, in a stream.
pub(super) struct Products(Mutex<CudaBlas>);

impl Products {
    pub(super) fn new(stream: Arc<CudaStream>) -> Result<Products, String> {
        // SAFETY: the library is opened, which runs its constructors; they do nothing that others see.
        if !unsafe { is_culib_present() } {
            return Err("cuBLAS (`libcublas.so`) is not found".into());
        }
        CudaBlas::new(stream).map(|blas| Products(Mutex::new(blas))).map_err(|error| error.to_string())
    }

    /// Puts products into the stream; `false` if they are none that the library takes, or that it is better at.
    pub(super) fn put(
        &self,
        of: &MatrixProduct,
        sizes: &[usize],
        address: &dyn Fn(usize) -> CUdeviceptr,
    ) -> Result<bool, KernelError> {
        let [m, n, k, matrices] = [&of.m, &of.n, &of.k, &of.matrices].map(|extents| product(extents, sizes));
        let fits = |size: usize| c_int::try_from(size).ok();
        let (Some(m_), Some(n_), Some(k_), Some(matrices_)) = (fits(m), fits(n), fits(k), fits(matrices))
        else {
            return Ok(false);
        };
        // Sums of no terms are zeros, which the kernel of our own writes.
        if k == 0 {
            return Ok(false);
        }
        let operation = |transposed: bool| match transposed {
            true => Operation::CUBLAS_OP_T,
            false => Operation::CUBLAS_OP_N,
        };
        // Rows of a matrix in memory are columns to the library, so it computes the transpose: yᵀ · xᵀ.
        let (ld_x, ld_y) = (if of.trans[0] { m_ } else { k_ }, if of.trans[1] { k_ } else { n_ });
        let stride = |is_shared: bool, size: usize| if is_shared { 0 } else { size as c_longlong };
        let (one, zero) = (1f32, 0f32);
        let factors = match of.precision {
            Precision::F32 => cudaDataType::CUDA_R_32F,
            Precision::Bf16 => cudaDataType::CUDA_R_16BF,
        };
        let blas = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the addresses are those of operands, which have as many elements as the sizes say. The factors outlive the
        // call, and the memories outlive the work of the stream.
        unsafe {
            result::gemm_strided_batched_ex(
                *blas.handle(),
                operation(of.trans[1]),
                operation(of.trans[0]),
                n_,
                m_,
                k_,
                std::ptr::from_ref(&one).cast(),
                address(of.factors[1]) as *const _,
                factors,
                ld_y,
                stride(of.shared[1], n * k),
                address(of.factors[0]) as *const _,
                factors,
                ld_x,
                stride(of.shared[0], m * k),
                std::ptr::from_ref(&zero).cast(),
                address(of.to) as *mut _,
                cudaDataType::CUDA_R_32F,
                n_,
                (m * n) as c_longlong,
                matrices_,
                Compute::CUBLAS_COMPUTE_32F,
                Algorithm::CUBLAS_GEMM_DEFAULT,
            )
        }
        .map_err(|error| KernelError::Device { message: format!("cuBLAS fails: {error}") })?;
        Ok(true)
    }
}
