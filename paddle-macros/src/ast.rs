//! The tree of a network's source: what the language has, and nothing else of Rust. Every node knows its tokens.

mod size;
mod walk;
mod words;

use paddle_core::layers::{Initializer, Layer};
use paddle_core::ops::{BinaryKind, CompareKind, LogicalKind, Number};
use paddle_core::program::DType;
use proc_macro2::{Ident, Literal, Span, TokenStream};
use syn::ext::IdentExt;

use crate::report::Extent;
pub(crate) use size::{OutsideSize, SizeOrigin};

/// A declared variable or `const`; an index into [`Network::bindings`]. Two variables of one name have two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct BindingId(pub(crate) usize);

/// A `fn`; an index into [`Network::functions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FunctionId(pub(crate) usize);

/// A module's source; an index into [`Network::units`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct UnitId(pub(crate) usize);

/// A whole invocation: constants, sub-networks and topologies.
#[derive(Debug, Default)]
pub(crate) struct Network {
    /// What was written here, behind what it imports.
    pub(crate) units: Vec<Unit>,
    /// Whether an import cannot be read, so that any name may be meant by it.
    pub(crate) has_unknown_imports: bool,
    /// Of all units; `resolve` puts each behind those that it is made of.
    pub(crate) constants: Vec<Constant>,
    /// Of all units.
    pub(crate) functions: Vec<Function>,
    /// The variables, filled in by `resolve`.
    pub(crate) bindings: Vec<Binding>,
}

/// Items that were written in one place and see each other.
#[derive(Debug)]
pub(crate) struct Unit {
    pub(crate) origin: Origin,
    pub(crate) imports: Vec<Import>,
}

/// Where a unit was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// In this invocation.
    Here,
    /// In another module or crate, in this file.
    Imported { file: String },
    /// In the library of layers.
    Library,
}

/// A name that is another unit's.
#[derive(Debug)]
pub(crate) struct Import {
    /// The name here.
    pub(crate) ident: Ident,
    /// `use ..;`, as Rust has it.
    pub(crate) tokens: TokenStream,
    /// The unit and the name there; none if that module has mistakes of its own.
    pub(crate) item: Option<(UnitId, String)>,
}

impl Network {
    pub(crate) fn is_here(&self, unit: UnitId) -> bool {
        self.units[unit.0].origin == Origin::Here
    }

    /// The imports of what was written here.
    pub(crate) fn imports(&self) -> impl Iterator<Item = &Import> {
        self.units.iter().filter(|unit| unit.origin == Origin::Here).flat_map(|unit| &unit.imports)
    }

    /// Whether it is a `const` that is imported.
    pub(crate) fn is_constant(&self, import: &Import) -> bool {
        import.item.as_ref().is_some_and(|(unit, name)| {
            self.constants.iter().any(|constant| constant.unit == *unit && text(&constant.ident) == *name)
        })
    }

    /// Whether a module that it imports from has mistakes, so that it cannot be compiled either.
    pub(crate) fn is_incomplete(&self) -> bool {
        self.units.iter().flat_map(|unit| &unit.imports).any(|import| import.item.is_none())
    }
}

/// The declaration of a variable or `const`.
#[derive(Debug)]
pub(crate) struct Binding {
    pub(crate) name: String,
    pub(crate) constant: bool,
}

/// `const N: usize = 13;`
#[derive(Debug)]
pub(crate) struct Constant {
    pub(crate) ident: Ident,
    pub(crate) unit: UnitId,
    /// Whether other modules can import it.
    pub(crate) public: bool,
    pub(crate) binding: Option<BindingId>,
    pub(crate) ty: ConstantType,
    /// Whether a size is in it that the caller of the network gives; filled in by `resolve`.
    pub(crate) by_caller: bool,
    pub(crate) value: Expr,
    /// The whole item, as it was written.
    pub(crate) tokens: TokenStream,
}

/// The type of a `const`.
#[derive(Debug)]
pub(crate) enum ConstantType {
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
pub(crate) struct Function {
    pub(crate) ident: Ident,
    pub(crate) unit: UnitId,
    /// Whether other modules can import it.
    pub(crate) public: bool,
    /// Documentation and the like, as written.
    pub(crate) attributes: TokenStream,
    /// `pub`, as written.
    pub(crate) visibility: TokenStream,
    /// Its const parameters: sizes that each instantiation binds.
    pub(crate) generics: Vec<Constant>,
    pub(crate) params: Vec<Param>,
    pub(crate) result: Option<TypeExpr>,
    pub(crate) body: Block,
    /// The whole item, without its documentation.
    pub(crate) tokens: TokenStream,
}

impl Function {
    /// Whether it is a network of its own. One that takes numbers or activations is a layer, for other networks.
    pub(crate) fn is_topology(&self) -> bool {
        let is_fed = |param: &Param| {
            let known = |ty: &TypeExpr| {
                matches!(ty.kind, TypeKind::Constant(_) | TypeKind::Activation | TypeKind::Word)
            };
            param.default.is_none() && !param.ty.as_ref().is_some_and(known)
        };
        self.public && self.params.iter().all(is_fed)
    }

    /// The parameters that a call gives by position.
    pub(crate) fn positional(&self) -> impl Iterator<Item = &Param> {
        self.params.iter().filter(|param| param.default.is_none())
    }

    /// Those that a call may name.
    pub(crate) fn named(&self) -> impl Iterator<Item = &Param> {
        self.params.iter().filter(|param| param.default.is_some())
    }
}

#[derive(Debug)]
pub(crate) struct Param {
    pub(crate) pattern: Pattern,
    pub(crate) ty: Option<TypeExpr>,
    /// `#[default = ..]`: what it is for calls that do not name it.
    pub(crate) default: Option<Expr>,
}

/// A name that stands for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keyword {
    Activation,
    /// A word that a layer allows: `max`.
    Word,
}

impl Param {
    /// What its argument is, where that is no value.
    pub(crate) fn keyword(&self) -> Option<Keyword> {
        match self.ty.as_ref().map(|ty| &ty.kind) {
            Some(TypeKind::Activation) => Some(Keyword::Activation),
            Some(TypeKind::Word) => Some(Keyword::Word),
            _ => None,
        }
    }

    /// Its name, if it is one.
    pub(crate) fn name(&self) -> Option<String> {
        match &self.pattern.kind {
            PatternKind::Name { ident, .. } => Some(text(ident)),
            PatternKind::Tuple(_) | PatternKind::Wildcard => None,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Pattern {
    pub(crate) kind: PatternKind,
    pub(crate) at: Extent,
}

#[derive(Debug)]
pub(crate) enum PatternKind {
    Name { ident: Ident, mutable: Option<Span>, binding: Option<BindingId> },
    Tuple(Vec<Pattern>),
    Wildcard,
}

#[derive(Debug)]
pub(crate) struct TypeExpr {
    pub(crate) kind: TypeKind,
    pub(crate) at: Extent,
}

#[derive(Debug)]
pub(crate) enum TypeKind {
    /// `_`
    Infer,
    Tensor {
        dtype: DType,
        dims: Vec<DimExpr>,
    },
    /// `Seq<i64>`; with dimensions, `Seq<Tensor<f32, 64>>`.
    Sequence {
        dtype: DType,
        dims: Vec<DimExpr>,
    },
    Tuple(Vec<TypeExpr>),
    /// `usize`, `f32`, `&str`, …: known when the network is compiled.
    Constant(ConstantType),
    /// `Activation`
    Activation,
    /// `Word`
    Word,
    /// It has been reported.
    Invalid,
}

#[derive(Debug)]
pub(crate) struct DimExpr {
    pub(crate) kind: DimKind,
    pub(crate) at: Extent,
}

#[derive(Debug)]
pub(crate) enum DimKind {
    /// `_`
    Any,
    /// A symbol, or a `const`, as `resolve` finds out.
    Name {
        ident: Ident,
        constant: Option<BindingId>,
    },
    Size(i64),
    Outside(OutsideSize),
    Binary(BinaryKind, Box<DimExpr>, Box<DimExpr>),
}

#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) statements: Vec<Statement>,
    pub(crate) tail: Option<Box<Expr>>,
    pub(crate) at: Extent,
}

#[derive(Debug)]
pub(crate) enum Statement {
    Let { span: Span, pattern: Pattern, ty: Option<TypeExpr>, value: Option<Expr> },
    Const(Constant),
    Expr { value: Expr, semicolon: bool },
}

#[derive(Debug)]
pub(crate) struct Expr {
    pub(crate) kind: ExprKind,
    pub(crate) at: Extent,
}

#[derive(Debug)]
pub(crate) enum ExprKind {
    Number {
        value: Number,
        dtype: Option<DType>,
        literal: TokenStream,
    },
    Text {
        value: String,
        literal: Literal,
    },
    /// `"block{i}"`, where it names parameters.
    Template {
        pieces: Vec<Piece>,
        literal: Literal,
    },
    Name {
        ident: Ident,
        meaning: Meaning,
    },
    Tuple(Vec<Expr>),
    /// `[a, b]`
    Array(Vec<Expr>),
    /// `[x; n]`
    Repeated {
        x: Box<Expr>,
        times: Box<Expr>,
    },
    /// `x[i]`
    Index {
        x: Box<Expr>,
        index: Box<Expr>,
    },
    /// `0..n`
    Range {
        start: Box<Expr>,
        op: Span,
        end: Box<Expr>,
        inclusive: bool,
    },
    Negate {
        op: Span,
        x: Box<Expr>,
    },
    Not {
        op: Span,
        x: Box<Expr>,
    },
    Binary {
        kind: Infix,
        op: TokenStream,
        x: Box<Expr>,
        y: Box<Expr>,
    },
    Assign {
        target: Target,
        op: TokenStream,
        value: Box<Expr>,
    },
    Update {
        kind: BinaryKind,
        op: TokenStream,
        target: Target,
        value: Box<Expr>,
    },
    Call(Call),
    Closure(Closure),
    Outside(OutsideSize),
    If {
        span: Span,
        condition: Box<Expr>,
        yes: Block,
        no: Option<(Span, Box<Expr>)>,
    },
    While {
        span: Span,
        condition: Box<Expr>,
        body: Block,
    },
    For {
        span: Span,
        pattern: Pattern,
        items: Box<Expr>,
        body: Block,
    },
    Match {
        span: Span,
        value: Box<Expr>,
        arms: Vec<Arm>,
    },
    Block(Block),
    Paren(Box<Expr>),
    /// It has been reported.
    Invalid,
}

/// A piece of a name of parameters.
#[derive(Debug)]
pub(crate) enum Piece {
    Text(String),
    /// `{i}`
    Variable(BindingId),
}

/// `pattern if guard => body`
#[derive(Debug)]
pub(crate) struct Arm {
    pub(crate) case: Case,
    pub(crate) guard: Option<Expr>,
    pub(crate) body: Expr,
}

/// The pattern of an arm.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) kind: CaseKind,
    pub(crate) at: Extent,
}

#[derive(Debug)]
pub(crate) enum CaseKind {
    /// `_`
    Any,
    /// A `const`, or else a variable that it declares, as `resolve` finds out.
    Name {
        ident: Ident,
        constant: bool,
        binding: Option<BindingId>,
    },
    /// A literal.
    Value(Expr),
    Range {
        start: Option<Expr>,
        end: Option<Expr>,
        inclusive: bool,
    },
    Either(Vec<Case>),
    Tuple(Vec<Case>),
    /// It has been reported; the names that it binds.
    Invalid(Vec<Ident>),
}

/// What a name in an expression stands for; filled in by `resolve`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Meaning {
    Unresolved,
    Variable(BindingId),
    Function(FunctionId),
    Layer(&'static Layer),
    Initializer(&'static Initializer),
    /// A word that an argument of a layer allows.
    Choice(Choice),
    /// A word that a sub-network hands on to a layer.
    Word,
    /// A dimension that a type of the sub-network names.
    Dimension,
}

/// A word, and the argument of a layer that it is for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Choice {
    pub(crate) layer: &'static str,
    pub(crate) argument: &'static str,
    pub(crate) word: &'static str,
}

/// An operator between two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Infix {
    Arithmetic(BinaryKind),
    Compare(CompareKind),
    Logical(LogicalKind),
}

/// The left side of an assignment.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) kind: TargetKind,
    pub(crate) at: Extent,
}

#[derive(Debug)]
pub(crate) enum TargetKind {
    Name { ident: Ident, binding: Option<BindingId> },
    Tuple(Vec<Target>),
    Invalid,
}

#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) ident: Ident,
    pub(crate) callee: Meaning,
    pub(crate) positional: Vec<Expr>,
    pub(crate) named: Vec<Named>,
    /// The arguments with their parentheses.
    pub(crate) parens: Extent,
}

/// `act = relu`
#[derive(Debug)]
pub(crate) struct Named {
    pub(crate) ident: Ident,
    pub(crate) value: Expr,
}

#[derive(Debug)]
pub(crate) struct Closure {
    pub(crate) params: Vec<Param>,
    pub(crate) result: Option<TypeExpr>,
    pub(crate) body: Box<Expr>,
}

/// The text of a name; `r#gen` is `gen`.
pub(crate) fn text(ident: &Ident) -> String {
    ident.unraw().to_string()
}

impl Target {
    /// The variables that are assigned.
    pub(crate) fn bindings(&self) -> Vec<BindingId> {
        match &self.kind {
            TargetKind::Name { binding, .. } => binding.iter().copied().collect(),
            TargetKind::Tuple(parts) => parts.iter().flat_map(Target::bindings).collect(),
            TargetKind::Invalid => Vec::new(),
        }
    }
}
