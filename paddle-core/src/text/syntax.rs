//! The syntax tree of the text form. Names are not resolved in it.

use std::num::NonZero;

use super::lex::At;
use crate::ops::{Attribute, Op};
use crate::program::{DType, ParameterOptions, Role};

/// A name and its place.
#[derive(Clone, Debug)]
pub(super) struct Name {
    pub(super) text: String,
    pub(super) at: At,
}

/// A whole text.
pub(super) struct ProgramText {
    pub(super) shards: NonZero<u32>,
    pub(super) sizes: Vec<SizeDeclaration>,
    pub(super) checks: Vec<CheckText>,
    pub(super) parameters: Vec<ParameterText>,
    pub(super) states: Vec<StateText>,
    /// (parameter, gradient).
    pub(super) gradients: Vec<(Name, Name)>,
    /// (name, value).
    pub(super) taps: Vec<(Name, Name)>,
    pub(super) global: BlockText,
}

/// `rows _`, `rows all = 1`, `tokens _.words of _`, `rows _.1 of _ in _.words.steps`, `size T` or `size N outside`.
pub(super) struct SizeDeclaration {
    pub(super) name: Name,
    pub(super) kind: SizeKind,
}

/// The kind of a declared size.
pub(super) enum SizeKind {
    /// The number of rows of a root row space.
    Rows,
    /// The number of rows of a row space that always has so many.
    Fixed(u32),
    /// The number of rows that a block chooses from this row space.
    Chosen(Name),
    /// The number of rows of the first row space in an iteration of a loop; the second one is that of all iterations
    /// together.
    Active(Name, Name),
    /// The number of tokens of the sequences that belong to this row space.
    Tokens(Name),
    /// The number of tokens of those sequences that belong to the first row space; the second one has the tokens of all
    /// sequences.
    Part(Name, Name),
    /// The number of these tokens, in the order of the iterations of a `for`.
    Steps(Name),
    /// The number of these tokens, in the order in which a `while` makes them.
    Rounds(Name),
    /// A size symbol whose value follows from what is fed.
    Fed,
    /// A size symbol whose value [`Program::bind`](crate::program::Program::bind) gives.
    Outside,
}

/// `check T = 3: "`x` is …"` or `check T > 0: "…"`.
pub(super) struct CheckText {
    pub(super) left: SizeText,
    /// `None` for `> 0`.
    pub(super) right: Option<SizeText>,
    pub(super) message: String,
    pub(super) place: Option<PlaceText>,
}

/// File, line, column and layer.
pub(super) type PlaceText = (String, u32, u32, Option<String>);

/// `parameter w: f32[13, 1] = uniform_random(min=-0.65, max=0.65) [chosen lr=0.1 at src/main.rs:4:9]`.
pub(super) struct ParameterText {
    pub(super) value: Declaration,
    pub(super) initializer: Call,
    pub(super) options: ParameterOptions,
    pub(super) place: Option<PlaceText>,
}

/// `state Moment1 of w: w@Moment1: f32[13, 1] = fill_constant(value=0.0)`.
pub(super) struct StateText {
    pub(super) slot: Name,
    pub(super) parameter: Name,
    pub(super) value: Declaration,
    pub(super) initializer: Call,
}

/// `x: f32[_, 13]`.
pub(super) struct Declaration {
    pub(super) name: Name,
    pub(super) ty: TypeText,
}

/// `f32[_, 2 * T]`.
pub(super) struct TypeText {
    pub(super) dtype: DType,
    pub(super) sizes: Vec<SizeText>,
}

/// A sum of terms.
pub(super) struct SizeText {
    pub(super) terms: Vec<Term>,
}

/// A product of an integer and factors.
pub(super) struct Term {
    pub(super) coefficient: i64,
    pub(super) factors: Vec<Factor>,
    pub(super) at: At,
}

pub(super) enum Factor {
    /// `T`. In front of a type's other sizes, a row space's name means its rows.
    Name(Name),
    /// `(T)`: the number of rows, in front too.
    Parenthesised(Name),
    /// `((T) / (2))`.
    Quotient(SizeText, SizeText),
}

/// `block 3 of block 1 on _.1 (h: f32[_, 4]) { … }`.
pub(super) struct BlockText {
    pub(super) at: At,
    pub(super) id: u32,
    pub(super) forward: Option<(u32, At)>,
    pub(super) rows: Option<RowsText>,
    pub(super) params: Vec<Declaration>,
    pub(super) operators: Vec<OperatorText>,
    pub(super) results: Vec<Name>,
    /// The place of the results, or of the end of the block.
    pub(super) end: At,
}

/// `on _.1 of _`: a declared row space, or one that the block chooses.
pub(super) struct RowsText {
    pub(super) name: Name,
    pub(super) parent: Option<Name>,
}

/// `matmul_v2(x, w, trans_x=true)`.
pub(super) struct Call {
    pub(super) at: At,
    /// An operator of this name, with default attributes.
    pub(super) prototype: Op,
    pub(super) inputs: Vec<Name>,
    pub(super) attributes: Vec<(&'static str, AttributeText)>,
}

/// The value of an attribute.
pub(super) enum AttributeText {
    /// A value without names in it.
    Ready(Attribute),
    Dims(Vec<SizeText>),
    Type(TypeText),
    Rows(Name),
    Types(Vec<TypeText>),
}

/// A line of a block: an operator and its nested blocks.
pub(super) struct OperatorText {
    pub(super) at: At,
    pub(super) outputs: Vec<Declaration>,
    pub(super) call: Call,
    pub(super) role: Option<Role>,
    pub(super) place: Option<PlaceText>,
    pub(super) blocks: Vec<BlockText>,
}
