//! Which dimension of the inputs is the batch, and what the other unknown ones are.

use super::Reader;
use super::scope::narrow;
use crate::convert::error::{Fault, VariableFault};
use crate::program::{Dim, RowsId, Type};
use crate::wire::VarKind;
use crate::wire::onnx::{DimensionProto, ValueInfoProto};

/// The name of a dimension that is not a number; empty if it has none.
fn name(dim: &DimensionProto) -> Option<&str> {
    match dim.dim_value {
        Some(size) if size >= 0 => None,
        _ => Some(dim.dim_param.as_deref().unwrap_or("")),
    }
}

fn dims(input: &ValueInfoProto) -> Option<&[DimensionProto]> {
    let tensor = input.r#type.as_ref()?.tensor_type.as_ref()?;
    tensor.shape.as_ref().map(|shape| &shape.dim[..])
}

impl Reader {
    /// Finds the name of the batch among the dimensions of the inputs: it comes first, and has `batch` in it if any has.
    pub(super) fn name_batch(&mut self, inputs: &[&ValueInfoProto]) {
        let all = inputs.iter().filter_map(|input| dims(input)).flatten().filter_map(name);
        let is_batch = |name: &&str| name.to_lowercase().contains("batch");
        let named: Vec<&str> = all.filter(is_batch).collect();
        let mut first = inputs.iter().filter_map(|input| dims(input)?.first().and_then(name));
        let batch = match named.is_empty() {
            true => first.next(),
            false => first.find(|name| named.contains(name)),
        };
        if let Some(batch) = batch {
            let rows = self.draft.batch();
            let size = Dim::symbol(self.draft.program.row_space(rows).size);
            self.sizes.insert(batch.to_string(), size);
            self.batch_name = Some(batch.to_string());
        }
    }

    /// The type that an input declares, and its element type if ours is wider.
    pub(super) fn declared_type(&mut self, input: &ValueInfoProto) -> Result<(Type, Option<VarKind>), Fault> {
        let tensor = input.r#type.as_ref().and_then(|ty| ty.tensor_type.as_ref());
        let element = tensor.and_then(|tensor| tensor.elem_type).unwrap_or_default();
        let (kind, dtype) = Reader::element_type(&input.name, element)?;
        let wrong = |reason| Fault::Variable { name: input.name.clone(), reason };
        let dims = dims(input).ok_or_else(|| wrong(VariableFault::NoShape))?;
        let mut rows: Option<RowsId> = None;
        let mut sizes = Vec::with_capacity(dims.len());
        for (axis, dim) in dims.iter().enumerate() {
            match name(dim) {
                None => sizes.push(Dim::from(dim.dim_value.unwrap_or_default())),
                Some(name) if axis == 0 && self.batch_name.as_deref() == Some(name) => {
                    rows = self.draft.batch
                }
                Some("") => sizes.push(Dim::symbol(self.draft.size(&format!("{}[{axis}]", input.name)))),
                Some(name) => sizes.push(self.named_size(name)),
            }
        }
        let ty = self.draft.checked(Type { dtype, rows, dims: sizes })?;
        Ok((ty, narrow(kind)))
    }

    /// The size of this name.
    fn named_size(&mut self, name: &str) -> Dim {
        if let Some(size) = self.sizes.get(name) {
            return size.clone();
        }
        let size = Dim::symbol(self.draft.size(name));
        self.sizes.insert(name.to_string(), size.clone());
        size
    }
}
