//! Elements in host memory.

use paddle_core::plan::{HostSlice, HostSliceMut};
use paddle_core::program::DType;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Host {
    Bool(Vec<bool>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
}

impl Host {
    pub(crate) fn zeros(dtype: DType, count: usize) -> Host {
        match dtype {
            DType::Bool => Host::Bool(vec![false; count]),
            DType::I32 => Host::I32(vec![0; count]),
            DType::I64 => Host::I64(vec![0; count]),
            DType::F32 => Host::F32(vec![0.0; count]),
            DType::F64 => Host::F64(vec![0.0; count]),
        }
    }

    pub(crate) fn slice(&self) -> HostSlice<'_> {
        match self {
            Host::Bool(values) => HostSlice::Bool(values),
            Host::I32(values) => HostSlice::I32(values),
            Host::I64(values) => HostSlice::I64(values),
            Host::F32(values) => HostSlice::F32(values),
            Host::F64(values) => HostSlice::F64(values),
        }
    }

    pub(crate) fn slice_mut(&mut self) -> HostSliceMut<'_> {
        match self {
            Host::Bool(values) => HostSliceMut::Bool(values),
            Host::I32(values) => HostSliceMut::I32(values),
            Host::I64(values) => HostSliceMut::I64(values),
            Host::F32(values) => HostSliceMut::F32(values),
            Host::F64(values) => HostSliceMut::F64(values),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.slice().len()
    }

    pub(crate) fn is_float(&self) -> bool {
        self.slice().dtype().is_float()
    }

    /// The elements, with floating-point ones rounded to the type of `other`.
    pub(crate) fn rounded_as(&self, other: &Host) -> Host {
        match (self, other) {
            (Host::F64(values), Host::F32(_)) => {
                Host::F32(values.iter().map(|&value| value as f32).collect())
            }
            _ => self.clone(),
        }
    }

    /// The element at `i` alone.
    pub(crate) fn element(&self, i: usize) -> Host {
        match self {
            Host::Bool(values) => Host::Bool(vec![values[i]]),
            Host::I32(values) => Host::I32(vec![values[i]]),
            Host::I64(values) => Host::I64(vec![values[i]]),
            Host::F32(values) => Host::F32(vec![values[i]]),
            Host::F64(values) => Host::F64(vec![values[i]]),
        }
    }

    /// The elements as `f64`.
    pub(crate) fn floats(&self) -> Vec<f64> {
        match self {
            Host::F32(values) => values.iter().map(|&value| f64::from(value)).collect(),
            Host::F64(values) => values.clone(),
            Host::I32(values) => values.iter().map(|&value| f64::from(value)).collect(),
            Host::I64(values) => values.iter().map(|&value| value as f64).collect(),
            Host::Bool(_) => panic!("truth values are no numbers"),
        }
    }
}
