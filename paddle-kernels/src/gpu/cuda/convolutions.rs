//! Convolutions and their gradients by cuDNN: the fastest of its algorithms that gives the same bits in every run.

#![allow(unsafe_code, reason = "calls cuDNN")]

use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::sync::{Arc, Mutex, PoisonError};

use cudarc::cudnn::result::{self, CudnnError};
use cudarc::cudnn::sys::{
    self, cudnnConvolutionBwdDataAlgo_t as OfImages, cudnnConvolutionBwdFilterAlgo_t as OfFilters,
    cudnnConvolutionFwdAlgo_t as OfResults, cudnnConvolutionMode_t, cudnnDataType_t, cudnnDeterminism_t,
    cudnnHandle_t, cudnnMathType_t, cudnnStatus_t, cudnnTensorFormat_t,
};
use cudarc::driver::CudaStream;
use cudarc::driver::sys::CUdeviceptr;
use paddle_core::plan::{Extent, KernelError, Precision};

use super::device::{Device, Memory};
use crate::gpu::kernel::{Conv2dKind, Convolution};

/// cuDNN, in a stream.
pub(super) struct Convolutions(Mutex<State>);

struct State {
    handle: Handle,
    plans: HashMap<Key, Option<Plan>>,
    /// What algorithms compute in beside their operands.
    workspace: Option<Arc<Memory>>,
}

struct Handle(cudnnHandle_t);

// SAFETY: a handle is used by one thread at a time: it is behind a mutex.
unsafe impl Send for Handle {}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: the handle is valid, and nothing uses it any more. What cannot be destroyed is left.
        let _ = unsafe { result::destroy_handle(self.0) };
    }
}

/// The most memory that an algorithm may take, in bytes.
const MOST_MEMORY: usize = 1 << 30;

/// What a plan depends on.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    of: Conv2dKind,
    images: [c_int; 4],
    filters: [c_int; 4],
    results: [c_int; 4],
    before: [c_int; 2],
    stride: [c_int; 2],
    dilation: [c_int; 2],
    groups: c_int,
    is_rounded: bool,
}

#[derive(Clone, Copy)]
enum Algorithm {
    Results(OfResults),
    Images(OfImages),
    Filters(OfFilters),
}

/// A convolution with its algorithm.
struct Plan {
    images: Tensor,
    filters: Filters,
    results: Tensor,
    convolution: Settings,
    algorithm: Algorithm,
    workspace: usize,
}

/// Makes an owner of what cuDNN calls a descriptor.
macro_rules! descriptors {
    ($($name:ident($raw:ty) by $create:ident and $destroy:ident;)*) => {$(
        struct $name($raw);

        // SAFETY: what is described is only read, and by one thread at a time: it is behind a mutex.
        unsafe impl Send for $name {}

        impl $name {
            fn new() -> Result<Self, CudnnError> {
                result::$create().map($name)
            }
        }

        impl Drop for $name {
            fn drop(&mut self) {
                // SAFETY: it is valid, and nothing uses it any more. What cannot be destroyed is left.
                let _ = unsafe { result::$destroy(self.0) };
            }
        }
    )*};
}
descriptors! {
    Tensor(sys::cudnnTensorDescriptor_t) by create_tensor_descriptor and destroy_tensor_descriptor;
    Filters(sys::cudnnFilterDescriptor_t) by create_filter_descriptor and destroy_filter_descriptor;
    Settings(sys::cudnnConvolutionDescriptor_t) by create_convolution_descriptor and destroy_convolution_descriptor;
}

const FLOAT: cudnnDataType_t = cudnnDataType_t::CUDNN_DATA_FLOAT;
const ROW_MAJOR: cudnnTensorFormat_t = cudnnTensorFormat_t::CUDNN_TENSOR_NCHW;

impl Tensor {
    fn of(sizes: [c_int; 4]) -> Result<Tensor, CudnnError> {
        let tensor = Tensor::new()?;
        // SAFETY: the descriptor was made above.
        unsafe { result::set_tensor4d_descriptor(tensor.0, ROW_MAJOR, FLOAT, sizes) }?;
        Ok(tensor)
    }
}

impl Plan {
    /// None if there is no algorithm.
    fn new(handle: &Handle, key: &Key) -> Result<Option<Plan>, CudnnError> {
        let (images, results) = (Tensor::of(key.images)?, Tensor::of(key.results)?);
        let (filters, convolution) = (Filters::new()?, Settings::new()?);
        // Products of numbers that have the digits of bf16 are exact in the tensor cores' format.
        let math = match key.is_rounded {
            true => cudnnMathType_t::CUDNN_TENSOR_OP_MATH,
            false => cudnnMathType_t::CUDNN_FMA_MATH,
        };
        // SAFETY: the descriptors were made above.
        unsafe {
            result::set_filter4d_descriptor(filters.0, FLOAT, ROW_MAJOR, key.filters)?;
            result::set_convolution2d_descriptor(
                convolution.0,
                key.before[0],
                key.before[1],
                key.stride[0],
                key.stride[1],
                key.dilation[0],
                key.dilation[1],
                cudnnConvolutionMode_t::CUDNN_CROSS_CORRELATION,
                FLOAT,
            )?;
            result::set_convolution_group_count(convolution.0, key.groups)?;
            result::set_convolution_math_type(convolution.0, math)?;
        }
        let (x, w, y, c) = (images.0, filters.0, results.0, convolution.0);
        /// The first algorithm in a list, which is the fastest one, that is allowed.
        macro_rules! algorithm {
            ($list:ident($($argument:expr),*), $kind:ident) => {{
                const MOST: usize = 10;
                let mut found = [const { MaybeUninit::uninit() }; MOST];
                let mut count: c_int = 0;
                // SAFETY: handle and descriptors are valid, and there is room for as many results as are asked for.
                unsafe {
                    result::$list(handle.0, $($argument),*, MOST as c_int, &mut count, found[0].as_mut_ptr())
                }?;
                let found = found.iter().take(count as usize).map(|found| {
                    // SAFETY: cuDNN has written as many as it says.
                    unsafe { found.assume_init() }
                });
                let mut allowed = found.filter(|found| {
                    found.status == cudnnStatus_t::CUDNN_STATUS_SUCCESS
                        && found.memory <= MOST_MEMORY
                        && found.determinism == cudnnDeterminism_t::CUDNN_DETERMINISTIC
                        && (key.is_rounded || found.mathType == cudnnMathType_t::CUDNN_FMA_MATH
                            || found.mathType == cudnnMathType_t::CUDNN_DEFAULT_MATH)
                });
                allowed.next().map(|found| (Algorithm::$kind(found.algo), found.memory))
            }};
        }
        let chosen = match key.of {
            Conv2dKind::Results => algorithm!(get_convolution_forward_algorithm(x, w, c, y), Results),
            Conv2dKind::Images => algorithm!(get_convolution_backward_data_algorithm(w, y, c, x), Images),
            Conv2dKind::Filters => {
                algorithm!(get_convolution_backward_filter_algorithm(x, y, c, w), Filters)
            }
        };
        Ok(chosen.map(|(algorithm, workspace)| Plan {
            images,
            filters,
            results,
            convolution,
            algorithm,
            workspace,
        }))
    }

    /// Puts the convolution into the stream.
    ///
    /// # Safety
    /// The addresses are those of operands that have the sizes of the plan, and of memory that is large enough for its algorithm.
    unsafe fn run(
        &self,
        handle: &Handle,
        [first, second]: [CUdeviceptr; 2],
        to: CUdeviceptr,
        workspace: CUdeviceptr,
    ) -> Result<(), CudnnError> {
        let (one, zero) = (1f32, 0f32);
        let (one, zero) = (std::ptr::from_ref(&one).cast(), std::ptr::from_ref(&zero).cast());
        let (x, w, y, c) = (self.images.0, self.filters.0, self.results.0, self.convolution.0);
        let (first, second) = (first as *const c_void, second as *const c_void);
        let (to, room) = (to as *mut c_void, workspace as *mut c_void);
        let size = self.workspace;
        // SAFETY: by the contract of this function; handle and descriptors are valid.
        unsafe {
            match self.algorithm {
                Algorithm::Results(by) => result::convolution_forward(
                    handle.0, one, x, first, w, second, c, by, room, size, zero, y, to,
                ),
                Algorithm::Images(by) => result::convolution_backward_data(
                    handle.0, one, w, first, y, second, c, by, room, size, zero, x, to,
                ),
                Algorithm::Filters(by) => result::convolution_backward_filter(
                    handle.0, one, x, first, y, second, c, by, room, size, zero, w, to,
                ),
            }
        }
    }
}

impl Convolutions {
    pub(super) fn new(stream: &Arc<CudaStream>) -> Result<Convolutions, String> {
        // SAFETY: the library is opened, which runs its constructors; they do nothing that others see.
        if !unsafe { sys::is_culib_present() } {
            return Err("cuDNN (`libcudnn.so`) is not found".into());
        }
        let handle = Handle(result::create_handle().map_err(|error| error.to_string())?);
        // SAFETY: the handle was made above, and the stream is that of the device, which outlives it.
        unsafe { result::set_stream(handle.0, stream.cu_stream() as _) }
            .map_err(|error| error.to_string())?;
        Ok(Convolutions(Mutex::new(State { handle, plans: HashMap::new(), workspace: None })))
    }

    /// Puts a convolution into the stream; `false` if cuDNN has no algorithm for it.
    pub(super) fn put(
        &self,
        device: &Device,
        of: &Convolution,
        sizes: &[usize],
        address: &dyn Fn(usize) -> CUdeviceptr,
    ) -> Result<bool, KernelError> {
        let Some(key) = key(of, sizes) else { return Ok(false) };
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let State { handle, plans, workspace } = &mut *state;
        if !plans.contains_key(&key) {
            // What it does not take is not an error: there is a kernel of our own.
            let plan = Plan::new(handle, &key).ok().flatten();
            plans.insert(key.clone(), plan);
        }
        let Some(plan) = &plans[&key] else { return Ok(false) };
        let memory = match workspace {
            Some(memory) if memory.bytes() >= plan.workspace => memory,
            smaller => smaller.insert(device.allocate(plan.workspace)?),
        };
        // SAFETY: the plan was made for the sizes of these operands, and the memory is as large as its algorithm needs. It is freed in
        // the stream, behind all work.
        unsafe { plan.run(handle, of.factors.map(address), address(of.to), memory.at(0)) }
            .map_err(|error| KernelError::Device { message: format!("cuDNN fails: {error}") })?;
        Ok(true)
    }
}

/// The sizes of a convolution; none if something has no elements, or too many.
fn key(of: &Convolution, sizes: &[usize]) -> Option<Key> {
    let four = |extents: &[Extent; 4]| {
        let mut found = [0; 4];
        for (found, extent) in found.iter_mut().zip(extents) {
            *found = c_int::try_from(extent.get(sizes)).ok().filter(|&size| size > 0)?;
        }
        Some(found)
    };
    let whole = |numbers: [u32; 2]| numbers.map(|number| number as c_int);
    Some(Key {
        of: of.of,
        images: four(&of.images)?,
        filters: four(&of.filters)?,
        results: four(&of.results)?,
        before: whole(of.before),
        stride: whole(of.stride),
        dilation: whole(of.dilation),
        groups: of.groups as c_int,
        is_rounded: of.precision == Precision::Bf16,
    })
}
