//! The layers of the language, as tables. The checks of a call, the suggestions in messages, the lowering to operators,
//! and the documented functions that editors show come from these tables.
//!
//! To add a layer, add a row to the table of its family, and write the function that builds it beside the table. The
//! functions of one value come from the table of the operators.

// The macro of this module is used by those below it.
#[macro_use]
mod table;

mod boxes;
mod call;
mod classes;
mod einsum;
mod elementwise;
mod fc;
mod functions;
mod images;
mod interpolate;
mod library;
mod losses;
mod made_sequences;
mod moves;
mod normalise;
mod pairs;
mod parameters;
mod places;
mod pools;
mod products;
mod random;
mod reductions;
mod sequences;
mod shapes;
mod values;
mod volumes;

use std::fmt;

pub use crate::ops::{INITIALIZERS, Initializer};
pub use call::{Built, Call, Given, Passed};
pub use functions::of_number;
pub use library::{LIBRARY, LibraryLayer};

use crate::program::{BuildError, VarId};

/// The kind of an argument of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A value of the program.
    Value,
    /// A value of the program that holds whole numbers. A number that is written out is one, whatever the other
    /// arguments are.
    Whole,
    /// One value of the program, or several: `x`, `[a, b]`.
    Values,
    /// A whole number above 0 that is known when the network is compiled.
    Size,
    /// All values by position that are left, at least one: `a`, `a, b`. No argument follows.
    Operands,
    /// One size, or several: `3`, `[3, 5]`.
    Sizes,
    /// Sizes, or nothing if an argument by name takes their place. No argument follows.
    SizesIfAny,
    /// Sizes, of which one may be -1; it then follows from the others: `[3, -1]`.
    Shape,
    /// A whole number that is known when the network is compiled.
    Int,
    /// One whole number, or several: `1`, `[0, 2]`.
    Ints,
    /// Whole numbers, or one of these words, without quotes: `1`, `[0, 2]`, `same`.
    IntsOr(&'static [&'static str]),
    /// A number that is known when the network is compiled.
    Number,
    /// `true` or `false`.
    Flag,
    /// One of these words, without quotes.
    Choice(&'static [&'static str]),
    /// A name: a string.
    Name,
    /// A text that the layer parses: a string.
    Text,
    /// A layer that is marked as an activation, without parentheses: `act = relu`.
    Activation,
    /// The initial values of a parameter: `init = uniform(-0.1, 0.1)`.
    Initializer,
}

impl Kind {
    /// The words for this kind in messages about what is expected.
    pub fn describe(self) -> &'static str {
        match self {
            Kind::Value => "a value",
            Kind::Whole => "a value of whole numbers",
            Kind::Values => "a value, or several in brackets: `[a, b]`",
            Kind::Operands => "a value, or several one behind the other: `a, b`",
            Kind::Size => "a size: a whole number above 0, written out or a `const`",
            Kind::Shape => {
                "sizes in brackets, written out or `const`s, of which one may be -1, for what is left"
            }
            Kind::Sizes | Kind::SizesIfAny => {
                "a size, or several in brackets: whole numbers above 0, written out or `const`s"
            }
            Kind::Int => "a whole number, written out or a `const`",
            Kind::Ints => "a whole number, or several in brackets, written out or `const`s",
            Kind::IntsOr(_) => {
                "a whole number, or several in brackets, written out or `const`s, or one of its words, without quotes"
            }
            Kind::Number => "a number, written out or a `const`",
            Kind::Flag => "`true` or `false`",
            Kind::Choice(_) => "one of its words, without quotes",
            Kind::Name => "a name in quotes",
            Kind::Text => "a text in quotes",
            Kind::Activation => "the name of an activation",
            Kind::Initializer => "an initialiser, such as `uniform(-0.1, 0.1)`",
        }
    }
}

/// An argument of a layer.
#[derive(Clone, Copy, Debug)]
pub struct Argument {
    /// The name of the argument.
    pub name: &'static str,
    /// The kind of the argument.
    pub kind: Kind,
    /// The value if a call leaves the argument out, if that is a number, a truth value or a word.
    pub default: Option<LeftOut>,
    /// The purpose of the argument.
    pub doc: &'static str,
}

/// The value of an argument that a call leaves out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LeftOut {
    /// A truth value.
    Flag(bool),
    /// A whole number. For a list, all elements have it.
    Int(i64),
    /// A number.
    Number(f64),
    /// A word.
    Word(&'static str),
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LeftOut::Flag(truth) => write!(f, "{truth}"),
            LeftOut::Int(int) => write!(f, "{int}"),
            LeftOut::Number(number) => write!(f, "{number}"),
            LeftOut::Word(word) => write!(f, "{word}"),
        }
    }
}

/// A layer: the arguments of its calls, and the operators that they become.
#[derive(Clone, Copy, Debug)]
pub struct Layer {
    /// The name.
    pub name: &'static str,
    /// What it computes.
    pub doc: &'static str,
    /// Arguments that every call has, in order.
    pub positional: &'static [Argument],
    /// Arguments that a call may name, in any order, after the others.
    pub named: &'static [Argument],
    /// Whether it can stand in an argument such as `act = relu`.
    pub activation: bool,
    /// The function that builds a call.
    pub build: Build,
}

/// The function that appends the operators of a call.
#[derive(Clone, Copy, Debug)]
pub enum Build {
    /// It returns one value.
    One(fn(&mut Call<'_>) -> Result<VarId, BuildError>),
    /// It returns several values, the parts of a tuple.
    Several(fn(&mut Call<'_>) -> Result<Vec<VarId>, BuildError>),
}

impl Layer {
    /// The argument with this name, if calls give it by name.
    pub fn named(&self, name: &str) -> Option<&'static Argument> {
        self.named.iter().find(|argument| argument.name == name)
    }

    /// Whether a call can have this many arguments by position.
    pub fn takes(&self, count: usize) -> bool {
        let all = self.positional.len();
        match self.positional.last().map(|last| last.kind) {
            Some(Kind::Operands) => count >= all,
            Some(Kind::SizesIfAny) => count == all || count + 1 == all,
            _ => count == all,
        }
    }

    /// Whether the last positional argument takes all values that are left.
    pub fn has_operands(&self) -> bool {
        self.positional.last().is_some_and(|last| last.kind == Kind::Operands)
    }

    /// The argument at a position of a call.
    pub fn at(&self, place: usize) -> Option<&'static Argument> {
        let last = self.positional.last().filter(|_| self.has_operands());
        self.positional.get(place).or(last)
    }

    /// Whether the layer has parameters, which the argument `param` names.
    pub fn has_parameters(&self) -> bool {
        self.named("param").is_some()
    }

    /// Whether a call of the layer has parameters: not if it gives values in place of all of them.
    pub fn has_parameters_beside(&self, arguments: &[Passed]) -> bool {
        let is_off = |role: &str| {
            role == "b"
                && arguments
                    .iter()
                    .any(|passed| matches!(passed.given, Given::Flag(false)) && passed.name == "bias")
        };
        let is_given = |role: &str| arguments.iter().any(|passed| passed.name == role);
        let roles =
            self.named.iter().filter(|argument| argument.kind == Kind::Value).map(|argument| argument.name);
        let mut roles = roles.peekable();
        self.has_parameters()
            && (roles.peek().is_none() || roles.any(|role| !is_given(role) && !is_off(role)))
    }
}

/// Passes the families of layers to a macro: `with_layer_families!(callback)`.
///
/// A family is a file of `layers/`: its table, and the functions that build its layers. The second name is that of the
/// macro that passes the table to another macro.
///
/// A row of a table has documentation, the name, the positional arguments, the arguments by name after the `;`, a mark,
/// and the function that builds the layer. Each argument has a kind and documentation. A choice lists its words. An
/// argument by name has its default, which is written nowhere else:
/// `kind: Choice(average, max) = "max" "How to pool."`. The mark is `activation` if the layer is one, and `several` if
/// it returns several values. If the layer has parameters, and so the arguments of
/// [`with_parameter_arguments!`](crate::with_parameter_arguments), it names those that a call may give as values: `weights` (`w`),
/// `weights_and_bias`, `scale_and_shift`, `scale_shift_and_statistics`, or `parameters` (none).
#[macro_export]
macro_rules! with_layer_families {
    ($($callback:ident)::+) => {
        $($callback)::+! {
            boxes with_box_layers,
            classes with_class_layers,
            elementwise with_elementwise_layers,
            functions with_function_layers,
            images with_image_layers,
            moves with_move_layers,
            places with_place_layers,
            pools with_pooling_layers,
            normalise with_normalising_layers,
            losses with_loss_layers,
            products with_product_layers,
            random with_random_layers,
            reductions with_reduction_layers,
            sequences with_sequence_layers,
            made_sequences with_made_sequence_layers,
            pairs with_pair_layers,
            shapes with_shape_layers,
            values with_value_layers,
            volumes with_volume_layers,
        }
    };
}

#[cfg(feature = "layers")]
macro_rules! families {
    ($($family:ident $_macro:ident,)*) => {
        /// Every layer of the language, family by family.
        const FAMILIES: &[(&str, &[Layer])] = &[$((stringify!($family), $family::LAYERS)),*];
    };
}

#[cfg(feature = "layers")]
with_layer_families!(families);

#[cfg(feature = "layers")]
impl Layer {
    /// Every layer of the language.
    pub fn all() -> impl Iterator<Item = &'static Layer> {
        Layer::families().flat_map(|(_, layers)| layers)
    }

    /// The families of layers, with their names.
    pub fn families() -> impl Iterator<Item = (&'static str, &'static [Layer])> {
        FAMILIES.iter().copied()
    }

    /// The layer with this name.
    pub fn find(name: &str) -> Option<&'static Layer> {
        Layer::all().find(|layer| layer.name == name)
    }
}
