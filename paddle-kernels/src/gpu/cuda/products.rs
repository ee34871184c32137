//! Products of matrices by cuBLASLt. How it computes a product is chosen once for all of the same sizes, since to choose takes longer than
//! to compute a small one.

#![allow(unsafe_code, reason = "calls cuBLASLt")]

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{Arc, Mutex, PoisonError};

use cudarc::cublaslt::result::{self, CublasError};
use cudarc::cublaslt::sys::{
    self, cublasComputeType_t, cublasLtHandle_t, cublasLtMatmulAlgo_t,
    cublasLtMatmulDescAttributes_t as OfProduct, cublasLtMatmulPreferenceAttributes_t as Wish,
    cublasLtMatrixLayoutAttribute_t as OfMatrix, cudaDataType, is_culib_present,
};
use cudarc::driver::sys::CUdeviceptr;
use paddle_core::plan::{KernelError, Precision};

use super::device::{Device, Memory};
use crate::gpu::kernel::{MatrixProduct, product};

/// The bytes that sums of shares of the terms may take.
const WORKSPACE: usize = 32 << 20;
/// The most plans that are kept; then all are forgotten.
const MOST_PLANS: usize = 1 << 12;
/// The alignment beyond which nothing becomes faster.
const MOST_ALIGNMENT: u32 = 256;

/// cuBLASLt.
pub(super) struct Products(Mutex<State>);

struct State {
    handle: Handle,
    /// None for what it does not compute.
    plans: HashMap<Key, Option<Plan>>,
    workspace: Option<Arc<Memory>>,
}

/// What a plan depends on.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    m: usize,
    n: usize,
    k: usize,
    matrices: usize,
    shared: [bool; 2],
    trans: [bool; 2],
    is_bf16: bool,
    /// Of all operands, in bytes.
    alignment: u32,
}

/// How a product is computed.
struct Plan {
    product: Description,
    /// `yᵀ`, `xᵀ`, and the transposed result: rows of a matrix in memory are columns to the library.
    layouts: [Layout; 3],
    algorithm: cublasLtMatmulAlgo_t,
}

/// Makes an owner of what the library creates.
macro_rules! owners {
    ($($name:ident($raw:ty) by $destroy:ident;)*) => {$(
        struct $name($raw);

        // SAFETY: it is used by one thread at a time: it is behind a mutex.
        unsafe impl Send for $name {}

        impl Drop for $name {
            fn drop(&mut self) {
                // SAFETY: it is valid, and nothing uses it any more. What cannot be destroyed is left.
                let _ = unsafe { result::$destroy(self.0) };
            }
        }
    )*};
}
owners! {
    Handle(cublasLtHandle_t) by destroy_handle;
    Description(sys::cublasLtMatmulDesc_t) by destroy_matmul_desc;
    Layout(sys::cublasLtMatrixLayout_t) by destroy_matrix_layout;
    Wishes(sys::cublasLtMatmulPreference_t) by destroy_matmul_pref;
}

/// A pointer to a value, and its size.
fn value<T>(of: &T) -> (*const c_void, usize) {
    (std::ptr::from_ref(of).cast(), size_of::<T>())
}

impl Layout {
    /// A matrix whose rows have `rows` elements each to the library, of `matrices` at a distance.
    fn new(
        ty: cudaDataType,
        [rows, columns]: [usize; 2],
        matrices: usize,
        is_shared: bool,
    ) -> Result<Layout, CublasError> {
        let layout =
            Layout(result::create_matrix_layout(ty, rows as u64, columns as u64, rows.max(1) as i64)?);
        let count = i32::try_from(matrices).unwrap_or(i32::MAX);
        let distance: i64 = if is_shared { 0 } else { (rows * columns) as i64 };
        let ((count, count_bytes), (distance, distance_bytes)) = (value(&count), value(&distance));
        // SAFETY: the layout was made above, and the attributes are of these types.
        unsafe {
            let set = result::set_matrix_layout_attribute;
            set(layout.0, OfMatrix::CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, count, count_bytes)?;
            let attribute = OfMatrix::CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET;
            set(layout.0, attribute, distance, distance_bytes)?;
        }
        Ok(layout)
    }
}

impl Plan {
    fn new(handle: &Handle, key: &Key, workspace: usize) -> Result<Plan, CublasError> {
        let Key { m, n, k, matrices, shared, trans, is_bf16, alignment } = *key;
        let single = cudaDataType::CUDA_R_32F;
        let factors = if is_bf16 { cudaDataType::CUDA_R_16BF } else { single };
        let stored =
            |rows: usize, columns: usize, trans| if trans { [rows, columns] } else { [columns, rows] };
        let layouts = [
            Layout::new(factors, stored(k, n, trans[1]), matrices, shared[1])?,
            Layout::new(factors, stored(m, k, trans[0]), matrices, shared[0])?,
            Layout::new(single, [n, m], matrices, false)?,
        ];
        let product =
            Description(result::create_matmul_desc(cublasComputeType_t::CUBLAS_COMPUTE_32F, single)?);
        let wishes = Wishes(result::create_matmul_pref()?);
        // SAFETY: what is set was made above, and the attributes are of these types.
        unsafe {
            for (attribute, trans) in [
                (OfProduct::CUBLASLT_MATMUL_DESC_TRANSA, trans[1]),
                (OfProduct::CUBLASLT_MATMUL_DESC_TRANSB, trans[0]),
            ] {
                // `CUBLAS_OP_N`, `CUBLAS_OP_T`
                let operation = i32::from(trans);
                let (of, bytes) = value(&operation);
                result::set_matmul_desc_attribute(product.0, attribute, of, bytes)?;
            }
            let (of, bytes) = value(&workspace);
            let room = Wish::CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES;
            result::set_matmul_pref_attribute(wishes.0, room, of, bytes)?;
            for attribute in [
                Wish::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
                Wish::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                Wish::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
                Wish::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES,
            ] {
                let (of, bytes) = value(&alignment);
                result::set_matmul_pref_attribute(wishes.0, attribute, of, bytes)?;
            }
        }
        let [a, b, to] = &layouts;
        // SAFETY: all that it looks at was made above.
        let found = unsafe {
            result::get_matmul_algo_heuristic(handle.0, product.0, a.0, b.0, to.0, to.0, wishes.0)
        }?;
        Ok(Plan { product, layouts, algorithm: found.algo })
    }
}

impl Products {
    pub(super) fn new() -> Result<Products, String> {
        // SAFETY: the library is opened, which runs its constructors; they do nothing that others see.
        if !unsafe { is_culib_present() } {
            return Err("cuBLASLt (`libcublasLt.so`) is not found".into());
        }
        let handle = Handle(result::create_handle().map_err(|error| error.to_string())?);
        Ok(Products(Mutex::new(State { handle, plans: HashMap::new(), workspace: None })))
    }

    /// Puts products into the stream; `false` if the library does not compute them.
    pub(super) fn put(
        &self,
        device: &Device,
        of: &MatrixProduct,
        sizes: &[usize],
        address: &dyn Fn(usize) -> CUdeviceptr,
    ) -> Result<bool, KernelError> {
        let [m, n, k, matrices] = [&of.m, &of.n, &of.k, &of.matrices].map(|extents| product(extents, sizes));
        // Sums of no terms are zeros, which the kernel of our own writes.
        if k == 0 {
            return Ok(false);
        }
        let ([x, y], to) = (of.factors.map(address), address(of.to));
        let alignment = 1u32 << (x | y | to | u64::from(MOST_ALIGNMENT)).trailing_zeros();
        let is_bf16 = of.precision == Precision::Bf16;
        let key = Key { m, n, k, matrices, shared: of.shared, trans: of.trans, is_bf16, alignment };
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let State { handle, plans, workspace } = &mut *state;
        let workspace = match workspace {
            Some(memory) => memory,
            none => none.insert(device.allocate(WORKSPACE)?),
        };
        if plans.len() >= MOST_PLANS {
            plans.clear();
        }
        // What it does not take is not an error: there is a kernel of our own.
        let plan = plans.entry(key).or_insert_with(|| Plan::new(handle, &key, WORKSPACE).ok());
        let Some(Plan { product, layouts: [of_y, of_x, of_to], algorithm }) = plan else { return Ok(false) };
        let (one, zero) = (1f32, 0f32);
        // SAFETY: the addresses are those of operands, which have as many elements as the sizes say, and of memory that has as many
        // bytes as the algorithm may use. The memories outlive the work of the stream.
        unsafe {
            result::matmul(
                handle.0,
                product.0,
                value(&one).0,
                value(&zero).0,
                y as *const c_void,
                of_y.0,
                x as *const c_void,
                of_x.0,
                to as *const c_void,
                of_to.0,
                to as *mut c_void,
                of_to.0,
                algorithm,
                workspace.at(0) as *mut c_void,
                WORKSPACE,
                device.stream.cu_stream() as *mut _,
            )
        }
        .map_err(|error| KernelError::Device { message: format!("cuBLASLt fails: {error}") })?;
        Ok(true)
    }
}
