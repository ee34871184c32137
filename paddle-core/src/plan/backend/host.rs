//! Elements in host memory, which are copied to and from a device.

use crate::memory::{OutOfMemory, try_vec};
use crate::program::DType;

/// Elements in host memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum HostSlice<'a> {
    /// Truth values.
    Bool(&'a [bool]),
    /// 32-bit integers.
    I32(&'a [i32]),
    /// 64-bit integers.
    I64(&'a [i64]),
    /// Single precision.
    F32(&'a [f32]),
    /// Double precision.
    F64(&'a [f64]),
}

/// Room for elements in host memory.
#[derive(Debug, PartialEq)]
pub enum HostSliceMut<'a> {
    /// Truth values.
    Bool(&'a mut [bool]),
    /// 32-bit integers.
    I32(&'a mut [i32]),
    /// 64-bit integers.
    I64(&'a mut [i64]),
    /// Single precision.
    F32(&'a mut [f32]),
    /// Double precision.
    F64(&'a mut [f64]),
}

macro_rules! host_slice {
    ($type:ident) => {
        impl $type<'_> {
            /// The element type.
            pub fn dtype(&self) -> DType {
                match self {
                    $type::Bool(_) => DType::Bool,
                    $type::I32(_) => DType::I32,
                    $type::I64(_) => DType::I64,
                    $type::F32(_) => DType::F32,
                    $type::F64(_) => DType::F64,
                }
            }

            /// The number of elements.
            pub fn len(&self) -> usize {
                match self {
                    $type::Bool(slice) => slice.len(),
                    $type::I32(slice) => slice.len(),
                    $type::I64(slice) => slice.len(),
                    $type::F32(slice) => slice.len(),
                    $type::F64(slice) => slice.len(),
                }
            }

            /// Whether there are none.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }
        }
    };
}
host_slice!(HostSlice);
host_slice!(HostSliceMut);

/// Elements that the runtime owns, on their way from one device to another.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::plan) enum HostVec {
    Bool(Vec<bool>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
}

impl HostVec {
    pub(in crate::plan) fn zeros(dtype: DType, count: usize) -> Result<Self, OutOfMemory> {
        Ok(match dtype {
            DType::Bool => HostVec::Bool(try_vec(count)?),
            DType::I32 => HostVec::I32(try_vec(count)?),
            DType::I64 => HostVec::I64(try_vec(count)?),
            DType::F32 => HostVec::F32(try_vec(count)?),
            DType::F64 => HostVec::F64(try_vec(count)?),
        })
    }

    pub(in crate::plan) fn as_slice(&self) -> HostSlice<'_> {
        match self {
            HostVec::Bool(elements) => HostSlice::Bool(elements),
            HostVec::I32(elements) => HostSlice::I32(elements),
            HostVec::I64(elements) => HostSlice::I64(elements),
            HostVec::F32(elements) => HostSlice::F32(elements),
            HostVec::F64(elements) => HostSlice::F64(elements),
        }
    }

    pub(in crate::plan) fn as_mut_slice(&mut self) -> HostSliceMut<'_> {
        match self {
            HostVec::Bool(elements) => HostSliceMut::Bool(elements),
            HostVec::I32(elements) => HostSliceMut::I32(elements),
            HostVec::I64(elements) => HostSliceMut::I64(elements),
            HostVec::F32(elements) => HostSliceMut::F32(elements),
            HostVec::F64(elements) => HostSliceMut::F64(elements),
        }
    }
}
