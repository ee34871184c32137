//! The layers of the language: tables, from which come the checks of a call, the suggestions of messages, the lowering
//! to operators, and the documented functions that editors show.
//!
//! To add one: add a row to the table of its family, and write the function that builds it beside the table. The
//! functions of one value come from the table of the operators.

// The macro of this module is used by those below it.
#[macro_use]
mod table;

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

use std::fmt;

pub use crate::ops::{INITIALIZERS, Initializer};
pub use call::{Built, Call, Given, Passed};
pub use functions::of_number;
pub use library::{LIBRARY, LibraryLayer};

use crate::program::{BuildError, VarId};

/// What an argument of a layer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A value of the program.
    Value,
    /// A value of the program, of whole numbers; a number that is written out is one, whatever is beside it.
    Whole,
    /// One value of the program, or several: `x`, `[a, b]`.
    Values,
    /// A whole number above 0 that is known when the network is compiled.
    Size,
    /// What is left of the values by position, at least one: `a`, `a, b`. Nothing follows it.
    Operands,
    /// One size, or several: `3`, `[3, 5]`.
    Sizes,
    /// The same, or nothing, so that an argument by name takes its place. Nothing follows it.
    SizesIfAny,
    /// Sizes, of which one may be -1, for what is left: `[3, -1]`.
    Shape,
    /// A whole number that is known when the network is compiled.
    Int,
    /// One whole number, or several: `1`, `[0, 2]`.
    Ints,
    /// The same, or one of these words, without quotes: `1`, `[0, 2]`, `same`.
    IntsOr(&'static [&'static str]),
    /// A number that is known when the network is compiled.
    Number,
    /// `true` or `false`.
    Flag,
    /// One of these words, without quotes.
    Choice(&'static [&'static str]),
    /// A name: a string.
    Name,
    /// A text that the layer reads: a string.
    Text,
    /// A layer that is marked as an activation, without parentheses: `act = relu`.
    Activation,
    /// What a parameter is at first: `init = uniform(-0.1, 0.1)`.
    Initializer,
}

impl Kind {
    /// What is expected, for messages.
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
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub kind: Kind,
    /// What it is where a call leaves it out, if that is a number, a truth value or a word.
    pub default: Option<LeftOut>,
    /// What it is for.
    pub doc: &'static str,
}

/// What an argument is where a call leaves it out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LeftOut {
    /// A truth value.
    Flag(bool),
    /// A whole number, or as many as there have to be.
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

/// A layer: what its calls look like, and the operators that they become.
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
    /// What its calls become.
    pub build: Build,
}

/// Appends the operators of a call.
#[derive(Clone, Copy, Debug)]
pub enum Build {
    /// And returns its value.
    One(fn(&mut Call<'_>) -> Result<VarId, BuildError>),
    /// And returns its values, which are the parts of a tuple.
    Several(fn(&mut Call<'_>) -> Result<Vec<VarId>, BuildError>),
}

impl Layer {
    /// Every layer of the language.
    pub fn all() -> impl Iterator<Item = &'static Layer> {
        Layer::families().flat_map(|(_, layers)| layers)
    }

    /// The families of layers, with what they are called.
    pub fn families() -> impl Iterator<Item = (&'static str, &'static [Layer])> {
        FAMILIES.iter().copied()
    }

    /// The layer of this name.
    pub fn find(name: &str) -> Option<&'static Layer> {
        Layer::all().find(|layer| layer.name == name)
    }

    /// The argument of this name that a call may name.
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

    /// Whether the last argument by position is all that is left.
    pub fn has_operands(&self) -> bool {
        self.positional.last().is_some_and(|last| last.kind == Kind::Operands)
    }

    /// The argument by position that stands at a place of a call.
    pub fn at(&self, place: usize) -> Option<&'static Argument> {
        let last = self.positional.last().filter(|_| self.has_operands());
        self.positional.get(place).or(last)
    }

    /// Whether it owns parameters, which are named by `param`.
    pub fn has_parameters(&self) -> bool {
        self.named("param").is_some()
    }
}

/// Passes the families of layers to a macro, which is what goes over all of them: `with_layer_families!(callback)`.
///
/// A family is a file of `layers/`: its table, and the functions that build its layers. The second name is that of
/// the macro that passes the table to another.
///
/// A row of a table: documentation, name, arguments by position and after the `;` by name (each with kind and
/// documentation; a choice with its words; one by name with its default, which is said nowhere else:
/// `kind: Choice(average, max) = "max" "How to pool."`), a mark, and the function that
/// builds it. The mark is `activation` where the layer is one; `several` where it has several values; `weights` or `weights_and_bias` where it has parameters,
/// and so the arguments of [`with_parameter_arguments!`](crate::with_parameter_arguments).
#[macro_export]
macro_rules! with_layer_families {
    ($($callback:ident)::+) => {
        $($callback)::+! {
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
        }
    };
}

macro_rules! families {
    ($($family:ident $_macro:ident,)*) => {
        /// Every layer of the language, family by family.
        const FAMILIES: &[(&str, &[Layer])] = &[$((stringify!($family), $family::LAYERS)),*];
    };
}

with_layer_families!(families);
