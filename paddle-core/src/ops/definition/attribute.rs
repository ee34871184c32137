//! Attributes: the compile-time constants of operators, and their conversion to and from the text form and the wire.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::ops::Program;
use crate::program::{DType, Dim, DimOverflow, RowsId, SymbolId, Type};

/// A number written in the source of a model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// A truth value.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A floating-point number, which is rounded to the element type where it is used.
    Float(f64),
}

impl Number {
    /// The value as a float.
    pub const fn as_f64(self) -> f64 {
        match self {
            Number::Bool(value) => value as u8 as f64,
            Number::Int(value) => value as f64,
            Number::Float(value) => value,
        }
    }

    /// Whether the number can be an element of this type.
    pub fn fits(self, dtype: DType) -> bool {
        match (dtype, self) {
            (DType::F32 | DType::F64, Number::Float(_) | Number::Int(_)) => true,
            (DType::I32, Number::Int(value)) => i32::try_from(value).is_ok(),
            (DType::I64, Number::Int(_)) | (DType::Bool, Number::Bool(_)) => true,
            _ => false,
        }
    }

    /// The value as an integer, if the number is one.
    pub fn as_i64(self) -> Option<i64> {
        match self {
            Number::Bool(value) => Some(i64::from(value)),
            Number::Int(value) => Some(value),
            Number::Float(value) => {
                let whole = value as i64;
                (whole as f64 == value).then_some(whole)
            }
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Number::Bool(value) => write!(f, "{value}"),
            Number::Int(value) => write!(f, "{value}"),
            Number::Float(value) => write!(f, "{value:?}"),
        }
    }
}

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum Attribute {
    /// A number or truth value.
    Number(Number),
    /// A word.
    Text(String),
    /// Integers, for example axes.
    Ints(Vec<i64>),
    /// Numbers, for example elements.
    Numbers(Vec<Number>),
    /// Sizes, which may be symbolic.
    Dims(Vec<Dim>),
    /// An element type.
    DType(DType),
    /// A whole type.
    Type(Type),
    /// Several types.
    Types(Vec<Type>),
    /// Encoded data.
    Bytes(Vec<u8>),
    /// A row space.
    Rows(RowsId),
    /// A program.
    Program(Arc<Program>),
}

impl Attribute {
    /// The size symbols in the attribute.
    pub fn symbols(&self) -> Vec<SymbolId> {
        match self {
            Attribute::Dims(dims) => dims.iter().flat_map(Dim::symbols).collect(),
            Attribute::Type(ty) => ty.dims.iter().flat_map(Dim::symbols).collect(),
            Attribute::Types(types) => types.iter().flat_map(|ty| &ty.dims).flat_map(Dim::symbols).collect(),
            Attribute::Number(_)
            | Attribute::Text(_)
            | Attribute::Ints(_)
            | Attribute::Numbers(_)
            | Attribute::DType(_)
            | Attribute::Bytes(_)
            | Attribute::Rows(_)
            | Attribute::Program(_) => Vec::new(),
        }
    }

    /// The row spaces in the attribute.
    pub fn rows(&self) -> Vec<RowsId> {
        match self {
            Attribute::Rows(rows) => vec![*rows],
            Attribute::Type(ty) => ty.rows.into_iter().collect(),
            Attribute::Types(types) => types.iter().filter_map(|ty| ty.rows).collect(),
            _ => Vec::new(),
        }
    }

    /// The attribute with other row spaces; those that `to` lacks stay.
    pub(crate) fn with_rows(self, to: &BTreeMap<RowsId, RowsId>) -> Attribute {
        let changed = |rows: RowsId| to.get(&rows).copied().unwrap_or(rows);
        let of_type = |ty: Type| Type { rows: ty.rows.map(changed), ..ty };
        match self {
            Attribute::Rows(rows) => Attribute::Rows(changed(rows)),
            Attribute::Type(ty) => Attribute::Type(of_type(ty)),
            Attribute::Types(types) => Attribute::Types(types.into_iter().map(of_type).collect()),
            other => other,
        }
    }

    /// The attribute with each size symbol replaced; `None` if it has no sizes.
    pub fn substitute(&self, with: &dyn Fn(SymbolId) -> Dim) -> Result<Option<Attribute>, DimOverflow> {
        Ok(Some(match self {
            Attribute::Dims(dims) => {
                Attribute::Dims(dims.iter().map(|dim| dim.substitute(with)).collect::<Result<_, _>>()?)
            }
            Attribute::Type(ty) => Attribute::Type(ty.substitute(with)?),
            Attribute::Types(types) => {
                Attribute::Types(types.iter().map(|ty| ty.substitute(with)).collect::<Result<_, _>>()?)
            }
            Attribute::Number(_)
            | Attribute::Text(_)
            | Attribute::Ints(_)
            | Attribute::Numbers(_)
            | Attribute::DType(_)
            | Attribute::Bytes(_)
            | Attribute::Rows(_)
            | Attribute::Program(_) => return Ok(None),
        }))
    }
}

/// A Rust type whose values can be attributes.
pub trait AttributeValue: Sized {
    /// Converts the value to an attribute.
    fn to_attribute(&self) -> Attribute;
    /// Converts an attribute to the value; `None` if the attribute is of another kind or out of range.
    fn from_attribute(attribute: &Attribute) -> Option<Self>;
}

macro_rules! attribute_value {
    ($($type:ty: $to:expr, $pattern:pat => $from:expr;)*) => {$(
        impl AttributeValue for $type {
            fn to_attribute(&self) -> Attribute {
                let to: fn(&$type) -> Attribute = $to;
                to(self)
            }

            fn from_attribute(attribute: &Attribute) -> Option<Self> {
                match attribute {
                    $pattern => $from,
                    _ => None,
                }
            }
        }
    )*};
}

attribute_value! {
    bool: |v| Attribute::Number(Number::Bool(*v)), Attribute::Number(Number::Bool(v)) => Some(*v);
    i64: |v| Attribute::Number(Number::Int(*v)), Attribute::Number(v) => v.as_i64();
    f64: |v| Attribute::Number(Number::Float(*v)), Attribute::Number(v) => Some(v.as_f64());
    Number: |v| Attribute::Number(*v), Attribute::Number(v) => Some(*v);
    String: |v| Attribute::Text(v.clone()), Attribute::Text(v) => Some(v.clone());
    [i64; 2]: |v| Attribute::Ints(v.to_vec()), Attribute::Ints(v) => v.as_slice().try_into().ok();
    [i64; 4]: |v| Attribute::Ints(v.to_vec()), Attribute::Ints(v) => v.as_slice().try_into().ok();
    [bool; 4]: |v| Attribute::Ints(v.map(i64::from).to_vec()), Attribute::Ints(v) => match v[..] {
        [a, b, c, d] if v.iter().all(|v| matches!(v, 0 | 1)) => Some([a, b, c, d].map(|v| v == 1)),
        _ => None,
    };
    [f64; 2]: |v| Attribute::Numbers(v.map(Number::Float).to_vec()), Attribute::Numbers(v) => match v[..] {
        [first, second] => Some([first, second].map(Number::as_f64)),
        _ => None,
    };
    Vec<i64>: |v| Attribute::Ints(v.clone()), Attribute::Ints(v) => Some(v.clone());
    Vec<Number>: |v| Attribute::Numbers(v.clone()), Attribute::Numbers(v) => Some(v.clone());
    Vec<Dim>: |v| Attribute::Dims(v.clone()), Attribute::Dims(v) => Some(v.clone());
    Dim: |v| Attribute::Dims(vec![v.clone()]), Attribute::Dims(v) => match &v[..] {
        [dim] => Some(dim.clone()),
        _ => None,
    };
    Option<Dim>: |v| Attribute::Dims(v.iter().cloned().collect()), Attribute::Dims(v) => match &v[..] {
        [] => Some(None),
        [dim] => Some(Some(dim.clone())),
        _ => None,
    };
    DType: |v| Attribute::DType(*v), Attribute::DType(v) => Some(*v);
    Type: |v| Attribute::Type(v.clone()), Attribute::Type(v) => Some(v.clone());
    Vec<Type>: |v| Attribute::Types(v.clone()), Attribute::Types(v) => Some(v.clone());
    RowsId: |v| Attribute::Rows(*v), Attribute::Rows(v) => Some(*v);
    Vec<u8>: |v| Attribute::Bytes(v.clone()), Attribute::Bytes(v) => Some(v.clone());
}

/// Why an operator cannot be made from attributes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttributeError {
    /// No operator has this name.
    UnknownOperator(String),
    /// The operator has no such attribute.
    Unknown {
        /// The operator.
        operator: String,
        /// The attribute.
        attribute: String,
    },
    /// A required attribute is left out.
    Missing {
        /// The operator.
        operator: String,
        /// The attribute.
        attribute: &'static str,
    },
    /// The value is of the wrong kind or out of range.
    Wrong {
        /// The operator.
        operator: String,
        /// The attribute.
        attribute: &'static str,
    },
}

impl fmt::Display for AttributeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AttributeError::UnknownOperator(name) => write!(f, "there is no operator `{name}`"),
            AttributeError::Unknown { operator, attribute } => {
                write!(f, "operator `{operator}` has no attribute `{attribute}`")
            }
            AttributeError::Missing { operator, attribute } => {
                write!(f, "operator `{operator}` needs the attribute `{attribute}`")
            }
            AttributeError::Wrong { operator, attribute } => {
                write!(f, "attribute `{attribute}` of operator `{operator}` has a value of the wrong kind")
            }
        }
    }
}

impl std::error::Error for AttributeError {}

/// The attributes of one operator while they are read. Each is taken once; an attribute that is left over is an error.
pub struct AttributeReader<'a> {
    operator: &'a str,
    left: Vec<(String, Attribute)>,
}

impl<'a> AttributeReader<'a> {
    /// Reads `attributes` of `operator`.
    pub fn new(operator: &'a str, attributes: Vec<(String, Attribute)>) -> Self {
        AttributeReader { operator, left: attributes }
    }

    /// Takes an attribute, or its default if it is left out.
    pub fn take<T: AttributeValue>(
        &mut self,
        attribute: &'static str,
        default: Option<T>,
    ) -> Result<T, AttributeError> {
        match self.left.iter().position(|(name, _)| name == attribute) {
            Some(at) => T::from_attribute(&self.left.remove(at).1)
                .ok_or_else(|| AttributeError::Wrong { operator: self.operator.into(), attribute }),
            None => {
                default.ok_or_else(|| AttributeError::Missing { operator: self.operator.into(), attribute })
            }
        }
    }

    /// Ends the reading. Attributes that were not taken are an error.
    pub fn finish(self) -> Result<(), AttributeError> {
        match self.left.into_iter().next() {
            Some((attribute, _)) => {
                Err(AttributeError::Unknown { operator: self.operator.into(), attribute })
            }
            None => Ok(()),
        }
    }
}

/// Conversion of an operator's attributes to and from names and values.
pub trait Attributes: Sized {
    /// The attributes, in declaration order.
    fn to_attributes(&self) -> Vec<(&'static str, Attribute)>;
    /// The same operator with these attributes, and defaults for those left out.
    fn with_attributes(&self, reader: AttributeReader<'_>) -> Result<Self, AttributeError>;
    /// One operator per name: the members of a family, or one.
    fn prototypes() -> Vec<Self>;
}

/// Connects the fields of an operator's struct with its attributes: `attributes!(Scale { scale = 1.0, bias = 0.0 })`. A
/// field with `:` instead of `=` has to be given; the value behind the `:` is that of the prototype. A method behind
/// the fields normalises what was read.
///
/// A family lists its members, which differ by name: `attributes!(Binary: kind in BinaryKind::ALL)`. A gradient has the
/// attributes of the operator that it differentiates: `attributes!(Pool2dGrad(Pool2d))`.
macro_rules! attributes {
    ($op:ident { $($field:ident $mark:tt $value:expr),* $(,)? } $($normal:ident)?) => {
        impl $crate::ops::Attributes for $op {
            fn to_attributes(&self) -> Vec<(&'static str, $crate::ops::Attribute)> {
                vec![$((stringify!($field), $crate::ops::AttributeValue::to_attribute(&self.$field))),*]
            }

            fn with_attributes(
                &self,
                #[allow(unused_mut)] mut reader: $crate::ops::AttributeReader<'_>,
            ) -> Result<Self, $crate::ops::AttributeError> {
                $(let $field = reader.take(stringify!($field), attributes!(@default $mark $value))?;)*
                reader.finish()?;
                Ok($op { $($field),* }$(.$normal())?)
            }

            fn prototypes() -> Vec<Self> {
                vec![$op { $($field: $value),* }]
            }
        }
    };
    ($op:ident: $kind:ident in $all:expr) => {
        impl $crate::ops::Attributes for $op {
            fn to_attributes(&self) -> Vec<(&'static str, $crate::ops::Attribute)> {
                Vec::new()
            }

            fn with_attributes(
                &self,
                reader: $crate::ops::AttributeReader<'_>,
            ) -> Result<Self, $crate::ops::AttributeError> {
                reader.finish()?;
                Ok($op { $kind: self.$kind })
            }

            fn prototypes() -> Vec<Self> {
                $all.iter().map(|&$kind| $op { $kind }).collect()
            }
        }
    };
    ($op:ident($of:ident)) => {
        impl $crate::ops::Attributes for $op {
            fn to_attributes(&self) -> Vec<(&'static str, $crate::ops::Attribute)> {
                self.0.to_attributes()
            }

            fn with_attributes(
                &self,
                reader: $crate::ops::AttributeReader<'_>,
            ) -> Result<Self, $crate::ops::AttributeError> {
                self.0.with_attributes(reader).map($op)
            }

            fn prototypes() -> Vec<Self> {
                $of::prototypes().into_iter().map($op).collect()
            }
        }
    };
    (@default : $value:expr) => { None };
    (@default = $value:expr) => { Some($value) };
}
