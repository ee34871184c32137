//! Patterns and types.

use paddle_core::ops::BinaryKind;
use paddle_core::program::DType;
use proc_macro2::{Ident, Span};

use super::{BindingId, ConstantType, Expr, OutsideSize};
use crate::report::Extent;

#[derive(Debug)]
pub struct Pattern {
    pub kind: PatternKind,
    pub at: Extent,
}

#[derive(Debug)]
pub enum PatternKind {
    Name {
        ident: Ident,
        mutable: Option<Span>,
        binding: Option<BindingId>,
    },
    Tuple(Vec<Pattern>),
    /// A mistake has been reported. The names that the pattern binds.
    Invalid(Vec<Pattern>),
    Wildcard,
}

#[derive(Debug)]
pub struct TypeExpr {
    pub kind: TypeKind,
    pub at: Extent,
}

#[derive(Debug)]
pub enum TypeKind {
    /// `_`
    Infer,
    Tensor {
        dtype: DType,
        dims: Vec<DimExpr>,
    },
    /// `Seq<i64>`; with dimensions, `Seq<Tensor<f32, 64>>`; of several levels, `Seq<Seq<i64>>`.
    Sequence {
        levels: usize,
        dtype: DType,
        dims: Vec<DimExpr>,
    },
    Tuple(Vec<TypeExpr>),
    /// `usize`, `f32`, `&str`, …: known at compile time.
    Constant(ConstantType),
    /// `Activation`
    Activation,
    /// `Word`
    Word,
    /// A mistake has been reported.
    Invalid,
}

#[derive(Debug)]
pub struct DimExpr {
    pub kind: DimKind,
    pub at: Extent,
}

#[derive(Debug)]
pub enum DimKind {
    /// `_`
    Any,
    /// A size symbol or a `const`; `resolve` decides.
    Name {
        ident: Ident,
        constant: Option<BindingId>,
    },
    Size(i64),
    Outside(OutsideSize),
    Binary(BinaryKind, Box<DimExpr>, Box<DimExpr>),
    /// An element of a constant: `{ SIZES[0] }`.
    Part(Box<Expr>),
}
