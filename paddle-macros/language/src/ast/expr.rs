//! Blocks, statements, expressions.

use std::collections::BTreeSet;

use paddle_core::layers::{Initializer, Layer};
use paddle_core::ops::{BinaryKind, CompareKind, LogicalKind, Number};
use paddle_core::program::DType;
use proc_macro2::{Ident, Literal, Span, TokenStream};

use super::{BindingId, Constant, FunctionId, OutsideSize, Param, Pattern, PatternKind, TypeExpr};
use crate::report::Extent;

#[derive(Debug)]
pub struct Block {
    pub statements: Vec<Statement>,
    pub tail: Option<Box<Expr>>,
    pub at: Extent,
}

#[derive(Debug)]
pub enum Statement {
    Let { span: Span, pattern: Pattern, ty: Option<TypeExpr>, value: Option<Expr> },
    Const(Constant),
    Expr { value: Expr, semicolon: bool },
}

impl Statement {
    /// Declares a name whose value is unknown, because a mistake has been reported.
    pub fn unknown(ident: Ident) -> Self {
        let (span, at) = (ident.span(), Extent::from(ident.span()));
        let kind = PatternKind::Name { ident, mutable: None, binding: None };
        let value = Expr { kind: ExprKind::Invalid, at };
        Statement::Let { span, pattern: Pattern { kind, at }, ty: None, value: Some(value) }
    }
}

#[derive(Debug)]
pub struct Expr {
    pub kind: ExprKind,
    pub at: Extent,
}

#[derive(Debug)]
pub enum ExprKind {
    Number {
        value: Number,
        dtype: Option<DType>,
        literal: TokenStream,
    },
    Text {
        value: String,
        literal: Literal,
    },
    /// `"block{i}"`, as the name of parameters.
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
    /// `x[(.., 0, 1..3)]`
    Cut {
        x: Box<Expr>,
        places: Vec<Place>,
    },
    /// `x.rev()`
    Method {
        x: Box<Expr>,
        method: Method,
        /// The method's name and its parentheses.
        at: Extent,
    },
    /// `pair.0`
    Part {
        x: Box<Expr>,
        at: usize,
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
    /// The missing value of a row that has left an iteration before it reached the value.
    Nothing,
    /// A loop whose iterations collect pairs of a value and a flag; its value are the values whose flag is true.
    Kept(Box<Expr>),
    /// A mistake has been reported.
    Invalid,
}

/// An index along one axis.
#[derive(Debug)]
pub struct Place {
    pub kind: PlaceKind,
    pub at: Extent,
}

#[derive(Debug)]
pub enum PlaceKind {
    /// `..`
    All,
    One(Expr),
    Range {
        start: Option<Box<Expr>>,
        end: Option<Box<Expr>>,
        inclusive: bool,
    },
}

impl Place {
    /// The expressions in the index.
    pub fn parts(&self) -> impl Iterator<Item = &Expr> {
        let parts = match &self.kind {
            PlaceKind::All => [None, None],
            PlaceKind::One(place) => [Some(place), None],
            PlaceKind::Range { start, end, .. } => [start.as_deref(), end.as_deref()],
        };
        parts.into_iter().flatten()
    }

    /// The expressions in the index, mutable.
    pub fn parts_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        let parts = match &mut self.kind {
            PlaceKind::All => [None, None],
            PlaceKind::One(place) => [Some(place), None],
            PlaceKind::Range { start, end, .. } => [start.as_deref_mut(), end.as_deref_mut()],
        };
        parts.into_iter().flatten()
    }
}

/// A method of sequences, arrays and ranges.
#[derive(Debug)]
pub enum Method {
    /// `x.len()`
    Length,
    /// `x.enumerate()`
    Numbered,
    /// `x.rev()`
    Reversed,
    /// `x.zip(y)`
    Zipped(Box<Expr>),
}

impl Method {
    pub fn name(&self) -> &'static str {
        match self {
            Method::Length => "len",
            Method::Numbered => "enumerate",
            Method::Reversed => "rev",
            Method::Zipped(_) => "zip",
        }
    }

    /// The argument in the parentheses.
    pub fn argument(&self) -> Option<&Expr> {
        match self {
            Method::Zipped(other) => Some(other),
            Method::Length | Method::Numbered | Method::Reversed => None,
        }
    }
}

/// A piece of a template for parameter names.
#[derive(Debug)]
pub enum Piece {
    Text(String),
    /// `{i}`
    Variable(BindingId),
}

/// `pattern if guard => body`
#[derive(Debug)]
pub struct Arm {
    pub case: Case,
    pub guard: Option<Expr>,
    pub body: Expr,
}

/// The pattern of an arm.
#[derive(Debug)]
pub struct Case {
    pub kind: CaseKind,
    pub at: Extent,
}

#[derive(Debug)]
pub enum CaseKind {
    /// `_`
    Any,
    /// A `const`, or else a variable that the pattern declares; `resolve` decides.
    Name {
        ident: Ident,
        constant: bool,
        binding: Option<BindingId>,
    },
    /// A literal.
    Value(Expr),
    Range {
        start: Option<Box<Expr>>,
        end: Option<Box<Expr>>,
        inclusive: bool,
    },
    Either(Vec<Case>),
    Tuple(Vec<Case>),
    /// A mistake has been reported. The names that the pattern binds.
    Invalid(Vec<Ident>),
}

/// The meaning of a name in an expression, filled in by `resolve`.
#[derive(Clone, Copy, Debug)]
pub enum Meaning {
    Unresolved,
    Variable(BindingId),
    Function(FunctionId),
    Layer(&'static Layer),
    Initializer(&'static Initializer),
    /// A call of a parameter whose type is `Activation`.
    Activation(BindingId),
    /// A word among those that the argument of a layer allows.
    Choice(Choice),
    /// A word that a sub-network passes on to a layer.
    Word,
    /// A dimension named in a type of the sub-network.
    Dimension,
}

/// A word, and the layer's argument that it is for.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    pub layer: &'static str,
    pub argument: &'static str,
    pub word: &'static str,
}

/// A binary operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Infix {
    Arithmetic(BinaryKind),
    Compare(CompareKind),
    Logical(LogicalKind),
}

/// The left side of an assignment.
#[derive(Debug)]
pub struct Target {
    pub kind: TargetKind,
    pub at: Extent,
}

#[derive(Debug)]
pub enum TargetKind {
    Name { ident: Ident, binding: Option<BindingId> },
    Tuple(Vec<Target>),
    Invalid,
}

#[derive(Debug)]
pub struct Call {
    pub ident: Ident,
    pub callee: Meaning,
    pub positional: Vec<Expr>,
    pub named: Vec<Named>,
    /// The arguments with their parentheses.
    pub parens: Extent,
    /// Whether the last argument is followed by a comma, so that the user may be about to type another one.
    pub open: bool,
}

/// `act = relu`
#[derive(Debug)]
pub struct Named {
    pub ident: Ident,
    pub value: Expr,
}

#[derive(Debug)]
pub struct Closure {
    pub params: Vec<Param>,
    pub result: Option<TypeExpr>,
    pub body: Box<Expr>,
}

impl Target {
    /// The name, if the target is a single name.
    pub fn name(&self) -> Option<String> {
        match &self.kind {
            TargetKind::Name { ident, .. } => Some(super::text(ident)),
            TargetKind::Tuple(_) | TargetKind::Invalid => None,
        }
    }

    /// Adds the names of the assigned variables to `names`.
    pub fn names(&self, names: &mut BTreeSet<String>) {
        match &self.kind {
            TargetKind::Name { ident, .. } => drop(names.insert(super::text(ident))),
            TargetKind::Tuple(parts) => parts.iter().for_each(|part| part.names(names)),
            TargetKind::Invalid => {}
        }
    }

    /// The assigned variables.
    pub fn bindings(&self) -> Vec<BindingId> {
        match &self.kind {
            TargetKind::Name { binding, .. } => binding.iter().copied().collect(),
            TargetKind::Tuple(parts) => parts.iter().flat_map(Target::bindings).collect(),
            TargetKind::Invalid => Vec::new(),
        }
    }
}
