//! The form that is being written.
//!
//! Numbers of a form have to be as easy to copy as other numbers, so they do not refer to the form. There is one for each
//! thread, while a function that writes one runs.

use std::cell::RefCell;

use paddle_core::plan::Extent;

use super::{Expression, SharedArray, Statement, Type, Unsigned, Value, VariableId, Word};

/// A kernel before it is printed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::gpu) struct Form {
    /// What each thread does.
    pub(in crate::gpu) body: Vec<Statement>,
    /// The arrays that the threads of a workgroup share.
    pub(in crate::gpu) shared: Vec<SharedArray>,
    /// The operands that are used, by their numbers in the group.
    pub(in crate::gpu) operands: Vec<usize>,
    /// The sizes that a launch has to give: products of extents.
    pub(in crate::gpu) sizes: Vec<Vec<Extent>>,
    /// Whether a launch may fail.
    pub(in crate::gpu) fails: bool,
}

#[derive(Debug, Default)]
struct Builder {
    form: Form,
    /// The bodies around the one that is written, which is `form.body`.
    outer: Vec<Vec<Statement>>,
    values: u32,
    variables: u32,
}

thread_local! {
    static BUILDER: RefCell<Option<Builder>> = const { RefCell::new(None) };
}

/// Writes a form.
pub(in crate::gpu) fn build<T>(write: impl FnOnce() -> T) -> (Form, T) {
    let before = BUILDER.replace(Some(Builder::default()));
    assert!(before.is_none(), "forms are written one after the other");
    let result = write();
    let builder = BUILDER.take().expect("the form that was begun");
    (builder.form, result)
}

fn with<T>(action: impl FnOnce(&mut Builder) -> T) -> T {
    BUILDER.with_borrow_mut(|builder| {
        action(builder.as_mut().expect("numbers of forms exist while one is written"))
    })
}

/// Adds a statement.
pub(super) fn push(statement: Statement) {
    with(|builder| {
        builder.form.fails |= matches!(statement, Statement::Fail(_));
        builder.form.body.push(statement);
    });
}

/// A new value.
pub(super) fn value() -> Value {
    with(|builder| {
        builder.values += 1;
        Value(builder.values - 1)
    })
}

/// Computes a value.
pub(super) fn compute(ty: Type, expression: Expression) -> Value {
    let value = value();
    push(Statement::Let(value, ty, expression));
    value
}

/// A new variable.
pub(super) fn variable(ty: Type, first: Value) -> VariableId {
    let id = with(|builder| {
        builder.variables += 1;
        VariableId(builder.variables - 1)
    });
    push(Statement::Declare(id, ty, first));
    id
}

/// A new array that the threads of a workgroup share.
pub(super) fn share(element: Type, length: u32) -> u32 {
    with(|builder| {
        builder.form.shared.push(SharedArray { element, length });
        builder.form.shared.len() as u32 - 1
    })
}

/// Writes statements of a body of their own.
pub(super) fn body(write: impl FnOnce()) -> Vec<Statement> {
    with(|builder| {
        let around = std::mem::take(&mut builder.form.body);
        builder.outer.push(around);
    });
    write();
    with(|builder| {
        let around = builder.outer.pop().expect("the body around this one");
        std::mem::replace(&mut builder.form.body, around)
    })
}

/// Appends a branch that is taken otherwise to the last statement, which is an `if`.
pub(super) fn append_otherwise(otherwise: Vec<Statement>) {
    with(|builder| match builder.form.body.last_mut() {
        Some(Statement::If(_, _, other)) => *other = otherwise,
        other => panic!("{other:?} has no other branch"),
    });
}

/// An operand of the group: the place among those that are used, and its offset in words.
pub(in crate::gpu) fn operand(number: usize) -> (u32, Unsigned) {
    let place = with(|builder| {
        let operands = &mut builder.form.operands;
        operands.iter().position(|&used| used == number).unwrap_or_else(|| {
            operands.push(number);
            operands.len() - 1
        })
    });
    (place as u32, Unsigned(compute(Type::Unsigned, Expression::Word(Word::Offset(place as u32)))))
}

/// The halves of the seed of random numbers, the lower one first.
pub(in crate::gpu) fn seed() -> [Unsigned; 2] {
    [Word::SeedLow, Word::SeedHigh].map(|word| Unsigned(compute(Type::Unsigned, Expression::Word(word))))
}

/// The product of extents.
pub(in crate::gpu) fn scalar(extents: &[Extent]) -> Unsigned {
    let fixed = extents.iter().try_fold(1usize, |product, extent| match extent {
        Extent::Fixed(size) => Some(product.saturating_mul(*size)),
        Extent::Bound(_) => None,
    });
    if let Some(size) = fixed {
        return Unsigned::of(u32::try_from(size).unwrap_or(u32::MAX));
    }
    let at = with(|builder| {
        let sizes = &mut builder.form.sizes;
        sizes.iter().position(|size| size == extents).unwrap_or_else(|| {
            sizes.push(extents.to_vec());
            sizes.len() - 1
        })
    });
    Unsigned(compute(Type::Unsigned, Expression::Word(Word::Size(at as u32))))
}
