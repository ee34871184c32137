//! The form of kernels: a small language of loops, from which the text for a device is printed.
//!
//! A kernel is written as a Rust function that computes with [`Float`], [`Unsigned`], [`Signed`] and [`Truth`]. Nothing is
//! computed when it runs: each operation becomes a statement. As [`Float`] implements [`Real`](paddle_core::ops::Real), the
//! formulas of the tables, of losses and of updates become statements like any others.
//!
//! All values that are stored are in arrays of 32-bit words, since kernels bind whole memories, which have values of all types.

mod build;
mod control;
#[cfg(feature = "cuda")]
pub(super) mod cuda;
pub(super) mod double;
mod functions;
mod numbers;
mod print;
#[cfg(feature = "wgpu")]
pub(super) mod wgsl;

pub(super) use build::{Form, build, operand, scalar, seed};
pub(super) use control::{
    Shared, Variable, barrier, each, fail, for_each, lane, otherwise, when, workgroup, workgroups,
};
pub(super) use numbers::{Float, Long, Register, Signed, Truth, Unsigned, load_word, store_word};

/// The threads of a workgroup.
///
/// Many threads with short loops suit every device. A program on the processor that has the interface of a card (Mesa's `lavapipe`
/// of 2022) ends the loops of a thread after 65,535 iterations, of all its loops together, without a word.
pub(super) const LANES: u32 = 64;

/// The type of a value in a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Type {
    /// A number in single precision.
    Float,
    /// A whole number of 32 bits without sign, which wraps around.
    Unsigned,
    /// A whole number of 32 bits, which wraps around.
    Signed,
    /// A truth value.
    Truth,
}

/// A value, by its number within a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Value(u32);

/// A variable, by its number within a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct VariableId(u32);

/// An array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Array {
    /// The memory that an operand is in, as words.
    Memory(u32),
    /// An array that the threads of a workgroup share.
    Shared(u32),
}

/// What a value is computed by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Expression {
    /// A constant.
    Float(f32),
    /// A constant.
    Unsigned(u32),
    /// A constant.
    Signed(i32),
    /// A constant.
    Truth(bool),
    /// A word of the launch.
    Word(Word),
    /// A number that is known when a thread runs.
    Thread(Thread),
    /// An operation on one value.
    Unary(Unary, Value),
    /// An operation on two values of one type.
    Binary(Binary, Value, Value),
    /// The product of the first two and the third added, which need not be rounded between.
    MultiplyAdd(Value, Value, Value),
    /// The float, as it was rounded. The compilers of devices may reorder sums and products, but see nothing of this.
    Rounded(Value),
    /// The second value if the first holds, otherwise the third.
    Select(Value, Value, Value),
    /// A conversion to another type: to the nearest float, towards zero, or of a truth value to 0 or 1.
    Convert(Type, Value),
    /// The same bits as another type.
    Bits(Type, Value),
    /// An element of an array.
    Load(Array, Value),
    /// The value of a variable.
    Read(VariableId),
}

/// The words of a launch. In front of them is its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// Zero, which no compiler knows.
    Zero,
    /// The lower half of the seed of random numbers.
    SeedLow,
    /// The upper half.
    SeedHigh,
    /// The offset of an operand, in words, by the operand's place among those that are used.
    Offset(u32),
    /// A size.
    Size(u32),
}

impl Word {
    /// Its place among the words.
    pub(super) fn place(self, form: &Form) -> usize {
        match self {
            Word::Zero => 1,
            Word::SeedLow => 2,
            Word::SeedHigh => 3,
            Word::Offset(operand) => 4 + operand as usize,
            Word::Size(size) => 4 + form.operands.len() + size as usize,
        }
    }
}

/// The numbers of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Thread {
    /// Its number within the workgroup.
    Lane,
    /// The number of its workgroup.
    Workgroup,
    /// The number of workgroups.
    Workgroups,
}

/// Operations on one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unary {
    /// The opposite.
    Negate,
    /// The opposite truth value.
    Not,
    /// All bits flipped.
    Flip,
    /// The absolute value.
    Abs,
    /// The largest whole number not above it.
    Floor,
    /// The smallest whole number not below it.
    Ceil,
    /// The next whole number towards zero.
    Trunc,
    /// The square root.
    Sqrt,
}

/// Operations on two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binary {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `·`
    Mul,
    /// `/`; towards zero, of whole numbers
    Div,
    /// The remainder of whole numbers.
    Rem,
    /// The bits that both have.
    And,
    /// The bits that one has.
    Or,
    /// The bits that differ.
    Xor,
    /// To higher places, by a number of places below 32.
    ShiftLeft,
    /// To lower places, by a number of places below 32; a sign stays.
    ShiftRight,
    /// `=`
    Equal,
    /// `≠`
    NotEqual,
    /// `<`
    Less,
    /// `≤`
    LessEqual,
    /// `>`
    Greater,
    /// `≥`
    GreaterEqual,
}

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Statement {
    /// Computes a value.
    Let(Value, Type, Expression),
    /// Declares a variable.
    Declare(VariableId, Type, Value),
    /// Changes a variable.
    Assign(VariableId, Value),
    /// Changes an element of an array.
    Store(Array, Value, Value),
    /// Runs the body for each `counter` from `first` on, by `step`, below `end`.
    For {
        /// The counter, an unsigned number.
        counter: Value,
        /// Its first value.
        first: Value,
        /// The upper bound.
        end: Value,
        /// The step.
        step: Value,
        /// What is run.
        body: Vec<Statement>,
    },
    /// Runs one of two bodies.
    If(Value, Vec<Statement>, Vec<Statement>),
    /// Waits until all threads of the workgroup are here, and see what others have written.
    Barrier,
    /// Says that the launch fails at this position. The least position of a launch is reported.
    Fail(Value),
}

/// An array that the threads of a workgroup share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SharedArray {
    /// The type of its elements.
    pub(super) element: Type,
    /// Their number.
    pub(super) length: u32,
}
