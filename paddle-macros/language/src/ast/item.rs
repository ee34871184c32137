//! Items: functions, constants, and the units that contain them.

use std::path::PathBuf;

use paddle_core::program::DType;
use proc_macro2::{Ident, TokenStream};

use super::{
    BindingId, Block, Expr, ExprKind, FunctionId, OutsideSize, Pattern, PatternKind, SizeOrigin, TypeExpr,
    TypeKind, UnitId, text,
};
use crate::report::Extent;

/// A unit: items that were written in one place and see each other.
#[derive(Debug)]
pub struct Unit {
    pub origin: Origin,
    pub imports: Vec<Import>,
}

/// The place that a unit was written in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// In this invocation.
    Here,
    /// In another module or crate, in this file.
    Imported { file: String },
    /// In the library of layers.
    Library,
}

/// A name that a unit imports from another unit.
#[derive(Debug)]
pub struct Import {
    /// The name in the importing unit.
    pub ident: Ident,
    /// The `use` declaration, as rustc gets it.
    pub tokens: TokenStream,
    /// The unit that it comes from, and the name there; `None` if that module has mistakes.
    pub item: Option<(UnitId, String)>,
}

/// A model whose items are those of a module, by `include_model!`.
#[derive(Debug)]
pub struct Included {
    /// The file.
    pub file: PathBuf,
    /// The tokens that name it.
    pub at: Extent,
}

/// The declaration of a variable or `const`.
#[derive(Debug)]
pub struct Binding {
    pub name: String,
    /// Whether the variable is read, that is, occurs anywhere but in its declaration and on the left of `=`.
    pub read: bool,
    pub unit: UnitId,
    /// The type that editors show, an index into [`Network::shown`](super::Network::shown); `None` if it is just a
    /// value.
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
    /// Whether the value depends on a size that the caller of the network gives; filled in by `resolve`.
    pub by_caller: bool,
    pub value: Expr,
    /// The tokens of the whole item; empty for a captured variable.
    pub tokens: TokenStream,
}

impl Constant {
    /// Whether it is a variable of the surrounding Rust code, captured by `move`.
    pub fn is_captured(&self) -> bool {
        self.tokens.is_empty()
    }

    /// The `const` for a size that the caller of the network gives.
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
        /// Whether it is `usize`, so that the value cannot be negative.
        counts: bool,
    },
    /// `&str`
    Text,
    /// `[usize; 3]`
    Array(Box<ConstantType>, Box<Expr>),
    Tuple(Vec<ConstantType>),
    /// A mistake has been reported.
    Invalid,
}

/// `fn`, or the closure of the expression form.
#[derive(Debug)]
pub struct Function {
    pub ident: Ident,
    pub unit: UnitId,
    /// Whether other modules can import it.
    pub public: bool,
    /// `#[layer]`: it can only be called by other networks.
    pub layer: bool,
    /// `#[operator]`: it has no body; the user's kernels compute it.
    pub operator: Option<CustomOperator>,
    /// Documentation and other attributes, as written.
    pub attributes: TokenStream,
    /// Lint attributes, for the ghost.
    pub lints: TokenStream,
    /// `pub`, as written.
    pub visibility: TokenStream,
    /// Its const parameters: sizes that each instantiation gives.
    pub generics: Vec<Constant>,
    pub params: Vec<Param>,
    pub result: Option<TypeExpr>,
    pub body: Block,
    /// The whole item, without its documentation.
    pub tokens: TokenStream,
}

/// The arguments of `#[operator(name = "..", row_wise, gradient = f)]`.
#[derive(Debug)]
pub struct CustomOperator {
    /// The operator's name in programs.
    pub name: String,
    pub row_wise: bool,
    /// Whether the parameter types are allowed for an operator. If not, a mistake has been reported.
    pub is_right: bool,
    /// The name of the `fn` that computes its gradient; `resolve` fills in the function.
    pub gradient: Option<(Ident, Option<FunctionId>)>,
}

impl Function {
    /// Whether it is a topology. A `pub fn` that takes numbers or activations is a layer instead.
    pub fn is_topology(&self) -> bool {
        let is_fed = |param: &Param| {
            let known = |ty: &TypeExpr| {
                matches!(ty.kind, TypeKind::Constant(_) | TypeKind::Activation | TypeKind::Word)
            };
            param.default.is_none() && !param.ty.as_ref().is_some_and(known)
        };
        self.public && !self.layer && self.operator.is_none() && self.params.iter().all(is_fed)
    }

    /// The positional parameters.
    pub fn positional(&self) -> impl Iterator<Item = &Param> + Clone {
        self.params.iter().filter(|param| param.default.is_none())
    }

    /// The named parameters.
    pub fn named(&self) -> impl Iterator<Item = &Param> {
        self.params.iter().filter(|param| param.default.is_some())
    }
}

#[derive(Debug)]
pub struct Param {
    pub pattern: Pattern,
    pub ty: Option<TypeExpr>,
    /// `#[default = ..]`: the value for calls that do not give it.
    pub default: Option<Expr>,
}

/// The kinds of parameters whose arguments are names rather than values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keyword {
    Activation,
    /// A word that a layer allows, such as `max`.
    Word,
}

impl Param {
    /// The kind of name that the argument is; `None` if it is a value.
    pub fn keyword(&self) -> Option<Keyword> {
        match self.ty.as_ref().map(|ty| &ty.kind) {
            Some(TypeKind::Activation) => Some(Keyword::Activation),
            Some(TypeKind::Word) => Some(Keyword::Word),
            _ => None,
        }
    }

    /// The name, if the pattern is a single name.
    pub fn name(&self) -> Option<String> {
        match &self.pattern.kind {
            PatternKind::Name { ident, .. } => Some(text(ident)),
            PatternKind::Tuple(_) | PatternKind::Invalid(_) | PatternKind::Wildcard => None,
        }
    }
}
