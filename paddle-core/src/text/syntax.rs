//! The text form as a tree, before names are looked up.

use std::num::NonZero;

use super::lex::At;
use crate::ops::{Attribute, Op};
use crate::program::{DType, ParameterOptions, Role};

/// A name, and where it stands.
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

/// `rows _`, `tokens _.words of _`, `rows _.1 of _ in _.words.steps`, `size T` or `size N outside`.
pub(super) struct SizeDeclaration {
    pub(super) name: Name,
    pub(super) kind: SizeKind,
}

/// What a declared size is the size of.
pub(super) enum SizeKind {
    /// A row space.
    Rows,
    /// Rows that are chosen from this space.
    Chosen(Name),
    /// The rows of the first space that an iteration of a loop runs on; its steps are the second.
    Active(Name, Name),
    /// The tokens of sequences, one for each row of this space.
    Tokens(Name),
    /// The tokens of those sequences that belong to the rows of the first space; all of them are the second.
    Part(Name, Name),
    /// These tokens in the order in which loops come to them.
    Steps(Name),
    /// These tokens in the order in which a `while` gave them.
    Rounds(Name),
    /// Nothing but itself, known by what is fed.
    Fed,
    /// Likewise, known from outside.
    Outside,
}

/// `check T = 3: "`x` is …"` or `check T > 0: "…"`.
pub(super) struct CheckText {
    pub(super) left: SizeText,
    /// Nothing where it is to be above 0.
    pub(super) right: Option<SizeText>,
    pub(super) message: String,
    pub(super) place: Option<PlaceText>,
}

/// File, line, column, and the layer that stands there.
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

/// A product with an integer.
pub(super) struct Term {
    pub(super) coefficient: i64,
    pub(super) factors: Vec<Factor>,
    pub(super) at: At,
}

pub(super) enum Factor {
    /// `T`; the rows of `T`, alone in front.
    Name(Name),
    /// `(T)`: the size, in front too.
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
    /// Where the results stand, or the block ends.
    pub(super) end: At,
}

/// `on _.1 of _`: rows of a known space, or chosen ones.
pub(super) struct RowsText {
    pub(super) name: Name,
    pub(super) parent: Option<Name>,
}

/// `matmul_v2(x, w, trans_x=true)`.
pub(super) struct Call {
    pub(super) at: At,
    /// The operator of this name.
    pub(super) prototype: Op,
    pub(super) inputs: Vec<Name>,
    pub(super) attributes: Vec<(&'static str, AttributeText)>,
}

/// The value of an attribute.
pub(super) enum AttributeText {
    /// Without names in it.
    Ready(Attribute),
    Dims(Vec<SizeText>),
    Type(TypeText),
    Rows(Name),
    Types(Vec<TypeText>),
}

/// A line of a block, and the blocks below it.
pub(super) struct OperatorText {
    pub(super) at: At,
    pub(super) outputs: Vec<Declaration>,
    pub(super) call: Call,
    pub(super) role: Option<Role>,
    pub(super) place: Option<PlaceText>,
    pub(super) blocks: Vec<BlockText>,
}
