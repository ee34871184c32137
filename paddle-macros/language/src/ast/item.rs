//! Items: functions, constants, and the units that they are written in.

use paddle_core::program::DType;
use proc_macro2::{Ident, TokenStream};

use super::{
    BindingId, Block, Expr, ExprKind, FunctionId, OutsideSize, Pattern, PatternKind, SizeOrigin, TypeExpr,
    TypeKind, UnitId, text,
};
use crate::report::Extent;

/// Items that were written in one place and see each other.
#[derive(Debug)]
pub struct Unit {
    pub origin: Origin,
    pub imports: Vec<Import>,
}

/// Where a unit was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// In this invocation.
    Here,
    /// In another module or crate, in this file.
    Imported { file: String },
    /// In the library of layers.
    Library,
}

/// A name that is another unit's.
#[derive(Debug)]
pub struct Import {
    /// The name here.
    pub ident: Ident,
    /// `use ..;`, as Rust has it.
    pub tokens: TokenStream,
    /// The unit and the name there; none if that module has mistakes of its own.
    pub item: Option<(UnitId, String)>,
}

/// The declaration of a variable or `const`.
#[derive(Debug)]
pub struct Binding {
    pub name: String,
    /// Whether its name is anywhere but in its declaration and on the left of `=`.
    pub read: bool,
    pub unit: UnitId,
    /// What editors show of it, in [`Network::shown`](super::Network::shown); none where that is nothing but a value.
    pub shown: Option<usize>,
}

/// `const N: usize = 13;`
#[derive(Debug)]
pub struct Constant {
    pub ident: Ident,
    pub unit: UnitId,
    /// Whether other modules can import it.
    pub public: bool,
    pub binding: Option<BindingId>,
    pub ty: ConstantType,
    /// Whether a size is in it that the caller of the network gives; filled in by `resolve`.
    pub by_caller: bool,
    pub value: Expr,
    /// The whole item, as it was written; a captured variable has none.
    pub tokens: TokenStream,
}

impl Constant {
    /// Whether it is a variable of the code around, captured with `move`.
    pub fn is_captured(&self) -> bool {
        self.tokens.is_empty()
    }

    /// A size that the caller of the network gives.
    pub fn of_the_caller(ident: Ident, unit: UnitId, origin: SizeOrigin, tokens: TokenStream) -> Self {
        let size = OutsideSize { name: text(&ident), unit, origin };
        Constant {
            value: Expr { kind: ExprKind::Outside(size), at: Extent::from(ident.span()) },
            ident,
            unit,
            public: false,
            binding: None,
            ty: ConstantType::Number { dtype: DType::I64, counts: true },
            by_caller: true,
            tokens,
        }
    }
}

/// The type of a `const`.
#[derive(Debug)]
pub enum ConstantType {
    Number {
        dtype: DType,
        /// Whether it is a `usize`, which is not negative.
        counts: bool,
    },
    /// `&str`
    Text,
    /// `[usize; 3]`
    Array(Box<ConstantType>, Box<Expr>),
    Tuple(Vec<ConstantType>),
    /// It has been reported.
    Invalid,
}

/// `fn`, or the closure of the expression form.
#[derive(Debug)]
pub struct Function {
    pub ident: Ident,
    pub unit: UnitId,
    /// Whether other modules can import it.
    pub public: bool,
    /// `#[layer]`: it is for other networks alone.
    pub layer: bool,
    /// `#[operator]`: it has no body, and is computed by kernels of the user's.
    pub operator: Option<CustomOperator>,
    /// Documentation and the like, as written.
    pub attributes: TokenStream,
    /// Which lints rustc is to report of its source.
    pub lints: TokenStream,
    /// `pub`, as written.
    pub visibility: TokenStream,
    /// Its const parameters: sizes that each instantiation binds.
    pub generics: Vec<Constant>,
    pub params: Vec<Param>,
    pub result: Option<TypeExpr>,
    pub body: Block,
    /// The whole item, without its documentation.
    pub tokens: TokenStream,
}

/// What `#[operator(name = "..", row_wise, gradient = f)]` says.
#[derive(Debug)]
pub struct CustomOperator {
    /// What it is called in programs.
    pub name: String,
    pub row_wise: bool,
    /// Whether its types are those of an operator; others have been reported.
    pub is_right: bool,
    /// The `fn` that is its gradient, and what it stands for, filled in by `resolve`.
    pub gradient: Option<(Ident, Option<FunctionId>)>,
}

impl Function {
    /// Whether it is a network of its own. One that takes numbers or activations is a layer, too.
    pub fn is_topology(&self) -> bool {
        let is_fed = |param: &Param| {
            let known = |ty: &TypeExpr| {
                matches!(ty.kind, TypeKind::Constant(_) | TypeKind::Activation | TypeKind::Word)
            };
            param.default.is_none() && !param.ty.as_ref().is_some_and(known)
        };
        self.public && !self.layer && self.operator.is_none() && self.params.iter().all(is_fed)
    }

    /// The parameters that a call gives by position.
    pub fn positional(&self) -> impl Iterator<Item = &Param> + Clone {
        self.params.iter().filter(|param| param.default.is_none())
    }

    /// Those that a call may name.
    pub fn named(&self) -> impl Iterator<Item = &Param> {
        self.params.iter().filter(|param| param.default.is_some())
    }
}

#[derive(Debug)]
pub struct Param {
    pub pattern: Pattern,
    pub ty: Option<TypeExpr>,
    /// `#[default = ..]`: what it is for calls that do not name it.
    pub default: Option<Expr>,
}

/// A name that stands for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keyword {
    Activation,
    /// A word that a layer allows: `max`.
    Word,
}

impl Param {
    /// What its argument is, where that is no value.
    pub fn keyword(&self) -> Option<Keyword> {
        match self.ty.as_ref().map(|ty| &ty.kind) {
            Some(TypeKind::Activation) => Some(Keyword::Activation),
            Some(TypeKind::Word) => Some(Keyword::Word),
            _ => None,
        }
    }

    /// Its name, if it is one.
    pub fn name(&self) -> Option<String> {
        match &self.pattern.kind {
            PatternKind::Name { ident, .. } => Some(text(ident)),
            PatternKind::Tuple(_) | PatternKind::Invalid(_) | PatternKind::Wildcard => None,
        }
    }
}
