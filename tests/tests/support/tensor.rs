//! Tensors on the host: shape and elements.

use std::fmt::Debug;

use paddle::core::plan::{Feed, HostSlice, HostSliceMut};
use paddle::core::program::DType;
use paddle::core::wire::{TensorRecord, VarKind};

/// A tensor.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tensor {
    pub(crate) shape: Vec<usize>,
    pub(crate) values: Values,
    /// Where its rows are the tokens of sequences.
    pub(crate) offsets: Vec<Vec<i64>>,
}

/// Its elements, row by row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Values {
    Bool(Vec<bool>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
}

impl Values {
    pub(crate) fn zeros(dtype: DType, len: usize) -> Values {
        match dtype {
            DType::Bool => Values::Bool(vec![false; len]),
            DType::I32 => Values::I32(vec![0; len]),
            DType::I64 => Values::I64(vec![0; len]),
            DType::F32 => Values::F32(vec![0.0; len]),
            DType::F64 => Values::F64(vec![0.0; len]),
        }
    }

    pub(crate) fn element(&self) -> VarKind {
        match self {
            Values::Bool(_) => VarKind::Bool,
            Values::I32(_) => VarKind::Int32,
            Values::I64(_) => VarKind::Int64,
            Values::F32(_) => VarKind::Fp32,
            Values::F64(_) => VarKind::Fp64,
        }
    }

    pub(crate) fn slice(&self) -> HostSlice<'_> {
        match self {
            Values::Bool(values) => HostSlice::Bool(values),
            Values::I32(values) => HostSlice::I32(values),
            Values::I64(values) => HostSlice::I64(values),
            Values::F32(values) => HostSlice::F32(values),
            Values::F64(values) => HostSlice::F64(values),
        }
    }

    pub(crate) fn slice_mut(&mut self) -> HostSliceMut<'_> {
        match self {
            Values::Bool(values) => HostSliceMut::Bool(values),
            Values::I32(values) => HostSliceMut::I32(values),
            Values::I64(values) => HostSliceMut::I64(values),
            Values::F32(values) => HostSliceMut::F32(values),
            Values::F64(values) => HostSliceMut::F64(values),
        }
    }

    pub(crate) fn dtype(&self) -> DType {
        match self {
            Values::Bool(_) => DType::Bool,
            Values::I32(_) => DType::I32,
            Values::I64(_) => DType::I64,
            Values::F32(_) => DType::F32,
            Values::F64(_) => DType::F64,
        }
    }

    /// As numbers that can be compared with a tolerance.
    pub(crate) fn numbers(&self) -> Vec<f64> {
        match self {
            Values::Bool(values) => values.iter().map(|&value| f64::from(u8::from(value))).collect(),
            Values::I32(values) => values.iter().map(|&value| f64::from(value)).collect(),
            Values::I64(values) => values.iter().map(|&value| value as f64).collect(),
            Values::F32(values) => values.iter().map(|&value| f64::from(value)).collect(),
            Values::F64(values) => values.clone(),
        }
    }

    /// From the bytes of little-endian elements.
    pub(crate) fn from_bytes(element: VarKind, bytes: &[u8]) -> Values {
        fn all<const N: usize, T>(bytes: &[u8], from: fn([u8; N]) -> T) -> Vec<T> {
            bytes.as_chunks::<N>().0.iter().copied().map(from).collect()
        }
        match element {
            VarKind::Bool => Values::Bool(bytes.iter().map(|&byte| byte != 0).collect()),
            VarKind::Int32 => Values::I32(all(bytes, i32::from_le_bytes)),
            VarKind::Int64 => Values::I64(all(bytes, i64::from_le_bytes)),
            VarKind::Fp32 => Values::F32(all(bytes, f32::from_le_bytes)),
            VarKind::Fp64 => Values::F64(all(bytes, f64::from_le_bytes)),
            // Narrow types are held by wider ones.
            VarKind::Uint8 => Values::I32(bytes.iter().map(|&byte| byte.into()).collect()),
            VarKind::Int8 => Values::I32(bytes.iter().map(|&byte| (byte as i8).into()).collect()),
            VarKind::Int16 => Values::I32(all(bytes, |pair| i16::from_le_bytes(pair).into())),
            VarKind::Fp16 => Values::F32(all(bytes, |half| {
                // Half precision has five bits of exponent, and its numbers are moved by 112 powers of two.
                let half = u32::from(u16::from_le_bytes(half));
                let bits = (half & 0x8000) << 16 | (half & 0x7fff) << 13;
                match half & 0x7c00 {
                    0x7c00 => f32::from_bits(bits | 0x7f80_0000),
                    _ => f32::from_bits(bits) * 2f32.powi(112),
                }
            })),
            other => panic!("no test has elements of type {other}"),
        }
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        match self {
            Values::Bool(values) => values.iter().map(|&value| u8::from(value)).collect(),
            Values::I32(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
            Values::I64(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
            Values::F32(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
            Values::F64(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        }
    }
}

impl Tensor {
    pub(crate) fn f32(shape: &[usize], values: &[f32]) -> Tensor {
        assert_eq!(shape.iter().product::<usize>(), values.len());
        Tensor { shape: shape.to_vec(), values: Values::F32(values.to_vec()), offsets: Vec::new() }
    }

    pub(crate) fn i64(shape: &[usize], values: &[i64]) -> Tensor {
        assert_eq!(shape.iter().product::<usize>(), values.len());
        Tensor { shape: shape.to_vec(), values: Values::I64(values.to_vec()), offsets: Vec::new() }
    }

    /// The `k`-th of what its first axis counts.
    pub(crate) fn part(&self, k: usize) -> Tensor {
        let shape = self.shape[1..].to_vec();
        let len: usize = shape.iter().product();
        let bytes = self.values.to_bytes();
        let width = self.values.dtype().bytes();
        let bytes = &bytes[k * len * width..(k + 1) * len * width];
        Tensor { shape, values: Values::from_bytes(self.values.element(), bytes), offsets: Vec::new() }
    }

    /// Zeros of the same shape, offsets and element type.
    pub(crate) fn zeros_like(&self) -> Tensor {
        let values = Values::zeros(self.values.dtype(), self.shape.iter().product());
        Tensor { values, ..self.clone() }
    }

    /// The rows as the tokens of sequences; if they are that already, of sequences in these.
    pub(crate) fn with_offsets(mut self, offsets: &[i64]) -> Tensor {
        self.offsets.push(offsets.to_vec());
        self
    }

    pub(crate) fn feed(&self) -> Feed<'_> {
        Feed { values: self.values.slice(), shape: &self.shape, offsets: &self.offsets }
    }

    pub(crate) fn from_record(record: &TensorRecord) -> Tensor {
        let shape = record.dims.iter().map(|&dim| dim as usize).collect();
        Tensor { shape, values: Values::from_bytes(record.element, &record.data), offsets: Vec::new() }
    }

    pub(crate) fn to_record(&self) -> TensorRecord {
        TensorRecord {
            lod: Vec::new(),
            element: self.values.element(),
            dims: self.shape.iter().map(|&dim| dim as i64).collect(),
            data: self.values.to_bytes(),
        }
    }

    /// Same shape, offsets and element type, values within `|a - b| ≤ atol + rtol · |b|`.
    pub(crate) fn assert_close(&self, expected: &Tensor, rtol: f64, atol: f64, what: &str) {
        self.compare(expected, rtol, atol).unwrap_or_else(|difference| panic!("{what}: {difference}"));
    }

    /// The same, as the largest `|a - b| / max(1, |b|)`, or what differs.
    pub(crate) fn compare(&self, expected: &Tensor, rtol: f64, atol: f64) -> Result<f64, String> {
        self.compare_shape(expected)?;
        let (a, b) = (self.values.numbers(), expected.values.numbers());
        let mut worst = 0f64;
        for (i, (a, b)) in a.iter().zip(&b).enumerate() {
            if a == b || (a.is_nan() && b.is_nan()) {
                continue;
            }
            let error = (a - b).abs();
            let close = self.values.dtype().is_float() && error <= atol + rtol * b.abs();
            if !close {
                return Err(format!("element {i} is {a}, expected {b}"));
            }
            worst = worst.max(error / b.abs().max(1.0));
        }
        Ok(worst)
    }

    /// Same shape, offsets and element type.
    pub(crate) fn compare_shape(&self, expected: &Tensor) -> Result<(), String> {
        let differs = |what: &str, found: &dyn Debug, expected: &dyn Debug| {
            Err(format!("its {what} is {found:?}, expected {expected:?}"))
        };
        if self.shape != expected.shape {
            return differs("shape", &self.shape, &expected.shape);
        }
        if self.offsets != expected.offsets {
            return differs("offsets", &self.offsets, &expected.offsets);
        }
        let (found, expected) = (self.values.element(), expected.values.element());
        if found != expected { differs("element type", &found, &expected) } else { Ok(()) }
    }
}
