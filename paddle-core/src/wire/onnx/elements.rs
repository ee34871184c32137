//! The element types of tensors, and the elements of one.

use std::fmt;

use super::TensorProto;
use crate::memory::{OutOfMemory, TryGrow};
use crate::wire::{VarKind, WireError};

macro_rules! element_types {
    ($($Variant:ident = $number:literal, $name:literal $(, $kind:ident)?;)*) => {
        /// The element type of a tensor.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(i32)]
        pub enum ElementType {
            $(#[doc = concat!("`", $name, "`")] $Variant = $number,)*
        }

        impl ElementType {
            /// The element type with this number.
            pub fn from_number(number: i32) -> Option<Self> {
                match number {
                    $($number => Some(ElementType::$Variant),)*
                    _ => None,
                }
            }

            /// PaddlePaddle's element type of the same numbers, if there is one.
            pub fn kind(self) -> Option<VarKind> {
                match self {
                    $(ElementType::$Variant => element_types!(@kind $($kind)?),)*
                }
            }
        }

        impl fmt::Display for ElementType {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(ElementType::$Variant => $name,)* })
            }
        }
    };
    (@kind $kind:ident) => { Some(VarKind::$kind) };
    (@kind) => { None };
}

element_types! {
    Float = 1, "FLOAT", Fp32;
    Uint8 = 2, "UINT8", Uint8;
    Int8 = 3, "INT8", Int8;
    Uint16 = 4, "UINT16";
    Int16 = 5, "INT16", Int16;
    Int32 = 6, "INT32", Int32;
    Int64 = 7, "INT64", Int64;
    String = 8, "STRING";
    Bool = 9, "BOOL", Bool;
    Float16 = 10, "FLOAT16", Fp16;
    Double = 11, "DOUBLE", Fp64;
    Uint32 = 12, "UINT32";
    Uint64 = 13, "UINT64";
    Complex64 = 14, "COMPLEX64";
    Complex128 = 15, "COMPLEX128";
    Bfloat16 = 16, "BFLOAT16", Bf16;
}

impl ElementType {
    /// The element type of the same numbers as one of PaddlePaddle's, if there is one.
    pub fn of_kind(kind: VarKind) -> Option<Self> {
        (1..=16).filter_map(ElementType::from_number).find(|element| element.kind() == Some(kind))
    }
}

impl TensorProto {
    /// A tensor with these elements, row by row, little endian.
    pub fn of(element: ElementType, dims: impl IntoIterator<Item = i64>, data: Vec<u8>) -> Self {
        let dims = dims.into_iter().collect();
        TensorProto { dims, data_type: Some(element as i32), raw_data: Some(data), ..TensorProto::default() }
    }

    /// The element type.
    pub fn element_type(&self) -> Option<ElementType> {
        ElementType::from_number(self.data_type.unwrap_or_default())
    }

    /// The elements, row by row, little endian, of a type that [`ElementType::kind`] has.
    ///
    /// # Errors
    /// Dimensions that are negative or too large, and data of another length than they ask for.
    pub fn elements(&self, kind: VarKind) -> Result<Vec<u8>, WireError> {
        let size = match kind {
            VarKind::Bool | VarKind::Uint8 | VarKind::Int8 => 1,
            VarKind::Int16 | VarKind::Fp16 | VarKind::Bf16 => 2,
            VarKind::Int32 | VarKind::Fp32 => 4,
            _ => 8,
        };
        let wrong = || WireError::TensorSize { dims: self.dims.clone(), element: kind };
        let dims = self.dims.iter().map(|&dim| usize::try_from(dim).map_err(|_| wrong()));
        let count = dims.into_iter().try_fold(1usize, |all, dim| all.checked_mul(dim?).ok_or_else(wrong))?;
        let expected = count.checked_mul(size).ok_or_else(wrong)?;
        let mut data = Vec::new();
        match &self.raw_data {
            Some(raw) => data.try_extend_from_slice(raw)?,
            None => match kind {
                VarKind::Fp32 => put(&mut data, &self.float_data, |value| value.to_le_bytes())?,
                VarKind::Fp64 => put(&mut data, &self.double_data, |value| value.to_le_bytes())?,
                VarKind::Int64 => put(&mut data, &self.int64_data, |value| value.to_le_bytes())?,
                VarKind::Int32 => put(&mut data, &self.int32_data, |value| value.to_le_bytes())?,
                _ if size == 2 => put(&mut data, &self.int32_data, |value| (value as u16).to_le_bytes())?,
                _ => put(&mut data, &self.int32_data, |value| [value as u8])?,
            },
        }
        if data.len() != expected {
            return Err(WireError::DataLength { expected, found: data.len() });
        }
        Ok(data)
    }
}

fn put<T: Copy, const N: usize>(
    data: &mut Vec<u8>,
    elements: &[T],
    bytes: impl Fn(T) -> [u8; N],
) -> Result<(), OutOfMemory> {
    data.try_grow(elements.len() * N)?;
    elements.iter().for_each(|&element| data.extend(bytes(element)));
    Ok(())
}
