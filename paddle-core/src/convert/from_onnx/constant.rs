//! Tensors whose elements are in the file.

use super::Reader;
use super::scope::{narrow, type_of_constant};
use crate::convert::error::{Fault, VariableFault};
use crate::convert::from_wire::widened;
use crate::convert::types::too_large;
use crate::ops::Number;
use crate::program::{DType, Type};
use crate::wire::onnx::TensorProto;
use crate::wire::{TensorRecord, VarKind, WireError};

/// A tensor whose elements are in the file.
#[derive(Debug)]
pub(super) struct Constant {
    pub(super) ty: Type,
    /// The elements, in our own type.
    pub(super) record: TensorRecord,
    /// Whether it is an initialiser, and no operator `Constant`.
    pub(super) is_weight: bool,
    /// The type of the elements in the file, if ours is wider.
    pub(super) narrow: Option<VarKind>,
}

impl Constant {
    pub(super) fn of(tensor: &TensorProto, name: &str, is_weight: bool) -> Result<Constant, Fault> {
        if tensor.data_location == Some(1) {
            return Err(Fault::Variable { name: name.to_string(), reason: VariableFault::External });
        }
        let (kind, dtype) = Reader::element_type(name, tensor.data_type.unwrap_or_default())?;
        let of = |cause| Fault::Wire(WireError::Parameter { name: name.to_string(), cause: Box::new(cause) });
        let data = tensor.elements(kind).map_err(of)?;
        let ty = type_of_constant(dtype, &tensor.dims);
        if !ty.is_possible() {
            return Err(too_large(&ty));
        }
        let record = TensorRecord { lod: Vec::new(), element: kind, dims: tensor.dims.clone(), data };
        let record = widened(record).map_err(|error| of(error.into()))?;
        Ok(Constant { ty, record, is_weight, narrow: narrow(kind) })
    }

    /// A constant of one whole number or truth value.
    pub(super) fn scalar(number: Number) -> Constant {
        let (element, dtype, data) = match number {
            Number::Bool(value) => (VarKind::Bool, DType::Bool, vec![u8::from(value)]),
            number => {
                let value = number.as_i64().unwrap_or_default();
                (VarKind::Int64, DType::I64, value.to_le_bytes().to_vec())
            }
        };
        let record = TensorRecord { lod: Vec::new(), element, dims: Vec::new(), data };
        Constant { ty: Type::scalar(dtype), record, is_weight: false, narrow: None }
    }

    /// The number of elements.
    pub(super) fn count(&self) -> usize {
        self.record.data.len() / self.ty.dtype.bytes()
    }

    /// The elements.
    pub(super) fn numbers(&self) -> Vec<Number> {
        let data = &self.record.data;
        let (fours, eights) = (data.as_chunks::<4>().0.iter(), data.as_chunks::<8>().0.iter());
        match self.ty.dtype {
            DType::Bool => data.iter().map(|&byte| Number::Bool(byte != 0)).collect(),
            DType::I32 => fours.map(|&bytes| Number::Int(i32::from_le_bytes(bytes).into())).collect(),
            DType::I64 => eights.map(|&bytes| Number::Int(i64::from_le_bytes(bytes))).collect(),
            DType::F32 => fours.map(|&bytes| Number::Float(f32::from_le_bytes(bytes).into())).collect(),
            DType::F64 => eights.map(|&bytes| Number::Float(f64::from_le_bytes(bytes))).collect(),
        }
    }
}
