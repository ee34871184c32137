//! Types on the wire: the element types and dimensions that PaddlePaddle knows, and exact types as text.
//!
//! A wire dimension is a number, or -1. The row space and the symbolic sizes that this leaves out are written beside it
//! as text, if they cannot be inferred: `f32[@0, 13, #2 * #3 + 1]` is a type whose leading dimension is row space 0 and
//! whose last one is a polynomial of symbols 2 and 3. The numbers are indices into the tables of the program's
//! `rust.program` operator.

mod read;

pub(super) use self::read::{
    Tables, declare, dtype, is_small_product, parse_condition, parse_dim, parse_type, too_large,
};
#[cfg(feature = "read")]
pub(super) use self::read::{enlarged, is_moderate, product, wider};
use crate::ops::Program;
use crate::program::{Condition, DType, Dim, RowOrigin, Type};
use crate::wire::{LodTensorDesc, TensorDesc, VarKind, VarType};

/// The element type on the wire.
pub fn element(dtype: DType) -> VarKind {
    match dtype {
        DType::Bool => VarKind::Bool,
        DType::I32 => VarKind::Int32,
        DType::I64 => VarKind::Int64,
        DType::F32 => VarKind::Fp32,
        DType::F64 => VarKind::Fp64,
    }
}

/// The dimensions on the wire: rows and symbolic sizes are -1.
pub(super) fn wire_dims(ty: &Type) -> Vec<i64> {
    let rows = ty.rows.map(|_| -1);
    rows.into_iter().chain(ty.dims.iter().map(|dim| dim.constant().unwrap_or(-1))).collect()
}

/// The type of a tensor on the wire.
pub(super) fn tensor_type(program: &Program, ty: &Type) -> VarType {
    let tensor =
        TensorDesc { data_type: element(ty.dtype).into(), dims: wire_dims(ty), ..Default::default() };
    let lod_level = Some(program.depth_of_sequences(ty) as i32);
    let lod_tensor = LodTensorDesc { tensor, lod_level, ..Default::default() };
    VarType { r#type: VarKind::LodTensor.into(), lod_tensor: Some(lod_tensor), ..Default::default() }
}

/// Whether the dimensions on the wire determine the type.
pub(super) fn is_plain(ty: &Type) -> bool {
    ty.rows.is_none() && ty.dims.iter().all(|dim| dim.constant().is_some())
}

/// The exact text of a dimension.
pub(super) fn dim_text(dim: &Dim) -> String {
    dim.display(&|symbol| format!("#{}", symbol.0)).to_string()
}

/// The exact text of a type.
pub(super) fn type_text(ty: &Type) -> String {
    let rows = ty.rows.map(|rows| format!("@{}", rows.0));
    let dims: Vec<String> = rows.into_iter().chain(ty.dims.iter().map(dim_text)).collect();
    format!("{}[{}]", ty.dtype, dims.join(", "))
}

/// The exact text of a condition.
pub(super) fn condition_text(condition: &Condition) -> String {
    match condition {
        Condition::Equal(a, b) => format!("{}{EQUAL}{}", dim_text(a), dim_text(b)),
        Condition::Positive(size) => format!("{}{POSITIVE}", dim_text(size)),
    }
}

const EQUAL: &str = " = ";
const POSITIVE: &str = " > 0";

/// The numbers for the origin of a row space: its kind, and the other row space that belongs to it, or the number of its rows.
pub(super) fn origin_numbers(origin: RowOrigin) -> Option<(i64, i64)> {
    match origin {
        RowOrigin::Root | RowOrigin::Chosen | RowOrigin::Tokens => None,
        RowOrigin::Active { steps } => Some((0, i64::from(steps.0))),
        RowOrigin::Steps => Some((1, -1)),
        RowOrigin::Part { of } => Some((2, i64::from(of.0))),
        RowOrigin::Rounds => Some((3, -1)),
        RowOrigin::Fixed(count) => Some((4, i64::from(count))),
    }
}
